/* SPDX-License-Identifier: MIT */
#include "cmd/causal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/causal.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "cli/duration.h"
#include "cmd/cmd.h"
#include "tracedir/manifest.h"

static const struct clock host_clock = {"monotonic", NANOSECONDS};

struct causal_sink {
    struct sink sink;
    struct causal causal;
    const struct trace *trace;
    struct {
        int64_t first, last;
    } * times; /* of events, by source */
    const struct origin *last_origin;
    unsigned last_source;
};

static unsigned source_of(void *arg, const struct origin *origin)
{
    struct causal_sink *sink = arg;

    if (origin != sink->last_origin) {
        sink->last_origin = origin;
        sink->last_source = trace_input_of(sink->trace, origin);
    }
    return sink->last_source;
}

static int put(struct sink *base, const struct item *items, unsigned n)
{
    struct causal_sink *sink = container_of(base, struct causal_sink, sink);

    for (unsigned i = 0; i < n; i++) {
        unsigned source;

        if (items[i].kind != ITEM_EVENT || items[i].time == TIME_UNKNOWN)
            continue;
        source = source_of(sink, items[i].origin);
        if (sink->times[source].first == TIME_UNKNOWN)
            sink->times[source].first = items[i].time;
        sink->times[source].last = items[i].time;
    }
    return causal_put(&sink->causal, items, n);
}

static bool is_merged(const struct trace_input *input)
{
    return input->host && strncmp(input->host, "merge:", 6) == 0;
}

bool causal_may_tighten(const struct trace *trace)
{
    unsigned guests = 0, others = 0;

    if (!trace->host_time || trace->n_pipes > 0)
        return false;
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];
        enum layer layer = input->origin->layer;

        if (!input->recorded || is_merged(input) || strcmp(input->path, trace->inputs[0].path) != 0)
            return false;
        guests += layer == LAYER_GUEST && input->clock_map;
        others += layer == LAYER_VMM || layer == LAYER_HOST;
    }
    return guests == 1 && others > 0;
}

/* What the pairs of source I came to. */
static int add_row(struct causal_report *report, const struct causal_sink *sink, unsigned i)
{
    const struct causal_clock *clock = &sink->causal.clocks[i];
    const struct trace_input *input = &sink->trace->inputs[i];
    struct causal_row *row = &report->rows[report->n];
    int64_t first, last, by = 0;
    int r;

    if (!clock->bounds.map || clock->pairs == 0)
        return 0;
    first = clock_bounds_ticks(input->clock_map, sink->times[i].first);
    last = clock_bounds_ticks(input->clock_map, sink->times[i].last);
    *row = (struct causal_row){
        .source = strdup(input->recorded->name),
        .input = i,
        .stated_ns = clock_map_bound(input->clock_map, first, last),
        .pairs = clock->pairs,
        .violations = clock->violations,
        .worst_ns = clock->worst_ns,
        .worst_at = clock->worst_at,
        .worst = clock->worst,
    };
    if (!row->source)
        return -ENOMEM;
    report->n++;
    row->error_ns = row->stated_ns;
    if (row->violations > 0 || row->pairs < CAUSAL_PAIRS_MIN)
        return 0;
    r = clock_bounds_map(&clock->bounds, &row->map, &by);
    if (r == -EINVAL) {
        row->violations = 1;
        row->worst_ns = by;
        row->worst_at = sink->times[i].first;
        row->worst = "causes and effects that contradict each other";
    } else if (r == 0) {
        row->error_ns = clock_map_bound(&row->map, first, last);
        row->is_tightened = row->error_ns < row->stated_ns;
        row->error_ns = MIN(row->error_ns, row->stated_ns);
    }
    return r == -ENOMEM ? r : 0;
}

static int make_rows(struct causal_report *report, const struct causal_sink *sink)
{
    int r = 0;

    report->n_inputs = sink->trace->n_inputs;
    report->rows = calloc(report->n_inputs, sizeof *report->rows);
    if (!report->rows)
        return -ENOMEM;
    for (unsigned i = 0; i < report->n_inputs && r == 0; i++)
        r = add_row(report, sink, i);
    return r;
}

static int put_selected(struct causal_sink *sink, struct selection *selection,
                        const struct item *items, unsigned n)
{
    struct error error;

    error_clear(&error);
    for (unsigned start = 0; start < n;) {
        int run = selection_next_run(selection, items, n, &start, &error);
        int r = run > 0 ? put(&sink->sink, items + start, (unsigned)run) : 0;

        if (run <= 0 || r < 0)
            return run == -ENOMEM ? run : r;
        start += (unsigned)run;
    }
    return 0;
}

/* Reads the items of TRACE in the times that SELECT selects; an error of reading ends it, and is the verb's to
 * report. */
static int read_items(struct trace *trace, const struct select_options *select,
                      struct causal_sink *sink)
{
    struct select_options times = {0};
    struct selection selection = {0};
    const struct item *items;
    bool sought = false;
    int64_t from;
    int n = 0, r;

    if (select) {
        times.from = select->from;
        times.to = select->to;
    }
    r = selection_init_rows(&selection, &times);
    while (r == 0 && !selection_is_over(&selection) && (n = trace_next(trace, &items)) > 0) {
        r = put_selected(sink, &selection, items, (unsigned)n);
        if (!sought && selection_start(&selection, &from)) {
            sought = true;
            trace_seek(trace, from);
        }
    }
    selection_done(&selection);
    return n == -ENOMEM ? n : r;
}

struct causal_sink *causal_sink_free(struct causal_sink *sink)
{
    if (sink) {
        causal_done(&sink->causal);
        free(sink->times);
        free(sink);
    }
    return NULL;
}

int causal_sink_new(const struct trace *trace, struct causal_sink **ret)
{
    struct causal_sink *sink;
    int r;

    *ret = NULL;
    if (!causal_may_tighten(trace))
        return 0;
    sink = calloc(1, sizeof *sink);
    if (!sink)
        return -ENOMEM;
    sink->trace = trace;
    r = causal_init(&sink->causal, trace->n_inputs, source_of, sink);
    sink->times = calloc(trace->n_inputs, sizeof *sink->times);
    if (!sink->times)
        r = -ENOMEM;
    for (unsigned i = 0; i < trace->n_inputs && r == 0; i++) {
        sink->times[i].first = TIME_UNKNOWN;
        r = causal_set_map(&sink->causal, i, trace->inputs[i].clock_map);
    }
    if (r < 0)
        causal_sink_free(sink);
    else
        *ret = sink;
    return r;
}

int causal_sink_put(struct causal_sink *sink, const struct item *items, unsigned n)
{
    return put(&sink->sink, items, n);
}

int causal_sink_finish(struct causal_sink *sink, struct causal_report *ret_report)
{
    *ret_report = (struct causal_report){0};
    causal_finish(&sink->causal);
    return make_rows(ret_report, sink);
}

static int read_trace(struct trace *trace, const struct select_options *select,
                      struct causal_report *report)
{
    struct causal_sink *sink;
    int r = causal_sink_new(trace, &sink);

    if (r < 0 || !sink)
        return r;
    r = read_items(trace, select, sink);
    if (r == 0)
        r = causal_sink_finish(sink, report);
    causal_sink_free(sink);
    return r;
}

int causal_read(const struct open_options *options, char **paths, int n,
                const struct select_options *select, struct causal_report *ret_report)
{
    struct trace_options trace_options;
    struct causal_report report = {0};
    struct trace *trace = NULL;
    struct error error;
    int r;

    *ret_report = report;
    for (int i = 0; i < n; i++)
        if (!manifest_probe(paths[i]))
            return 0;
    open_options_apply(options, &trace_options);
    error_clear(&error);
    r = trace_open((const char *const *)paths, (unsigned)n, &trace_options, &trace, &error);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    r = read_trace(trace, select, &report);
    report.is_part = select && (select->from.given || select->to.given);
    trace_free(trace);
    if (r < 0)
        causal_report_done(&report);
    else
        *ret_report = report;
    return r;
}

void causal_report_done(struct causal_report *report)
{
    for (unsigned i = 0; i < report->n; i++) {
        free(report->rows[i].source);
        if (report->rows[i].map.given)
            clock_map_done(&report->rows[i].map);
    }
    free(report->rows);
    *report = (struct causal_report){0};
}

bool causal_is_refuted(const struct causal_report *report)
{
    for (unsigned i = 0; i < report->n; i++)
        if (report->rows[i].violations > 0)
            return true;
    return false;
}

bool causal_is_tightened(const struct causal_report *report)
{
    for (unsigned i = 0; i < report->n; i++)
        if (report->rows[i].is_tightened)
            return true;
    return false;
}

/* Tightened or not, a time is within the stated error. */
int64_t causal_slack(const struct causal_report *report)
{
    int64_t slack = 0;

    for (unsigned i = 0; i < report->n && report->is_part; i++)
        if (report->rows[i].is_tightened)
            slack = MAX(slack, ticks_sum(report->rows[i].stated_ns, report->rows[i].stated_ns));
    return slack;
}

const struct causal_row *causal_find(const struct causal_report *report, const char *source)
{
    for (unsigned i = 0; i < report->n; i++)
        if (strcmp(report->rows[i].source, source) == 0)
            return &report->rows[i];
    return NULL;
}

int causal_apply(const struct causal_report *report, struct trace *trace)
{
    int r = 0;

    for (unsigned i = 0; i < report->n && r == 0; i++)
        if (report->rows[i].is_tightened && trace->n_inputs == report->n_inputs)
            r = trace_set_clock_map(trace, report->rows[i].input, &report->rows[i].map);
    return r;
}

void causal_put_violations(struct text *text, const struct causal_row *row)
{
    char a[32], b[32];

    text_printf(text,
                "%" PRIu64 " of %" PRIu64
                " causes and effects contradict the stated error of %s, the worst by %s at ",
                row->violations, row->pairs,
                duration_text(b, sizeof b, &host_clock, causal_round_up(row->stated_ns)),
                duration_text(a, sizeof a, &host_clock, (uint64_t)row->worst_ns));
    clock_put_time(&host_clock, row->worst_at, text);
    text_printf(text, ": %s", row->worst);
}

void causal_put_refutation(struct text *text, const struct causal_row *row)
{
    text_printf(text, "the clock of %s is wrong: ", row->source);
    causal_put_violations(text, row);
}

/* An error of the recording. */
static int print_violations(const struct causal_report *report, const struct trace *trace,
                            const char *advice)
{
    for (unsigned i = 0; i < report->n; i++) {
        _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;

        if (report->rows[i].violations == 0)
            continue;
        causal_put_violations(&text, &report->rows[i]);
        if (text.error)
            return -ENOMEM;
        cli_error("%s: source '%s': the clock is not tightened: %.*s%s", trace->inputs[0].path,
                  report->rows[i].source, (int)text_len(&text), text.start, advice);
    }
    return 0;
}

static int tighten(const struct open_options *options, const struct select_options *select,
                   struct trace *trace, const char *advice, struct causal_report *ret_report)
{
    char *path = (char *)(uintptr_t)trace->inputs[0].path;
    int r;

    *ret_report = (struct causal_report){0};
    if (!causal_may_tighten(trace))
        return 0;
    r = causal_read(options, &path, 1, select, ret_report);
    if (r == 0)
        r = print_violations(ret_report, trace, advice);
    return r == 0 ? causal_apply(ret_report, trace) : r;
}

int causal_tighten(const struct open_options *options, const struct select_options *select,
                   struct trace *trace, struct causal_report *ret_report)
{
    return tighten(options, select, trace, "; --no-causal skips this check", ret_report);
}

int causal_tighten_on_request(const struct open_options *options, struct trace *trace)
{
    struct causal_report report = {0};
    int r = tighten(options, NULL, trace, "", &report);
    bool is_known = false;

    for (unsigned i = 0; i < report.n; i++)
        is_known |= report.rows[i].is_tightened || report.rows[i].violations > 0;
    if (r == 0 && !is_known)
        cli_error("%s: --causal has no effect: no clock of the trace can be tightened by causes "
                  "and effects (strata-analysis(7))",
                  trace->inputs[0].path);
    causal_report_done(&report);
    return r;
}

uint64_t causal_round_up(int64_t ns)
{
    uint64_t error = (uint64_t)ns;
    uint64_t step = 1;

    while (error / step > 999)
        step *= 10;
    return step > UINT64_MAX - error ? error : (error + step - 1) / step * step;
}

void causal_put_row(struct text *text, const struct causal_row *row)
{
    char a[32], b[32];

    duration_text(b, sizeof b, &host_clock, causal_round_up(row->stated_ns));
    if (row->violations > 0) {
        text_put_literal(text, "no: ");
        causal_put_violations(text, row);
        return;
    }
    text_printf(text, "%swithin %s (stated %s), by %" PRIu64 " causes and effects",
                row->is_tightened ? "" : "no: ",
                duration_text(a, sizeof a, &host_clock, causal_round_up(row->error_ns)), b,
                row->pairs);
}

void causal_put_lines(struct text *text, const struct causal_report *report)
{
    char a[32], b[32];

    for (unsigned i = 0; i < report->n; i++) {
        const struct causal_row *row = &report->rows[i];

        if (row->violations > 0) {
            causal_put_refutation(text, row);
            text_put_char(text, '\n');
            continue;
        }
        duration_text(a, sizeof a, &host_clock, causal_round_up(row->error_ns));
        duration_text(b, sizeof b, &host_clock, causal_round_up(row->stated_ns));
        if (row->is_tightened)
            text_printf(text,
                        "clock error of %s \xc2\xb1%s (stated \xc2\xb1%s), by %" PRIu64
                        " causes and effects\n",
                        row->source, a, b, row->pairs);
    }
}

void causal_write_json(struct json_writer *w, const struct causal_report *report)
{
    if (report->n == 0)
        return;
    json_write_key(w, "clocks");
    json_write_array(w);
    for (unsigned i = 0; i < report->n; i++) {
        const struct causal_row *row = &report->rows[i];

        json_write_object(w);
        json_write_key(w, "source");
        json_write_str(w, row->source);
        json_write_key(w, "pairs");
        json_write_u64(w, row->pairs);
        json_write_key(w, "error_ns");
        if (row->violations > 0)
            json_write_raw(w, "null", 4);
        else
            json_write_i64(w, row->error_ns);
        json_write_key(w, "stated_ns");
        json_write_i64(w, row->stated_ns);
        json_write_key(w, "violations");
        json_write_u64(w, row->violations);
        if (row->violations > 0) {
            json_write_key(w, "worst_ns");
            json_write_i64(w, row->worst_ns);
            json_write_key(w, "worst_at_ns");
            json_write_i64(w, row->worst_at);
            json_write_key(w, "worst");
            json_write_str(w, row->worst);
        }
        json_write_end(w);
    }
    json_write_end(w);
}
