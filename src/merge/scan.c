/* SPDX-License-Identifier: MIT */
/* Scans all sources once, and finds the events of the sync rules. */

#include <string.h>

#include "analysis/coverage/losses.h"
#include "merge/internal.h"

/* Finds the sources that a side may mean: the source or layer before a colon in its event, otherwise all. */
static int init_side(struct merge *merge, struct merge_side *side, const struct common_side *given)
{
    const char *colon = strchr(given->event, ':');
    size_t len = colon ? (size_t)(colon - given->event) : 0;
    int named = colon ? merge_find_source(merge, given->event, len) : -ENOENT;
    enum layer layer = LAYER_VMM;
    bool is_layer = named < 0 && colon && merge_find_layer(given->event, len, &layer);
    bool any = false;

    side->side = given;
    side->event = named >= 0 || is_layer ? colon + 1 : given->event;
    side->candidates = calloc(merge->n_sources, sizeof *side->candidates);
    side->marks = calloc(merge->n_sources, sizeof *side->marks);
    if (!side->candidates || !side->marks)
        return merge_no_memory(merge);
    for (unsigned i = 0; i < merge->n_sources; i++) {
        side->candidates[i] =
            named >= 0 ? (unsigned)named == i : !is_layer || merge->sources[i].layer == layer;
        any = any || side->candidates[i];
        common_init(&side->marks[i], given, side->event);
    }
    if (!any)
        return error_set(&merge->error, -EINVAL, NULL,
                         "--sync: no source of the layer %s, which '%s' names", layer_name(layer),
                         given->event);
    return 0;
}

static int init_syncs(struct merge *merge)
{
    const struct strings *syncs = &merge->config->syncs;
    int r = 0;

    merge->n_syncs = 0;
    merge->syncs = calloc(syncs->n + 1, sizeof *merge->syncs);
    if (!merge->syncs)
        return merge_no_memory(merge);
    for (unsigned i = 0; i < syncs->n && r >= 0; i++) {
        struct merge_sync *sync = &merge->syncs[i];
        struct error error = {0};

        r = common_sync_parse(syncs->items[i], &sync->rule, &error);
        if (r < 0)
            return error_set(&merge->error, r, NULL, "--sync='%s': %s", syncs->items[i],
                             error.what);
        merge->n_syncs++;
        r = init_side(merge, &sync->a, &sync->rule.a);
        if (r >= 0)
            r = init_side(merge, &sync->b, &sync->rule.b);
    }
    return r;
}

/* Records the times of N items of source I, and the items that match sync rules. */
static int scan_items(struct merge *merge, unsigned i, const struct item *items, unsigned n)
{
    struct merge_source *source = &merge->sources[i];
    int r = 0;

    for (unsigned k = 0; k < n; k++) {
        if (items[k].kind != ITEM_EVENT)
            continue;
        source->n_events++;
        if (items[k].time == TIME_UNKNOWN)
            continue;
        if (source->first == TIME_UNKNOWN)
            source->first = source->last = items[k].time;
        source->first = MIN(source->first, items[k].time);
        source->last = MAX(source->last, items[k].time);
    }
    for (unsigned k = 0; k < merge->n_syncs && r >= 0; k++) {
        struct merge_side *sides[] = {&merge->syncs[k].a, &merge->syncs[k].b};

        for (size_t j = 0; j < ARRAY_SIZE(sides) && r >= 0; j++) {
            if (!sides[j]->candidates[i])
                continue;
            r = common_look(&sides[j]->marks[i], items, n);
            if (r == -E2BIG)
                error_set(&merge->error, r, source->path,
                          "more than %zu events match '%s'; name fewer by --sync", MATCH_MAX,
                          sides[j]->side->event);
            if (r == -ETIMEDOUT)
                error_set(&merge->error, r, source->path,
                          "'%s' takes too long to match a text of '%s'; simplify it",
                          sides[j]->side->text, sides[j]->side->event);
        }
    }
    return r == -ENOMEM ? merge_no_memory(merge) : r;
}

static void add_hint(void *arg, const char *path, const char *hint)
{
    struct merge *merge = arg;

    (void)merge_add_note(merge, "%s: %s", path, hint);
}

/* Reads a source to its end. The readable items of a damaged source count. */
static int scan_source(struct merge *merge, unsigned i)
{
    struct trace *trace = merge->sources[i].trace;
    struct losses losses = {0};
    const struct item *items;
    int r;

    while ((r = trace_next(trace, &items)) > 0) {
        int failed = scan_items(merge, i, items, (unsigned)r);

        if (failed < 0)
            return failed;
        losses_add_all(&losses, items, (unsigned)r);
        if (merge->config->progress)
            merge->config->progress(merge->config->progress_arg, trace);
    }
    if (error_is_shortage(r)) {
        merge->error = trace->source->error;
        return r;
    }
    merge->lost = merge->lost || losses.n > 0 || trace->lost_counted || trace->lost_uncounted;
    merge->damaged = merge->damaged || r < 0 || trace->n_missing;
    trace_hints(trace, add_hint, merge);
    if (r < 0) {
        char text[sizeof(struct error) + 64];

        error_print(&trace->source->error, text, sizeof text);
        (void)merge_add_note(merge, "%s", text);
    }
    return merge->error.code;
}

/* Finds the source that has events of SIDE. */
static int find_side(struct merge *merge, const struct merge_sync *sync, struct merge_side *side)
{
    struct text where = TEXT_IN_MEMORY;
    unsigned n = 0, n_wanted = 0;

    for (unsigned i = 0; i < merge->n_sources; i++) {
        if (!side->candidates[i])
            continue;
        if (side->marks[i].n)
            side->source = i;
        n += side->marks[i].n > 0;
        n_wanted++;
    }
    if (n == 1)
        return 0;
    for (unsigned i = 0; i < merge->n_sources; i++) {
        if (!side->candidates[i] || (n > 0 && side->marks[i].n == 0))
            continue;
        if (where.start)
            text_put_literal(&where, ", ");
        text_put_str(&where, merge->sources[i].name);
    }
    text_put_char(&where, '\0');
    if (n == 0)
        error_set(&merge->error, -EINVAL, NULL, "--sync='%s': no event '%s'%s%s%s in %s",
                  sync->rule.given, side->event, side->side->text ? " matches '" : "",
                  side->side->text ? side->side->text : "", side->side->text ? "'" : "",
                  where.error ? "" : where.start);
    else
        error_set(&merge->error, -EINVAL, NULL,
                  "--sync='%s': '%s' is in several sources (%s); name one of them, as in %s:%s",
                  sync->rule.given, side->event, where.error ? "" : where.start,
                  merge->sources[side->source].name, side->event);
    text_done(&where);
    return -EINVAL;
}

int merge_scan(struct merge *merge)
{
    int r = init_syncs(merge);

    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++)
        r = scan_source(merge, i);
    for (unsigned i = 0; i < merge->n_syncs && r >= 0; i++) {
        r = find_side(merge, &merge->syncs[i], &merge->syncs[i].a);
        if (r >= 0)
            r = find_side(merge, &merge->syncs[i], &merge->syncs[i].b);
        if (r >= 0 && merge->syncs[i].a.source == merge->syncs[i].b.source)
            r = error_set(&merge->error, -EINVAL, NULL, "--sync='%s': both sides are of %s",
                          merge->syncs[i].rule.given,
                          merge->sources[merge->syncs[i].a.source].name);
    }
    return r;
}
