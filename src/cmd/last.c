/* SPDX-License-Identifier: MIT */
#include "cmd/last.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/cmd.h"

/* The first stretch is this part of the trace. One that has too few events is followed by one that is so many times as
 * long. */
#define FIRST_PART 65536
#define GROWTH_MIN 4.0
#define GROWTH_MAX 16.0

int last_parse(void *member, const char *value, struct error *error)
{
    struct last_options *options = member;
    char *end;

    errno = 0;
    options->n = strtoull(value, &end, 10);
    options->is_given = true;
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return error_set(error, -EINVAL, NULL, "is not a whole number");
    return 0;
}

int last_check(const struct select_options *select, char **paths, int n)
{
    struct stat st;

    if (select->limited)
        return cli_usage_error("report", "--last and --limit exclude each other");
    for (int i = 0; i < n; i++) {
        bool is_input = strcmp(paths[i], "-") == 0;

        if (is_input ||
            (stat(paths[i], &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))) {
            cli_error("%s: --last requires a file: a pipe cannot be read from its end; use tail",
                      is_input ? "standard input" : paths[i]);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

/* ---- The sink ---- */

static int put(struct sink *base, const struct item *items, unsigned n)
{
    struct last_sink *sink = container_of(base, struct last_sink, sink);
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
    struct last_sink *sink = container_of(base, struct last_sink, sink);
    int r = sink_flush(sink->next);

    return r < 0 ? sink_fail(base, sink->next, r) : 0;
}

void last_sink_set_next(struct last_sink *sink, struct sink *next)
{
    static const struct sink_ops ops = {.put = put, .flush = flush};

    sink->sink = (struct sink){.ops = &ops};
    sink->next = next;
}

void last_sink_set_selection(struct last_sink *sink, struct selection *selection)
{
    sink->selection = selection;
    selection->left = sink->left > 0 ? UINT64_MAX : 0;
}

uint64_t last_limit(const struct select_options *select)
{
    return select->limited ? select->limit : UINT64_MAX;
}

/* ---- Finding where to begin ---- */

/* What was read of a trace. */
struct stretch {
    uint64_t
        n; /* selected events from the first of the time on, whatever the times of the others */
    int64_t begin,
        last; /* the first time of the trace, and the last one, both INT64_MIN: there is none */
};

struct search {
    const struct open_options *open;
    const struct select_options *select;
    char **paths;
    int n_paths;
};

/* Counts what lies from FROM on of a run of N items. */
static int count_run(struct selection *selection, const struct item *items, unsigned n,
                     int64_t from, struct stretch *stretch, struct error *error)
{
    for (unsigned i = 0; i < n; i++) {
        if (stretch->begin == INT64_MIN)
            stretch->begin = items[i].time;
        stretch->last = MAX(stretch->last, items[i].time);
    }
    for (unsigned i = 0;;) {
        int run = selection_next_run(selection, items, n, &i, error);

        if (run <= 0)
            return run;
        for (unsigned end = i + (unsigned)run; i < end; i++)
            stretch->n += items[i].kind == ITEM_EVENT && (stretch->n > 0 || items[i].time >= from);
    }
}

/* Reads what lies from FROM on; END: only what each source has at its end, with FROM as INT64_MIN. An error in the trace
 * ends the stretch: it comes up again when the events are printed. EXIT_SUCCESS, EXIT_FAILURE. */
static int read_stretch(const struct search *search, int64_t from, bool end, struct stretch *ret)
{
    struct selection selection = {0};
    struct trace *trace = walk_open_again(search->open, search->paths, search->n_paths);
    const struct item *items;
    bool has_sought = false;
    struct error error;
    int r = 0;

    if (!trace)
        return EXIT_FAILURE;
    error_clear(&error);
    *ret = (struct stretch){.begin = INT64_MIN, .last = INT64_MIN};
    if (selection_init(&selection, search->select) < 0)
        r = -ENOMEM;
    while (r >= 0 && !selection_is_over(&selection) && (r = trace_next(trace, &items)) > 0) {
        int64_t start = from;

        r = count_run(&selection, items, (unsigned)r, from, ret, &error);
        if (r < 0 || has_sought || ret->begin == INT64_MIN)
            continue;
        has_sought = true;
        (void)selection_start(&selection, &start);
        start = MAX(start, from);
        if (end)
            start = search->select->to.given && selection.started
                        ? MAX(start, selection.to - (selection.to > INT64_MIN))
                        : INT64_MAX;
        trace_seek(trace, start);
    }
    if (search->select->to.given && selection.started)
        ret->last = MIN(ret->last, selection.to);
    selection_done(&selection);
    trace_free(trace);
    return r == -ENOMEM ? (cli_no_memory(), EXIT_FAILURE) : EXIT_SUCCESS;
}

static int64_t before(int64_t time, double length)
{
    double span = (double)time - (double)INT64_MIN;

    return length >= span ? INT64_MIN : time - (int64_t)length;
}

int last_find(const struct open_options *options, const struct select_options *select,
              uint64_t n_events, char **paths, int n_paths, struct last_sink *sink)
{
    struct select_options all = *select;
    const struct search search = {options, &all, paths, n_paths};
    struct stretch stretch;
    int64_t last, from;
    double length;
    int status;

    all.limited = false;
    status = read_stretch(&search, INT64_MIN, true, &stretch);
    last = stretch.last;
    if (status != EXIT_SUCCESS)
        return status;
    length = ((double)last - (double)stretch.begin) / FIRST_PART;
    for (;;) {
        from = last > INT64_MIN ? before(last, length + 1) : INT64_MIN;
        if (from <= stretch.begin)
            from = INT64_MIN;
        status = read_stretch(&search, from, false, &stretch);
        if (status != EXIT_SUCCESS)
            return status;
        if (stretch.n >= n_events || from == INT64_MIN)
            break;
        length *= stretch.n == 0 ? GROWTH_MAX
                                 : MIN(MAX(2.0 * (double)n_events / (double)stretch.n, GROWTH_MIN),
                                       GROWTH_MAX);
    }
    *sink = (struct last_sink){.from = from, .left = last_limit(select)};
    if (stretch.n > n_events)
        sink->skip = stretch.n - n_events;
    else
        sink->has_begun = from == INT64_MIN;
    return EXIT_SUCCESS;
}
