/* SPDX-License-Identifier: MIT */
#include "trace/tighten.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache_dir.h"
#include "base/macro.h"
#include "base/reopen_cache.h"
#include "timeline/causal.h"
#include "trace/open.h"

/* Clocks that were found faster are not kept in the user's cache. So many items take about a tenth of a second. */
#define ITEMS_WORTH_KEEPING 200000u

/* A directory that is read for its causes and effects. */
struct reading {
    struct causal causal;
    const struct trace *trace;
    struct {
        int64_t first, last;
    } * times; /* of events, by source */
    const struct origin *last_origin;
    unsigned last_source;
    uint64_t n_items;
};

static void free_clocks(void *clocks)
{
    tight_clocks_free(clocks);
}

/* ---- Reading a directory ---- */

static unsigned source_of(void *arg, const struct origin *origin)
{
    struct reading *reading = arg;

    if (origin != reading->last_origin) {
        reading->last_origin = origin;
        reading->last_source = trace_input_of(reading->trace, origin);
    }
    return reading->last_source;
}

static int put(struct reading *reading, const struct item *items, unsigned n)
{
    reading->n_items += n;
    for (unsigned i = 0; i < n; i++) {
        unsigned source;

        if (items[i].kind != ITEM_EVENT || items[i].time == TIME_UNKNOWN)
            continue;
        source = source_of(reading, items[i].origin);
        if (reading->times[source].first == TIME_UNKNOWN)
            reading->times[source].first = items[i].time;
        reading->times[source].last = items[i].time;
    }
    return causal_put(&reading->causal, items, n);
}

/* Adds the result for source I. */
static int add_row(struct tight_clocks *clocks, const struct reading *reading, unsigned i)
{
    const struct causal_clock *found = &reading->causal.clocks[i];
    const struct trace_input *input = &reading->trace->inputs[i];
    struct tight_clock *row = &clocks->rows[clocks->n];
    struct trace_clock *clock = &row->clock;
    int64_t first, last, by = 0;
    int r;

    if (!found->bounds.map || found->pairs == 0)
        return 0;
    row->source = strdup(input->recorded->name);
    if (!row->source)
        return -ENOMEM;
    clocks->n++;
    first = clock_bounds_ticks(input->clock_map, reading->times[i].first);
    last = clock_bounds_ticks(input->clock_map, reading->times[i].last);
    *clock = (struct trace_clock){
        .stated_ns = clock_map_bound(input->clock_map, first, last),
        .pairs = found->pairs,
        .violations = found->violations,
        .worst_ns = found->worst_ns,
        .worst_at = found->worst_at,
    };
    snprintf(row->worst, sizeof row->worst, "%s", found->worst ? found->worst : "");
    clock->error_ns = clock->stated_ns;
    if (clock->violations > 0 || clock->pairs < CAUSAL_PAIRS_MIN)
        return 0;
    r = clock_bounds_map(&found->bounds, &row->map, &by);
    if (r == -EINVAL) {
        clock->violations = 1;
        clock->worst_ns = by;
        clock->worst_at = reading->times[i].first;
        snprintf(row->worst, sizeof row->worst, "causes and effects that contradict each other");
    } else if (r == 0) {
        int64_t error_ns = clock_map_bound(&row->map, first, last);

        clock->is_tightened = error_ns < clock->stated_ns;
        clock->error_ns = MIN(error_ns, clock->stated_ns);
        if (!clock->is_tightened)
            clock_map_done(&row->map);
    }
    return r == -ENOMEM ? r : 0;
}

/* Reads all items. A read error ends it; the reader of the trace meets the error, too. -ENOMEM. */
static int read_items(struct trace *trace, struct reading *reading)
{
    const struct item *items;
    int n = 0, r = 0;

    while (r == 0 && (n = trace_next(trace, &items)) > 0)
        r = put(reading, items, (unsigned)n);
    causal_finish(&reading->causal);
    return n == -ENOMEM ? n : r;
}

static int read_trace(struct trace *trace, struct tight_clocks *clocks)
{
    struct reading reading = {.trace = trace};
    int r = causal_init(&reading.causal, trace->n_inputs, source_of, &reading);

    reading.times = calloc(trace->n_inputs, sizeof *reading.times);
    clocks->rows = calloc(trace->n_inputs, sizeof *clocks->rows);
    if (!reading.times || !clocks->rows)
        r = -ENOMEM;
    for (unsigned i = 0; i < trace->n_inputs && r == 0; i++) {
        reading.times[i].first = TIME_UNKNOWN;
        r = causal_set_map(&reading.causal, i, trace->inputs[i].clock_map);
    }
    if (r == 0)
        r = read_items(trace, &reading);
    for (unsigned i = 0; i < trace->n_inputs && r == 0; i++)
        r = add_row(clocks, &reading, i);
    clocks->n_items = reading.n_items;
    causal_done(&reading.causal);
    free(reading.times);
    return r;
}

/* True if causes and effects are known between the sources of TRACE, which is opened from a directory. */
static bool has_causes(const struct trace *trace)
{
    unsigned guests = 0, others = 0;

    for (unsigned i = 0; i < trace->n_inputs; i++) {
        enum layer layer = trace->inputs[i].origin->layer;

        if (trace->inputs[i].is_left_out)
            continue;
        guests += layer == LAYER_GUEST && trace->inputs[i].clock_map;
        others += layer == LAYER_VMM || layer == LAYER_HOST;
    }
    return trace->host_time && guests == 1 && others > 0;
}

/* Reads the directory PATH and continues after damage, because the result must not depend on who opens the directory.
 * *RET is NULL if it cannot be read; whoever opens it meets the error, too. -ENOMEM. */
static int find_clocks(const char *path, const struct trace_options *options,
                       struct tight_clocks **ret)
{
    struct trace_options all = *options;
    struct trace *trace = NULL;
    struct error error = {0};
    int r;

    all.source = NULL;
    all.cache = NULL;
    all.file_order = false;
    all.stated_clocks = all.host_time = all.leave_out_unrelated = all.reader.keep_going = true;
    r = trace_open(&path, 1, &all, &trace, &error);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    *ret = calloc(1, sizeof **ret);
    r = !*ret ? -ENOMEM : has_causes(trace) ? read_trace(trace, *ret) : 0;
    if (r < 0)
        *ret = tight_clocks_free(*ret);
    trace_free(trace);
    return r;
}

/* ---- Clocks that were kept ---- */

static void put_file(struct sha256 *sha, const char *path)
{
    cache_key_put_text(sha, path ? path : "");
    if (path)
        (void)cache_key_put_path(sha, path, true, NULL);
}

/* Makes the key from everything that the clocks depend on. A negative errno. */
static int make_key(const char *path, const struct trace_options *options,
                    char ret_key[CACHE_KEY_SIZE])
{
    const uint64_t numbers[] = {options->cpu_hz, options->n_events, options->no_header};
    struct sha256 sha;
    int r;

    sha256_init(&sha);
    cache_key_put_text(&sha, "clocks of Strata " STRATA_VERSION);
    sha256_put(&sha, numbers, sizeof numbers);
    for (unsigned i = 0; i < options->n_events; i++)
        put_file(&sha, options->events[i]);
    put_file(&sha, options->kallsyms);
    put_file(&sha, options->tracefs);
    cache_key_put_text(&sha, options->events_path ? options->events_path : "");
    cache_key_put_text(&sha, options->xen_version ? options->xen_version : "");
    cache_key_put_text(&sha, options->cpu_vendor ? options->cpu_vendor : "");
    r = cache_key_put_path(&sha, path, true, NULL);
    cache_key_end(&sha, ret_key);
    return r;
}

/* Gets the clocks of the directory PATH. *RET is NULL if nothing is known. *RET_OWN is set if the caller must free
 * them, because they are not kept elsewhere. -ENOMEM. */
static int get_clocks(const char *path, const struct trace_options *options,
                      const struct tight_clocks **ret, struct tight_clocks **ret_own)
{
    char key[CACHE_KEY_SIZE];
    bool is_kept = make_key(path, options, key) >= 0;
    struct tight_clocks *clocks = NULL;
    int r = 0;

    *ret_own = NULL;
    *ret = is_kept ? reopen_cache_get(options->clocks, key) : NULL;
    if (*ret)
        return 0;
    if (is_kept && options->cache_dir)
        clocks = tight_clocks_load(options->cache_dir, key);
    if (!clocks) {
        r = find_clocks(path, options, &clocks);
        if (clocks && is_kept && options->cache_dir && clocks->n_items >= ITEMS_WORTH_KEEPING)
            tight_clocks_save(options->cache_dir, key, clocks);
    }
    *ret = clocks;
    if (clocks && (!is_kept || reopen_cache_put(options->clocks, key, clocks, free_clocks) < 0))
        *ret_own = clocks;
    return r;
}

/* ---- Tightening an opened trace ---- */

/* True if INPUT is from a directory whose sources may have causes and effects in each other. */
static bool may_have_causes(const struct trace_input *input)
{
    const struct manifest *manifest = input->manifest;
    unsigned guests = 0, others = 0;

    if (!input->recorded || !input->clock_map || trace_input_is_merged(input))
        return false;
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        enum layer layer;

        if (layer_by_name(manifest->sources[i].layer, &layer) < 0)
            continue;
        guests += layer == LAYER_GUEST;
        others += layer == LAYER_VMM || layer == LAYER_HOST;
    }
    return guests > 0 && others > 0;
}

static int apply(struct trace *trace, unsigned i, const struct tight_clock *row)
{
    struct trace_clocks *clocks = &trace->clocks;
    struct arena *arena = &trace->catalogue.arena;
    struct trace_clock *clock = &clocks->rows[clocks->n];
    struct text text = TEXT_IN_MEMORY;
    int r = 0;

    *clock = row->clock;
    clock->input = i;
    clock->source = arena_strdup(arena, row->source);
    clock->worst = arena_strdup(arena, row->worst);
    if (!clock->source || !clock->worst)
        return -ENOMEM;
    clocks->n++;
    if (clock->is_tightened)
        return trace_set_clock_map(trace, i, &row->map);
    if (clock->violations == 0)
        return 0;
    for (unsigned j = 0; j < trace->inputs[i].n_origins; j++)
        trace->catalogue.origins[trace->inputs[i].first_origin + j]->is_error_refuted = true;
    trace_clock_put_violations(clock, &text);
    r = text.error
            ? -ENOMEM
            : trace_note(trace, "%s: source '%s': the clock is not tightened: %.*s",
                         trace->inputs[i].path, clock->source, (int)text_len(&text), text.start);
    text_done(&text);
    return r;
}

/* Tightens the inputs of TRACE that are sources of the same directory as input FIRST. */
static int tighten_directory(struct trace *trace, unsigned first,
                             const struct trace_options *options)
{
    const char *path = trace->inputs[first].path;
    const struct tight_clocks *clocks;
    struct tight_clocks *own;
    int r = get_clocks(path, options, &clocks, &own);

    for (unsigned i = first; r == 0 && clocks && i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        if (!input->recorded || !input->clock_map || strcmp(input->path, path) != 0)
            continue;
        for (unsigned j = 0; r == 0 && j < clocks->n; j++)
            if (strcmp(clocks->rows[j].source, input->recorded->name) == 0)
                r = apply(trace, i, &clocks->rows[j]);
    }
    tight_clocks_free(own);
    return r;
}

static bool is_live(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins; i++)
        if (trace->catalogue.origins[i]->is_live)
            return true;
    return false;
}

int trace_tighten(struct trace *trace, const struct trace_options *options)
{
    int r = 0;

    if (!trace->host_time || options->stated_clocks || options->is_live)
        return 0;
    trace->clocks.rows =
        arena_alloc(&trace->catalogue.arena, MAX(trace->n_inputs, 1u) * sizeof *trace->clocks.rows);
    if (!trace->clocks.rows)
        return -ENOMEM;
    for (unsigned i = 0; i < trace->n_inputs && r == 0; i++) {
        bool is_known = false;

        for (unsigned j = 0; j < i; j++)
            is_known |= may_have_causes(&trace->inputs[j]) &&
                        strcmp(trace->inputs[j].path, trace->inputs[i].path) == 0;
        if (is_known || !may_have_causes(&trace->inputs[i]))
            continue;
        if (is_live(trace)) /* an event would have another time with each opening */
            return trace_note(trace,
                              "%s: its clocks are as they are stated: they are tightened by causes "
                              "and effects when it is not being recorded any more",
                              trace->inputs[i].path);
        r = tighten_directory(trace, i, options);
    }
    return r;
}
