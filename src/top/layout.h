/* SPDX-License-Identifier: MIT */
#pragma once

/* The screens of `strata top`, made of a model, as rows. */

#include <sys/types.h>

#include "top/model.h"
#include "top/rows.h"

enum top_sort {
    TOP_SORT_NUMBER,
    TOP_SORT_TIME,
    TOP_SORT_NAME,
    TOP_SORTS,
};
extern const char *const top_sorts[]; /* ended by NULL */

enum top_screen {
    TOP_MAIN,
    TOP_HELP,
    TOP_EVENTS,
};

/* An event that can be switched, as `strata ctl DIR list` has it. */
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
    bool is_live; /* it is being recorded */
    bool is_paused;
    bool is_interactive; /* shows keys */
    pid_t recorder;      /* 0: not known */
    enum top_sort sort;
    uint64_t period_ns;
    unsigned span;       /* windows that the numbers are of, but for events */
    const char *warning; /* why what is shown is old, or NULL */
    const char *message; /* of the last key; NULL */
    enum top_screen screen;
    unsigned width, height; /* HEIGHT 0: as high as needed */
    bool is_ascii;
    /* TOP_EVENTS */
    const struct top_switches *switches;
    const char *filter; /* a part of names; NULL: all */
    bool is_filtering;  /* it is being typed */
    unsigned cursor;    /* of those that are shown */
};

/* Makes ROWS. -ENOMEM. */
int top_layout(const struct top_view *view, struct top_rows *rows);

/* Number N of the events that TOP_EVENTS shows: its name, and its switch, or NULL. NULL: there are less. */
const char *top_layout_event(const struct top_view *view, unsigned n,
                             const struct top_switch **ret_switch);
unsigned top_layout_event_count(const struct top_view *view);

/* ---- Between the files ---- */

void top_layout_help(const struct top_view *view, struct top_rows *rows);
void top_layout_events(const struct top_view *view, struct top_rows *rows);
/* "1234", "12.3", "1.23M", with a `+` where AT_LEAST, right-aligned in WIDTH columns, after a blank. */
void top_put_rate(struct top_rows *rows, double rate, bool at_least, unsigned width);
/* The windows' counts, up to WIDTH of them, the last one at the right. LOST: those that are not whole; NULL: none. */
void top_put_sparkline(const struct top_model *model, struct top_rows *rows, const uint64_t *counts,
                       const bool *lost, unsigned width);
/* The event rate of the last window. */
double top_rate(const struct top_model *model, uint64_t count);
/* S, right-aligned in WIDTH columns. */
void top_put_right(struct top_rows *rows, const char *s, unsigned width);
void top_put_duration(struct top_rows *rows, const struct clock *clock, int64_t ticks,
                      unsigned width);
/* A row of headings. */
void top_put_heading(struct top_rows *rows, const char *format, ...) _printf_(2, 3);
/* Whether any source lost events in the last N windows. */
bool top_any_loss(const struct top_model *model, unsigned n);
/* Rows below a heading, up to MAX; how many there are. */
void top_put_vcpus(const struct top_view *view, struct top_rows *rows, unsigned max);
unsigned top_count_vcpus(const struct top_model *model);
void top_put_exits(const struct top_view *view, struct top_rows *rows, unsigned max);
unsigned top_count_exits(const struct top_view *view);
