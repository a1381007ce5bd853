/* SPDX-License-Identifier: MIT */
#include "report/stat_parallel.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/tally_merge.h"
#include "base/macro.h"

struct counted {
    struct stat_report *stat;
    const struct tally_options *settings;
};

static struct tally *tally_of(const struct parallel_part *part)
{
    return container_of(part->sink, struct tally, sink);
}

static struct sink *begin_part(void *arg, bool first)
{
    struct counted *counted = arg;
    struct tally *tally = &counted->stat->tally;
    int64_t periods_begin = tally->periods_begin;

    if (first)
        return &tally->sink;
    tally = malloc(sizeof *tally);
    if (!tally)
        return NULL;
    if (tally_init_with(tally, counted->settings) < 0) {
        tally_done(tally);
        free(tally);
        return NULL;
    }
    tally->periods_begin = periods_begin;
    return &tally->sink;
}

/* Periods count from the first event on. */
static bool is_ready(void *arg)
{
    const struct counted *counted = arg;

    return counted->settings->every == 0 || counted->stat->tally.periods_begin != TIME_UNKNOWN;
}

static bool is_damaged(const struct sink *sink)
{
    const struct tally *tally = container_of(sink, struct tally, sink);

    return tally->losses.damaged > 0;
}

/* ---- Origins and classes of an opening in the trace that is printed ---- */

struct counterparts {
    struct trace *trace;
    const struct parallel_opening *given, *opening;
};

static const struct origin *find_origin(void *arg, const struct origin *origin)
{
    const struct counterparts *c = arg;
    const struct catalogue *here = &c->trace->catalogue;
    const struct catalogue *there = &c->opening->trace->catalogue;

    if (here == there)
        return origin;
    for (unsigned i = 0; i < there->n_origins && here->n_origins == there->n_origins; i++)
        if (there->origins[i] == origin)
            return here->origins[i];
    return NULL;
}

static bool is_equal(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* True if A, of ORIGIN, and B, of another catalogue, are the same class. */
static bool is_class(const struct event_class *a, const struct origin *origin,
                     const struct event_class *b)
{
    return a->origin == origin && a->id == b->id && a->n_fields == b->n_fields &&
           !a->variant_of == !b->variant_of && strcmp(a->name, b->name) == 0 &&
           is_equal(a->group, b->group);
}

/* Adds a class that this opening did not meet. NULL if out of memory. */
static const struct event_class *add_class(struct catalogue *to, const struct origin *origin,
                                           const struct event_class *class)
{
    struct event_class copy = {.origin = origin, .id = class->id};
    struct event_class *added;

    copy.name = arena_strdup(&to->arena, class->name);
    copy.group = class->group ? arena_strdup(&to->arena, class->group) : NULL;
    if (!copy.name || (class->group && !copy.group) || class->variant_of ||
        catalogue_add(to, &copy, &added) < 0)
        return NULL;
    added->n_fields = class->n_fields;
    return added;
}

/* Readers make classes in the same order in each opening, either at the opening or at the first event. */
static const struct event_class *find_class(void *arg, const struct event_class *class)
{
    const struct counterparts *c = arg;
    struct catalogue *here = &c->trace->catalogue;
    const struct origin *origin = find_origin(arg, class->origin);
    const struct event_class *found = NULL;

    if (here == &c->opening->trace->catalogue)
        return class;
    if (!origin || c->given->n_classes != c->opening->n_classes)
        return NULL;
    if (class->index < c->given->n_classes) {
        found = here->classes[class->index];
        return is_class(found, origin, class) ? found : NULL;
    }
    for (unsigned i = c->given->n_classes; i < here->n_classes; i++) {
        if (!is_class(here->classes[i], origin, class))
            continue;
        if (found)
            return NULL;
        found = here->classes[i];
    }
    return found ? found : add_class(here, origin, class);
}

static int merge(struct stat_report *stat, const struct parallel_read *read)
{
    const struct parallel_opening *given = read->parts->opening;
    int r = 0;

    for (const struct parallel_part *part = read->parts->next; part && r == 0; part = part->next) {
        struct counterparts arg = {given->trace, given, part->opening};
        const struct tally_counterparts counterparts = {find_origin, find_class, &arg};

        r = tally_merge(&stat->tally, tally_of(part), &counterparts);
    }
    return r;
}

static void ignore(void *arg, const char *pattern)
{
    (void)arg;
    (void)pattern;
}

/* True if each pattern of --event matched a class. Otherwise a suggestion needs all classes in one opening. */
static bool all_matched(const struct parallel_read *read)
{
    const unsigned n = read->options->select->events.n;

    for (struct parallel_opening *opening = read->openings; opening; opening = opening->next)
        selection_unmatched(&opening->selection, opening->trace->catalogue.classes,
                            opening->trace->catalogue.n_classes, ignore, NULL);
    for (unsigned i = 0; i < n; i++) {
        bool matched = false;

        for (struct parallel_opening *opening = read->openings; opening; opening = opening->next)
            matched |= opening->selection.matched[i];
        if (!matched)
            return false;
    }
    return true;
}

/* True if rows show names of tasks. If readers learn names from events, an opening that skipped earlier events may lack
 * some. */
static bool shows_names(const struct tally *tally)
{
    const struct grouping *grouping = &tally->options.grouping;

    for (unsigned i = 0; tally->by == TALLY_BY_KEYS && i < grouping->n; i++)
        if (grouping->keys[i].kind == GROUP_BY_TASK)
            return true;
    return tally->by == TALLY_BY_TASK;
}

static bool learns_names(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins; i++) {
        const struct origin *origin = trace->catalogue.origins[i];

        if (origin->task_name && !origin->thread_names)
            return true;
    }
    return false;
}

bool stat_can_parallel(const struct stat_report *stat, const struct parallel_options *options)
{
    return parallel_read_is_possible(stat->trace, options) &&
           !(shows_names(&stat->tally) && learns_names(stat->trace));
}

int stat_parallel(struct stat_report *stat, const struct tally_options *settings,
                  const struct parallel_options *options)
{
    struct counted counted = {.stat = stat, .settings = settings};
    struct parallel_options with = *options;
    struct parallel_read read;
    int r;

    with.begin = begin_part;
    with.is_ready = is_ready;
    with.is_damaged = is_damaged;
    with.arg = &counted;
    r = parallel_read_run(&read, stat->trace, &with);
    if (r == 0)
        r = all_matched(&read) ? merge(stat, &read) : -EAGAIN;
    if (r == 0)
        stat_set_begin(stat, &read.parts->opening->selection);
    /* That nothing was selected is reported with all that is known of the trace. */
    if (r == 0 && stat->tally.count == 0)
        r = -EAGAIN;
    for (struct parallel_part *part = read.parts ? read.parts->next : NULL; part;
         part = part->next) {
        tally_done(tally_of(part));
        free(tally_of(part));
    }
    parallel_read_done(&read);
    return r;
}
