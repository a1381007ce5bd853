/* SPDX-License-Identifier: MIT */
#include "index/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index/build_internal.h"
#include "trace/trace.h"

#define FLOWS 65536u /* requests that may be under way at a time, a power of two */
#define PROGRESS_RUNS 64u

static int no_memory(struct builder *builder)
{
    builder->error = -ENOMEM;
    return -ENOMEM;
}

/* ---- tracks ---- */

struct build_track *build_track_new(struct builder *builder, const struct build_track *like)
{
    struct build_track *track = arena_memdup(&builder->arena, like, sizeof *like);

    if (builder->n_tracks == builder->tracks_room) {
        unsigned room = builder->tracks_room ? builder->tracks_room * 2 : 64;
        struct build_track **bigger = realloc(builder->tracks, room * sizeof *bigger);

        if (!bigger)
            track = NULL;
        else
            builder->tracks = bigger, builder->tracks_room = room;
    }
    if (!track) {
        no_memory(builder);
        return NULL;
    }
    track->serial = builder->n_tracks;
    return builder->tracks[builder->n_tracks++] = track;
}

struct slice_row *build_track_row(struct builder *builder, struct build_track *track,
                                  unsigned depth)
{
    struct slice_row **bigger;

    if (likely(depth < track->n_slices))
        return track->slices[depth];
    bigger = realloc(track->slices, (depth + 1) * sizeof(struct slice_row *));
    if (!bigger) {
        no_memory(builder);
        return NULL;
    }
    track->slices = bigger;
    /* An inner slice ends first, so that rows are not made from the outermost on. */
    while (track->n_slices <= depth) {
        struct slice_row *row = slice_row_new(track->kind == INDEX_STATES);

        if (!row) {
            no_memory(builder);
            return NULL;
        }
        track->slices[track->n_slices++] = row;
    }
    return track->slices[depth];
}

static enum index_track_kind kind_of(const struct track *track)
{
    switch (track->kind) {
    case TRACK_GROUP:
    case TRACK_PARENT: return INDEX_GROUP;
    case TRACK_CPU_LOST:
    case TRACK_LOST: return INDEX_LOSSES;
    case TRACK_CPU_EVENTS:
    case TRACK_VCPU_EVENTS:
    case TRACK_EVENTS: return INDEX_EVENTS;
    case TRACK_COUNTER: return INDEX_COUNTER;
    default: return INDEX_SLICES;
    }
}

static int put_track(struct slices *slices, const struct track *track)
{
    struct builder *builder = container_of(slices, struct builder, slices);
    struct build_track like = {
        .track = track,
        .group = track->group,
        .name = track->name,
        .unit = track->unit,
        .kind = kind_of(track),
        .rank = track->rank,
        .cpu = track->cpu,
        .pid = track->pid,
        .vcpu = track->vcpu,
    };

    if (track->number >= builder->by_number_room) {
        unsigned room = MAX(builder->by_number_room * 2, track->number + 64);
        struct build_track **bigger = realloc(builder->by_number, room * sizeof *bigger);

        if (!bigger)
            return no_memory(builder);
        builder->by_number = bigger;
        builder->by_number_room = room;
    }
    if (track->parent)
        like.parent = builder->by_number[track->parent->number];
    builder->by_number[track->number] = build_track_new(builder, &like);
    return builder->error;
}

/* Each group has a track of the clock's error, and a track of all events. */
static int make_group(struct builder *builder, struct group *group, struct build_group **ret)
{
    struct build_group **bigger =
        realloc(builder->groups, (builder->n_groups + 1) * sizeof(struct build_group *));
    struct build_group *made = arena_alloc(&builder->arena, sizeof *made);
    struct build_track like = {
        .parent = builder->by_number[group->track.number],
        .group = group,
        .name = "all events",
        .kind = INDEX_EVENTS,
        .rank = INT32_MIN,
        .cpu = CPU_UNKNOWN,
        .pid = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
    };

    if (bigger)
        builder->groups = bigger;
    if (!bigger || !made)
        return no_memory(builder);
    made->group = group;
    made->events = build_track_new(builder, &like);
    like.name = "clock error";
    like.unit = "ns";
    like.kind = INDEX_COUNTER;
    like.rank = INT32_MAX;
    made->error = made->events ? build_track_new(builder, &like) : NULL;
    if (!made->error)
        return -ENOMEM;
    made->rows = made->events->events = calloc(1, sizeof *made->rows);
    if (!made->rows)
        return no_memory(builder);
    builder->groups[builder->n_groups++] = made;
    *ret = made;
    return 0;
}

struct build_group *build_group_get_slow(struct builder *builder, const struct origin *origin)
{
    struct group *group = tracks_group(&builder->slices.tracks, origin);
    struct build_group *found = NULL;

    if (!group) {
        no_memory(builder);
        return NULL;
    }
    for (unsigned i = 0; i < builder->n_groups && !found; i++)
        if (builder->groups[i]->group == group)
            found = builder->groups[i];
    if (!found && make_group(builder, group, &found) < 0)
        return NULL;
    builder->recent_origin = origin;
    builder->recent = found;
    return found;
}

/* ---- slices ---- */

static void put_arrow(struct builder *builder, const struct build_flow *from,
                      const struct build_flow *to)
{
    if (builder->n_arrows == builder->arrows_room) {
        size_t room = builder->arrows_room ? builder->arrows_room * 2 : 64;
        struct build_arrow *bigger = realloc(builder->arrows, room * sizeof *bigger);

        if (!bigger) {
            no_memory(builder);
            return;
        }
        builder->arrows = bigger;
        builder->arrows_room = room;
    }
    builder->arrows[builder->n_arrows++] = (struct build_arrow){
        .from = from->track,
        .to = to->track,
        .begin = MIN(from->ns, to->ns),
        .end = to->ns,
        .from_depth = (uint16_t)from->depth,
        .to_depth = (uint16_t)to->depth,
    };
}

static void put_flow(struct builder *builder, const struct build_track *track,
                     const struct slice *slice)
{
    struct build_flow flow = {slice->flow, track, slice->ns, track->n_open};
    struct build_flow *place;

    if (!builder->flows)
        builder->flows = calloc(FLOWS, sizeof *builder->flows);
    if (!builder->flows) {
        no_memory(builder);
        return;
    }
    place = &builder->flows[slice->flow % FLOWS];
    if (!slice->flow_joins)
        *place = flow;
    else if (place->id == slice->flow)
        put_arrow(builder, place, &flow);
}

/* Flags that a slice has from its begin. */
static uint8_t flags_of(const struct slice *slice)
{
    if (slice->is_unknown)
        return INDEX_UNKNOWN;
    if (slice->item && slice->item->kind == ITEM_EVENT)
        return 0;
    if (slice->track->kind == TRACK_CPU_LOST || slice->track->kind == TRACK_LOST)
        return INDEX_LOST;
    return 0;
}

static void begin_slice(struct builder *builder, struct build_track *track,
                        const struct slice *slice)
{
    struct open_row_slice *open;

    if (unlikely(track->n_open == track->open_room)) {
        unsigned room = track->open_room ? track->open_room * 2 : 2;

        open = realloc(track->open, room * sizeof *open);
        if (!open) {
            no_memory(builder);
            return;
        }
        track->open = open;
        track->open_room = room;
    }
    if (unlikely(slice->flow != 0))
        put_flow(builder, track, slice);
    open = &track->open[track->n_open++];
    open->begin = slice->ns;
    open->flags = flags_of(slice);
    if (index_names_put(&builder->names, slice->name, slice->name_len, &open->name) < 0)
        no_memory(builder);
}

static void end_slice(struct builder *builder, struct build_track *track, int64_t ns, uint8_t flags)
{
    const struct open_row_slice *open;
    struct slice_row *row;

    if (track->n_open == 0)
        return;
    open = &track->open[--track->n_open];
    row = build_track_row(builder, track, track->n_open);
    if (!row ||
        slice_row_put(row, &builder->writer,
                      (struct row_slice){open->begin, ns, open->name, open->flags | flags}) < 0)
        no_memory(builder);
}

/* Flags for why a slice is cut. */
static uint8_t cut_flags(const char *cut)
{
    static const char lost[] = "events were lost";

    if (!cut)
        return 0;
    return strcmp(cut, lost) == 0 ? INDEX_CUT | INDEX_LOST : INDEX_CUT;
}

static void put_instant(struct builder *builder, struct build_track *track,
                        const struct slice *slice)
{
    static const char lost[] = "lost";

    if (track->kind == INDEX_LOSSES) {
        struct slice loss = *slice;

        loss.name = lost;
        loss.name_len = sizeof lost - 1;
        begin_slice(builder, track, &loss);
        end_slice(builder, track, slice->ns, 0);
        return;
    }
    if (!track->events)
        track->events = calloc(1, sizeof *track->events);
    if (!track->events || event_row_put(track->events, &builder->writer, slice->ns) < 0)
        no_memory(builder);
}

static int put_value(struct builder *builder, struct build_track *track, int64_t ns, int64_t value)
{
    if (!track->values)
        track->values = calloc(1, sizeof *track->values);
    if (!track->values || value_row_put(track->values, &builder->writer, ns, value) < 0)
        return no_memory(builder);
    return 0;
}

static void put_slice(struct slices *slices, const struct slice *slice)
{
    struct builder *builder = container_of(slices, struct builder, slices);
    struct build_track *track = builder->by_number[slice->track->number];

    switch (slice->kind) {
    case SLICE_INSTANT: put_instant(builder, track, slice); break;
    case SLICE_BEGIN: begin_slice(builder, track, slice); break;
    case SLICE_END: end_slice(builder, track, slice->ns, cut_flags(slice->cut)); break;
    case SLICE_COUNTER: put_value(builder, track, slice->ns, slice->value); break;
    }
}

/* ---- items ---- */

/* Rounds ERROR up to its five highest bits. So its curve has few steps, and is never too low. */
static uint32_t round_error(uint32_t error)
{
    unsigned bits = error < 32 ? 0 : 27 - (unsigned)__builtin_clz(error);
    uint64_t step = UINT64_C(1) << bits;

    return (uint32_t)MIN((error + step - 1) / step * step, (uint64_t)UINT32_MAX);
}

static void widen(struct builder *builder, int64_t ns)
{
    struct index_header *header = &builder->writer.header;

    if (!builder->has_times)
        header->begin = header->end = ns;
    builder->has_times = true;
    header->begin = MIN(header->begin, ns);
    header->end = MAX(header->end, ns);
}

static int put_error(struct builder *builder, struct build_group *group, int64_t ns, uint32_t error)
{
    struct index_header *header = &builder->writer.header;

    header->error_ns = MAX(header->error_ns, error);
    error = round_error(error);
    if (likely(error == group->error_ns))
        return 0;
    group->error_ns = error;
    return put_value(builder, group->error, ns, error);
}

/* Counts any kind of item. */
static int count_item(struct builder *builder, const struct item *item)
{
    struct index_header *header = &builder->writer.header;
    const struct clock *clock = &item->origin->clock;
    struct build_group *group = build_group_get(builder, item->origin);
    int64_t ns, begin;

    if (unlikely(!group))
        return -ENOMEM;
    if (unlikely(item->kind == ITEM_LOSS)) {
        losses_add(&builder->losses, item);
        begin = loss_begin(item);
        if (begin == TIME_UNKNOWN)
            return 0;
        widen(builder, clock_to_ns(clock, begin));
        widen(builder, clock_to_ns(clock, item->time));
        return 0;
    }
    if (unlikely(item->time == TIME_UNKNOWN)) {
        header->n_events++;
        return 0;
    }
    ns = clock_to_ns(clock, item->time);
    widen(builder, ns);
    header->n_events++;
    if (event_row_put(group->rows, &builder->writer, ns) < 0)
        return no_memory(builder);
    return unlikely(item->error_ns != 0 || group->error_ns != 0)
               ? put_error(builder, group, ns, item->error_ns)
               : 0;
}

static int put_items(struct builder *builder, const struct item *items, unsigned n)
{
    int r;

    /* States of sources that begin later begin with what is unknown. */
    for (unsigned i = 0; unlikely(builder->first_event == TIME_UNKNOWN) && i < n; i++)
        if (items[i].kind == ITEM_EVENT && items[i].time != TIME_UNKNOWN)
            builder->first_event = clock_to_ns(&items[i].origin->clock, items[i].time);
    r = slices_put(&builder->slices, items, n);
    if (r >= 0)
        r = states_put(&builder->states, items, n);
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = count_item(builder, &items[i]);
    return r >= 0 ? builder->error : r;
}

static int read_trace(struct builder *builder, struct trace *trace,
                      const struct index_options *options, struct error *error)
{
    const struct item *items;
    int n;

    for (unsigned runs = 0; (n = trace_next(trace, &items)) > 0; runs++) {
        int r = put_items(builder, items, (unsigned)n);

        if (r >= 0 && builder->writer.error)
            r = builder->writer.error;
        if (r >= 0 && options->stops && atomic_load(options->stops))
            r = -ECANCELED;
        if (r < 0)
            return error_set(error, r, NULL, "cannot build an index: %s", error_text(r));
        if (options->progress && runs % PROGRESS_RUNS == 0) {
            uint64_t done;
            uint64_t total;

            trace_progress(trace, &done, &total);
            options->progress(options->progress_arg, done, total);
        }
    }
    if (n < 0)
        *error = trace->source->error;
    return n;
}

/* ---- begin and end ---- */

static unsigned number_of_input(void *arg, const struct origin *origin)
{
    return trace_input_of(arg, origin);
}

static int init(struct builder *builder, struct trace *trace, const struct index_options *options,
                int fd)
{
    static const struct slices_ops slices_ops = {.track = put_track, .slice = put_slice};
    static const struct states_ops states_ops = {build_states_put};
    const struct slices_options slices_options = {
        .catalogue = &trace->catalogue,
        .origin_number = number_of_input,
        .origin_arg = trace,
        .rules = options->rules,
        .n_rules = options->n_rules,
    };
    uint32_t number;
    int r = slices_init(&builder->slices, &slices_options, &slices_ops);

    builder->first_event = TIME_UNKNOWN;
    states_init(&builder->states, &states_ops, builder);
    if (r == 0)
        r = index_writer_init(&builder->writer, fd);
    if (r == 0)
        r = index_names_init(&builder->names);
    for (unsigned i = 0; r == 0 && i < STATES; i++)
        r = index_names_put(&builder->names, state_name(i), strlen(state_name(i)), &number);
    return r;
}

static int put_clock_note(struct builder *builder, const struct trace *trace)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

    trace_clocks_put_refutation(&trace->clocks, &text);
    if (text.error)
        return -ENOMEM;
    return text_len(&text) == 0 ? 0
                                : index_names_put_text(&builder->names, text.start, text_len(&text),
                                                       &builder->writer.header.clock_note);
}

/* Sets how many events were lost, including losses that only the recorders know. */
static void put_lost(struct builder *builder, const struct trace *trace)
{
    struct losses *losses = &builder->losses;

    for (unsigned i = 0; i < trace->catalogue.n_origins; i++)
        losses_add_recorded(losses, trace->catalogue.origins[i], false);
    builder->writer.header.n_lost = losses_are_more(losses) ? LOST_UNKNOWN : losses->events;
}

/* Ends what is open at the end of the trace. */
static int finish(struct builder *builder, const struct trace *trace)
{
    int64_t end = builder->writer.header.end;
    int r;

    builder->is_finishing = true;
    r = slices_finish(&builder->slices);
    if (r >= 0)
        r = states_finish(&builder->states);
    if (r >= 0)
        r = build_states_extend(builder);
    for (unsigned i = 0; i < builder->n_tracks; i++)
        while (builder->tracks[i]->n_open > 0)
            end_slice(builder, builder->tracks[i],
                      MAX(end, builder->tracks[i]->open[builder->tracks[i]->n_open - 1].begin),
                      INDEX_OPEN);
    put_lost(builder, trace);
    if (r >= 0)
        r = put_clock_note(builder, trace);
    if (r >= 0)
        r = build_states_place(builder);
    if (r >= 0)
        r = builder->error;
    if (r >= 0)
        r = build_tracks_finish(builder);
    return r >= 0 ? index_writer_finish(&builder->writer) : r;
}

static void done(struct builder *builder)
{
    for (unsigned i = 0; i < builder->n_tracks; i++) {
        struct build_track *track = builder->tracks[i];

        for (unsigned depth = 0; depth < track->n_slices; depth++)
            slice_row_free(track->slices[depth]);
        free(track->slices);
        if (track->values)
            free(track->values->nodes);
        free(track->values);
        if (track->events)
            free(track->events->nodes);
        free(track->events);
        free(track->open);
    }
    for (unsigned i = 0; i < builder->n_groups; i++)
        map_done(&builder->groups[i]->states);
    free(builder->groups);
    free(builder->tracks);
    free(builder->by_number);
    free(builder->flows);
    free(builder->arrows);
    states_done(&builder->states);
    slices_done(&builder->slices);
    index_names_done(&builder->names);
    index_writer_done(&builder->writer);
    arena_done(&builder->arena);
}

int index_build(struct trace *trace, const struct index_options *options, int fd,
                struct error *error)
{
    static const struct index_options none;
    struct builder *builder = calloc(1, sizeof *builder);
    int r;

    if (!builder)
        return error_set(error, -ENOMEM, NULL, "cannot build an index: out of memory");
    r = init(builder, trace, options ? options : &none, fd);
    if (r == 0)
        r = read_trace(builder, trace, options ? options : &none, error);
    if (r == 0)
        r = finish(builder, trace);
    if (r < 0)
        error_set(error, r, NULL, "cannot build an index: %s", error_text(r));
    done(builder);
    free(builder);
    return r;
}
