/* SPDX-License-Identifier: MIT */
#pragma once

/* Events as QEMU's simpletrace.py prints them, byte for byte:
 *
 *     NAME DELTA pid=PID argument=0xVALUE string=b'…'
 *
 * DELTA is the time since the previous item, in µs with three decimals. Scalars are printed as the stored 64 bits,
 * whatever their type; strings as Python's bytes. A loss is the event Dropped_Event. */

#include "base/error.h"
#include "base/text.h"
#include "event/item.h"

struct simpletrace_text;

enum simpletrace_style {
    /* Without "pid=…", as QEMU's programs for versions 0 and 2 of the format. */
    SIMPLETRACE_NO_PID = 1 << 0,
    /* As QEMU 10's program: a line without arguments ends with a blank, and a time that a double cannot hold exactly is
     * rounded once, not twice. */
    SIMPLETRACE_AS_10 = 1 << 1,
};

/* Prints to OUT, which must outlive the printer. STYLE: bits of enum simpletrace_style. -ENOMEM. */
int simpletrace_text_new(struct text *out, unsigned style, struct simpletrace_text **ret_printer);
void simpletrace_text_free(struct simpletrace_text *t);
static inline void simpletrace_text_freep(struct simpletrace_text **printer)
{
    simpletrace_text_free(*printer);
}

/* Prints N items, whose fields are laid out as in qemu_class.h. *RET_DONE is always the number of printed items.
 * -ENOENT if the next item's event is not declared; -EBADMSG if its payload is shorter than its declaration;
 * -ENOMEM. */
int simpletrace_text_put(struct simpletrace_text *t, const struct item *items, unsigned n,
                         unsigned *ret_done);
