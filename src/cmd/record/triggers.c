/* SPDX-License-Identifier: MIT */
#include "cmd/record/triggers.h"

#include <stdio.h>
#include <string.h>

#include "analysis/condition.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "cli/duration.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record/metrics.h"
#include "control/qmp_events.h"
#include "record/trigger_limits.h"
#include "schema/trace_events/qemu_class.h"
#include "watch/condition.h"

/* --snapshots-size, where it is not given; and at least so many of what --flight keeps. */
#define SIZE_DEFAULT ((uint64_t)4 << 30)
#define SIZE_DEFAULT_FLIGHTS 2u

#define MEMBER(m) offsetof(struct record_triggers_options, m)

const struct cli_option record_triggers_options[] = {
    {OPTION_STRINGS, 0, "on", "CONDITION",
     "save a snapshot when CONDITION is met, such as\n'latency block > 50ms', 'exit != 0', or "
     "qmp:STOP;\nrepeatable",
     MEMBER(conditions)},
    {OPTION_PARSED, 0, "after", "SECONDS", "save it SECONDS after that (2)", MEMBER(after), NULL,
     duration_parse},
    {OPTION_STRING, 0, "then", "COMMAND",
     "run COMMAND with the snapshot's directory as its last\nargument", MEMBER(command)},
    {OPTION_NUMBER, 0, "snapshots-per-hour", "N", "save at most N snapshots in any hour (12)",
     MEMBER(per_hour)},
    {OPTION_PARSED, 0, "snapshots-size", "SIZE",
     "disk for them in all; the oldest are removed (4G, or\ntwice that of --flight)", MEMBER(size),
     NULL, size_parse},
    {OPTION_END},
};

struct record_triggers {
    struct arena arena;
    struct watch_condition *conditions;
    struct trigger *triggers;
    unsigned n;
};

void record_triggers_options_done(struct record_triggers_options *options)
{
    strings_done(&options->conditions);
}

/* ---- Whether it can be ---- */

static int parse(const char *text, struct arena *arena, struct watch_condition *ret)
{
    struct error error = {0};
    int r = watch_condition_parse(text, arena, ret, &error);

    if (r == -EINVAL)
        return cli_usage_error("record", "--on: %s", error.what);
    return r < 0 ? cli_no_memory() : EXIT_SUCCESS;
}

/* A QEMU may have events that are not known here: that is no error. */
static void warn_of_unknown_event(const struct watch_condition *condition)
{
    const char *event = condition->kind == WATCH_QMP ? condition->qmp.event : NULL;
    const char *similar = event ? suggest_find(event, strlen(event), qmp_events) : NULL;

    for (size_t i = 0; event && qmp_events[i]; i++)
        if (strcmp(event, qmp_events[i]) == 0)
            return;
    if (event)
        cli_warning("--on '%s': no QEMU up to 10.2 has this event%s%s%s", condition->text,
                    similar ? "; did you mean '" : "", similar ? similar : "", similar ? "'?" : "");
}

int record_triggers_check(const struct record_triggers_options *options, bool is_flight)
{
    const struct record_triggers_options defaults = RECORD_TRIGGERS_DEFAULT;
    const struct strings *conditions = &options->conditions;
    const struct {
        bool is_given;
        const char *option;
    } with_on[] = {
        {options->after != defaults.after, "--after"},
        {options->command, "--then"},
        {options->per_hour != defaults.per_hour, "--snapshots-per-hour"},
        {options->size > 0, "--snapshots-size"},
    };
    int status = EXIT_SUCCESS;

    for (size_t i = 0; i < ARRAY_SIZE(with_on); i++)
        if (with_on[i].is_given && conditions->n == 0)
            return cli_usage_error("record", "%s requires --on", with_on[i].option);
    if (conditions->n > 0 && !is_flight)
        return cli_usage_error("record", "--on requires --flight");
    if (conditions->n > TRIGGERS_MAX)
        return cli_usage_error("record",
                               "--on is given %u times; at most %u conditions are watched",
                               conditions->n, TRIGGERS_MAX);
    if (options->per_hour < 1 || options->per_hour > TRIGGER_PER_HOUR_MAX)
        return cli_usage_error("record", "--snapshots-per-hour is between 1 and %u",
                               TRIGGER_PER_HOUR_MAX);
    for (unsigned i = 0; i < conditions->n && status == EXIT_SUCCESS; i++) {
        struct watch_condition condition;
        struct arena arena = {0};

        status = parse(conditions->items[i], &arena, &condition);
        if (status == EXIT_SUCCESS)
            warn_of_unknown_event(&condition);
        arena_done(&arena);
    }
    return status;
}

/* Why CONDITION cannot be met; NULL: it can. */
static const char *why_not(const struct watch_condition *condition,
                           enum record_triggers_subject subject)
{
    bool has_status = subject == RECORD_TRIGGERS_PROGRAM || subject == RECORD_TRIGGERS_QEMU;

    if (condition->kind == WATCH_QMP && subject == RECORD_TRIGGERS_ATTACHED)
        return "the monitor of a QEMU that runs already serves one client at a time, and is left "
               "to "
               "others; start QEMU by strata record, or use --libvirt";
    if (condition->kind == WATCH_QMP && subject != RECORD_TRIGGERS_QEMU &&
        subject != RECORD_TRIGGERS_LIBVIRT)
        return "only QEMU has these events";
    if (condition->kind == WATCH_EXIT && subject == RECORD_TRIGGERS_OTHER)
        return "no process is recorded that could end";
    if (condition->kind == WATCH_EXIT && condition->exit.relation != WATCH_ANY && !has_status)
        return "the exit status of a process that strata record has not started is not known; use "
               "'exit'";
    return NULL;
}

int record_triggers_check_subject(const struct record_triggers_options *options,
                                  enum record_triggers_subject subject)
{
    int status = EXIT_SUCCESS;

    for (unsigned i = 0; i < options->conditions.n && status == EXIT_SUCCESS; i++) {
        struct watch_condition condition;
        struct arena arena = {0};

        status = parse(options->conditions.items[i], &arena, &condition);
        if (status == EXIT_SUCCESS && why_not(&condition, subject))
            status = cli_usage_error("record", "--on '%s': %s", condition.text,
                                     why_not(&condition, subject));
        arena_done(&arena);
    }
    return status;
}

/* The pattern of an event of QEMU alone, as CONDITION has it; NULL: it is not about one. */
static const char *vmm_pattern(const struct watch_condition *condition)
{
    const char *pattern = condition->kind == WATCH_EVENT ? condition->event.pattern : "";

    return strncmp(pattern, "vmm:", 4) == 0 ? pattern + 4 : NULL;
}

static bool has_match(const char *const *events, const char *pattern)
{
    for (; *events; events++)
        if (glob_match(pattern, *events))
            return true;
    return false;
}

/* Whether TEXT can be a condition on EVENT, or that is not known: 1; 0, with ERROR, if that was empty; -ENOMEM. */
static int check_fields(const char *text, const struct qemu_event *event, struct error *error)
{
    struct catalogue catalogue = {0};
    struct arena arena = {0};
    const struct origin *origin =
        catalogue_add_origin(&catalogue, &(struct origin){.layer = LAYER_VMM});
    struct condition *condition;
    struct event_class *class = NULL;
    struct error why = {0};
    int r = origin ? qemu_class_add(&catalogue, event, origin, 0, 0, &class) : -ENOMEM;

    if (r >= 0)
        r = condition_compile(text, class, &arena, &condition, &why);
    if (r == -EINVAL)
        error_set(error, r, NULL, "%s: %s", event->name, why.what);
    arena_done(&arena);
    catalogue_done(&catalogue);
    return r == -EINVAL ? 0 : r == -ENOMEM ? r : 1;
}

static void skip_problem(void *arg, const struct declaration_problem *problem)
{
    (void)arg;
    (void)problem;
}

/* That CONDITION, which names fields, can be met by an event that PATTERN matches, as far as its declaration is known. -EINVAL
 * with ERROR; -ENOMEM. */
static int check_vmm_fields(const struct watch_condition *condition, const char *pattern,
                            const char *path, struct error *error)
{
    struct declarations declarations = {0};
    struct qemu_events events = {0};
    struct error unread = {0};
    bool can_be_met = false;
    int r = declarations_read(&declarations, path, skip_problem, NULL, &unread);

    /* What is declared wrongly is not known; nor is anything where the file cannot be read. */
    r = r == -ENOMEM ? r : qemu_events_init(&declarations, &events);
    for (unsigned i = 0; i < events.n_events && r >= 0 && !can_be_met; i++) {
        if (!glob_match(pattern, events.events[i].name))
            continue;
        r = check_fields(condition->event.condition, &events.events[i], error);
        can_be_met = r > 0;
    }
    qemu_events_done(&events);
    declarations_done(&declarations);
    return r < 0 ? r : can_be_met ? 0 : error->code;
}

int record_triggers_add_vmm(const struct record_triggers_options *options,
                            const char *const *events, const char *declarations,
                            struct arena *arena, struct strings *patterns)
{
    for (unsigned i = 0; i < options->conditions.n; i++) {
        struct watch_condition condition;
        const char *pattern, *similar;
        int status = parse(options->conditions.items[i], arena, &condition);

        if (status != EXIT_SUCCESS)
            return status;
        pattern = vmm_pattern(&condition);
        if (pattern && !has_match(events, pattern)) {
            similar = suggest_pattern(pattern, events);
            cli_error("--on '%s': this QEMU has no event '%s'%s%s%s", condition.text, pattern,
                      similar ? "; did you mean '" : "", similar ? similar : "",
                      similar ? "'?" : "");
            return EXIT_FAILURE;
        }
        if (pattern && declarations && condition.event.condition) {
            struct error error = {0};
            int r = check_vmm_fields(&condition, pattern, declarations, &error);

            if (r == -EINVAL)
                cli_error("--on '%s': %s", condition.text, error.what);
            if (r < 0)
                return r == -EINVAL ? EXIT_FAILURE : cli_no_memory();
        }
        if (pattern && strings_add(patterns, pattern) < 0)
            return cli_no_memory();
    }
    return EXIT_SUCCESS;
}

/* ---- The recorder ---- */

static bool exit_matches(const void *condition, int status)
{
    return watch_exit_matches(condition, status);
}

static struct trigger to_trigger(const struct watch_condition *condition)
{
    struct trigger trigger = {.kind = TRIGGER_WATCHED, .text = condition->text};

    switch (condition->kind) {
    case WATCH_QMP:
        trigger.kind = TRIGGER_QMP;
        trigger.event = condition->qmp.event;
        break;
    case WATCH_EXIT:
        trigger.kind = TRIGGER_EXIT;
        trigger.matches = condition->exit.relation == WATCH_ANY ? NULL : exit_matches;
        trigger.condition = condition;
        break;
    case WATCH_SIGNAL:
        trigger.kind = TRIGGER_SIGNAL;
        trigger.signal = condition->signal;
        break;
    case WATCH_AT:
        trigger.kind = TRIGGER_TIME;
        trigger.second =
            condition->at.hour * 3600 + condition->at.minute * 60 + condition->at.second;
        break;
    default: break;
    }
    return trigger;
}

/* *RET_WATCHED: a condition needs events. */
static int parse_all(struct record_triggers *triggers, const struct strings *conditions,
                     bool *ret_watched)
{
    int status = EXIT_SUCCESS;

    triggers->n = conditions->n;
    triggers->conditions =
        arena_alloc(&triggers->arena, triggers->n * sizeof *triggers->conditions);
    triggers->triggers = arena_alloc(&triggers->arena, triggers->n * sizeof *triggers->triggers);
    if (!triggers->conditions || !triggers->triggers)
        return cli_no_memory();
    *ret_watched = false;
    for (unsigned i = 0; i < triggers->n && status == EXIT_SUCCESS; i++) {
        struct watch_condition *condition = &triggers->conditions[i];

        status = parse(conditions->items[i], &triggers->arena, condition);
        if (status != EXIT_SUCCESS)
            break;
        triggers->triggers[i] = to_trigger(condition);
        *ret_watched |= watch_condition_needs_events(condition);
    }
    return status;
}

int record_triggers_new(const struct record_triggers_options *options, struct record_watch *watch,
                        struct recorder *metrics, uint64_t flight_size, struct recorder *flight,
                        struct record_triggers **ret, struct recorder **ret_recorder)
{
    struct trigger_recorder_settings settings = {
        .after_ns = options->after,
        .per_hour = (unsigned)options->per_hour,
        .size = options->size,
        .command = options->command,
        .server = flight,
    };
    struct record_triggers *triggers;
    struct error error = {0};
    bool is_watched = false;
    int status;

    *ret = NULL;
    *ret_recorder = NULL;
    if (options->conditions.n == 0)
        return EXIT_SUCCESS;
    triggers = calloc(1, sizeof *triggers);
    if (!triggers)
        return cli_no_memory();
    status = parse_all(triggers, &options->conditions, &is_watched);
    settings.triggers = triggers->triggers;
    settings.n = triggers->n;
    if (is_watched) {
        watch->conditions = triggers->conditions;
        watch->n_conditions = triggers->n;
        settings.watch = record_watch_run;
        settings.watch_userdata = watch;
        settings.other_line = metrics ? record_metrics_line : NULL;
        settings.other_line_userdata = metrics;
    }
    if (settings.size == 0)
        settings.size = MAX(SIZE_DEFAULT, SIZE_DEFAULT_FLIGHTS * flight_size);
    if (status == EXIT_SUCCESS && trigger_recorder_new(&settings, ret_recorder, &error) < 0) {
        cli_print_error(&error);
        status = EXIT_FAILURE;
    }
    if (status != EXIT_SUCCESS) {
        record_triggers_free(triggers);
        return status;
    }
    *ret = triggers;
    return EXIT_SUCCESS;
}

void record_triggers_free(struct record_triggers *triggers)
{
    if (!triggers)
        return;
    arena_done(&triggers->arena);
    free(triggers);
}
