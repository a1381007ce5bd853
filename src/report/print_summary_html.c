/* SPDX-License-Identifier: MIT */
#include "report/print_summary_html.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/macro.h"
#include "print/chart.h"
#include "print/duration.h"
#include "print/html.h"
#include "report/causal.h"
#include "report/print_result.h"
#include "report/snapshot_reason.h"
#include "report/summary_part.h"
#include "tracedir/manifest.h"

/* A bar of a clock's error has so many decades, from 1 ns to 1 s. */
#define ERROR_DECADES 9
/* Labels below the sources. */
#define TIME_LABELS 5

static const struct clock ns_clock = {.hz = NANOSECONDS};

/* ---- pieces ---- */

static void begin_section(struct text *out, const char *id, const char *title)
{
    text_printf(out, "<section id=\"%s\">\n", id);
    html_element(out, "h2", NULL, title);
    text_put_char(out, '\n');
}

static void end_section(struct text *out)
{
    text_put_literal(out, "</section>\n");
}

static const char *get_source_name(const struct summary_page *page,
                                   const struct summary_source *source)
{
    const struct trace_input *input =
        &page->trace->inputs[trace_input_of(page->trace, source->origin)];

    return input->recorded ? input->recorded->name : source->origin->path;
}

/* The layer, if the source's name does not tell it. */
static const char *get_layer(const struct summary_page *page, const struct summary_source *source)
{
    const char *layer = layer_name(source->origin->layer);

    return strcmp(layer, get_source_name(page, source)) == 0 ? "" : layer;
}

/* The number of shown sources. */
static unsigned count_sources(const struct summary_page *page)
{
    unsigned n = page->summary->n_sources;

    return page->top > 0 && page->top < n ? (unsigned)page->top : n;
}

/* ---- the head ---- */

static void begin_fact(struct text *out, const char *name)
{
    text_put_literal(out, "<div><dt>");
    text_put_str(out, name);
    text_put_literal(out, "</dt><dd>");
}

static void end_fact(struct text *out)
{
    text_put_literal(out, "</data></dd></div>\n");
}

static int put_head(const struct summary_page *page, struct text *out)
{
    const struct summary *summary = page->summary;
    const struct coverage *coverage = &summary->coverage;
    const struct clock *clock = &summary->results[0].clock;
    struct text lines = TEXT_IN_MEMORY;
    int r;

    text_put_literal(out, "<header>\n<h1>Summary of");
    html_put(out, page->paths.start, text_len(&page->paths), HTML_NAME_MAX);
    text_put_literal(out, "</h1>\n<dl class=\"facts\">\n");
    begin_fact(out, "events");
    html_begin_data_u64(out, coverage->n_events);
    text_put_u64(out, coverage->n_events);
    end_fact(out);
    begin_fact(out, "duration");
    html_begin_data_i64(out, duration_ns(clock, (uint64_t)coverage_duration(coverage)));
    print_duration_with_unit(clock, coverage_duration(coverage), out);
    end_fact(out);
    begin_fact(out, "lost");
    html_begin_data_u64(out, coverage->losses.events);
    text_put_u64(out, coverage->losses.events);
    text_put_str(out, losses_are_more(&coverage->losses) ? "+" : "");
    end_fact(out);
    begin_fact(out, "sources");
    html_begin_data_u64(out, summary->n_sources);
    text_put_u64(out, summary->n_sources);
    end_fact(out);
    begin_fact(out, "stands out");
    html_begin_data_u64(out, page->findings->n);
    text_put_u64(out, page->findings->n);
    end_fact(out);
    text_put_literal(out, "</dl>\n");
    if (coverage->first != TIME_UNKNOWN) {
        text_put_literal(out, "<p class=\"span\">From ");
        clock_put_time(clock, coverage->first, out);
        text_put_literal(out, " to ");
        clock_put_time(clock, coverage->last, out);
        if (clock_is_order(clock))
            text_put_literal(out, CLOCK_ORDER_TEXT);
        else if (clock->hz == 0)
            text_put_literal(out, ", in ticks: the clock's rate is unknown");
        text_put_literal(out, "</p>\n");
    }
    (void)snapshot_reasons_put(page->trace, &lines);
    r = print_summary_html_lines(&lines, out);
    text_put_literal(out, "</header>\n");
    return r;
}

static void put_navigation(const struct summary_page *page, struct text *out)
{
    text_put_literal(out, "<nav><a href=\"#findings\">What stands out</a> "
                          "<a href=\"#sources\">Sources</a> ");
    for (unsigned i = 0; i < SUMMARY_PARTS; i++)
        if (summary_is_shown(page->summary, i))
            text_printf(out, "<a href=\"#part-%u\">%s</a> ", i, summary_parts[i].title);
    text_put_literal(out, "<a href=\"#missing\">Not answered</a> "
                          "<a href=\"#recording\">Recording</a></nav>\n");
}

/* ---- what stands out ---- */

/* Puts the number that FINDING is about, as in the table of its result, and its uncertainty. */
static void put_finding_number(const struct finding *finding, struct text *out)
{
    const struct result *result = finding->result;
    enum result_kind kind = result->columns[finding->column].kind;
    double v = result_number(result, finding->row, finding->column);

    text_put_literal(out, "<p class=\"number-of\"><span>");
    print_summary_html_label(&result->columns[finding->column], out);
    text_put_literal(out, " ");
    if (kind == RESULT_SHARE || kind == RESULT_RATE) {
        html_begin_data_real(out, v);
        text_printf(out, "%.1f", kind == RESULT_SHARE ? v * 100 : v);
    } else {
        html_begin_data_i64(out, (int64_t)v);
        if (kind == RESULT_DURATION)
            print_duration_with_unit(&result->clock, finding->row->values[finding->column].number,
                                     out);
        else if (kind == RESULT_ERROR)
            print_duration(&ns_clock, (int64_t)v, out);
        else
            text_printf(out, "%.0f", v);
    }
    text_put_literal(out, "</data></span>");
    if (finding->unknown > 0) {
        text_put_literal(out, " <span>unknown % ");
        html_begin_data_real(out, finding->unknown);
        text_printf(out, "%.1f</data></span>", finding->unknown * 100);
    }
    if (finding->error_ns > 0) {
        text_put_literal(out, " <span>clock error ");
        html_begin_data_i64(out, (int64_t)finding->error_ns);
        text_put_literal(out, "\u00b1");
        print_duration(&ns_clock, (int64_t)finding->error_ns, out);
        text_put_literal(out, "</data></span>");
    }
    text_put_literal(out, "</p>\n");
}

static void put_findings(const struct summary_page *page, struct text *out)
{
    char error[sizeof(struct error) + 64];

    begin_section(out, "findings", "What stands out");
    if (page->error && page->error->code) {
        error_print(page->error, error, sizeof error);
        text_put_literal(out, "<p class=\"problem\">The trace was not read to its end: ");
        html_put_sentence(out, error);
        text_put_literal(out, "</p>\n");
    }
    if (page->findings->n == 0)
        text_put_literal(out, "<p>Nothing, by the analyses that this trace has events for.</p>\n");
    text_put_literal(out, "<ol class=\"findings\">\n");
    for (unsigned i = 0; i < page->findings->n; i++) {
        const struct finding *finding = &page->findings->items[i];

        html_begin(out, "li", finding->result ? NULL : "whole-trace");
        html_element(out, "p", NULL, finding->text);
        if (finding->result)
            put_finding_number(finding, out);
        print_summary_html_command(page, finding->command, out);
        text_put_literal(out, "</li>\n");
    }
    text_put_literal(out, "</ol>\n");
    end_section(out);
}

/* ---- sources over time ---- */

static uint64_t get_period(const struct summary *summary)
{
    return UINT64_C(1) << summary->rates[0].shift;
}

static unsigned count_periods(const struct summary *summary)
{
    uint64_t last = (uint64_t)coverage_duration(&summary->coverage) / get_period(summary);

    return (unsigned)MIN(last, (uint64_t)RATES_MAX - 1) + 1;
}

/* Puts RATES as a chart. Returns the largest number of a period. */
static uint64_t put_series(const struct summary *summary, const struct rates *rates,
                           const struct losses *losses, struct text *out)
{
    unsigned n = count_periods(summary);
    uint64_t values[RATES_MAX] = {0};
    bool lost[RATES_MAX];
    uint64_t most = 0;

    for (unsigned i = 0; i < n; i++) {
        values[i] = i < rates->n ? rates->counts[i] : 0;
        lost[i] = summary_has_loss(summary, rates, losses, i, 1);
        most = MAX(most, values[i]);
    }
    chart_put_series(out, values, lost, n);
    return most;
}

static void put_lane(const struct summary *summary, const char *name, const char *what,
                     const struct rates *rates, const struct losses *losses, struct text *out)
{
    uint64_t most;

    text_put_literal(out, "<div class=\"lane\"><p><b>");
    html_put_name(out, name);
    text_put_literal(out, "</b> ");
    html_put_name(out, what);
    text_put_literal(out, "</p>");
    most = put_series(summary, rates, losses, out);
    text_put_literal(out, "<p class=\"peak\">at most ");
    text_put_u64(out, most);
    text_put_literal(out, " in ");
    print_duration_with_unit(&summary->results[0].clock, (int64_t)get_period(summary), out);
    text_put_literal(out, "</p></div>\n");
}

static void put_time_labels(const struct summary *summary, struct text *out)
{
    uint64_t all = get_period(summary) * count_periods(summary);

    text_put_literal(out, "<div class=\"axis\"><p></p><div class=\"labels\">");
    for (unsigned i = 0; i < TIME_LABELS; i++) {
        text_put_literal(out, "<span>+");
        print_duration(&summary->results[0].clock, (int64_t)(all / (TIME_LABELS - 1) * i), out);
        text_put_literal(out, "</span>");
    }
    text_put_literal(out, "</div></div>\n");
}

static void put_lanes(const struct summary_page *page, struct text *out)
{
    const struct summary *summary = page->summary;

    text_put_literal(out, "<figure>\n");
    for (unsigned i = 0; i < count_sources(page); i++)
        put_lane(summary, get_source_name(page, summary->sources[i]),
                 get_layer(page, summary->sources[i]), &summary->sources[i]->rates,
                 &summary->sources[i]->losses, out);
    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        const struct rates *rates = summary_rates(summary, (enum summary_part)i);

        if (rates && summary_has(summary, (enum summary_part)i))
            put_lane(summary, summary_parts[i].title, "", rates, &summary->coverage.losses, out);
    }
    put_time_labels(summary, out);
    text_put_literal(out, "<figcaption>Events over time; each line has its own scale. "
                          "<span class=\"key key-lost\">events were lost</span></figcaption>\n"
                          "</figure>\n");
}

/* Puts the numbers that the lanes show. */
static void put_periods(const struct summary_page *page, struct text *out)
{
    const struct summary *summary = page->summary;
    const struct clock *clock = &summary->results[0].clock;
    const struct rates *all[SUMMARY_PARTS];
    unsigned n_parts = 0;

    text_put_literal(out, "<details><summary>Numbers of each period</summary>\n"
                          "<div class=\"wide\"><table id=\"periods\"><thead><tr>"
                          "<th scope=\"col\">from</th>");
    for (unsigned i = 0; i < count_sources(page); i++) {
        text_put_literal(out, "<th scope=\"col\" class=\"number\">");
        html_put_name(out, get_source_name(page, summary->sources[i]));
        html_end(out, "th");
    }
    for (unsigned i = 0; i < SUMMARY_PARTS; i++) {
        const struct rates *rates = summary_rates(summary, (enum summary_part)i);

        if (!rates || !summary_has(summary, (enum summary_part)i))
            continue;
        all[n_parts++] = rates;
        text_put_literal(out, "<th scope=\"col\" class=\"number\">");
        text_put_str(out, summary_parts[i].title);
        html_end(out, "th");
    }
    text_put_literal(out, "<th scope=\"col\">lost</th></tr></thead>\n<tbody>\n");
    for (unsigned k = 0; k < count_periods(summary); k++) {
        const struct rates *first = &summary->sources[0]->rates;
        int64_t begin = (int64_t)((uint64_t)first->begin + get_period(summary) * k);

        text_put_literal(out, "<tr><th scope=\"row\">");
        html_begin_data_i64(out, clock_to_ns(clock, begin));
        clock_put_time(clock, begin, out);
        text_put_literal(out, "</data></th>");
        for (unsigned i = 0; i < count_sources(page) + n_parts; i++) {
            const struct rates *rates = i < count_sources(page) ? &summary->sources[i]->rates
                                                                : all[i - count_sources(page)];

            text_put_literal(out, "<td class=\"number\">");
            text_put_u64(out, k < rates->n ? rates->counts[k] : 0);
            html_end(out, "td");
        }
        text_put_str(out, summary_has_loss(summary, first, &summary->coverage.losses, k, 1)
                              ? "<td>yes</td>"
                              : "<td></td>");
        text_put_literal(out, "</tr>\n");
    }
    text_put_literal(out, "</tbody></table></div></details>\n");
}

/* ---- sources ---- */

static void put_share(double share, struct text *out)
{
    text_printf(out, "<td class=\"number share\" style=\"--v:%.4g%%\">",
                MIN(MAX(share, 0), 1) * 100);
    html_begin_data_real(out, share);
    text_printf(out, "%.2f</data></td>", share * 100);
}

static void put_error(const struct summary_source *source, struct text *out)
{
    uint32_t error_ns = source->error_ns;

    if (source->is_error_refuted) {
        text_put_literal(out, "<td></td><td class=\"number bad\">?</td>");
        return;
    }
    text_put_literal(out, "<td class=\"chart\">");
    chart_put_bar(out, error_ns > 0 ? log10((double)error_ns) / ERROR_DECADES : 0, "error");
    text_put_literal(out, "</td><td class=\"number\">");
    html_begin_data_u64(out, error_ns);
    text_put_str(out, error_ns > 0 ? "\u00b1" : "");
    print_duration(&ns_clock, error_ns, out);
    text_put_literal(out, "</data></td>");
}

static int put_source(const struct summary_page *page, const struct summary_source *source,
                      struct text *out)
{
    const struct summary *summary = page->summary;
    const struct trace_input *input =
        &page->trace->inputs[trace_input_of(page->trace, source->origin)];
    double seconds = result_covered_seconds(&summary->results[0], source->origin);
    int64_t duration = coverage_duration(&summary->coverage);
    struct text system = TEXT_IN_MEMORY;
    int r;

    text_put_literal(out, "<tr><th scope=\"row\">");
    html_put_name(out, layer_name(source->origin->layer));
    text_put_literal(out, "</th><th scope=\"row\">");
    html_put_name(out, get_source_name(page, source));
    text_put_literal(out, "</th><td>");
    html_put_name(out, source->origin->format);
    text_put_literal(out, "</td><td class=\"number\">");
    html_begin_data_u64(out, source->n_events);
    text_put_u64(out, source->n_events);
    text_put_literal(out, "</data></td><td class=\"number\">");
    if (seconds > 0) {
        html_begin_data_real(out, (double)source->n_events / seconds);
        text_printf(out, "%.1f</data>", (double)source->n_events / seconds);
    }
    text_put_str(out, losses_any(&source->losses) ? "</td><td class=\"number bad\">"
                                                  : "</td><td class=\"number\">");
    html_begin_data_u64(out, source->losses.events);
    text_put_u64(out, source->losses.events);
    text_put_str(out, losses_are_more(&source->losses) ? "+" : "");
    text_put_literal(out, "</data></td>");
    if (duration > 0)
        put_share(coverage_lost_share(&summary->coverage, source->origin), out);
    else
        text_put_literal(out, "<td></td>");
    put_error(source, out);
    text_put_literal(out, "<td>");
    r = trace_input_facts(input, summary_put_system, &system);
    html_put(out, system.start, text_len(&system), HTML_NAME_MAX);
    text_put_literal(out, "</td></tr>\n");
    if (system.error)
        r = -ENOMEM;
    text_done(&system);
    return r;
}

static int put_sources(const struct summary_page *page, struct text *out)
{
    const struct summary *summary = page->summary;
    struct text lines = TEXT_IN_MEMORY;
    int r = 0;

    begin_section(out, "sources", "Sources");
    if (summary->n_sources > 0)
        put_lanes(page, out);
    text_put_literal(out, "<div class=\"wide\"><table><caption>");
    print_summary_html_command(page, "info", out);
    text_put_literal(
        out, "</caption>\n<thead><tr><th scope=\"col\">layer</th><th scope=\"col\">source</th>"
             "<th scope=\"col\">format</th><th scope=\"col\" class=\"number\">events</th>"
             "<th scope=\"col\" class=\"number\">rate/s</th>"
             "<th scope=\"col\" class=\"number\">lost</th>"
             "<th scope=\"col\" class=\"number\">unknown %</th>"
             "<th scope=\"col\" class=\"scale\"><span>1ns</span><span>clock error</span>"
             "<span>1s</span></th><th scope=\"col\" class=\"number\">error ns</th>"
             "<th scope=\"col\">system</th></tr></thead>\n<tbody>\n");
    for (unsigned i = 0; i < count_sources(page) && r >= 0; i++)
        r = put_source(page, summary->sources[i], out);
    text_put_literal(out, "</tbody></table></div>\n");
    if (count_sources(page) < summary->n_sources)
        text_printf(out, "<p class=\"note\">%u more sources: --top 0 shows all</p>\n",
                    summary->n_sources - count_sources(page));
    print_losses(&summary->results[0], &lines);
    if (r >= 0)
        r = print_summary_html_lines(&lines, out);
    else
        text_done(&lines);
    if (summary->n_sources > 0)
        put_periods(page, out);
    end_section(out);
    return r;
}

/* ---- what is missing, and how it was recorded ---- */

static void put_missing(void *arg, const char *command, const char *text)
{
    struct text *out = arg;

    text_put_literal(out, "<dt>");
    html_put_name(out, command);
    text_put_literal(out, "</dt><dd>");
    html_put_quoted(out, text);
    text_put_literal(out, "</dd>\n");
}

static void put_fact(void *arg, const char *key, const char *value)
{
    struct text *out = arg;

    text_put_literal(out, "<dt>");
    html_put_name(out, key);
    text_put_literal(out, "</dt><dd>");
    html_put_sentence(out, value);
    text_put_literal(out, "</dd>\n");
}

static int put_recording(const struct summary_page *page, struct text *out)
{
    const struct trace *trace = page->trace;
    unsigned n =
        page->top > 0 && page->top < trace->n_inputs ? (unsigned)page->top : trace->n_inputs;
    struct text lines = TEXT_IN_MEMORY;
    int r = 0;

    begin_section(out, "recording", "How it was recorded");
    for (unsigned i = 0; i < n && r >= 0; i++) {
        const struct trace_input *input = &trace->inputs[i];

        html_element(out, "h3", NULL, input->recorded ? input->recorded->name : input->path);
        text_put_literal(out, "\n<dl>\n");
        r = trace_input_facts(input, put_fact, out);
        text_put_literal(out, "</dl>\n");
    }
    for (unsigned i = 0; i < trace->n_notes; i++)
        text_printf(&lines, "%s\n", trace->notes[i]);
    causal_put_lines(&lines, &page->trace->clocks);
    if (r >= 0)
        r = print_summary_html_lines(&lines, out);
    else
        text_done(&lines);
    text_put_literal(out, "<h3>This page</h3>\n<dl>\n");
    put_fact(out, "version", "strata " STRATA_VERSION);
    put_fact(out, "command", page->made_by);
    text_put_literal(out, "</dl>\n");
    end_section(out);
    return r;
}

int print_summary_html(struct summary_page *page, struct text *out)
{
    int r;

    page->paths = TEXT_IN_MEMORY;
    print_paths(page->trace, &page->paths);
    if (page->paths.error) {
        text_done(&page->paths);
        return -ENOMEM;
    }
    html_begin_page(out, "strata summary");
    chart_put_patterns(out);
    r = put_head(page, out);
    put_navigation(page, out);
    put_findings(page, out);
    if (r >= 0)
        r = put_sources(page, out);
    for (unsigned i = 0; i < SUMMARY_PARTS && r >= 0; i++)
        if (summary_is_shown(page->summary, i))
            r = print_summary_html_part(page, i, out);
    begin_section(out, "missing", "What this trace cannot answer");
    text_put_literal(out, "<dl>\n");
    if (r >= 0)
        r = summary_foreach_missing(page->summary, trace_classes(page->trace), put_missing, out);
    text_put_literal(out, "</dl>\n");
    end_section(out);
    if (r >= 0)
        r = put_recording(page, out);
    html_end_page(out);
    text_done(&page->paths);
    return r < 0 ? r : out->error == -ENOMEM ? -ENOMEM : 0;
}
