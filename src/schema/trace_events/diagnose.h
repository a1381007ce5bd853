/* SPDX-License-Identifier: MIT */
#pragma once

/* Problems of declarations as people see them:
 *
 *     hw/foo/trace-events:12:5: error: the argument type 'u32' is not allowed
 *        12 | foo(u32 a) "%u"
 *           |     ^~~ write 'uint32_t'
 */

#include "schema/trace_events/trace_events.h"

enum diagnose_style {
    DIAGNOSE_STRATA,    /* "FILE:LINE:COLUMN: error: WHAT", as compilers do */
    DIAGNOSE_TRACETOOL, /* "Error at FILE:LINE: WHAT", as QEMU's programs do */
};

/* How many are shown by default. */
#define DIAGNOSE_MAX 20

struct diagnose {
    enum diagnose_style style;
    uint64_t max;      /* of errors and of warnings that are shown; 0: all */
    unsigned printing; /* as of printable_step(): what of a source line is shown as it is */
    void (*print)(void *arg, const char *text, size_t len); /* some lines */
    void *arg;
    uint64_t n_errors;
    uint64_t n_warnings;
};

/* A `declaration_told`; ARG is a struct diagnose. */
void diagnose_show(void *arg, const struct declaration_problem *problem);

/* declarations_read() that shows all problems. A negative errno; with ERROR if the file was not read, which counts as an error. */
int diagnose_read(struct diagnose *diagnose, struct declarations *declarations, const char *path,
                  struct error *error);

/* Behind the last file: how many were not shown, if any. */
void diagnose_end(const struct diagnose *diagnose);

/* A problem as text. PRINTING: as in struct diagnose. */
struct text;
void diagnose_put(struct text *text, enum diagnose_style style, unsigned printing,
                  const struct declaration_problem *problem);
