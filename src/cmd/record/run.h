/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs a plan (record/plan/plan.h): makes its recorders, which are items of a list, each with what to print of it at the end. */

#include <stdio.h>

#include "record/kernel/guest.h"
#include "record/plan/guests.h"
#include "record/plan/subject.h"
#include "record/recording.h"
#include "record/watch/process.h"

struct record_run;

struct record_item {
    struct recorder *recorder;
    /* Prints what came of it. An exit status. NULL: what recorder_ops.summarize says is printed. */
    int (*sum_up)(const struct record_run *run, const struct record_item *item);
    /* Whether it has ended with nothing that is worth a recording; NULL: never. */
    bool (*is_void)(const struct record_item *item);
    void *userdata; /* of the item; freed by … */
    void (*free)(void *userdata);
    uint64_t bytes_shown; /* by the progress line, when it was last written */
};

/* What a recording is about: a row of the table in run.c for each kind. All but `add` may be NULL. Exit statuses. */
struct record_about {
    /* Before any recorder is made. */
    int (*prepare)(struct record_run *run);
    /* Adds its recorders, after all others: what it does first is seen by these. */
    int (*add)(struct record_run *run);
    /* STATUS: of what was recorded. */
    int (*exit_status)(const struct record_run *run, int status);
    void (*free)(void *userdata); /* of record_run */
    bool keeps_ignored;           /* signals that were ignored when strata was started */
    bool goes_on;                 /* is recorded even if this machine's kernel may not be traced */
};

struct record_run {
    const struct record_plan *plan;
    const struct record_about *about;
    void *userdata; /* of `about` */
    struct record_subject subject;
    struct stop_signals signals;
    struct record_item *items;
    unsigned n;
    struct plan_guest_list *guests; /* NULL: none */
    struct recorder *live;          /* that prints; NULL: none */
    struct recorder *metrics;       /* of --metrics; NULL: none */
    struct record_watch watch;      /* the process that reads what is recorded */
    struct recording *recording;    /* has the recorders when they are all added */
    const char *
        dir; /* of the trace; NULL: the one recorder makes plan->output by itself, or there is none */
    char name[64];                     /* `dir`, if it has no other */
    char limit[RECORD_PLAN_LIMIT_MAX]; /* plan->flight, as text */
};

/* The kinds, each in a file of its own. */
extern const struct record_about record_about_program, record_about_vm, record_about_rings,
    record_about_vmms;

/* Adds to PLAN what the environment says, finds what it means, records it, and prints what came of it. An exit status. */
int record_run(struct record_plan *plan);
/* The item's recorder and userdata are freed with RUN, or here. An exit status: out of memory. */
int record_run_add(struct record_run *run, const struct record_item *item);
/* Where a summary that people ask for goes: not to what events, or a command, write to. */
FILE *record_run_summary_file(const struct record_run *run);
/* Whether something else than ITEM (NULL: anything) has a source in the trace. */
bool record_run_has_others(const struct record_run *run, const struct record_item *item);
/* Whether nothing was recorded, of which nothing is left in the directory. */
bool record_run_is_void(const struct record_run *run);
/* Prints an error of the plan, which R has. An exit status. */
int record_run_failed(const struct record_plan *plan, struct error *error, int r);

/* ---- What is beside it. Each adds its recorders where PLAN has them. Exit statuses ---- */

/* What prints, before all that it prints. */
int record_live_add(struct record_run *run);
/* This machine's kernel. */
int record_host_add(struct record_run *run);
int record_guests_add(struct record_run *run);
/* Those of plan->recorders. */
int record_others_add(struct record_run *run);

/* Where the stream of what is printed is: of this machine's kernel, or of guest I. NULL: nothing is printed. */
int *record_live_host_stream(const struct record_run *run);
int *record_live_guest_stream(const struct record_run *run, unsigned i);
/* Whether its output was closed, so that nothing is to be said of it. */
bool record_live_is_unread(const struct record_run *run);

/* ---- Texts ---- */

/* By how much a time may be wrong, "1.05us", and never less than NS. BUF of 24 bytes or more; is returned. */
const char *record_error_text(char *buf, size_t size, int64_t ns);
/* "0 lost"; with IS_OPEN, if more may be missing than was counted: "at least 5 lost", "an unknown number lost". */
#define RECORD_LOST_MAX 40
const char *record_lost_text(uint64_t lost, bool is_open, char buf[static RECORD_LOST_MAX]);
/* Prints for how long was recorded, and where. */
void record_run_print_length(const struct record_run *run, double seconds);
/* Prints what came of a kernel into DIR. Whether nothing was lost. */
bool record_kernel_print(const char *dir, const struct guest *guest);
/* … and what readers of the trace should know of it. */
void record_kernel_print_problems(const struct guest *guest);
/* Whether events came that could not be written, other than those after --max-size: the disk is full, for example. */
bool record_kernel_is_cut(const struct guest *guest);
