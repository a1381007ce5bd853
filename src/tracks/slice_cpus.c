/* SPDX-License-Identifier: MIT */
#include "tracks/slice_cpus.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

/* It is unknown what a CPU ran, because a switch is missing. Nothing is drawn before its first event. */
static int put_unknown(struct slices *slices, const struct state_interval *interval)
{
    const struct clock *clock = &interval->origin->clock;
    struct slice slice = {.kind = SLICE_END};
    struct group *group;
    struct track *track;

    if (interval->of != STATE_SUBJECT_CPU || interval->state != STATE_UNKNOWN || slices->in_loss ||
        interval->begin == states_begin(&slices->states, interval->origin))
        return 0;
    group = tracks_group(&slices->tracks, interval->origin);
    track = group ? tracks_cpu(&slices->tracks, group, interval->id, TRACK_CPU) : NULL;
    if (!track)
        return -ENOMEM;
    slice_begin_unknown(slices, track, 0, clock_to_ns(clock, interval->begin),
                        "the switch to what ran next is not in the trace");
    slice.track = track;
    slice.ns = slice_step(track, clock_to_ns(clock, interval->end));
    slices->ops->slice(slices, &slice);
    slices->contradicted = track;
    return 0;
}

static int put_states(void *arg, const struct state_interval *intervals, unsigned n)
{
    int r = 0;

    for (unsigned i = 0; i < n && r == 0; i++)
        r = put_unknown(arg, &intervals[i]);
    return r;
}

/* ITEM shows what runs on TRACK without a switch to it. */
static int open_found(struct slices *slices, struct track *track, const struct item *item)
{
    struct slice slice = {.kind = SLICE_BEGIN, .track = track};
    const char *task = item_task_name(item);
    struct text *name = &slices->name;
    struct open_slice *open;

    if (item->pid <= 0)
        return 0;
    open = track_open(&slices->tracks, track);
    if (!open)
        return -ENOMEM;
    *open = (struct open_slice){0};
    slices->has_found = true;
    name->next = name->start;
    if (task && *task)
        utf8_put(name, task, strlen(task));
    else
        text_put_i64(name, item->pid);
    if (name->error)
        return -ENOMEM;
    slice.name = name->start;
    slice.name_len = text_len(name);
    slice.ns = slice_step(track, slices->ns);
    slices->ops->slice(slices, &slice);
    return 0;
}

void slice_cpus_init(struct slices *slices)
{
    static const struct states_ops ops = {put_states};

    states_init(&slices->states, &ops, slices);
    slices->states.wanted = STATE_SUBJECTS(STATE_SUBJECT_CPU);
}

/* Xen: states of CPUs are known from runstates, which follow the switches at which slices begin. What is unknown there
 * is the time between a loss and the next switch. */
static bool has_states(const struct item *item)
{
    return KERNEL_LAYER(item->origin->layer);
}

/* The next switch on ITEM's CPU ends open slices that are not spans. */
static int end_found(struct slices *slices, const struct item *item)
{
    struct track *track;

    if (likely(!slices->has_found) || !slices->class->is_switch || item->cpu == CPU_UNKNOWN)
        return 0;
    track = tracks_cpu(&slices->tracks, slices->group, item->cpu, TRACK_CPU);
    if (!track)
        return -ENOMEM;
    if (track->n_open > 0 && !track->open[track->n_open - 1].span)
        slices->ending = track;
    return 0;
}

int slice_cpus_put(struct slices *slices, const struct item *item)
{
    const struct slice_class *class = slices->class;

    slices->contradicted = NULL;
    if (!has_states(item)) {
        slices->group->has_switches |= class->is_switch;
        return end_found(slices, item);
    }
    if (unlikely(states_put(&slices->states, item, 1) < 0))
        return -ENOMEM;
    if (unlikely(slices->contradicted && slices->contradicted->cpu == item->cpu &&
                 !class->is_switch))
        return open_found(slices, slices->contradicted, item);
    return end_found(slices, item);
}

/* If the activity of CPU, of source I, is known only up to a time before the end of the trace, draws it as unknown from
 * then on. A CPU of which nothing was ever known is not drawn. */
static int finish_cpu(struct slices *slices, unsigned i, unsigned cpu)
{
    int64_t until = states_cpu_known_until(&slices->states, i, cpu);
    const struct origin *origin;
    struct group *group;
    struct track *track;
    int64_t ns;

    states_counts(&slices->states, i, &origin);
    ns = until == TIME_UNKNOWN ? slices->last : clock_to_ns(&origin->clock, until);
    if (ns >= slices->last)
        return 0;
    group = tracks_group(&slices->tracks, origin);
    track = group ? tracks_cpu(&slices->tracks, group, (int32_t)cpu, TRACK_CPU) : NULL;
    if (!track)
        return -ENOMEM;
    if (until > states_begin(&slices->states, origin) || track->n_open > 0)
        slice_begin_unknown(slices, track, 0, ns, slice_not_in_trace);
    return 0;
}

/* The same for the CPUs of Xen, source END. */
static void finish_xen(struct slices *slices, const struct source_end *end)
{
    const struct origin *origin = end->origin;
    struct group *group = tracks_group(&slices->tracks, origin);
    int64_t end_ns = clock_to_ns(&origin->clock, end->time);

    for (unsigned cpu = 0; group && group->has_switches && cpu < group->n_cpus; cpu++) {
        struct track *track = group->cpus[cpu * TRACK_CPU_KINDS];
        bool is_known = track && (track->n_open == 0 || track->open[track->n_open - 1].span);
        int64_t ns = !track || origin_is_recorded_to_end(origin) ? end_ns : track->seen;

        if (is_known && ns != TIME_UNKNOWN && ns < slices->last)
            slice_begin_unknown(slices, track, 0, ns, slice_not_in_trace);
    }
}

int slice_cpus_finish(struct slices *slices)
{
    int r = 0;

    for (unsigned i = 0; i < slices->ends.n; i++) {
        struct source_end end = source_ends_find(&slices->ends, slices->ends.items[i].origin);

        if (!KERNEL_LAYER(end.origin->layer) && end.time != TIME_UNKNOWN)
            finish_xen(slices, &end);
    }

    for (unsigned i = 0; i < slices->states.n_sources; i++)
        for (unsigned cpu = 0; cpu < states_cpus(&slices->states, i) && r == 0; cpu++)
            if (states_events(&slices->states, i) & STATE_EVENT_SWITCH)
                r = finish_cpu(slices, i, cpu);
    return r;
}

/* TRACK, a CPU of Xen, is unknown until its next switch. */
static int open_unknown(struct slices *slices, struct track *track)
{
    struct open_slice *open;

    slice_cut(slices, track, 0, slices->ns, slice_not_in_trace);
    open = track_open(&slices->tracks, track);
    if (!open)
        return -ENOMEM;
    slice_begin_unknown(slices, track, 1, slices->ns, NULL);
    *open = (struct open_slice){0};
    slices->has_found = true;
    return 0;
}

int slice_cpus_follow_loss(struct slices *slices, const struct group *group,
                           const struct item *loss)
{
    int r = 0;

    if (has_states(loss) || !group->has_switches)
        return 0;
    for (unsigned cpu = 0; cpu < group->n_cpus && r == 0; cpu++) {
        struct track *track = group->cpus[cpu * TRACK_CPU_KINDS];

        if (track && (loss->cpu == CPU_UNKNOWN || loss->cpu == (int32_t)cpu))
            r = open_unknown(slices, track);
    }
    return r;
}

int slice_cpus_put_loss(struct slices *slices, const struct item *loss)
{
    int r;

    if (!has_states(loss))
        return 0;
    slices->in_loss = true;
    r = states_put(&slices->states, loss, 1);
    slices->in_loss = false;
    return r;
}
