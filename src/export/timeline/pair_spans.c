/* SPDX-License-Identifier: MIT */
#include "export/timeline/pair_spans.h"

#include <errno.h>
#include <string.h>

#include "export/timeline/slices.h"

/* What tells that a lane still shows the span that it was given for: after a loss it may show another. */
static void make_ids(const struct span *span, int64_t begin, uint64_t *ids)
{
    ids[0] = (uint64_t)begin;
    ids[1] = (uint64_t)(uint32_t)span->pid << 32 | (uint32_t)span->cpu;
}

static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct pair_spans *pair_spans = arg;
    struct slices *slices = pair_spans->slices;
    struct group *group = tracks_group(&slices->tracks, item->origin);
    struct pair *pair = group ? tracks_pair(&slices->tracks, group, kind->name) : NULL;
    struct slice slice = {.kind = SLICE_BEGIN, .name = kind->name, .name_len = strlen(kind->name)};
    const struct span span = {.pid = item->pid, .cpu = item->cpu};
    struct open_slice *open;
    uint64_t ids[PAIR_IDS];
    struct track *track;

    make_ids(&span, item->time, ids);
    if (!pair || tracks_lane(&slices->tracks, group, pair, kind->name, ids, &track) < 0)
        return 0;
    open = track_open(&slices->tracks, track);
    if (!open)
        return 0;
    *open = (struct open_slice){.pair = pair};
    memcpy(open->id, ids, sizeof open->id);
    track->last = MAX(track->last, export_ns(item, item->time));
    slice.track = track;
    slice.ns = track->last;
    slices->ops->slice(slices, &slice);
    return (uintptr_t)track;
}

static void end(struct pair_spans *pair_spans, const struct span *span, const char *cut)
{
    struct slices *slices = pair_spans->slices;
    struct track *track = (struct track *)(uintptr_t)span->tag;
    struct slice slice = {.kind = SLICE_END, .track = track, .cut = cut};
    uint64_t ids[PAIR_IDS];

    make_ids(span, span_begin(span), ids);
    if (!track || track->n_open != 1 || memcmp(track->open[0].id, ids, sizeof ids) != 0)
        return;
    (void)track_close(track);
    if (!cut)
        track->last = MAX(track->last, export_ns(pair_spans->item, span_end(span)));
    slice.ns = track->last;
    slices->ops->slice(slices, &slice);
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    (void)item;
    end(arg, span, NULL);
    return 0;
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    static const char *const texts[SPAN_FATES] = {
        [SPAN_LOST] = "events were lost",
        [SPAN_GONE] = "the thread ends",
    };

    end(arg, span, texts[fate] ? texts[fate] : "no end was seen");
}

int pair_spans_init(struct pair_spans *pair_spans, struct slices *slices)
{
    static const struct spans_ops ops = {
        .begin = begin, .complete = complete, .incomplete = incomplete};

    *pair_spans = (struct pair_spans){.slices = slices};
    return spans_init(&pair_spans->spans, slices->options->catalogue, slices->options->rules,
                      slices->options->n_rules, &ops, pair_spans);
}

void pair_spans_done(struct pair_spans *pair_spans)
{
    spans_done(&pair_spans->spans);
}

int pair_spans_put(struct pair_spans *pair_spans, const struct item *item)
{
    pair_spans->item = item;
    return spans_put(&pair_spans->spans, item, 1);
}
