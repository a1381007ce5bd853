/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata record` is asked to record: a list of recorders, each with what to print of it at the end. */

#include "cmd/record/record.h"
#include "cmd/record/watch.h"
#include "record/recording.h"

#include <stdio.h>

struct record_run;

struct record_item {
    struct recorder *recorder;
    /* Prints what came of it. An exit status. */
    int (*sum_up)(const struct record_run *run, const struct record_item *item);
    /* Whether it has ended with nothing that is worth a recording; NULL: never. */
    bool (*is_void)(const struct record_item *item);
    void *userdata; /* of the item; freed by … */
    void (*free)(void *userdata);
    uint64_t bytes_shown; /* by the progress line, when it was last written */
};

struct record_run {
    const struct record_options *options;
    struct stop_signals signals;
    struct record_item *items;
    unsigned n;
    struct record_guests *guests;     /* of record_guests_choose(); NULL: none */
    pid_t vmm;                        /* whose virtual machine a single guest is; 0: not known */
    struct recorder *live;            /* that prints; NULL: none */
    struct recorder *metrics;         /* of --metrics; NULL: none */
    struct record_triggers *triggers; /* of --on; NULL: none */
    struct record_watch watch;        /* the process that reads what is recorded */
    struct recording *recording;      /* of record_run(); has the recorders then */
    const char *dir;
};

/* Catches the signals that end it. False, and a message: that cannot be. */
bool record_run_init(const struct record_options *options, bool keep_ignored,
                     struct record_run *ret);
/* The item's recorder and userdata are freed with RUN, or here. False, and a message: out of memory. */
bool record_run_add(struct record_run *run, const struct record_item *item);
/* Records into DIR (NULL: the one recorder makes options->output by itself), and prints what came of it: of what the recording
 * is about first. An exit status. The recorders are there until record_run_done(). */
int record_run(struct record_run *run, const char *dir);
/* Where a summary that people ask for goes: not to what events, or a command, write to. */
FILE *record_run_summary_file(const struct record_run *run);
/* Whether something else than ITEM (NULL: anything) has a source in the trace. */
bool record_run_has_others(const struct record_run *run, const struct record_item *item);
/* Whether nothing was recorded, of which nothing is left in the directory. */
bool record_run_is_void(const struct record_run *run);
/* By how much a time may be wrong, "1.05us", and never less than NS. BUF of 24 bytes or more; is returned. */
const char *record_error_text(char *buf, size_t size, int64_t ns);
/* "0 lost"; with IS_OPEN, if more may be missing than was counted: "at least 5 lost", "an unknown number lost". */
#define RECORD_LOST_MAX 40
const char *record_lost_text(uint64_t lost, bool is_open, char buf[static RECORD_LOST_MAX]);
/* Prints for how long was recorded, and where. */
void record_run_tell_length(const struct record_run *run, double seconds);
void record_run_done(struct record_run *run);
