/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes the screens of `strata top` from a model, as rows. */

#include <sys/types.h>

#include "top/model.h"
#include "top/rows.h"

enum top_sort {
    TOP_SORT_NUMBER,
    TOP_SORT_TIME,
    TOP_SORT_NAME,
    TOP_SORTS,
};
extern const char *const top_sorts[]; /* terminated by NULL */

enum top_screen {
    TOP_MAIN,
    TOP_HELP,
    TOP_EVENTS,
};

/* An event that can be switched, as `strata ctl DIR list` lists it. */
struct top_switch {
    char *name;
    bool is_on, is_available;
};

struct top_switches {
    struct top_switch *items;
    unsigned n;
    bool is_known; /* the list was read */
};

struct top_view {
    const struct top_model *model;
    const char *path;
    bool is_live; /* the recording runs */
    bool is_paused;
    bool is_interactive; /* shows keys */
    pid_t recorder;      /* 0 if unknown */
    enum top_sort sort;
    uint64_t period_ns;
    unsigned span;       /* windows that the numbers cover, except in the list of events */
    const char *warning; /* why old numbers are shown, or NULL */
    const char *message; /* result of the last key, or NULL */
    enum top_screen screen;
    unsigned width, height; /* `height` 0: as high as needed */
    bool is_ascii;
    /* TOP_EVENTS */
    const struct top_switches *switches;
    const char *filter; /* part of the names to list, or NULL for all */
    bool is_filtering;  /* the filter is being typed */
    unsigned cursor;    /* index in the listed events */
};

/* Makes ROWS. -ENOMEM. */
int top_layout(const struct top_view *view, struct top_rows *rows);

/* Returns the name of event N in TOP_EVENTS, and its switch, or NULL. Returns NULL if there are fewer events. */
const char *top_layout_event(const struct top_view *view, unsigned n,
                             const struct top_switch **ret_switch);
unsigned top_layout_event_count(const struct top_view *view);

/* ---- Between the files ---- */

void top_layout_help(const struct top_view *view, struct top_rows *rows);
void top_layout_events(const struct top_view *view, struct top_rows *rows);
/* Puts "1234", "12.3" or "1.23M" after a blank, right-aligned in WIDTH columns. AT_LEAST: with a `+`. */
void top_put_rate(struct top_rows *rows, double rate, bool at_least, unsigned width);
/* Puts a bar for each of the last WIDTH windows, the last one at the right. LOST marks incomplete windows; may be
 * NULL. */
void top_put_sparkline(const struct top_model *model, struct top_rows *rows, const uint64_t *counts,
                       const bool *lost, unsigned width);
/* The rate of events in the last window. */
double top_rate(const struct top_model *model, uint64_t count);
/* Puts S right-aligned in WIDTH columns. */
void top_put_right(struct top_rows *rows, const char *s, unsigned width);
void top_put_duration(struct top_rows *rows, const struct clock *clock, int64_t ticks,
                      unsigned width);
/* A row of headings. */
void top_put_heading(struct top_rows *rows, const char *format, ...) _printf_(2, 3);
/* True if any source lost events in the last N windows. */
bool top_any_loss(const struct top_model *model, unsigned n);
/* Puts up to MAX rows below a heading; the second function counts the rows. */
void top_put_vcpus(const struct top_view *view, struct top_rows *rows, unsigned max);
unsigned top_count_vcpus(const struct top_model *model);
void top_put_exits(const struct top_view *view, struct top_rows *rows, unsigned max);
unsigned top_count_exits(const struct top_view *view);
