/* SPDX-License-Identifier: MIT */
/* Checks that the sources of a recording have the events that a condition is about, by the lists in the recording:
 * event classes, a kernel's formats, and the events that a QEMU declares. */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/event_sets.h"
#include "analysis/exit_events.h"
#include "analysis/spans/span_match.h"
#include "base/fd.h"
#include "base/suggest.h"
#include "tracedir/manifest.h"
#include "watch/rule.h"

/* Limit of the names to suggest from. */
#define NAMES_MAX 20000u
#define LIST_MAX ((size_t)4 << 20)
#define LINE_SIZE 1024u

/* A search over all known events. */
struct name_search {
    const struct watch_rule *rule;
    const struct span_step *step; /* a step of a rule of spans, or NULL for an event */
    struct arena arena;
    const char **names; /* known names in the layers in question */
    unsigned n;
    bool is_found;
    bool is_listed;  /* a source of these layers has a list */
    bool has_source; /* there is a source of these layers */
    bool needs_seen; /* what QEMU only declares does not count, nor a source that may still come */
    int error;
};

static bool matches(const struct name_search *search, const struct event_class *class)
{
    const char *star;
    size_t len;

    return search->step ? span_step_matches(search->step, class, &star, &len)
                        : event_class_matches(class, search->rule->condition->event.pattern);
}

static void add(struct name_search *search, const struct event_class *class)
{
    if (search->is_found || search->error < 0)
        return;
    search->is_found = matches(search, class);
    if (search->n < NAMES_MAX) {
        search->names[search->n] = arena_strdup(&search->arena, class->name);
        if (search->names[search->n])
            search->n++;
        else
            search->error = -ENOMEM;
    }
}

/* Adds the formats of a kernel: PATH/events/GROUP/NAME/. */
static void add_formats(struct name_search *search, const struct origin *origin, int dir)
{
    _cleanup_(closedirp) DIR *groups = open_dir_at(dir, "events");
    const struct dirent *group, *name;

    while (groups && (group = readdir(groups))) {
        _cleanup_(closedirp) DIR *names =
            group->d_name[0] == '.' ? NULL : open_dir_at(dirfd(groups), group->d_name);

        while (names && (name = readdir(names))) {
            const struct event_class class = {
                .name = name->d_name, .group = group->d_name, .origin = origin};

            search->is_listed = true;
            if (name->d_name[0] != '.')
                add(search, &class);
        }
    }
}

/* Adds the declarations of a QEMU: lines "[disable] NAME(…", as in docs/devel/tracing of QEMU. */
static void add_declared(struct name_search *search, const struct origin *origin, const char *path)
{
    char line[LINE_SIZE];
    size_t len = 0;
    FILE *file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file && fd >= 0)
        close(fd);
    while (file && len < LIST_MAX && fgets(line, sizeof line, file)) {
        char *end = strchr(line, '('), *start;

        len += strlen(line);
        if (line[0] == '#' || !end)
            continue;
        *end = '\0';
        start = strrchr(line, ' ');
        start = start ? start + 1 : line;
        search->is_listed = true;
        if (*start)
            add(search, &(struct event_class){.name = start, .origin = origin});
    }
    if (file)
        fclose(file);
}

static bool is_wanted(const struct name_search *search, const struct origin *origin)
{
    const char *pattern = search->rule->condition->event.pattern;
    const char *name = layer_name(origin->layer);
    enum layer layer;
    char first[16];
    size_t len;

    if (search->step)
        return !search->step->layers || search->step->layers >> origin->layer & 1;
    len = strcspn(pattern, ":");
    if (!pattern[len] || len >= sizeof first)
        return true;
    memcpy(first, pattern, len);
    first[len] = '\0';
    return layer_by_name(first, &layer) < 0 || strcmp(first, name) == 0;
}

static int add_input(struct name_search *search, const struct trace_input *input)
{
    const struct manifest_source *source = input->recorded;
    char *path;
    int r;

    if (!source || !is_wanted(search, input->origin))
        return 0;
    search->has_source = true;
    if (input->is_left_out)
        return 0;
    r = manifest_resolve(input->path, source->path, &path, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (strcmp(source->kind, "ftrace") == 0) {
        _cleanup_(closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir >= 0)
            add_formats(search, input->origin, dir);
    }
    free(path);
    if (search->needs_seen && source->n_events > 0) {
        search->is_listed = true;
        return search->error;
    }
    for (unsigned i = 0; input->origin->layer == LAYER_VMM && i < source->n_events; i++) {
        r = manifest_resolve(input->path, source->events[i], &path, NULL);
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            continue;
        add_declared(search, input->origin, path);
        free(path);
    }
    return search->error;
}

/* True if TRACE waits for the agent of a guest, which may record the event. */
static bool waits_for_guest(const struct trace *trace)
{
    const struct manifest *manifest = trace->n_inputs > 0 ? trace->inputs[0].manifest : NULL;

    for (unsigned i = 0; manifest && i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];

        if (source->guest && !source->guest->boot_id && !manifest_source_has_ended(source))
            return true;
    }
    return false;
}

/* Fills SEARCH, and SIMILAR with a name that is similar to the missing one, or "". Returns 1 if the event exists, 0 if not,
 * -EAGAIN if it is not known yet, or -ENOMEM. */
static int find(struct name_search *search, const char *event, char *similar, size_t size)
{
    const struct trace *trace = search->rule->window->trace;
    const char *name = strrchr(event, ':'), *found = NULL;
    int r = 0;

    similar[0] = '\0';
    search->names = malloc((NAMES_MAX + 1) * sizeof *search->names);
    if (!search->names)
        return -ENOMEM;
    for (unsigned i = 0; i < trace->catalogue.n_classes; i++) {
        const struct event_class *class = trace->catalogue.classes[i];

        if (!is_wanted(search, class->origin))
            continue;
        add(search, class);
        /* Others have the classes that were seen. */
        search->is_listed |= strcmp(class->origin->format, "ctf") == 0;
    }
    for (unsigned i = 0; i < trace->n_inputs && r >= 0 && !search->is_found; i++)
        r = add_input(search, &trace->inputs[i]);
    search->names[search->n] = NULL;
    if (r >= 0 && !search->is_found && search->is_listed)
        found = suggest_pattern(name ? name + 1 : event, search->names);
    if (found)
        snprintf(similar, size, "%.80s", found);
    if (r >= 0)
        r = search->error < 0  ? search->error
            : search->is_found ? 1
            : (search->is_listed || (search->needs_seen && !search->has_source)) &&
                    !waits_for_guest(trace)
                ? 0
                : -EAGAIN;
    arena_done(&search->arena);
    free(search->names);
    return r;
}

/* The same; the problem says that it is not there. */
static int check(struct watch_rule *rule, const struct span_step *step, const char *event)
{
    struct name_search search = {.rule = rule, .step = step};
    const char *analysis = event_set_analysis(event);
    char similar[96];
    int r = find(&search, event, similar, sizeof similar);

    if (r == 0)
        snprintf(rule->problem, sizeof rule->problem,
                 "no source records an event '%.80s' so far%s%.80s%s", event,
                 analysis     ? "; record it: --for "
                 : similar[0] ? "; did you mean '"
                              : "",
                 analysis ? analysis : similar, !analysis && similar[0] ? "'?" : "");
    return r;
}

/* Checks the first and last steps of a rule of spans. The problem names the first one without an event. */
static int check_rule(struct watch_rule *rule, const struct span_rule *spans)
{
    const struct span_step *steps[] = {&spans->steps[0], &spans->steps[spans->n_steps - 1]};
    int r = 1;

    for (unsigned i = 0; i < ARRAY_SIZE(steps) && r == 1; i++)
        r = check(rule, steps[i], steps[i]->event);
    return r;
}

/* One of the N events of STEPS is enough. The problem is that none is there, of which ANALYSIS has them recorded. */
static int check_any(struct watch_rule *rule, const struct span_step *const *steps, unsigned n,
                     const char *what, const char *analysis)
{
    int found = 0;

    for (unsigned i = 0; i < n && found <= 0; i++) {
        struct name_search search = {.rule = rule, .step = steps[i], .needs_seen = true};
        char similar[96];
        int r = find(&search, steps[i]->event, similar, sizeof similar);

        if (r < 0 && r != -EAGAIN)
            return r;
        found = r == 0 ? found : r;
    }
    if (found == 0)
        snprintf(rule->problem, sizeof rule->problem,
                 "no source records %s so far; record them: --for %s", what, analysis);
    return found;
}

static int check_exits(struct watch_rule *rule)
{
    const struct span_step *steps[EXIT_TRACERS];

    for (unsigned i = 0; i < EXIT_TRACERS; i++)
        steps[i] = &exit_rules[i].steps[0];
    return check_any(rule, steps, EXIT_TRACERS, "VM exits (kvm_exit; of Xen, vmexit)", "exits");
}

static bool has_xen(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_inputs; i++)
        if (trace->inputs[i].origin->layer == LAYER_HYPERVISOR)
            return true;
    return false;
}

/* vCPUs wait as threads of the host, or as Xen says, whose events have no list. */
static int check_share(struct watch_rule *rule)
{
    static const struct span_step of_threads = {.event = "sched_switch"};
    static const struct span_step of_host = {.layers = 1u << LAYER_HOST, .event = "sched_switch"};
    bool is_of_threads = rule->condition->share.task;
    const struct span_step *step = is_of_threads ? &of_threads : &of_host;

    if (!is_of_threads && has_xen(rule->window->trace))
        return 1;
    return check_any(rule, &step, 1,
                     is_of_threads ? "scheduler events (sched_switch)"
                                   : "scheduler events of the host (sched_switch)",
                     "sched");
}

int watch_rule_check_names(struct watch_rule *rule)
{
    const struct watch_condition *condition = rule->condition;
    int r = 1;

    switch (condition->kind) {
    case WATCH_EVENT: return check(rule, NULL, condition->event.pattern);
    case WATCH_LATENCY:
        /* One of several rules of the name is enough. */
        for (unsigned i = 0; i < condition->latency.n_rules; i++) {
            r = check_rule(rule, &condition->latency.rules[i]);
            if (r == 0)
                continue;
            rule->problem[0] = '\0';
            return r;
        }
        return r;
    case WATCH_EXITS: return check_exits(rule);
    case WATCH_STOLEN:
    case WATCH_RUNNABLE: return check_share(rule);
    default: return 1;
    }
}
