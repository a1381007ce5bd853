/* SPDX-License-Identifier: MIT */
#pragma once

/* Which table or column was probably meant by one that is not there. */

#include "query/internal.h"

struct nearest {
    struct arena arena;
    const char **names;
    unsigned n, room;
    bool failed; /* out of memory */
};

/* MESSAGE is SQLite's about SQL: "no such table: X", "no such column: X". The trace is not read for it. NULL: none is
 * similar. The name is valid as long as NEAREST. */
const char *nearest_find(struct nearest *nearest, struct query *query, const char *message,
                         const char *sql);
void nearest_done(struct nearest *nearest);
