/* SPDX-License-Identifier: MIT */
#include "query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"
#include "event/class_map.h"

/* Sources that are put in order may lend items late (timeline/reorder.h). */
#define AFTER_ENOUGH (4 * SOURCE_DISORDER_MAX)

enum class_state { CLASS_UNSEEN, CLASS_OTHER, CLASS_WANTED };

void query_scan_filter_clear(struct scan_filter *filter)
{
    const struct event_family *family = filter->family;
    const struct event_table *table = filter->table;

    for (unsigned i = 0; i < filter->n_patterns; i++)
        free(filter->patterns[i].text);
    *filter =
        (struct scan_filter){.from = INT64_MIN, .to = INT64_MAX, .family = family, .table = table};
}

void query_scan_end(struct scan *scan)
{
    query_note_losses(scan->query, scan->trace, &scan->losses);
    trace_free(scan->trace);
    scan->trace = NULL;
    free(scan->classes);
    scan->classes = NULL;
    scan->n_classes = 0;
    scan->item = NULL;
}

int query_scan_start(struct scan *scan)
{
    struct query *query = scan->query;

    query_scan_end(scan);
    *scan = (struct scan){.query = query, .filter = scan->filter, .last_time = TIME_UNKNOWN};
    if (scan->filter.nothing || scan->filter.from > scan->filter.to)
        return 0;
    scan->trace = query_take_trace(query);
    if (!scan->trace)
        return query->error.code ? query->error.code : -ENOMEM;
    return query_scan_next(scan);
}

/* ---- Classes ---- */

static bool is_listed(const struct scan_pattern *pattern, const char *s)
{
    for (size_t at = 0; at < pattern->len; at += strlen(pattern->text + at) + 1)
        if (strcmp(pattern->text + at, s) == 0)
            return true;
    return false;
}

static bool pattern_matches(const struct scan_pattern *pattern, const struct event_class *class)
{
    const char *s = pattern->what == SCAN_EVENT   ? class->name
                    : pattern->what == SCAN_GROUP ? class->group
                                                  : layer_name(class->origin->layer);

    if (!s)
        return false;
    switch (pattern->op) {
    case '=': return strcmp(pattern->text, s) == 0;
    case 'G': return sqlite3_strglob(pattern->text, s) == 0;
    case 'K': return sqlite3_strlike(pattern->text, s, 0) == 0;
    default: return is_listed(pattern, s);
    }
}

static _cold_ const struct scan_class *look_at_class(struct scan *scan,
                                                     const struct event_class *class)
{
    const struct scan_filter *filter = &scan->filter;
    struct scan_class *found;

    if (class_map_grow(scan->classes, scan->n_classes, class) < 0)
        return NULL;
    found = &scan->classes[class->index];
    found->source = class->origin->number;
    found->state = CLASS_WANTED;
    if (filter->family) {
        found->table = event_tables_find(scan->query->events, class);
        if (!found->table || found->table->family != filter->family ||
            (filter->table && found->table != filter->table))
            found->state = CLASS_OTHER;
    }
    for (unsigned i = 0; i < filter->n_patterns; i++)
        if (!pattern_matches(&filter->patterns[i], class))
            found->state = CLASS_OTHER;
    return found;
}

/* ---- Items ---- */

static inline bool is_in(const struct scan_set *set, int64_t v)
{
    for (unsigned i = 0; i < set->n; i++)
        if (set->values[i] == v)
            return true;
    return false;
}

/* Sets the time limits in ticks when the clock is known. They are one tick wider than exact, because SQLite compares
 * again. */
static void start_times(struct scan *scan, const struct item *item)
{
    const struct clock *clock = &item->origin->clock;
    bool is_ns = clock->hz == 0 || clock->hz == NANOSECONDS;

    scan->started = true;
    scan->from = scan->filter.from;
    scan->to = scan->filter.to;
    if (!is_ns && scan->from > 0)
        scan->from = clock_from_ns(clock, (uint64_t)scan->from) - 1;
    if (!is_ns && scan->to < INT64_MAX)
        scan->to = scan->to < 0 ? 0 : clock_from_ns(clock, (uint64_t)scan->to + 1) + 1;
    if (scan->filter.from != INT64_MIN && !scan->filter.needs_ids) {
        scan->sought = true;
        trace_seek(scan->trace, scan->from);
    }
}

/* Reads the next items. 0 at the end. */
static int read_run(struct scan *scan)
{
    struct query *query = scan->query;
    int r;

    if (scan->ended)
        return 0;
    if (query_is_stopped(query))
        return -EINTR;
    r = trace_next(scan->trace, &scan->items);
    if (r > 0) {
        query_note_run(query, scan->trace);
        scan->n = (unsigned)r;
        scan->at = 0;
        return r;
    }
    scan->ended = true;
    scan->n = 0;
    if (r < 0)
        return query_reading_failed(query, &scan->trace->source->error);
    return 0;
}

/* True if the current event may be requested; then its class is set. -ENOMEM. */
static inline int test(struct scan *scan, const struct item *item)
{
    const struct scan_filter *filter = &scan->filter;
    const struct event_class *class = item->class;
    const struct scan_class *known =
        likely(class->index < scan->n_classes) ? &scan->classes[class->index] : NULL;

    if (unlikely(!known || known->state == CLASS_UNSEEN)) {
        known = look_at_class(scan, class);
        if (!known)
            return -ENOMEM;
    }
    if (known->state != CLASS_WANTED || item->time < scan->from || item->time > scan->to)
        return 0;
    if (filter->cpus.given && !is_in(&filter->cpus, item->cpu))
        return 0;
    if (filter->pids.given && !is_in(&filter->pids, item->pid))
        return 0;
    scan->source = likely(item->origin == class->origin) ? known->source : item->origin->number;
    if (filter->sources.given && !is_in(&filter->sources, scan->source))
        return 0;
    scan->class = known;
    return 1;
}

int query_scan_next(struct scan *scan)
{
    for (;;) {
        int r;

        while (scan->at < scan->n) {
            const struct item *item = &scan->items[scan->at++];

            scan->id++;
            scan->same_time = item->time == scan->last_time ? scan->same_time + 1 : 0;
            scan->last_time = item->time;
            if (unlikely(item->kind != ITEM_EVENT)) {
                losses_add(&scan->losses, item);
                continue;
            }
            if (unlikely(!scan->started))
                start_times(scan, item);
            r = test(scan, item);
            if (r < 0)
                return r;
            if (r > 0) {
                scan->n_after = 0;
                scan->item = item;
                return 0;
            }
            scan->n_after = item->time > scan->to ? scan->n_after + 1 : 0;
            if (scan->n_after >= AFTER_ENOUGH) {
                scan->ended = true;
                scan->n = 0;
            }
        }
        r = read_run(scan);
        if (r < 0)
            return r;
        if (r == 0) {
            scan->item = NULL;
            return 0;
        }
    }
}

int64_t query_scan_rowid(const struct scan *scan)
{
    return (int64_t)hash_mix(hash_mix(0, (uint64_t)scan->item->time), (uint64_t)scan->same_time);
}
