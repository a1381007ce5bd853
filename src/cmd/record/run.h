/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs a plan (record/plan/plan.h): makes its recorders, which are a list of items, and prints the results of each at
 * the end. */

#include <stdio.h>

#include "record/kernel/guest.h"
#include "record/plan/guests.h"
#include "record/plan/subject.h"
#include "record/recording.h"
#include "record/watch/watch_child.h"

struct record_run;

struct record_item {
    struct recorder *recorder;
    /* Prints its results. An exit status. NULL: prints recorder_ops.summarize. */
    int (*sum_up)(const struct record_run *run, const struct record_item *item);
    /* True if it has ended without anything worth a recording. NULL: never. */
    bool (*is_void)(const struct record_item *item);
    void *userdata; /* freed by … */
    void (*free)(void *userdata);
    uint64_t bytes_shown; /* as last shown in the progress line */
};

/* What a recording is about: run.c has a table with a row for each kind. All functions but `add` may be NULL. They
 * return exit statuses. */
struct record_about {
    /* Called before any recorder is made. */
    int (*prepare)(struct record_run *run);
    /* Adds its recorders, after all others, which so see what it does first. */
    int (*add)(struct record_run *run);
    /* STATUS: of what was recorded. */
    int (*exit_status)(const struct record_run *run, int status);
    void (*free)(void *userdata); /* of record_run */
    bool keeps_ignored; /* it keeps signals ignored that were ignored when strata was started */
    bool goes_on;       /* it is recorded even if this machine's kernel may not be traced */
};

struct record_run {
    const struct record_plan *plan;
    const struct record_about *about;
    void *userdata; /* for `about` */
    struct record_subject subject;
    struct stop_signals signals;
    struct record_item *items;
    unsigned n;
    struct plan_guest_list *guests; /* may be NULL */
    struct recorder *live;          /* prints events; may be NULL */
    struct recorder *metrics;       /* for --metrics; may be NULL */
    struct record_watch watch;      /* the process that reads what is recorded */
    struct recording *recording;    /* owns the recorders after all were added */
    /* Of the trace; NULL if the only recorder makes plan->output itself, or if there is none. */
    const char *dir;
    char name[64];                     /* `dir`, if it has no other storage */
    char limit[RECORD_PLAN_LIMIT_MAX]; /* plan->flight, as text */
};

/* The kinds, each in its own file. */
extern const struct record_about record_about_program, record_about_vm, record_about_rings,
    record_about_vmms;

/* Adds to PLAN what the environment says, resolves it, records, and prints the results. An exit status. */
int record_run(struct record_plan *plan);
/* Adds an item. Its recorder and userdata are freed with RUN, or here. An exit status: out of memory. */
int record_run_add(struct record_run *run, const struct record_item *item);
/* Where summaries for people are printed: not where events, or a command, write to. */
FILE *record_run_summary_file(const struct record_run *run);
/* True if anything but ITEM (may be NULL) has a source in the trace. */
bool record_run_has_others(const struct record_run *run, const struct record_item *item);
/* True if nothing was recorded and nothing is left in the directory. */
bool record_run_is_void(const struct record_run *run);
/* Prints an error R of the plan. An exit status. */
int record_run_failed(const struct record_plan *plan, struct error *error, int r);

/* ---- Recorders besides what the recording is about. Each function adds those in PLAN. Exit statuses ---- */

/* Adds what prints events. Call it first. */
int record_live_add(struct record_run *run);
/* Adds this machine's kernel. */
int record_host_add(struct record_run *run);
int record_guests_add(struct record_run *run);
/* Adds the recorders in plan->recorders. */
int record_others_add(struct record_run *run);

/* Where the stream of printed events is: of this machine's kernel, or of guest I. NULL: nothing is printed. */
int *record_live_host_stream(const struct record_run *run);
int *record_live_guest_stream(const struct record_run *run, unsigned i);
/* True if its output was closed, so that nothing should be said about it. */
bool record_live_is_unread(const struct record_run *run);

/* ---- Texts ---- */

/* The error of a time, "1.05us", never less than NS. BUF has at least 24 bytes. Returns BUF. */
const char *record_error_text(char *buf, size_t size, int64_t ns);
/* "0 lost"; with IS_OPEN, if more than the counted events may be missing: "at least 5 lost", "an unknown number
 * lost". */
#define RECORD_LOST_MAX 40
const char *record_lost_text(uint64_t lost, bool is_open, char buf[static RECORD_LOST_MAX]);
/* Prints how long the recording took, and where it is. */
void record_run_print_length(const struct record_run *run, double seconds);
/* Prints the results of a kernel in DIR. True if nothing was lost. */
bool record_kernel_print(const char *dir, const struct guest *guest);
/* Prints what readers of the trace should know about it. */
void record_kernel_print_problems(const struct guest *guest);
/* True if events could not be written for another reason than --max-size, for example a full disk. */
bool record_kernel_is_cut(const struct guest *guest);
