/* SPDX-License-Identifier: MIT */
#include "tracks/slice_spans.h"

#include <errno.h>
#include <string.h>

const char slice_not_in_trace[] = "what came then is not in the trace";
static const char ends_around[] = "what is around it ends";

static void put(struct slices *slices, const struct slice *slice)
{
    slices->ops->slice(slices, slice);
}

/* ---- open slices ---- */

/* For the flows of all slices. */
#define FLOW_TAG 1

/* Ends the innermost slice. */
static void end_top(struct slices *slices, struct track *track, int64_t ns, const struct item *item,
                    const char *cut)
{
    struct slice slice = {.kind = SLICE_END, .track = track, .item = item, .cut = cut};
    const struct open_slice *open = track_close(track);

    if (open->span)
        open->span->track = NULL;
    if (item && !cut)
        joins_end(&slices->flows, open->flow, ns + item->error_ns);
    else
        joins_forget(&slices->flows, open->flow, FLOW_TAG);
    slice.ns = slice_step(track, ns);
    put(slices, &slice);
}

void slice_cut(struct slices *slices, struct track *track, unsigned n, int64_t ns, const char *why)
{
    while (track->n_open > n)
        end_top(slices, track, ns, NULL, why);
}

void slice_begin_unknown(struct slices *slices, struct track *track, unsigned n, int64_t ns,
                         const char *why)
{
    static const char name[] = "unknown";
    struct slice slice = {.kind = SLICE_BEGIN,
                          .track = track,
                          .name = name,
                          .name_len = sizeof name - 1,
                          .is_unknown = true};

    slice_cut(slices, track, n, ns, why);
    slice.ns = slice_step(track, ns);
    put(slices, &slice);
}

/* Returns the index of SPAN's slice among the open slices on its track. */
static unsigned find_place(const struct drawn_span *span)
{
    unsigned i = span->track->n_open - 1;

    while (i > 0 && span->track->open[i].span != span)
        i--;
    return i;
}

/* Ends the slice that the current item ends. The end has ITEM, unless ITEM begins another slice. */
static void put_end(struct slices *slices, const struct item *item)
{
    struct track *track = slices->ending;

    slices->ending = NULL;
    end_top(slices, track, slices->ns, item, NULL);
}

/* Adds a request to the flows: *RET_FLOW. 0, -ENOMEM. */
static int begin_flow(struct slices *slices, const struct item *item, struct slice *slice,
                      uint32_t *ret_flow)
{
    const struct slice_class *class = slices->class;
    struct join_request request = {
        .layer = item->origin->layer, .vm = item->origin->vm, .tag = FLOW_TAG};
    uint64_t *words = request.words;
    struct join join;
    int r;

    if (!slices->has_flows || !class->style->flow[0])
        return 0;
    words[0] = slice_number(item, class->flow[0]);
    words[1] = slice_number(item, class->flow[1]);
    words[2] = (uint64_t)slice_class_flow_kind(class, item);
    /* A flush has no length, and so nothing to be known by. */
    if (words[1] == 0 || words[2] == 0)
        return 0;
    r = joins_begin(&slices->flows, &request, slices->ns - item->error_ns, &join);
    if (r < 0)
        return r;
    *ret_flow = join.number;
    slice->flow = join.id;
    slice->flow_joins = join.is_joined;
    return 0;
}

/* ---- spans ---- */

static struct drawn_span *new_span(struct slices *slices, const struct span_kind *kind,
                                   const struct item *item, struct track *track)
{
    struct drawn_span *span = slices->free_spans;

    if (span)
        slices->free_spans = span->next_free;
    else
        span = arena_alloc(&slices->tracks.arena, sizeof *span);
    if (span)
        *span = (struct drawn_span){
            .track = track, .origin = item->origin, .cpu = item->cpu, .rule = kind->rule_number};
    return span;
}

static void free_span(struct slices *slices, struct drawn_span *span)
{
    span->next_free = slices->free_spans;
    slices->free_spans = span;
}

/* Finds the track for a slice that ITEM begins. 0, with NULL in *RET if it is not drawn; -ENOMEM. */
static int find_track(struct slices *slices, enum style_place place, struct pair *pair,
                      const char *title, const struct item *item, struct track **ret)
{
    struct tracks *tracks = &slices->tracks;
    int r;

    *ret = NULL;
    switch (place) {
    case ON_CPU: *ret = tracks_cpu(tracks, slices->group, item->cpu, TRACK_CPU); break;
    case ON_INTERRUPTS:
        *ret = tracks_cpu(tracks, slices->group, item->cpu, TRACK_CPU_INTERRUPTS);
        break;
    case ON_VCPU: *ret = tracks_vcpu(tracks, slices->group, item, TRACK_VCPU); break;
    case ON_THREAD: *ret = tracks_thread(tracks, slices->group, item); break;
    case ON_EXITS: *ret = tracks_exits(tracks, slices->group, item); break;
    case ON_LANES:
        r = tracks_lane(tracks, slices->group, pair, title, ret);
        return r == -ENOBUFS ? 0 : r;
    }
    if (!*ret)
        return -ENOMEM;
    if ((*ret)->n_open == OPEN_MAX)
        *ret = NULL;
    return 0;
}

/* Draws the begin of a span on TRACK, with ITEM's fields if a style says how it looks. NULL if out of memory. */
static struct drawn_span *open_slice(struct slices *slices, const struct span_kind *kind,
                                     const struct item *item, struct track *track,
                                     struct pair *pair, bool has_style)
{
    struct slice slice = {.kind = SLICE_BEGIN, .track = track};
    struct drawn_span *span = new_span(slices, kind, item, track);
    struct open_slice *open = span ? track_open(&slices->tracks, track) : NULL;

    if (!open)
        return NULL;
    *open = (struct open_slice){.pair = pair, .span = span};
    if (!has_style) {
        slice.name = kind->name;
        slice.name_len = strlen(kind->name);
    } else if (begin_flow(slices, item, &slice, &open->flow) < 0) {
        return NULL;
    } else {
        slice_class_put_name(slices, slices->class, item, &slice);
        slice.item = item;
        slices->drawn = true;
    }
    slice.ns = slice_step(track, slices->ns);
    put(slices, &slice);
    return span;
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct slices *slices = arg;
    const struct slice_class *class = slices->class;
    bool has_style = kind->rule_number >= slices->options.n_rules;
    enum style_place place = ON_LANES;
    const char *title = kind->name;
    struct drawn_span *span;
    struct track *track;
    struct pair *pair;
    int r;

    if (has_style) {
        bool is_else = class->begins_else == (int)kind->rule_number;

        if ((class->begins != (int)kind->rule_number && !is_else) || class->pair->off)
            return 0;
        place = is_else ? class->style_else->place : class->style->place;
        title = class->title;
        pair = class->pair;
    } else {
        pair = tracks_pair(&slices->tracks, slices->group, title);
    }
    r = pair ? find_track(slices, place, pair, title, item, &track) : -ENOMEM;
    if (r == 0 && !track)
        return 0;
    if (r == 0 && has_style && slices->ending)
        put_end(slices, NULL);
    span = r == 0 ? open_slice(slices, kind, item, track, pair, has_style) : NULL;
    if (!span)
        slices->error = -ENOMEM;
    return (uintptr_t)span;
}

/* Two tracers of system calls are called in the same order at begin and end, so their slices would cross. So each end
 * is drawn as the end of the slice that began last. */
static void exchange_with_top(struct slices *slices, struct track *track, unsigned i)
{
    struct open_slice *mine = &track->open[i];
    struct open_slice *top = &track->open[track->n_open - 1];
    struct drawn_span *span = mine->span;

    if (i != track->n_open - 2 || mine->pair != top->pair || !top->span ||
        slices->spans.rules[span->rule]->again != SPAN_AGAIN_REPLACE)
        return;
    mine->span = top->span;
    top->span = span;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct drawn_span *drawn = (struct drawn_span *)(uintptr_t)span->tag;
    struct slices *slices = arg;
    struct track *track;

    if (!drawn)
        return 0;
    track = drawn->track;
    if (track && drawn->rule < slices->options.n_rules) {
        end_top(slices, track, clock_to_ns(&item->origin->clock, span_end(span)), NULL, NULL);
    } else if (track) {
        /* It ends another one, too. */
        if (slices->ending)
            put_end(slices, NULL);
        exchange_with_top(slices, track, find_place(drawn));
        slice_cut(slices, track, find_place(drawn) + 1, slices->ns, ends_around);
        track->open[track->n_open - 1].span = NULL;
        slices->ending = track;
    }
    free_span(slices, drawn);
    return 0;
}

/* Returns from when on events may be missing: on the CPU of DRAWN, or on any CPU, because its thread may have moved. */
static int64_t first_cpu_end(const struct drawn_span *drawn)
{
    const struct group *group = drawn->track->group;
    int64_t first = INT64_MAX;

    for (unsigned cpu = 0; cpu < group->n_cpus; cpu++) {
        const struct track *track = group->cpus[cpu * TRACK_CPU_KINDS];

        if (track && track->seen != TIME_UNKNOWN &&
            (drawn->track->cpu == CPU_UNKNOWN || drawn->track->cpu == track->cpu))
            first = MIN(first, track->seen);
    }
    return first;
}

/* Returns until when SPAN, which is open at the end of the trace, is known not to have ended. */
static int64_t known_until(const struct slices *slices, const struct span *span,
                           const struct drawn_span *drawn, enum span_fate fate)
{
    struct source_end end = {.time = TIME_UNKNOWN};
    int64_t until;

    if (fate == SPAN_OPEN)
        end = source_ends_find_open(&slices->ends, &slices->spans, span);
    if (end.time == TIME_UNKNOWN)
        return drawn->track->last;
    until = clock_to_ns(&end.origin->clock, end.time);
    return origin_is_recorded_to_end(drawn->origin) ? until : MIN(until, first_cpu_end(drawn));
}

static void finish_span(struct slices *slices, const struct span *span,
                        const struct drawn_span *drawn, enum span_fate fate)
{
    int64_t until = known_until(slices, span, drawn, fate);

    if (until < slices->last)
        slice_begin_unknown(slices, drawn->track, find_place(drawn), until, slice_not_in_trace);
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    static const char *const texts[SPAN_FATES] = {
        [SPAN_LOST] = "events were lost",
        [SPAN_EARLY] = "not all CPUs were kept yet",
        [SPAN_GONE] = "the thread ends",
    };
    struct drawn_span *drawn = (struct drawn_span *)(uintptr_t)span->tag;
    struct slices *slices = arg;
    struct track *track;

    if (!drawn)
        return;
    track = drawn->track;
    if (track && slices->is_finishing) {
        finish_span(slices, span, drawn, fate);
    } else if (track) {
        unsigned place = find_place(drawn);
        struct pair *pair = track->open[place].pair;

        /* What ends by this event is not cut with it. */
        if (slices->ending == track)
            put_end(slices, NULL);

        slice_cut(slices, track, place, track->last, texts[fate] ? texts[fate] : "no end was seen");
        /* Of none yet, perhaps. */
        if (fate == SPAN_AGAIN && drawn->rule >= slices->options.n_rules)
            pair->off = !pair->end_seen;
    }
    free_span(slices, drawn);
}

int slice_spans_init(struct slices *slices)
{
    static const struct spans_ops ops = {
        .begin = begin, .complete = complete, .incomplete = incomplete};
    int r = spans_init(&slices->spans, slices->options.catalogue, slices->options.rules,
                       slices->options.n_rules, &ops, slices);

    return r < 0 ? r : slice_classes_init(slices);
}

void slice_spans_finish(struct slices *slices)
{
    slices->is_finishing = true;
    spans_finish(&slices->spans);
}

int slice_spans_put(struct slices *slices, const struct item *item)
{
    const struct slice_class *class = slices->class;
    int r;

    if (unlikely(class->n_rules != slices->spans.n_rules)) {
        r = slice_class_look_again(slices, item->class);
        if (r < 0)
            return r;
    }
    /* An event that a loss follows is where that begins, whatever it is. */
    if (!class->in_spans && !slices->ending && likely(!item->before_loss))
        return 0;
    slices->drawn = false;
    if (class->ends) {
        class->ends->end_seen = true;
        class->ends->off = false;
    }
    r = spans_put(&slices->spans, item, 1);
    if (unlikely(r < 0 || slices->error < 0))
        return r < 0 ? r : slices->error;
    if (slices->ending) {
        put_end(slices, slices->drawn ? NULL : item);
        slices->drawn = true;
    }
    return slices->drawn;
}

/* True if LOSS may include the end of OPEN, on TRACK. A thread may have moved to any CPU. */
static bool may_have_ended(const struct slices *slices, const struct track *track,
                           const struct open_slice *open, const struct item *loss)
{
    const struct drawn_span *span = open->span;

    if (!span)
        return loss->cpu == CPU_UNKNOWN || track->cpu == loss->cpu;
    return spans_may_be_lost(&slices->spans, span->rule, span->origin, span->cpu, loss);
}

int slice_spans_put_loss(struct slices *slices, struct group *group, const struct item *loss,
                         int64_t ns)
{
    for (struct track *track = group->tracks; track; track = track->next)
        for (unsigned i = 0; i < track->n_open; i++)
            if (may_have_ended(slices, track, &track->open[i], loss))
                slice_cut(slices, track, i, ns, "events were lost");
    return spans_put(&slices->spans, loss, 1);
}
