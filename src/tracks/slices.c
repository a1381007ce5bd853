/* SPDX-License-Identifier: MIT */
#include "tracks/slices.h"

#include <errno.h>
#include <stdlib.h>

#include "tracks/slice_class.h"
#include "tracks/slice_cpus.h"
#include "tracks/slice_spans.h"

/* Converts TIME of ITEM's clock to ns. */
static int64_t ns_of(const struct item *item, int64_t time)
{
    return clock_to_ns(&item->origin->clock, time);
}

static int made(void *arg, const struct track *track)
{
    struct slices *slices = arg;

    return slices->ops->track(slices, track);
}

int slices_init(struct slices *slices, const struct slices_options *options,
                const struct slices_ops *ops)
{
    *slices =
        (struct slices){.ops = ops, .options = *options, .name = TEXT_IN_MEMORY, .last = INT64_MIN};
    slice_cpus_init(slices);
    slices->tracks.catalogue = options->catalogue;
    slices->tracks.origin_number = options->origin_number;
    slices->tracks.origin_arg = options->origin_arg;
    slices->tracks.made = made;
    slices->tracks.made_arg = slices;
    for (unsigned i = 1; i < options->catalogue->n_origins; i++)
        if (options->catalogue->origins[i]->layer != options->catalogue->origins[0]->layer)
            slices->has_flows = true;
    return slice_spans_init(slices);
}

void slices_done(struct slices *slices)
{
    spans_done(&slices->spans);
    joins_done(&slices->flows);
    source_ends_done(&slices->ends);
    states_done(&slices->states);
    tracks_done(&slices->tracks);
    text_done(&slices->name);
    free(slices->classes);
    slices->classes = NULL;
    slices->n_classes = 0;
}

/* Learns names of threads from events, if a trace has no list of its threads. */
static int learn_name(struct slices *slices, const struct item *item)
{
    const struct slice_class *class = slices->class;
    const struct origin *origin = item->origin;
    int32_t pid = (int32_t)slice_number(item, class->task);
    struct value comm;

    if (pid == 0 || (origin->task_name && origin->task_name(origin, pid)))
        return 0;
    comm = item_value(item, (unsigned)class->comm);
    return comm.present ? tracks_name_thread(&slices->tracks, slices->group, pid, comm.s, comm.len)
                        : 0;
}

static struct track *instant_track(struct slices *slices, const struct item *item)
{
    struct group *group = slices->group;

    if (slices->class->on_thread && item->pid != PID_UNKNOWN)
        return tracks_thread(&slices->tracks, group, item);
    if (item->vcpu != VCPU_UNKNOWN && !KERNEL_LAYER(group->layer))
        return tracks_vcpu(&slices->tracks, group, item, TRACK_VCPU_EVENTS);
    if (item->cpu != CPU_UNKNOWN)
        return tracks_cpu(&slices->tracks, group, item->cpu, TRACK_CPU_EVENTS);
    if (item->pid != PID_UNKNOWN)
        return tracks_thread(&slices->tracks, group, item);
    return tracks_single(&slices->tracks, group, TRACK_EVENTS);
}

static int put_instant(struct slices *slices, const struct item *item)
{
    struct slice slice = {.kind = SLICE_INSTANT, .ns = slices->ns, .item = item};

    slice.track = instant_track(slices, item);
    if (unlikely(!slice.track))
        return -ENOMEM;
    slices->ops->slice(slices, &slice);
    return 0;
}

static int put_counter(struct slices *slices, const struct item *item)
{
    const struct slice_class *class = slices->class;
    struct slice slice = {.kind = SLICE_COUNTER, .ns = slices->ns};

    slice.track = tracks_counter(&slices->tracks, slices->group, class->counter,
                                 class->counter_id >= 0, slice_number(item, class->counter_id));
    if (!slice.track)
        return -ENOMEM;
    slice.value = (int64_t)slice_number(item, class->counter_value);
    slices->ops->slice(slices, &slice);
    return 0;
}

/* Handles a counter that a program wrote into trace_marker. */
static int put_marker(struct slices *slices, const struct item *item)
{
    struct slice slice = {.kind = SLICE_COUNTER, .ns = slices->ns};
    struct marker marker;

    if (!slice_class_marker(slices->class, item, &marker) || marker.kind != 'C')
        return 0;
    slice.track =
        tracks_named_counter(&slices->tracks, slices->group, marker.name, marker.len, marker.pid);
    if (!slice.track)
        return -ENOMEM;
    slice.value = marker.value;
    slices->ops->slice(slices, &slice);
    return 0;
}

static void end_thread(struct slices *slices, const struct item *item)
{
    int32_t pid = kernel_ended_thread(&slices->class->thread_end, item);
    struct track *thread =
        unlikely(pid != PID_UNKNOWN) ? tracks_find_thread(slices->group, pid, item->cpu) : NULL;

    if (!thread)
        return;
    slice_cut(slices, thread, 0, slices->ns, "the thread ends");
    if (thread->exits)
        slice_cut(slices, thread->exits, 0, slices->ns, "the thread ends");
}

/* Events after a CPU's last event may not have been recorded. */
static int note_seen(struct slices *slices, const struct item *item)
{
    struct track *track = item->cpu != CPU_UNKNOWN
                              ? tracks_cpu(&slices->tracks, slices->group, item->cpu, TRACK_CPU)
                              : NULL;

    if (!track)
        return item->cpu != CPU_UNKNOWN ? -ENOMEM : 0;
    track->seen = MAX(track->seen, slices->ns);
    return 0;
}

static int put_event(struct slices *slices, const struct item *item)
{
    struct group *group = tracks_group(&slices->tracks, item->origin);
    const struct slice_class *class;
    int r;

    if (unlikely(!group))
        return -ENOMEM;
    class = slice_class_get(slices, group, item->class);
    if (unlikely(!class))
        return -ENOMEM;
    slices->group = group;
    slices->class = class;
    slices->ns = ns_of(item, item->time);
    slices->last = MAX(slices->last, slices->ns);
    if (unlikely(!origin_is_recorded_to_end(item->origin)) && note_seen(slices, item) < 0)
        return -ENOMEM;
    r = slice_cpus_put(slices, item);
    if (unlikely(r == 0 && class->task >= 0 && class->comm >= 0))
        r = learn_name(slices, item);
    if (likely(r == 0))
        r = slice_spans_put(slices, item);
    if (r == 0)
        r = put_instant(slices, item);
    if (unlikely(r >= 0 && class->thread_end.may))
        end_thread(slices, item);
    if (unlikely(r >= 0 && class->counter))
        r = put_counter(slices, item);
    if (unlikely(r >= 0 && class->marker >= 0))
        r = put_marker(slices, item);
    return r < 0 ? r : 0;
}

static int put_loss(struct slices *slices, const struct item *item)
{
    static const char name[] = "lost";
    struct group *group = tracks_group(&slices->tracks, item->origin);
    int64_t ns = item->time == TIME_UNKNOWN ? slices->ns : ns_of(item, item->time);
    bool has_since = item->since != TIME_UNKNOWN && item->since < item->time;
    int64_t since = has_since ? ns_of(item, item->since) : ns;
    struct slice slice = {.kind = SLICE_INSTANT, .ns = ns, .item = item};
    struct track *track;

    if (!group)
        return -ENOMEM;
    slices->ns = ns;
    slices->last = MAX(slices->last, ns);
    if (slice_cpus_put_loss(slices, item) < 0 ||
        slice_spans_put_loss(slices, group, item, since) < 0 ||
        slice_cpus_follow_loss(slices, group, item) < 0)
        return -ENOMEM;
    track = item->cpu == CPU_UNKNOWN
                ? tracks_single(&slices->tracks, group, TRACK_LOST)
                : tracks_cpu(&slices->tracks, group, item->cpu, TRACK_CPU_LOST);
    if (!track)
        return -ENOMEM;
    slice.track = track;
    if (!has_since && !item->is_open) {
        slices->ops->slice(slices, &slice);
        return 0;
    }
    slice.kind = SLICE_BEGIN;
    slice.name = name;
    slice.name_len = sizeof name - 1;
    slice.ns = slice_step(track, since);
    slices->ops->slice(slices, &slice);
    /* It goes on to the end of the trace. */
    if (item->is_open)
        return 0;
    slice = (struct slice){.kind = SLICE_END, .track = track, .ns = slice_step(track, ns)};
    slices->ops->slice(slices, &slice);
    return 0;
}

int slices_put(struct slices *slices, const struct item *items, unsigned n)
{
    if (unlikely(source_ends_put(&slices->ends, items, n) < 0))
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++) {
        int r = likely(items[i].kind == ITEM_EVENT) ? put_event(slices, &items[i])
                                                    : put_loss(slices, &items[i]);

        if (r < 0)
            return r;
    }
    return 0;
}

int slices_begin_loss(struct slices *slices, const struct item *item)
{
    states_begin_loss(&slices->states, item);
    return spans_begin_loss(&slices->spans, item);
}

int slices_finish(struct slices *slices)
{
    int r = slice_cpus_finish(slices);

    slice_spans_finish(slices);
    return r;
}
