/* SPDX-License-Identifier: MIT */
#pragma once

/* What the parts of strata sql have in common: the command, its printing, its shell. */

#include "base/arena.h"
#include "base/strings.h"
#include "base/text.h"
#include "cli/progress.h"
#include "print/table.h"
#include "query/query.h"

struct sql_session {
    struct query *query;
    struct text out;
    enum table_format format;
    bool is_terminal;
    bool spreadsheet; /* as in struct table_form */
    bool has_memory_limit;
    struct progress progress; /* until the first rows are shown */
    struct arena arena;       /* of `hints` */
    struct strings hints;     /* of the readers, "PATH: HINT"; the first `n_hints` were reported */
    unsigned n_hints;
    uint64_t n_losses; /* of the records, when losses were reported, and one; 0: they were not */
};

/* Runs the statements of SQL one after the other, and prints their rows. NAME is what errors call it. After an answer,
 * prints on standard error what keeps it from being whole. An exit status. */
int sql_run(struct sql_session *session, const char *sql, const char *name);

/* Reads statements and commands from the terminal until its end. An exit status. */
int sql_shell(struct sql_session *session);

/* Prints the queries that ship with Strata. */
int sql_list_named(struct sql_session *session);

/* A signal has stopped the query; clears that. */
bool sql_take_stopped(void);
