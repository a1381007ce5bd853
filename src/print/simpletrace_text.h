/* SPDX-License-Identifier: MIT */
#pragma once

/* Events as QEMU's simpletrace.py prints them, byte for byte:
 *
 *     NAME DELTA pid=PID argument=0xVALUE string=b'…'
 *
 * DELTA is the time since the item before, in µs with three decimals; scalars are the stored 64 bits
 * whatever their type; strings read as Python's bytes. A loss is the event Dropped_Event. */

#include "base/error.h"
#include "base/text.h"
#include "event/item.h"

struct simpletrace_text;

enum simpletrace_style {
    /* No "pid=…": what the programs printed that read versions 0 and 2 of the format. */
    SIMPLETRACE_NO_PID = 1 << 0,
    /* As QEMU 10's program: a blank at the end of a line without arguments; times that a double does
     * not hold exactly are rounded once, not twice. */
    SIMPLETRACE_AS_10 = 1 << 1,
};

/* Prints into OUT, which must outlive it. STYLE: enum simpletrace_style. -ENOMEM. */
int simpletrace_text_new(struct text *out, unsigned style, struct simpletrace_text **ret_printer);
void simpletrace_text_free(struct simpletrace_text *t);
static inline void simpletrace_text_freep(struct simpletrace_text **printer)
{
    simpletrace_text_free(*printer);
}

/* Prints N items, whose fields are laid out as qemu_class.h says. *RET_DONE is set to how many were
 * printed in any case. -ENOENT: the next one is of an event that is not declared; -EBADMSG: its
 * payload is shorter than its declaration asks for; -ENOMEM. */
int simpletrace_text_put(struct simpletrace_text *t, const struct item *items, unsigned n,
                         unsigned *ret_done);
