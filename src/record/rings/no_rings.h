/* SPDX-License-Identifier: MIT */
#pragma once

/* What processes that ended without a ring reported to their recorder (runtime/ring/process_file.h): why there is
 * nothing of them. */

#include "base/macro.h"

struct no_rings {
    char program[32];
    bool has_backend;    /* events of its go to rings */
    const char **events; /* the names of those that can be switched, ended by NULL */
    /* `n_on` are on, `n_conditions` of these where a condition is met; `n_no_memory` stayed off, without memory for their
     * descriptions. */
    unsigned n_events, n_on, n_conditions, n_no_memory;
    uint64_t lost; /* events that found no ring */
    char *text;    /* of the report; holds the names */
};

/* Reads the reports in PARENT, and keeps that of the program that was closest to being recorded. 1; 0:
 * none; -ENOMEM. Other files are skipped. */
int no_rings_read(const char *parent, struct no_rings *ret);
void no_rings_done(struct no_rings *report);
