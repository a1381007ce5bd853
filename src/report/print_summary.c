/* SPDX-License-Identifier: MIT */
#include "report/print_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/event_sets.h"
#include "base/macro.h"
#include "print/duration.h"
#include "print/sparkline.h"
#include "print/wrap.h"
#include "report/losses_text.h"
#include "report/print_result.h"
#include "report/snapshot_reason.h"
#include "report/summary_part.h"
#include "tracedir/manifest.h"

/* ---- rates over time ---- */

/* Periods of RATES that one character shows. */
static unsigned periods_per_character(const struct summary *summary)
{
    uint64_t last = (uint64_t)coverage_duration(&summary->coverage) >> summary->rates[0].shift;

    return last >= SPARKLINE_MAX ? 2 : 1;
}

static unsigned count_characters(const struct summary *summary)
{
    uint64_t last = (uint64_t)coverage_duration(&summary->coverage) >> summary->rates[0].shift;

    return (unsigned)MIN(last, (uint64_t)RATES_MAX - 1) / periods_per_character(summary) + 1;
}

static void put_rates(const struct summary *summary, const struct rates *rates,
                      const struct losses *losses, struct text *out)
{
    unsigned per = periods_per_character(summary);
    unsigned n = count_characters(summary);
    uint64_t values[SPARKLINE_MAX];
    bool lost[SPARKLINE_MAX];

    for (unsigned i = 0; i < n; i++) {
        values[i] = rates->counts[i * per] + (per > 1 ? rates->counts[i * per + 1] : 0);
        lost[i] = summary_has_loss(summary, rates, losses, i * per, per);
    }
    sparkline_put(out, values, lost, n);
}

/* Writes [begin, number, whether events were lost] for each period. */
static void write_rates(const struct summary *summary, const struct rates *rates,
                        const struct losses *losses, struct json_writer *w)
{
    const struct clock *clock = &summary->results[0].clock;

    json_write_array(w);
    for (unsigned i = 0; i < rates->n; i++) {
        json_write_array(w);
        json_write_i64(w, clock_to_ns(clock, (int64_t)((uint64_t)rates->begin +
                                                       ((uint64_t)i << rates->shift))));
        json_write_u64(w, rates->counts[i]);
        json_write_bool(w, summary_has_loss(summary, rates, losses, i, 1));
        json_write_end(w);
    }
    json_write_end(w);
}

/* ---- sources ---- */

enum {
    SOURCE_EVENTS,
    SOURCE_RATE,
    SOURCE_LOST,
    SOURCE_UNKNOWN,
    SOURCE_ERROR,
    SOURCE_SERIES_TEXT,
    SOURCE_LAYER,
    SOURCE_NAME,
    SOURCE_FORMAT,
    SOURCE_COVERED,
    SOURCE_SYSTEM_TEXT,
    SOURCE_FACTS,
    SOURCE_LOST_COUNTS,
    SOURCE_SERIES,
    SOURCE_COLUMNS,
};

static void make_source_columns(const struct summary *summary, struct table_column *columns)
{
    const struct table_column all[SOURCE_COLUMNS] = {
        [SOURCE_EVENTS] = {.title = "EVENTS", .width = 6, .name = "events"},
        [SOURCE_RATE] = {.title = "N/s", .width = 7, .name = "rate", .decimals = 1, .rank = 1},
        [SOURCE_LOST] = {.title = "LOST", .width = 5},
        [SOURCE_UNKNOWN] = {.title = "?%", .width = 6, .name = "unknown_share", .decimals = 2},
        [SOURCE_ERROR] = {.title = "ERROR", .width = 7, .name = "error_ns"},
        [SOURCE_SERIES_TEXT] = {.title = "OVER TIME", .width = -1, .rank = 3},
        [SOURCE_LAYER] = {.title = "LAYER", .width = -1, .name = "layer", .is_name = true},
        [SOURCE_NAME] = {.title = "SOURCE", .width = -1, .name = "source", .is_name = true},
        [SOURCE_FORMAT] = {.name = "format"},
        [SOURCE_COVERED] = {.name =
                                summary->results[0].clock.hz != 0 ? "covered_ns" : "covered_ticks"},
        [SOURCE_SYSTEM_TEXT] = {.title = "SYSTEM", .rank = 2},
        [SOURCE_FACTS] = {.name = "facts"},
        [SOURCE_LOST_COUNTS] = {.name = "lost", .json_only = true},
        [SOURCE_SERIES] = {.name = "series", .json_only = true},
    };

    memcpy(columns, all, sizeof all);
}

static void add_fact(void *arg, const char *key, const char *value)
{
    table_pairs_add(arg, key, value);
}

static int put_source(const struct summary *summary, const struct summary_source *source,
                      const struct trace *trace, struct table *table)
{
    static const struct clock ns = {"", NANOSECONDS};
    const struct trace_input *input = &trace->inputs[trace_input_of(trace, source->origin)];
    const struct result *result = &summary->results[0];
    double seconds = result_covered_seconds(result, source->origin);
    int64_t duration = coverage_duration(&summary->coverage);
    struct text system = TEXT_IN_MEMORY;
    int r = 0;

    table_u64(table, SOURCE_EVENTS, source->n_events);
    if (seconds > 0)
        table_real(table, SOURCE_RATE, (double)source->n_events / seconds);
    if (duration > 0) {
        double unknown = coverage_lost_share(&summary->coverage, source->origin);

        table_real(table, SOURCE_UNKNOWN, table->format == TABLE_TEXT ? unknown * 100 : unknown);
    }
    table_str(table, SOURCE_LAYER, layer_name(source->origin->layer));
    table_str(table, SOURCE_NAME, input->recorded ? input->recorded->name : source->origin->path);
    if (table->format == TABLE_TEXT) {
        struct text *lost = table_cell(table, SOURCE_LOST);

        text_put_u64(lost, source->losses.events);
        if (losses_are_more(&source->losses))
            text_put_char(lost, '+');
        if (source->is_error_refuted) {
            table_unknown(table, SOURCE_ERROR);
        } else if (source->error_ns > 0) {
            struct text *error = table_cell(table, SOURCE_ERROR);

            text_put_literal(error, "\xc2\xb1");
            print_duration(&ns, source->error_ns, error);
        }
        put_rates(summary, &source->rates, &source->losses, table_cell(table, SOURCE_SERIES_TEXT));
        r = trace_input_facts(input, summary_put_system, &system);
        if (source->origin->host_name && strcmp(source->origin->host_name, "(none)") != 0)
            text_printf(&system, "%s%s", text_len(&system) > 0 ? " on " : "",
                        source->origin->host_name);
        if (text_len(&system) > 0)
            text_put(table_cell(table, SOURCE_SYSTEM_TEXT), system.start, text_len(&system));
    } else {
        table_str(table, SOURCE_FORMAT, source->origin->format);
        if (duration > 0)
            table_i64(table, SOURCE_COVERED,
                      duration_ns(&result->clock,
                                  (uint64_t)coverage_covered(&summary->coverage, source->origin)));
        if (source->is_error_refuted)
            table_unknown(table, SOURCE_ERROR);
        else
            table_u64(table, SOURCE_ERROR, source->error_ns);
        table_pairs(table, SOURCE_FACTS);
        r = trace_input_facts(input, add_fact, table);
        losses_write_counts(&source->losses, table_json(table, SOURCE_LOST_COUNTS));
        write_rates(summary, &source->rates, &source->losses, table_json(table, SOURCE_SERIES));
    }
    table_end_row(table);
    if (system.error)
        r = -ENOMEM;
    text_done(&system);
    return r;
}

/* Puts the sources as text, or, if W is not NULL, as an array to W. TOP 0: all. */
static int put_sources(const struct summary *summary, const struct trace *trace, uint64_t top,
                       unsigned line_width, struct json_writer *w, struct text *out)
{
    struct table_column columns[SOURCE_COLUMNS];
    const struct table_form form = {columns, SOURCE_COLUMNS, .keeps_rows = true,
                                    .line_width = line_width};
    struct table table;
    int r = 0, error;

    make_source_columns(summary, columns);
    table_begin(&table, out, w ? TABLE_JSON : TABLE_TEXT, &form);
    if (w) {
        table.json = *w;
        json_write_lines(&table.json);
    }
    for (unsigned i = 0; i < summary->n_sources && (top == 0 || i < top) && r >= 0; i++)
        r = put_source(summary, summary->sources[i], trace, &table);
    if (w) {
        json_write_end(&table.json);
        *w = table.json;
    }
    error = table_end(&table);
    return r < 0 ? r : error;
}

/* ---- text ---- */

/* The results of sched have the same states, so what was not counted is shown below the first of them. */
static int put_part(const struct summary *summary, const struct findings *findings, unsigned part,
                    const struct trace *trace, uint64_t top, unsigned line_width, struct text *out)
{
    const struct rates *rates = summary_rates(summary, (enum summary_part)part);
    const struct result *result = &summary->results[part];
    _cleanup_free_ const char **notes = calloc(result->n_notes + 1, sizeof *notes);
    _cleanup_(text_done) struct text lines = TEXT_IN_MEMORY;
    struct result shown = *result; /* with the notes that were not shown */
    bool is_first = summary_has_footer(summary, part);
    uint64_t n = top * summary_parts[part].rows_scale;
    const struct print_options options = {.format = TABLE_TEXT,
                                          .top = n,
                                          .columns = summary_parts[part].columns,
                                          .is_part = true,
                                          .line_width = line_width,
                                          .has_no_footer = !is_first};

    text_printf(out, "\n%s: strata %s", summary_parts[part].title, summary_parts[part].command);
    print_paths(trace, out);
    text_put_char(out, '\n');
    if (rates) {
        text_put_literal(out, "over time  ");
        put_rates(summary, rates, &summary->coverage.losses, out);
        text_put_char(out, '\n');
    }
    if (!notes)
        return -ENOMEM;
    shown.notes = notes;
    shown.n_notes = summary_find_notes(summary, findings, part, notes);
    if (print_result(&shown, &options, out) < 0)
        return -ENOMEM;
    if (n > 0 && result->n_rows > n)
        text_printf(out, "%10" PRIu64 " more row%s\n", result->n_rows - n,
                    result->n_rows - n == 1 ? "" : "s");
    for (unsigned i = 0; i < shown.n_notes && !is_first; i++)
        text_printf(&lines, "%s\n", shown.notes[i]);
    wrap_lines(out, &lines, line_width);
    return 0;
}

static void put_findings(const struct findings *findings, const struct trace *trace,
                         unsigned line_width, struct text *out)
{
    _cleanup_(text_done) struct text lines = TEXT_IN_MEMORY;

    text_put_str(out, findings->has_problem ? "What stands out:\n"
                      : findings->n > 0     ? "What the trace shows:\n"
                                        : "Nothing stands out by the analyses that this trace has "
                                          "events for.\n");
    for (unsigned i = 0; i < findings->n; i++) {
        const struct finding *finding = &findings->items[i];

        text_printf(&lines, "- %s\n    strata %s", finding->text, finding->command);
        print_paths(trace, &lines);
        text_put_char(&lines, '\n');
    }
    wrap_lines(out, &lines, line_width);
}

/* The first line is preceded by the title. */
struct missing_lines {
    struct text *out;
    unsigned line_width;
    bool has_title;
};

static void put_missing(void *arg, const char *command, const char *text)
{
    _cleanup_(text_done) struct text line = TEXT_IN_MEMORY;
    struct missing_lines *lines = arg;

    if (!lines->has_title)
        text_put_literal(lines->out, "\nWhat this trace cannot answer:\n");
    lines->has_title = true;
    text_printf(&line, "- %s: %s\n", command, text);
    wrap_lines(lines->out, &line, lines->line_width);
}

int print_summary_text(const struct summary *summary, const struct findings *findings,
                       const struct trace *trace, uint64_t top, unsigned line_width,
                       struct text *out)
{
    const struct result *result = &summary->results[0];
    const struct coverage *coverage = &summary->coverage;
    struct missing_lines missing = {.out = out, .line_width = line_width};
    int r;

    if (snapshot_reasons_put(trace, out))
        text_put_char(out, '\n');
    put_findings(findings, trace, line_width, out);
    text_put_literal(out, "\nThe trace: ");
    print_events(result, 0, out);
    if (coverage->first != TIME_UNKNOWN && !clock_is_order(&result->clock)) {
        text_put_literal(out, ", from ");
        clock_put_time(&result->clock, coverage->first, out);
        text_put_literal(out, " to ");
        clock_put_time(&result->clock, coverage->last, out);
    }
    text_put_char(out, '\n');
    r = put_sources(summary, trace, top, line_width, NULL, out);
    if (top > 0 && summary->n_sources > top)
        text_printf(out, "%10" PRIu64 " more source%s\n", summary->n_sources - top,
                    summary->n_sources - top == 1 ? "" : "s");
    if (coverage_duration(coverage) > 0) {
        text_put_literal(out, "Each character over time is ");
        print_duration_with_unit(
            &result->clock,
            (int64_t)((uint64_t)periods_per_character(summary) << summary->rates[0].shift), out);
        text_put_literal(out, "; \u00b7: events were lost or not recorded\n");
    }
    for (unsigned i = 0; i < SUMMARY_PARTS && r >= 0; i++)
        if (summary_is_shown(summary, i))
            r = put_part(summary, findings, i, trace, top, line_width, out);
    if (r >= 0)
        r = summary_foreach_missing(summary, trace_classes(trace), put_missing, &missing);
    return r < 0 ? r : out->error == -ENOMEM ? -ENOMEM : 0;
}

/* ---- JSON ---- */

/* Writes the object that the verb prints. */
static int write_result(const struct result *result, const struct trace_clocks *clocks,
                        struct json_writer *w)
{
    const struct print_options options = {.format = TABLE_JSON, .clocks = clocks};
    struct text text = TEXT_IN_MEMORY;
    int r = print_result(result, &options, &text);

    if (r >= 0 && !text.error)
        json_write_raw(w, text.start, text_len(&text) - 1); /* without its newline */
    if (text.error)
        r = -ENOMEM;
    text_done(&text);
    return r;
}

static void write_number(const struct result *result, const struct finding *finding,
                         struct json_writer *w)
{
    enum result_kind kind = result->columns[finding->column].kind;
    double v = result_number(result, finding->row, finding->column);

    if (kind == RESULT_SHARE || kind == RESULT_RATE)
        json_write_real(w, v);
    else
        json_write_i64(w, (int64_t)v);
}

static void write_finding(const struct finding *finding, struct json_writer *w)
{
    const struct result *result = finding->result;

    json_write_object(w);
    json_write_key(w, "text");
    json_write_str(w, finding->text);
    json_write_key(w, "command");
    json_write_str(w, finding->command);
    if (result) {
        json_write_key(w, "analysis");
        json_write_str(w, result->analysis);
        print_json_key(result, finding->row, w);
        json_write_key(w, "column");
        json_write_str(w, result->columns[finding->column].name);
        json_write_key(w, "value");
        write_number(result, finding, w);
        json_write_key(w, "unknown_share");
        json_write_real(w, finding->unknown);
        json_write_key(w, "error_ns");
        json_write_i64(w, (int64_t)finding->error_ns);
    }
    json_write_end(w);
}

static int write_parts(const struct summary *summary, const struct trace_clocks *clocks,
                       struct json_writer *w)
{
    int r = 0;

    json_write_lines(w);
    for (unsigned i = 0; i < SUMMARY_PARTS && r >= 0; i++) {
        const struct rates *rates = summary_rates(summary, (enum summary_part)i);

        if (!summary_has(summary, (enum summary_part)i))
            continue;
        json_write_object(w);
        json_write_key(w, "command");
        json_write_str(w, summary_parts[i].command);
        if (rates) {
            json_write_key(w, "series");
            write_rates(summary, rates, &summary->coverage.losses, w);
        }
        json_write_key(w, "result");
        r = write_result(&summary->results[i], clocks, w);
        json_write_end(w);
    }
    json_write_end(w);
    return r;
}

static int write_missing(const struct summary *summary, const struct catalogue *classes,
                         struct json_writer *w)
{
    struct text text = TEXT_IN_MEMORY;
    int r = 0;

    json_write_array(w);
    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        if (!summary_is_missing(summary, i))
            continue;
        text.next = text.start;
        event_set_put_missing(summary_parts[i].analysis, "", classes, &text);
        json_write_object(w);
        json_write_key(w, "analysis");
        json_write_str(w, summary_parts[i].analysis);
        json_write_key(w, "text");
        json_write_string(w, text.start, text_len(&text));
        json_write_end(w);
    }
    json_write_end(w);
    r = text.error ? -ENOMEM : 0;
    text_done(&text);
    return r;
}

int print_summary_json(const struct summary *summary, const struct findings *findings,
                       const struct trace *trace, struct text *out)
{
    struct json_writer w = {.out = out};
    struct result whole;
    int r;

    result_init(&whole, "summary", &summary->results[0].clock, &summary->coverage);
    json_write_object(&w);
    print_json_head(&whole, &w);
    result_done(&whole);
    losses_write_json(&summary->coverage.losses, &w);
    r = snapshot_reasons_write(trace, &w);
    json_write_key(&w, "findings");
    json_write_lines(&w);
    for (unsigned i = 0; i < findings->n; i++)
        write_finding(&findings->items[i], &w);
    json_write_end(&w);
    json_write_key(&w, "missing");
    if (r >= 0)
        r = write_missing(summary, trace_classes(trace), &w);
    json_write_key(&w, "sources");
    if (r >= 0)
        r = put_sources(summary, trace, 0, 0, &w, out);
    json_write_key(&w, "results");
    if (r >= 0)
        r = write_parts(summary, &trace->clocks, &w);
    json_write_finish(&w);
    return r < 0 ? r : out->error == -ENOMEM ? -ENOMEM : 0;
}
