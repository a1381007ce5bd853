/* SPDX-License-Identifier: MIT */
/* Prints the table of one analysis in the page of a summary: rows with their keys, a chart for each row, and the
 * numbers. */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "print/chart.h"
#include "print/html.h"
#include "report/print_result.h"
#include "report/print_summary_html.h"
#include "report/summary_part.h"

/* Limit of lines below a table, or about a recording. */
#define LINES_MAX 40

void print_summary_html_command(const struct summary_page *page, const char *command,
                                struct text *out)
{
    text_put_literal(out, "<code>strata ");
    html_put_sentence(out, command);
    html_put(out, page->paths.start, text_len(&page->paths), HTML_SENTENCE_MAX);
    text_put_literal(out, "</code>");
}

int print_summary_html_lines(struct text *lines, struct text *out)
{
    int error = lines->error;
    unsigned n = 0;

    for (char *line = lines->start; line && line < lines->next;) {
        char *end = memchr(line, '\n', (size_t)(lines->next - line));

        if (!end)
            end = lines->next;
        while (line < end && *line == ' ')
            line++;
        if (line < end && n++ < LINES_MAX) {
            text_put_literal(out, "<p class=\"note\">");
            html_put(out, line, (size_t)(end - line), HTML_SENTENCE_MAX);
            text_put_literal(out, "</p>\n");
        }
        line = end + 1;
    }
    if (n > LINES_MAX)
        text_printf(out, "<p class=\"note\">and %u more lines</p>\n", n - LINES_MAX);
    text_done(lines);
    return error ? -ENOMEM : 0;
}

#define STATES_MAX 4

/* Columns that add up to the whole time of a row. */
struct state_chart {
    const char *columns[STATES_MAX];
    const char *classes[STATES_MAX];
};

/* What a table shows. */
struct view {
    const struct result *result;
    const struct summary_part_info *info;
    const struct state_chart *states; /* NULL: no chart of states */
    unsigned n_rows;                  /* shown rows */
    unsigned first, n_doublings;      /* of all durations in the shown rows; 0 if there are none */
    bool has_column[RESULT_COLUMNS];
};

static const struct state_chart cpu_states = {
    {"busy_share", "interrupt_share", "idle_share", "unknown_share"},
    {"run", "interrupt", "sleep", "unknown"}};
static const struct state_chart task_states = {
    {"run_share", "wait_share", "sleep_share", "unknown_share"},
    {"run", "wait", "sleep", "unknown"}};

/* ---- which columns ---- */

static bool is_percentile(const char *name)
{
    return name[0] == 'p' && name[1] >= '0' && name[1] <= '9';
}

static bool is_wanted(const struct summary_part_info *info, const char *name)
{
    for (const char *const *wanted = info->columns; *wanted; wanted++)
        if (strcmp(*wanted, name) == 0)
            return true;
    return is_percentile(name);
}

/* Hides a column without values in all rows. An error of 0 is not a value. */
static bool has_values(const struct view *view, unsigned column)
{
    bool is_error = view->result->columns[column].kind == RESULT_ERROR;

    for (unsigned i = 0; i < view->n_rows; i++) {
        const struct result_row *row = view->result->rows[i];

        if (result_has(row, column) && !(is_error && row->values[column].number == 0))
            return true;
    }
    return false;
}

static void find_doublings(struct view *view)
{
    uint64_t counts[HISTOGRAM_DOUBLINGS] = {0};
    unsigned first = HISTOGRAM_DOUBLINGS, last = 0;

    for (unsigned i = 0; i < view->n_rows; i++)
        if (view->result->rows[i]->durations)
            histogram_add_doublings(view->result->rows[i]->durations, counts);
    for (unsigned i = 0; i < HISTOGRAM_DOUBLINGS; i++) {
        if (counts[i] == 0)
            continue;
        first = MIN(first, i);
        last = i;
    }
    if (first < HISTOGRAM_DOUBLINGS) {
        view->first = first;
        view->n_doublings = last - first + 1;
    }
}

static void make_view(const struct summary_page *page, unsigned part, struct view *view)
{
    const struct result *result = &page->summary->results[part];
    uint64_t n = page->top * summary_parts[part].rows_scale;

    *view = (struct view){.result = result, .info = &summary_parts[part]};
    view->n_rows = n > 0 && n < result->n_rows ? (unsigned)n : result->n_rows;
    for (unsigned i = 0; i < result->n_columns; i++)
        view->has_column[i] = is_wanted(view->info, result->columns[i].name) && has_values(view, i);
    if (part <= SUMMARY_TASKS)
        view->states = part == SUMMARY_CPUS ? &cpu_states : &task_states;
    else
        find_doublings(view);
}

/* ---- the heading ---- */

void print_summary_html_label(const struct result_column *column, struct text *out)
{
    size_t len = strlen(column->name);

    if (strcmp(column->name, "unknown_share") == 0) {
        text_put_literal(out, "unknown %");
        return;
    }
    if (column->kind == RESULT_SHARE && len > 6 && strcmp(column->name + len - 6, "_share") == 0)
        len -= 6;
    for (size_t i = 0; i < len; i++)
        text_put_char(out, column->name[i] == '_' ? ' ' : column->name[i]);
    if (column->kind == RESULT_SHARE)
        text_put_literal(out, " %");
    else if (column->kind == RESULT_RATE)
        text_put_literal(out, "/s");
}

static void put_head(const struct view *view, struct text *out)
{
    const struct result *result = view->result;

    text_put_literal(out, "<thead><tr>");
    for (unsigned i = 0; i < result->n_keys; i++) {
        text_put_literal(out, "<th scope=\"col\">");
        html_put_name(out, result->keys[i].name);
        html_end(out, "th");
    }
    if (view->states)
        text_put_literal(out, "<th scope=\"col\">time</th>");
    if (view->n_doublings > 0) {
        text_put_literal(out, "<th scope=\"col\" class=\"scale\"><span>");
        print_duration(&result->clock, view->first == 0 ? 0 : INT64_C(1) << (view->first - 1), out);
        text_put_literal(out, "</span><span>distribution</span><span>");
        print_duration(&result->clock,
                       (int64_t)MIN(UINT64_C(1) << MIN(view->first + view->n_doublings - 1, 63u),
                                    (uint64_t)INT64_MAX),
                       out);
        text_put_literal(out, "</span></th>");
    }
    for (unsigned i = 0; i < result->n_columns; i++) {
        if (!view->has_column[i])
            continue;
        text_put_literal(out, "<th scope=\"col\" class=\"number\">");
        print_summary_html_label(&result->columns[i], out);
        html_end(out, "th");
    }
    text_put_literal(out, "</tr></thead>\n");
}

/* ---- rows ---- */

static double get_share(const struct result *result, const struct result_row *row, const char *name)
{
    int column = result_find_column(result, name);

    return column >= 0 ? result_number(result, row, (unsigned)column) : NAN;
}

static void put_states(const struct view *view, const struct result_row *row, struct text *out)
{
    double shares[STATES_MAX];

    for (unsigned i = 0; i < STATES_MAX; i++)
        shares[i] = get_share(view->result, row, view->states->columns[i]);
    html_begin(out, "td", "chart");
    chart_put_shares(out, shares, view->states->classes, STATES_MAX);
    html_end(out, "td");
}

/* Returns where TICKS is on the scale of the distributions. */
static double scale_ticks(const struct view *view, int64_t ticks)
{
    return ticks > 0 ? log2((double)ticks) + 1 - view->first : 0;
}

static void put_distribution(const struct view *view, const struct result_row *row,
                             struct text *out)
{
    const struct result *result = view->result;
    uint64_t counts[HISTOGRAM_DOUBLINGS] = {0};
    double marks[RESULT_COLUMNS];
    unsigned n = 0;
    int max = result_find_column(result, "max");

    html_begin(out, "td", "chart");
    if (row->durations && row->durations->n > 0) {
        histogram_add_doublings(row->durations, counts);
        for (unsigned i = 0; i < result->n_columns; i++)
            if (is_percentile(result->columns[i].name) && result_has(row, i))
                marks[n++] = scale_ticks(view, row->values[i].number);
        marks[n++] = max >= 0 && result_has(row, (unsigned)max)
                         ? scale_ticks(view, row->values[max].number)
                         : NAN;
        chart_put_distribution(out, counts + view->first, view->n_doublings, marks, n);
    }
    html_end(out, "td");
}

static void put_share(double share, struct text *out)
{
    text_printf(out, "<td class=\"number share\" style=\"--v:%.4g%%\">",
                MIN(MAX(share, 0), 1) * 100);
    html_begin_data_real(out, share);
    text_printf(out, "%.2f</data></td>", share * 100);
}

static void put_number(const struct view *view, const struct result_row *row, unsigned column,
                       struct text *out)
{
    const struct result *result = view->result;
    enum result_kind kind = result->columns[column].kind;
    union result_value value = row->values[column];

    if (!result_has(row, column)) {
        text_printf(out, "<td class=\"number none\">%c</td>",
                    result_is_unknown(row, column) ? '?' : '-');
        return;
    }
    if (kind == RESULT_SHARE) {
        put_share(value.real, out);
        return;
    }
    html_begin(out, "td", kind == RESULT_TEXT ? NULL : "number");
    switch (kind) {
    case RESULT_TEXT: html_put_name(out, value.text); break;
    case RESULT_RATE:
        html_begin_data_real(out, value.real);
        text_printf(out, "%.1f", value.real);
        break;
    case RESULT_COUNT:
        html_begin_data_i64(out, value.number);
        text_put_i64(out, value.number);
        break;
    case RESULT_ERROR:
        html_begin_data_i64(out, value.number);
        print_error_ns(result, row, column, out);
        break;
    default:
        html_begin_data_i64(out, (int64_t)result_number(result, row, column));
        if (kind == RESULT_TIME)
            clock_put_time(&result->clock, value.number, out);
        else
            print_duration(&result->clock, value.number, out);
        break;
    }
    if (kind != RESULT_TEXT)
        html_end(out, "data");
    html_end(out, "td");
}

static void put_row(const struct view *view, const struct result_row *row, struct text *out)
{
    const struct result *result = view->result;

    html_begin(out, "tr", row->is_whole ? "whole" : NULL);
    for (unsigned i = 0; i < result->n_keys; i++) {
        text_put_literal(out, "<th scope=\"row\">");
        html_put_name(out, row->keys[i]);
        html_end(out, "th");
    }
    if (view->states)
        put_states(view, row, out);
    if (view->n_doublings > 0)
        put_distribution(view, row, out);
    for (unsigned i = 0; i < result->n_columns; i++)
        if (view->has_column[i])
            put_number(view, row, i, out);
    text_put_literal(out, "</tr>\n");
}

/* ---- the section ---- */

static void put_legend(const struct view *view, struct text *out)
{
    if (view->states) {
        text_put_literal(out, "<p class=\"legend\">");
        for (unsigned i = 0; i < STATES_MAX; i++) {
            const char *class = view->states->classes[i];

            text_printf(out, "<span class=\"key key-%s\">%s</span> ", class,
                        view->states == &cpu_states && i == 0   ? "busy"
                        : view->states == &cpu_states && i == 2 ? "idle"
                                                                : class);
        }
        text_put_literal(out, "</p>\n");
    } else if (view->n_doublings > 0) {
        text_put_literal(out, "<p class=\"legend\">Each step of a distribution is twice as long as "
                              "the previous one. <span class=\"key key-first\">median</span> "
                              "<span class=\"key key-mark\">other percentiles</span> "
                              "<span class=\"key key-max\">maximum</span></p>\n");
    }
}

static void put_rows(const struct summary_page *page, const struct view *view, struct text *out)
{
    unsigned more = view->result->n_rows - view->n_rows;

    text_put_literal(out, "<div class=\"wide\"><table>\n<caption>");
    print_summary_html_command(page, view->info->command, out);
    text_put_literal(out, "</caption>\n");
    put_head(view, out);
    text_put_literal(out, "<tbody>\n");
    for (unsigned i = 0; i < view->n_rows; i++)
        put_row(view, view->result->rows[i], out);
    text_put_literal(out, "</tbody></table></div>\n");
    put_legend(view, out);
    if (more > 0)
        text_printf(out, "<p class=\"note\">%u more row%s: --top 0 shows all</p>\n", more,
                    more == 1 ? "" : "s");
}

/* Puts what the text has below the table. */
static int put_footer(const struct summary_page *page, unsigned part, struct text *out)
{
    static const struct print_options options = {.format = TABLE_TEXT, .is_part = true};
    const struct result *result = &page->summary->results[part];
    _cleanup_free_ const char **notes = calloc(result->n_notes + 1, sizeof *notes);
    struct result shown = *result; /* with the notes that were not shown */
    struct text lines = TEXT_IN_MEMORY;

    if (!notes)
        return -ENOMEM;
    shown.notes = notes;
    shown.n_notes = summary_find_notes(page->summary, page->findings, part, notes);
    if (summary_has_footer(page->summary, part))
        print_result_footer(&shown, &options, &lines);
    else
        for (unsigned i = 0; i < shown.n_notes; i++)
            text_printf(&lines, "%s\n", shown.notes[i]);
    return print_summary_html_lines(&lines, out);
}

int print_summary_html_part(const struct summary_page *page, unsigned part, struct text *out)
{
    struct view view;
    int r;

    make_view(page, part, &view);
    text_printf(out, "<section id=\"part-%u\">\n", part);
    html_element(out, "h2", NULL, view.info->title);
    put_rows(page, &view, out);
    r = put_footer(page, part, out);
    text_put_literal(out, "</section>\n");
    return r;
}
