/* SPDX-License-Identifier: MIT */
#pragma once

/* What the parts of strata sql share: the command, its printing, its shell. */

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
    /* Number of losses in records when losses were last reported, plus one; 0: not reported. */
    uint64_t n_losses;
};

/* Runs the statements in SQL in order, and prints their rows. NAME is for errors. After an answer, prints on standard
 * error why it may be incomplete. An exit status. */
int sql_run(struct sql_session *session, const char *sql, const char *name);

/* Reads statements and commands from the terminal until its end. An exit status. */
int sql_shell(struct sql_session *session);

/* Prints the queries that ship with Strata. */
int sql_list_named(struct sql_session *session);

/* True if a signal has stopped the query. Resets that. */
bool sql_take_stopped(void);
