/* SPDX-License-Identifier: MIT */
#include "top/layout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "print/sparkline.h"

#define ROWS_UNLIMITED 10u /* of a section, where the height is not limited */
#define ROWS_MIN 3u
#define MESSAGE_ROWS_MAX 4u

const char *const top_sorts[] = {"number", "time", "name", NULL};

/* ---- Cells ---- */

void top_put_right(struct top_rows *rows, const char *s, unsigned width)
{
    size_t len = strlen(s);

    for (size_t i = len; i < width; i++)
        text_put_char(&rows->row, ' ');
    text_put_str(&rows->row, s);
}

void top_put_rate(struct top_rows *rows, double rate, bool at_least, unsigned width)
{
    char s[32];
    const char *plus = at_least ? "+" : "";

    if (rate >= 1e6)
        snprintf(s, sizeof s, "%.2fM%s", rate / 1e6, plus);
    else if (rate >= 10 || rate == 0)
        snprintf(s, sizeof s, "%.0f%s", rate, plus);
    else
        snprintf(s, sizeof s, "%.1f%s", rate, plus);
    top_put_right(rows, s, width);
}

void top_put_duration(struct top_rows *rows, const struct clock *clock, int64_t ticks,
                      unsigned width)
{
    char s[24];

    top_put_right(rows, duration_text(s, sizeof s, clock, (uint64_t)MAX(ticks, 0)), width);
}

double top_rate(const struct top_model *model, uint64_t count)
{
    int64_t ns = clock_to_ns(&model->clock, top_model_length(model, 1));

    return ns > 0 ? (double)count * 1e9 / (double)ns : 0;
}

void top_put_sparkline(const struct top_model *model, struct top_rows *rows, const uint64_t *counts,
                       const bool *lost, unsigned width)
{
    uint64_t values[TOP_WINDOWS];
    bool unknown[TOP_WINDOWS];
    unsigned n = top_windows(model, width);

    for (unsigned i = n; i < width; i++)
        text_put_char(&rows->row, ' ');
    for (unsigned i = 0; i < n; i++) {
        unsigned slot = top_slot(model, n - 1 - i);

        values[i] = counts[slot];
        unknown[i] = lost && lost[slot];
    }
    sparkline_put(&rows->row, values, unknown, n);
}

void top_put_heading(struct top_rows *rows, const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_put_str(&rows->row, line);
    top_rows_end_row(rows, TOP_HEADING);
}

/* ---- The head ---- */

bool top_any_loss(const struct top_model *model, unsigned n)
{
    for (unsigned i = 0; i < model->n_sources; i++)
        if (top_source_has_loss(model, i, n))
            return true;
    return false;
}

static void put_head(const struct top_view *view, struct top_rows *rows)
{
    const struct top_model *model = view->model;
    char length[24];

    text_put_literal(&rows->row, "strata top: ");
    top_put_cell(rows, view->path, MIN((unsigned)strlen(view->path), 40u));
    if (!view->is_live)
        text_printf(&rows->row, "  not being recorded: its last %s",
                    duration_text(length, sizeof length, &model->clock,
                                  (uint64_t)top_model_length(model, view->span)));
    else if (view->recorder > 0)
        text_printf(&rows->row, "  recorded by process %ld", (long)view->recorder);
    if (view->is_paused)
        text_put_literal(&rows->row, "  PAUSED");
    top_rows_end_row(rows, TOP_TITLE);
    if (view->warning)
        top_rows_printf(rows, TOP_MESSAGE, "%s", view->warning);
    for (unsigned i = 0; i < model->n_sources; i++)
        if (model->sources[i].is_left_out)
            top_rows_printf(
                rows, TOP_MESSAGE,
                "nothing relates the times of '%s' to the others'; strata info says why",
                model->sources[i].name);
    if (top_any_loss(model, TOP_WINDOWS))
        top_rows_printf(rows, TOP_MESSAGE,
                        "events were lost or came too late: numbers with a + may be too small");
    for (unsigned i = 0; i < model->n_sources; i++)
        if (top_source_lost(model, &model->sources[i]).is_unplaced)
            top_rows_printf(rows, TOP_MESSAGE,
                            "'%s' lost events in all of its recording, maybe in these windows",
                            model->sources[i].name);
    if (model->is_too_much)
        top_rows_printf(rows, TOP_MESSAGE,
                        "more events, vCPUs or exits than are kept: some are not shown");
}

/* ---- Sources ---- */

static void put_lost(struct top_rows *rows, const struct top_source *source,
                     const struct top_model *model, unsigned width)
{
    struct top_lost lost = top_source_lost(model, source);
    char s[32];

    if (lost.n == 0 && lost.is_more)
        snprintf(s, sizeof s, "unknown");
    else
        snprintf(s, sizeof s, "%" PRIu64 "%s", lost.n, lost.is_more ? "+" : "");
    top_put_right(rows, s, width);
}

static void put_sources(const struct top_view *view, struct top_rows *rows, unsigned max)
{
    const struct top_model *model = view->model;
    unsigned spark = MIN(MAX(view->width, 80u) - 54u, TOP_WINDOWS);
    unsigned slot = top_slot(model, 0);

    top_put_heading(rows, "%-14s %-10s %8s  %-*s %7s %8s", "SOURCE", "LAYER", "EVENTS/S",
                    (int)spark, "LAST WINDOWS", "LOST", "CLOCK");
    for (unsigned i = 0; i < model->n_sources && i < max; i++) {
        const struct top_source *source = &model->sources[i];
        char error[24];

        top_put_cell(rows, source->name, 14);
        text_printf(&rows->row, " %-10s ", layer_name(source->layer));
        if (source->is_left_out)
            top_put_right(rows, "unknown", 8);
        else if (source->is_here)
            top_put_rate(rows, top_rate(model, source->events[slot]), source->has_loss[slot], 8);
        else
            top_put_right(rows, "ended", 8);
        text_put_literal(&rows->row, "  ");
        top_put_sparkline(model, rows, source->events, source->has_loss, spark);
        text_put_char(&rows->row, ' ');
        put_lost(rows, source, model, 7);
        text_put_char(&rows->row, ' ');
        if (source->error_ns == UINT64_MAX)
            top_put_right(rows, "unknown", 8);
        else
            top_put_right(rows,
                          duration_text(error, sizeof error,
                                        &(struct clock){.name = "ns", .hz = NANOSECONDS},
                                        source->error_ns),
                          8);
        top_rows_end_row(rows, TOP_PLAIN);
    }
}

/* ---- Requests ---- */

static int compare_requests(const void *a, const void *b)
{
    const struct top_request *x = a, *y = b;
    int64_t i = ticks_between(x->begin, x->end), j = ticks_between(y->begin, y->end);

    return i != j ? (i < j) - (i > j) : (x->begin > y->begin) - (x->begin < y->begin);
}

static unsigned gather_requests(const struct top_view *view,
                                struct top_request list[static(TOP_WINDOWS + 1) * TOP_SLOWEST])
{
    const struct top_model *model = view->model;
    unsigned windows = top_windows(model, view->span), n = 0;

    for (unsigned i = 0; i < windows; i++) {
        unsigned slot = top_slot(model, i);

        for (unsigned j = 0; j < model->n_requests[slot]; j++)
            list[n++] = model->requests[slot][j];
    }
    for (unsigned i = 0; i < model->n_open; i++)
        list[n++] = model->open[i];
    qsort(list, n, sizeof *list, compare_requests);
    return n;
}

static void put_request(const struct top_model *model, const struct top_request *request,
                        struct top_rows *rows)
{
    char device[32], ago[24];

    if (request->is_vmm)
        snprintf(device, sizeof device, "%#" PRIx64, request->device);
    else
        snprintf(device, sizeof device, "%" PRIu64 ",%" PRIu64, request->device >> 20,
                 request->device & 0xfffff);
    top_put_duration(rows, &model->clock, ticks_between(request->begin, request->end), 9);
    text_put_char(&rows->row, request->is_open ? '+' : ' ');
    duration_text(ago, sizeof ago, &model->clock,
                  (uint64_t)MAX(ticks_between(request->begin, model->until), 0));
    top_put_right(rows, ago, 9);
    text_printf(&rows->row, " ago  %-8s", io_kind_name(request->kind));
    top_put_cell(rows, model->sources[request->source].name, 12);
    text_printf(&rows->row, " %-14s", device);
    if (request->sectors > 0)
        text_printf(&rows->row, " %" PRIu64 "+%" PRIu32, request->sector, request->sectors);
    top_rows_end_row(rows, TOP_PLAIN);
}

static void put_requests(const struct top_view *view, struct top_rows *rows, unsigned max)
{
    struct top_request list[(TOP_WINDOWS + 1) * TOP_SLOWEST];
    const struct top_model *model = view->model;
    unsigned n = gather_requests(view, list);
    bool lost = top_any_loss(model, view->span);

    top_put_heading(rows, "%9s %9s %-5s %-7s %-12s %-14s %s%s", "DURATION", "BEGAN", "", "REQUEST",
                    "SOURCE", "DEVICE", "SECTOR+N", lost ? " (not all)" : "");
    for (unsigned i = 0; i < n && i < max; i++)
        put_request(model, &list[i], rows);
}

static unsigned count_requests(const struct top_view *view)
{
    struct top_request list[(TOP_WINDOWS + 1) * TOP_SLOWEST];

    return gather_requests(view, list);
}

/* ---- Events ---- */

static int compare_names(const char *a, const char *b)
{
    return strcmp(a, b);
}

static const struct top_model *sorted_model; /* for compare_series(): qsort() has no argument */

static int compare_series(const void *a, const void *b)
{
    const struct top_series *x = &sorted_model->series[*(const unsigned *)a];
    const struct top_series *y = &sorted_model->series[*(const unsigned *)b];
    unsigned slot = top_slot(sorted_model, 0);

    if (x->counts[slot] != y->counts[slot])
        return (x->counts[slot] < y->counts[slot]) - (x->counts[slot] > y->counts[slot]);
    return compare_names(x->name, y->name);
}

static int compare_series_names(const void *a, const void *b)
{
    return compare_names(sorted_model->series[*(const unsigned *)a].name,
                         sorted_model->series[*(const unsigned *)b].name);
}

static void put_events(const struct top_view *view, struct top_rows *rows, unsigned max)
{
    const struct top_model *model = view->model;
    unsigned spark = MIN(MAX(view->width, 80u) - 54u, TOP_WINDOWS);
    unsigned *order = malloc(MAX(model->n_series, 1u) * sizeof *order);
    unsigned slot = top_slot(model, 0);

    top_put_heading(rows, "%-25s %8s  %-*s %s", "EVENT", "EVENTS/S", (int)spark, "LAST WINDOWS",
                    "SOURCE");
    if (!order) {
        rows->row.error = -ENOMEM;
        return;
    }
    for (unsigned i = 0; i < model->n_series; i++)
        order[i] = i;
    sorted_model = model;
    qsort(order, model->n_series, sizeof *order,
          view->sort == TOP_SORT_NAME ? compare_series_names : compare_series);
    for (unsigned i = 0; i < model->n_series && i < max; i++) {
        const struct top_series *series = &model->series[order[i]];
        const struct top_source *source = &model->sources[series->source];

        top_put_cell(rows, series->name, 25);
        text_put_char(&rows->row, ' ');
        top_put_rate(rows, top_rate(model, series->counts[slot]), source->has_loss[slot], 8);
        text_put_literal(&rows->row, "  ");
        top_put_sparkline(model, rows, series->counts, source->has_loss, spark);
        text_put_char(&rows->row, ' ');
        top_put_cell(rows, source->name, 14);
        top_rows_end_row(rows, TOP_PLAIN);
    }
    free(order);
}

/* ---- The screen ---- */

struct section {
    void (*put)(const struct top_view *view, struct top_rows *rows, unsigned max);
    unsigned wanted; /* rows below its heading */
    unsigned given;
};

/* Gives each section a few rows, then the rest in turn. Each section has a heading with an empty row before it. */
static void give_rows(struct section *sections, unsigned n, unsigned height)
{
    bool any = true;

    for (unsigned i = 0; i < n; i++) {
        unsigned least = MIN(sections[i].wanted, ROWS_MIN);

        if (least == 0 || height < 3)
            continue;
        sections[i].given = MIN(least, height - 2);
        height -= sections[i].given + 2;
    }
    while (any && height > 0) {
        any = false;
        for (unsigned i = 0; i < n && height > 0; i++)
            if (sections[i].given > 0 && sections[i].given < sections[i].wanted) {
                sections[i].given++;
                height--;
                any = true;
            }
    }
}

static void put_main(const struct top_view *view, struct top_rows *rows)
{
    const struct top_model *model = view->model;
    struct section sections[] = {
        {.put = put_sources, .wanted = model->n_sources},
        {.put = top_put_vcpus, .wanted = top_count_vcpus(model)},
        {.put = top_put_exits, .wanted = top_count_exits(view)},
        {.put = put_requests, .wanted = count_requests(view)},
        {.put = put_events, .wanted = model->n_series},
    };

    put_head(view, rows);
    if (model->n == 0)
        top_rows_printf(rows, TOP_MESSAGE, "nothing has been recorded yet");
    if (view->height == 0)
        for (unsigned i = 0; i < ARRAY_SIZE(sections); i++)
            sections[i].given = MIN(sections[i].wanted, ROWS_UNLIMITED);
    else
        give_rows(sections, ARRAY_SIZE(sections),
                  view->height > rows->n + 2 ? view->height - rows->n - 2 : 0);
    for (unsigned i = 0; i < ARRAY_SIZE(sections); i++) {
        if (sections[i].given == 0)
            continue;
        top_rows_end_row(rows, TOP_PLAIN);
        sections[i].put(view, rows, sections[i].given);
    }
}

/* Finds where the first row of TEXT ends: at a blank if possible. */
static size_t find_break(const char *text, size_t width)
{
    size_t len = strlen(text);

    if (len <= width)
        return len;
    for (len = width; len > 0 && text[len] != ' ';)
        len--;
    return len > 0 ? len : width;
}

/* A message may have several rows, as far as the screen allows. */
static void put_message(const struct top_view *view, struct top_rows *rows)
{
    const char *text = view->message;
    unsigned n = 0, most = MIN(view->height - 1, MESSAGE_ROWS_MAX);

    for (const char *s = text; *s && n < most; n++) {
        s += find_break(s, view->width);
        s += *s == ' ';
    }
    rows->n = MIN(rows->n, view->height - n);
    for (; n > 0; n--) {
        size_t len = find_break(text, view->width);

        text_put(&rows->row, text, len);
        top_rows_end_row(rows, TOP_MESSAGE);
        text += len;
        text += *text == ' ';
    }
}

/* The last row: the result of the last key, or the keys. */
static void put_foot(const struct top_view *view, struct top_rows *rows)
{
    if (!view->is_interactive || view->height == 0)
        return;
    while (rows->n < view->height && !top_rows_error(rows))
        top_rows_end_row(rows, TOP_PLAIN);
    rows->n = MIN(rows->n, view->height - 1);
    if (view->is_filtering)
        top_rows_printf(rows, TOP_MESSAGE, "/%s_", view->filter ? view->filter : "");
    else if (view->message)
        put_message(view, rows);
    else if (view->screen == TOP_EVENTS)
        top_rows_printf(rows, TOP_MESSAGE, "space on/off   / find   e back   ? help   q quit");
    else if (view->screen == TOP_HELP)
        top_rows_printf(rows, TOP_MESSAGE, "any key: back");
    else
        top_rows_printf(rows, TOP_MESSAGE,
                        "q quit   ? help   e events   s snapshot   p pause   o sort by %s",
                        top_sorts[view->sort]);
}

int top_layout(const struct top_view *view, struct top_rows *rows)
{
    top_rows_begin(rows, view->width, view->is_ascii);
    switch (view->screen) {
    case TOP_HELP: top_layout_help(view, rows); break;
    case TOP_EVENTS: top_layout_events(view, rows); break;
    default: put_main(view, rows); break;
    }
    put_foot(view, rows);
    return top_rows_error(rows);
}
