/* SPDX-License-Identifier: MIT */
#pragma once

/* Describes the recorder in a directory of record/ and its options, so that any recording can use it.
 *
 * The directory declares its options over a structure of its own (cli/options.h), and a `struct recorder_type`. `strata
 * record` lists both, with the structure (cmd/record/record.c). The plan asks each type whether its options ask for
 * recorders, and what follows from that. recorder_ops.summarize prints the result.
 *
 * Functions return a negative errno with ERROR. -RECORD_MISUSE: the options are wrong. Not thread-safe. */

#include <stdint.h>

#include "base/error.h"

struct record_plan;
struct recorder;

struct recorder_type {
    const char *option; /* the option that asks for a recorder, for messages: "--xen" */
    /* Returns how many recorders OPTIONS ask for. */
    unsigned (*count)(const void *options);
    /* Called once, even if OPTIONS ask for no recorder. NULL: nothing to check. */
    int (*check)(const void *options, const struct record_plan *plan, struct error *error);
    /* Makes recorder N, less than count(). OPTIONS and PLAN outlive it. */
    int (*make)(const void *options, const struct record_plan *plan, unsigned n,
                struct recorder **ret, struct error *error);
    void (*done)(void *options); /* NULL: OPTIONS own nothing */
    /* Layers whose events the recorder selects by --event, bits: 1 << enum layer. 0: it has no choice of events. */
    unsigned layers;
    uint64_t min_free;    /* default of --min-free, bytes */
    bool has_buffer_size; /* --buffer-size applies to it */
};

/* A type, and the options of this command line for it. */
struct plan_recorder {
    const struct recorder_type *type; /* NULL: after the last one */
    void *options;
};

/* The number of recorders that the command line asks for by such options. */
unsigned plan_recorders_n(const struct plan_recorder *recorders);
/* The first option that asks for a recorder, or NULL. */
const char *plan_recorders_option(const struct plan_recorder *recorders);
/* Layers whose events these recorders record, bits. */
unsigned plan_recorders_layers(const struct plan_recorder *recorders);
bool plan_recorders_have_buffer_size(const struct plan_recorder *recorders);
/* The largest min_free of these recorders. */
uint64_t plan_recorders_min_free(const struct plan_recorder *recorders);
int plan_recorders_check(const struct record_plan *plan, struct error *error);
void plan_recorders_done(const struct plan_recorder *recorders);
