/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints problems of declarations:
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

/* Default number of problems that are shown. */
#define DIAGNOSE_MAX 20

struct diagnose {
    enum diagnose_style style;
    uint64_t max; /* errors and warnings to show, each; 0: all */
    /* flags of printable_step(): which characters of a source line are shown unchanged */
    unsigned printing;
    /* Prints some lines. */
    void (*print)(void *arg, const char *text, size_t len);
    void *arg;
    uint64_t n_errors;
    uint64_t n_warnings;
};

/* A `declaration_report`; ARG is a struct diagnose. */
void diagnose_show(void *arg, const struct declaration_problem *problem);

/* As declarations_read(), but prints all problems. Returns a negative errno; with ERROR if the file was not read, which
 * counts as an error. */
int diagnose_read(struct diagnose *diagnose, struct declarations *declarations, const char *path,
                  struct error *error);

/* Call it after the last file. Prints how many problems were not shown, if any. */
void diagnose_end(const struct diagnose *diagnose);

/* Writes a problem as text. PRINTING: as in struct diagnose. */
struct text;
void diagnose_put(struct text *text, enum diagnose_style style, unsigned printing,
                  const struct declaration_problem *problem);
