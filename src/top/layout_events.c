/* SPDX-License-Identifier: MIT */
/* strata top: the help, and the list of events that can be switched. */

#include <string.h>

#include "top/layout.h"

void top_layout_help(const struct top_view *view, struct top_rows *rows)
{
    static const char *const lines[] = {
        "q        quit",
        "p        pause, or go on: what happens meanwhile is not read",
        "o        sort by number, time or name",
        "e        list the events; space switches one off or on, / finds some",
        "s        save a snapshot of what is kept (strata ctl DIR snapshot)",
        "?        this help",
        "",
        "CLOCK    how wrong the source's times may be at most",
        "LOST     events that were lost in the windows that are drawn",
        "+        events were lost or came too late: the number may be too small;",
        "         of a request: it goes on",
        "RUNS     the vCPU's thread has a CPU: in the GUEST, the hypervisor or the VMM",
        "WAIT     it could run, and waits for a CPU",
        "UNKNOWN  no event tells, or events were lost",
        "-        nothing that is recorded tells it",
    };

    (void)view;
    top_rows_printf(rows, TOP_TITLE, "strata top: keys and columns (strata-top(1) says more)");
    top_rows_end_row(rows, TOP_PLAIN);
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        top_rows_printf(rows, TOP_PLAIN, "%s", lines[i]);
}

/* ---- Events ---- */

static bool matches(const struct top_view *view, const char *name)
{
    return !view->filter || !*view->filter || strstr(name, view->filter);
}

/* The names of the switches, or, without a list of switches, of the seen events. */
static unsigned n_names(const struct top_view *view)
{
    return view->switches->is_known ? view->switches->n : view->model->n_series;
}

static const char *name_at(const struct top_view *view, unsigned i)
{
    return view->switches->is_known ? view->switches->items[i].name : view->model->series[i].name;
}

const char *top_layout_event(const struct top_view *view, unsigned n,
                             const struct top_switch **ret_switch)
{
    for (unsigned i = 0; i < n_names(view); i++) {
        if (!matches(view, name_at(view, i)) || n-- > 0)
            continue;
        *ret_switch = view->switches->is_known ? &view->switches->items[i] : NULL;
        return name_at(view, i);
    }
    return NULL;
}

unsigned top_layout_event_count(const struct top_view *view)
{
    unsigned n = 0;

    for (unsigned i = 0; i < n_names(view); i++)
        n += matches(view, name_at(view, i));
    return n;
}

static const struct top_series *find_series(const struct top_model *model, const char *name)
{
    for (unsigned i = 0; i < model->n_series; i++)
        if (strncmp(model->series[i].name, name, TOP_NAME_MAX) == 0)
            return &model->series[i];
    return NULL;
}

static void put_event(const struct top_view *view, struct top_rows *rows, const char *name,
                      const struct top_switch *event, bool is_selected)
{
    const struct top_model *model = view->model;
    const struct top_series *series = find_series(model, name);
    unsigned slot = top_slot(model, 0);

    text_printf(&rows->row, "%-12s",
                !event                 ? "-"
                : !event->is_available ? "unavailable"
                : event->is_on         ? "on"
                                       : "off");
    top_put_cell(rows, name, 30);
    text_put_char(&rows->row, ' ');
    if (series)
        top_put_rate(rows, top_rate(model, series->counts[slot]),
                     model->sources[series->source].has_loss[slot], 8);
    else
        text_put_literal(&rows->row, "       0");
    text_put_literal(&rows->row, "  ");
    if (series)
        top_put_sparkline(model, rows, series->counts, model->sources[series->source].has_loss, 26);
    top_rows_end_row(rows, is_selected ? TOP_SELECTED : TOP_PLAIN);
}

void top_layout_events(const struct top_view *view, struct top_rows *rows)
{
    unsigned n = top_layout_event_count(view);
    unsigned height = view->height > 3 ? view->height - 3 : n;
    unsigned first = view->cursor >= height ? view->cursor - height + 1 : 0;
    const struct top_switch *event = NULL;

    text_printf(&rows->row, "strata top: %u event%s", n, n == 1 ? "" : "s");
    if (view->filter && *view->filter) {
        text_put_literal(&rows->row, " with '");
        top_put_cell(rows, view->filter, (unsigned)MIN(strlen(view->filter), (size_t)40));
        text_put_char(&rows->row, '\'');
    }
    if (!view->switches->is_known)
        text_put_literal(&rows->row, "; they cannot be switched here");
    top_rows_end_row(rows, TOP_TITLE);
    top_rows_printf(rows, TOP_HEADING, "%-12s%-30s %8s  %s", "STATE", "EVENT", "EVENTS/S",
                    "LAST WINDOWS");
    for (unsigned i = first; i < n && i - first < height; i++) {
        const char *name = top_layout_event(view, i, &event);

        put_event(view, rows, name, event, i == view->cursor);
    }
}
