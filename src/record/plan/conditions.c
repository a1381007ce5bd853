/* SPDX-License-Identifier: MIT */
#include "record/plan/conditions.h"

#include <string.h>

#include "analysis/condition.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "control/qmp_events.h"
#include "record/trigger_limits.h"
#include "schema/trace_events/qemu_class.h"

/* Default of --snapshots-size: SIZE_DEFAULT, or SIZE_DEFAULT_FLIGHTS times the size limit of --flight if that is
 * more. */
#define SIZE_DEFAULT ((uint64_t)4 << 30)
#define SIZE_DEFAULT_FLIGHTS 2u

/* ---- Parsed ---- */

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

static int parse(struct plan_triggers *triggers, struct error *error)
{
    unsigned n = triggers->conditions.n;

    if (n == 0)
        return 0;
    triggers->items = arena_alloc(&triggers->arena, n * sizeof *triggers->items);
    triggers->triggers = arena_alloc(&triggers->arena, n * sizeof *triggers->triggers);
    if (!triggers->items || !triggers->triggers)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        struct error why = {0};
        int r = watch_condition_parse(triggers->conditions.items[i], &triggers->arena,
                                      &triggers->items[i], &why);

        if (r < 0)
            return r == -EINVAL ? record_misuse(error, "--on: %s", why.what) : r;
        triggers->triggers[i] = to_trigger(&triggers->items[i]);
        triggers->needs_events |= watch_condition_needs_events(&triggers->items[i]);
    }
    return 0;
}

int plan_conditions_make(struct record_plan *plan, struct error *error)
{
    struct plan_triggers *triggers = &plan->triggers;
    unsigned n = triggers->conditions.n;

    if (n > TRIGGERS_MAX)
        return record_misuse(error, "--on is given %u times; at most %u conditions are watched", n,
                             TRIGGERS_MAX);
    if (triggers->per_hour < 1 || triggers->per_hour > TRIGGER_PER_HOUR_MAX)
        return record_misuse(error, "--snapshots-per-hour is between 1 and %u",
                             TRIGGER_PER_HOUR_MAX);
    return parse(triggers, error);
}

/* A QEMU may have events that are not known here. */
const char *plan_condition_unknown_event(const struct watch_condition *condition,
                                         const char **ret_similar)
{
    const char *event = condition->kind == WATCH_QMP ? condition->qmp.event : NULL;

    for (size_t i = 0; event && qmp_events[i]; i++)
        if (strcmp(event, qmp_events[i]) == 0)
            return NULL;
    if (event)
        *ret_similar = suggest_find(event, strlen(event), qmp_events);
    return event;
}

/* ---- Whether they can be met ---- */

/* Why CONDITION cannot be met; NULL: it can. */
static const char *why_not(const struct watch_condition *condition, enum record_kind kind)
{
    if (condition->kind == WATCH_QMP && kind == RECORD_ATTACHED)
        return "the monitor of a QEMU that runs already serves one client at a time, and is left "
               "to others; start QEMU by strata record, or use --libvirt";
    if (condition->kind == WATCH_QMP && kind != RECORD_QEMU && kind != RECORD_LIBVIRT)
        return "only QEMU has these events";
    if (condition->kind == WATCH_EXIT && kind == RECORD_BESIDE)
        return "no process is recorded that could end";
    if (condition->kind == WATCH_EXIT && condition->exit.relation != WATCH_ANY &&
        kind != RECORD_PROGRAM && kind != RECORD_QEMU)
        return "the exit status of a process that strata record has not started is not known; use "
               "'exit'";
    return NULL;
}

int plan_conditions_check(const struct record_plan *plan, enum record_kind kind,
                          struct error *error)
{
    for (unsigned i = 0; i < plan->triggers.conditions.n; i++) {
        const struct watch_condition *condition = &plan->triggers.items[i];
        const char *why = why_not(condition, kind);

        if (why)
            return record_misuse(error, "--on '%s': %s", condition->text, why);
    }
    return 0;
}

/* ---- Events of QEMU ---- */

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

/* Whether EVENTS have EVENT, which is a name and not a pattern. */
static bool has_name(const char *const *events, const char *event)
{
    return !strpbrk(event, ":*?") && has_match(events, event);
}

/* Adds the events of a step, "A|B", to PATTERNS, if it is not NULL; as patterns if the step is of QEMU alone. How many of the
 * alternatives there are; -ENOMEM. */
static int add_step(const struct span_step *step, const char *const *events,
                    struct strings *patterns)
{
    int n = 0;

    if (step->layers && !(step->layers >> LAYER_VMM & 1))
        return 0;
    if (step->layers == 1u << LAYER_VMM && !strchr(step->event, '|')) {
        n = has_match(events, step->event);
        return n > 0 && patterns && strings_add(patterns, step->event) < 0 ? -ENOMEM : n;
    }
    for (; *events; events++) {
        size_t len = strlen(*events);

        for (const char *word = step->event; word;) {
            size_t word_len = strcspn(word, "|");

            if (word_len == len && memcmp(word, *events, len) == 0) {
                n++;
                if (patterns && strings_add(patterns, *events) < 0)
                    return -ENOMEM;
            }
            word = word[word_len] ? word + word_len + 1 : NULL;
        }
    }
    return n;
}

/* Adds what CONDITION names of EVENTS, but not as QEMU's alone: an event, or all events of a rule of spans. -ENOMEM. */
static int add_named(const struct watch_condition *condition, const char *const *events,
                     struct strings *patterns)
{
    int r = 0;

    if (condition->kind == WATCH_EVENT && has_name(events, condition->event.pattern))
        return strings_add(patterns, condition->event.pattern);
    for (unsigned i = 0; condition->kind == WATCH_LATENCY && i < condition->latency.n_rules; i++) {
        const struct span_rule *rule = &condition->latency.rules[i];
        bool has_all = true;

        for (unsigned j = 0; j < rule->n_steps; j++)
            has_all &= rule->steps[j].optional || add_step(&rule->steps[j], events, NULL) > 0;
        for (unsigned j = 0; has_all && j < rule->n_steps && r >= 0; j++)
            r = add_step(&rule->steps[j], events, patterns);
    }
    return r;
}

int plan_conditions_add_vmm(const struct record_plan *plan, const char *const *events,
                            const char *declarations, struct strings *patterns, struct error *error)
{
    for (unsigned i = 0; i < plan->triggers.conditions.n; i++) {
        const struct watch_condition *condition = &plan->triggers.items[i];
        const char *pattern = vmm_pattern(condition);
        struct error why = {0};
        int r = 0;

        if (!pattern) {
            r = add_named(condition, events, patterns);
            if (r < 0)
                return r;
            continue;
        }
        if (!has_match(events, pattern)) {
            const char *similar = suggest_pattern(pattern, events);

            return error_set(error, -ENOENT, NULL, "--on '%s': this QEMU has no event '%s'%s%s%s",
                             condition->text, pattern, similar ? "; did you mean '" : "",
                             similar ? similar : "", similar ? "'?" : "");
        }
        if (declarations && condition->event.condition)
            r = check_vmm_fields(condition, pattern, declarations, &why);
        if (r == -EINVAL)
            return error_set(error, r, NULL, "--on '%s': %s", condition->text, why.what);
        if (r >= 0)
            r = strings_add(patterns, pattern);
        if (r < 0)
            return r;
    }
    return 0;
}

struct trigger_recorder_settings plan_conditions_settings(const struct record_plan *plan)
{
    const struct plan_triggers *triggers = &plan->triggers;
    uint64_t size = MAX(SIZE_DEFAULT, SIZE_DEFAULT_FLIGHTS * plan->flight.bytes);

    return (struct trigger_recorder_settings){
        .triggers = triggers->triggers,
        .n = triggers->conditions.n,
        .after_ns = triggers->after,
        .per_hour = (unsigned)triggers->per_hour,
        .size = triggers->size ? triggers->size : size,
        .command = triggers->command,
    };
}
