/* SPDX-License-Identifier: MIT */
#pragma once

/* Guesses which table or column was meant by an unknown name. */

#include "query/internal.h"

struct nearest {
    struct arena arena;
    const char **names;
    unsigned n, room;
    bool failed; /* out of memory */
};

/* MESSAGE is SQLite's message about SQL: "no such table: X", "no such column: X". Does not read the trace. Returns a
 * name that is valid as long as NEAREST, or NULL if none is similar. */
const char *nearest_find(struct nearest *nearest, struct query *query, const char *message,
                         const char *sql);
void nearest_done(struct nearest *nearest);
