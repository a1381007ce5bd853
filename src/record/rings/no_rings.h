/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads the reports that processes without rings left for their recorder (runtime/ring/process_file.h): why they have
 * no events. */

#include "base/macro.h"

struct no_rings {
    char program[32];
    bool has_backend;    /* the program has a backend whose events go to rings */
    const char **events; /* names of the events that can be switched, ended by NULL */
    /* n_on: events that are on; n_conditions: events of these that have a condition; n_no_memory: events that stayed
     * off because there was no memory for their descriptions. */
    unsigned n_events, n_on, n_conditions, n_no_memory;
    uint64_t lost; /* events that found no ring */
    char *text;    /* of the report, with the names */
};

/* Reads the reports in PARENT, and returns the report of the program that was closest to being recorded. Returns 1; 0:
 * no report; -ENOMEM. Other files are skipped. */
int no_rings_read(const char *parent, struct no_rings *ret);
void no_rings_done(struct no_rings *report);
