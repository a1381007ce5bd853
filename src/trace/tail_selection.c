/* SPDX-License-Identifier: MIT */
#include "trace/tail_selection.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macro.h"
#include "trace/read.h"

/* The first stretch is this part of the trace. If it has too few events, the next one is so many times as long. */
#define FIRST_PART 65536
#define GROWTH_MIN 4.0
#define GROWTH_MAX 16.0

int tail_check(const char *const *paths, unsigned n, struct error *error)
{
    struct stat st;

    for (unsigned i = 0; i < n; i++) {
        bool is_input = strcmp(paths[i], "-") == 0;

        if (is_input ||
            (stat(paths[i], &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))))
            return error_set(
                error, -EINVAL, is_input ? "standard input" : paths[i],
                "--last requires a file: a pipe cannot be read from its end; use tail");
    }
    return 0;
}

/* ---- The sink ---- */

static int put(struct sink *base, const struct item *items, unsigned n)
{
    struct tail_sink *sink = container_of(base, struct tail_sink, sink);
    unsigned i = 0;
    unsigned end;
    int r;

    for (; !sink->has_begun && i < n; i++) {
        sink->is_reached |= items[i].kind == ITEM_EVENT && items[i].time >= sink->from;
        if (!sink->is_reached || items[i].kind != ITEM_EVENT)
            continue;
        sink->has_begun = sink->skip == 0;
        if (sink->has_begun)
            break;
        sink->skip--;
    }
    for (end = i; end < n && sink->left > 0; end++)
        if (items[end].kind == ITEM_EVENT && sink->left < UINT64_MAX)
            sink->left--;
    if (sink->left == 0 && sink->selection)
        sink->selection->left = 0;
    if (i == end)
        return 0;
    r = sink_put(sink->next, items + i, end - i);
    return r < 0 ? sink_fail(base, sink->next, r) : 0;
}

static int flush(struct sink *base)
{
    struct tail_sink *sink = container_of(base, struct tail_sink, sink);
    int r = sink_flush(sink->next);

    return r < 0 ? sink_fail(base, sink->next, r) : 0;
}

void tail_sink_set_next(struct tail_sink *sink, struct sink *next)
{
    static const struct sink_ops ops = {.put = put, .flush = flush};

    sink->sink = (struct sink){.ops = &ops};
    sink->next = next;
}

void tail_sink_set_selection(struct tail_sink *sink, struct selection *selection)
{
    sink->selection = selection;
    selection->left = sink->left > 0 ? UINT64_MAX : 0;
}

uint64_t tail_limit(const struct select_options *select)
{
    return select->limited ? select->limit : UINT64_MAX;
}

/* ---- Finding where to begin ---- */

/* A stretch that was read. */
struct stretch {
    uint64_t n; /* selected events not before the given time, whatever the order of the times */
    int64_t begin, last; /* first and last time of the trace; both INT64_MIN if it has no events */
};

struct search {
    const struct trace_options *open;
    const struct select_options *select;
    const char *const *paths;
    unsigned n_paths;
};

static void see(void *arg, const struct item *items, unsigned n)
{
    struct stretch *stretch = arg;

    for (unsigned i = 0; i < n; i++) {
        if (stretch->begin == INT64_MIN)
            stretch->begin = items[i].time;
        stretch->last = MAX(stretch->last, items[i].time);
    }
}

/* Counts events from FROM on. An error in the trace ends the count, and is reported when the events are printed. 0,
 * -ENOMEM. */
static int count(struct trace_reading *reading, int64_t from, struct stretch *stretch)
{
    const struct item *items;
    int r;

    while ((r = trace_reading_next(reading, &items)) > 0)
        for (int i = 0; i < r; i++)
            stretch->n += items[i].kind == ITEM_EVENT && (stretch->n > 0 || items[i].time >= from);
    return r == -ENOMEM ? r : 0;
}

/* Reads from FROM on. ONLY_END: reads only the end of each source, with FROM as INT64_MIN. A negative errno with
 * ERROR. */
static int read_stretch(const struct search *search, int64_t from, bool only_end,
                        struct stretch *ret, struct error *error)
{
    static const struct trace_read_hooks hooks = {.see = see};
    struct selection selection = {0};
    struct trace_reading reading = {.selection = &selection,
                                    .hooks = &hooks,
                                    .arg = ret,
                                    .has_from = true,
                                    .from = from,
                                    .only_end = only_end};
    int r = trace_open(search->paths, search->n_paths, search->open, &reading.trace, error);

    if (r < 0)
        return r;
    *ret = (struct stretch){.begin = INT64_MIN, .last = INT64_MIN};
    r = selection_init(&selection, search->select);
    if (r >= 0)
        r = count(&reading, from, ret);
    trace_reading_done(&reading);
    if (search->select->to.given && selection.started)
        ret->last = MIN(ret->last, selection.to);
    selection_done(&selection);
    trace_free(reading.trace);
    return r < 0 ? error_set(error, r, NULL, "out of memory") : 0;
}

static int64_t before(int64_t time, double length)
{
    double span = (double)time - (double)INT64_MIN;

    return length >= span ? INT64_MIN : time - (int64_t)length;
}

int tail_find(const struct trace_options *options, const struct select_options *select,
              uint64_t n_events, const char *const *paths, unsigned n_paths, struct tail_sink *sink,
              struct error *error)
{
    struct select_options all = *select;
    const struct search search = {options, &all, paths, n_paths};
    struct stretch stretch;
    int64_t last, from;
    double length;
    int r;

    all.limited = false;
    r = read_stretch(&search, INT64_MIN, true, &stretch, error);
    if (r < 0)
        return r;
    last = stretch.last;
    length = ((double)last - (double)stretch.begin) / FIRST_PART;
    for (;;) {
        from = last > INT64_MIN ? before(last, length + 1) : INT64_MIN;
        if (from <= stretch.begin)
            from = INT64_MIN;
        r = read_stretch(&search, from, false, &stretch, error);
        if (r < 0)
            return r;
        if (stretch.n >= n_events || from == INT64_MIN)
            break;
        length *= stretch.n == 0 ? GROWTH_MAX
                                 : MIN(MAX(2.0 * (double)n_events / (double)stretch.n, GROWTH_MIN),
                                       GROWTH_MAX);
    }
    *sink = (struct tail_sink){.from = from, .left = tail_limit(select)};
    if (stretch.n > n_events)
        sink->skip = stretch.n - n_events;
    else
        sink->has_begun = from == INT64_MIN;
    return 0;
}
