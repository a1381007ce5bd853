/* SPDX-License-Identifier: MIT */
#pragma once

/* What a directory of record/ says of its recorder, so that any recording can have it.
 *
 * The directory declares its options over a structure of its own (cli/options.h), and a `struct recorder_type`. `strata record`
 * lists both, with the structure (cmd/record/record.c). The plan asks each type whether its options ask for recorders, and what
 * follows from that. What is recorded is printed from recorder_ops.summarize.
 *
 * Functions return a negative errno with ERROR; -RECORD_MISUSE: the options are wrong. Not thread-safe. */

#include <stdint.h>

#include "base/error.h"

struct record_plan;
struct recorder;

struct recorder_type {
    const char *option; /* that asks for a recorder, for messages: "--xen" */
    /* How many recorders OPTIONS ask for. */
    unsigned (*count)(const void *options);
    /* Called once, also if OPTIONS ask for no recorder. NULL: there is nothing to check. */
    int (*check)(const void *options, const struct record_plan *plan, struct error *error);
    /* Makes recorder N, less than count(). OPTIONS and PLAN outlive it. */
    int (*make)(const void *options, const struct record_plan *plan, unsigned n,
                struct recorder **ret, struct error *error);
    void (*done)(void *options); /* NULL: OPTIONS own nothing */
    /* The layers whose events it records as --event says, bits: 1 << enum layer. 0: it has no choice of events. */
    unsigned layers;
    uint64_t min_free;    /* bytes: --min-free, unless given */
    bool has_buffer_size; /* --buffer-size is for it */
};

/* A type, and the structure of its options in this command line. */
struct plan_recorder {
    const struct recorder_type *type; /* NULL: after the last one */
    void *options;
};

/* How many recorders the command line asks for by such options. */
unsigned plan_recorders_n(const struct plan_recorder *recorders);
/* The first option that asks for one; NULL: none does. */
const char *plan_recorders_option(const struct plan_recorder *recorders);
/* The layers whose events these recorders record. */
unsigned plan_recorders_layers(const struct plan_recorder *recorders);
bool plan_recorders_have_buffer_size(const struct plan_recorder *recorders);
/* The largest of them. */
uint64_t plan_recorders_min_free(const struct plan_recorder *recorders);
int plan_recorders_check(const struct record_plan *plan, struct error *error);
void plan_recorders_done(const struct plan_recorder *recorders);
