/* SPDX-License-Identifier: MIT */
/* families WINDOWS PATH...: prints the metrics of analyses (watch/families.h) of a trace that is read in so many windows of
 * equal length, each of which opens it again, as the child of a recording does. What is counted is sent to a second set by
 * metrics/update.h, which is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "metrics/update.h"
#include "watch/families.h"

static const struct trace_options options = {.stated_clocks =
                                                 true}; /* as of a recording under way */

static _Noreturn void fail(const char *what, int r, const struct error *error)
{
    fprintf(stderr, "%s: %s (%d)\n", what, error ? error->what : "", r);
    exit(1);
}

static struct trace *open_trace(char **paths, unsigned n)
{
    struct error error = {0};
    struct trace *trace;
    int r = trace_open((const char *const *)paths, n, &options, &trace, &error);

    if (r < 0)
        fail("open", r, &error);
    return trace;
}

/* Calls PUT for runs of the items with time <= TO. */
static void read_window(struct trace *trace, int64_t to, struct sink *sink)
{
    const struct item *items;
    int n;

    while ((n = trace_next(trace, &items)) > 0) {
        unsigned end;

        for (end = 0; end < (unsigned)n && (items[end].time <= to || to == INT64_MAX); end++)
            ;
        if (end > 0) {
            int r = sink_put(sink, items, end);

            if (r < 0)
                fail("put", r, &sink->error);
        }
        if (end < (unsigned)n)
            break;
    }
    if (n < 0)
        fail("read", n, &trace->source->error);
}

/* The first and the last time. */
struct span_sink {
    struct sink sink;
    int64_t first, last;
};

static int put_times(struct sink *sink, const struct item *items, unsigned n)
{
    struct span_sink *span = container_of(sink, struct span_sink, sink);

    for (unsigned i = 0; i < n; i++) {
        if (items[i].time == TIME_UNKNOWN)
            continue;
        span->first = MIN(span->first, items[i].time);
        span->last = MAX(span->last, items[i].time);
    }
    return 0;
}

static void send(struct metrics *from, struct metrics *to)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error = {0};
    int r;

    metrics_put_updates(from, &text);
    r = text.error
            ? text.error
            : metrics_read_updates(to, text.start ? text.start : "", text_len(&text), &error);
    if (r < 0)
        fail("update", r, &error);
    text_done(&text);
}

int main(int argc, char **argv)
{
    static const struct sink_ops ops = {.put = put_times};
    struct span_sink span = {.sink.ops = &ops, .first = INT64_MAX, .last = INT64_MIN};
    struct metric_family *family[FAMILIES], *served_family[FAMILIES];
    struct metrics *metrics = NULL, *served = NULL;
    struct families *families = NULL;
    struct error error = {0};
    struct text text;
    int64_t n, from = INT64_MIN;
    struct trace *trace;
    clock_t counted = 0;

    if (argc < 3)
        return 2;
    n = atol(argv[1]);
    trace = open_trace(argv + 2, (unsigned)argc - 2);
    read_window(trace, INT64_MAX, &span.sink);
    trace_free(trace);
    if (metrics_new(&metrics) < 0 || metrics_new(&served) < 0 ||
        families_add(metrics, family) < 0 || families_add(served, served_family) < 0 ||
        families_new(family, &families) < 0)
        fail("new", -1, NULL);
    for (int64_t i = 1; i <= n; i++) {
        int64_t to = i == n ? INT64_MAX : span.first + (span.last - span.first) / n * i;
        clock_t begin = clock();
        int r;

        trace = open_trace(argv + 2, (unsigned)argc - 2);
        r = families_open(families, trace, from, &error);
        if (r < 0)
            fail("families_open", r, &error);
        read_window(trace, to, families_sink(families));
        r = families_close(families);
        if (r < 0)
            fail("families_close", r, NULL);
        trace_free(trace);
        counted += clock() - begin;
        send(metrics, served);
        from = to;
    }
    if (families_finish(families) < 0)
        fail("families_finish", -1, NULL);
    send(metrics, served);
    families_free(families);
    if (getenv("FAMILIES_TIME"))
        fprintf(stderr, "%.3f s\n", (double)counted / CLOCKS_PER_SEC);
    if (text_open_fd(&text, 1, 65536) < 0)
        return 1;
    metrics_put(served, METRICS_TEXT, &text);
    if (text_flush(&text) < 0)
        return 1;
    text_done(&text);
    metrics_free(metrics);
    metrics_free(served);
    return 0;
}
