/* SPDX-License-Identifier: MIT */
#pragma once

/* Events of any kind as a Linux kernel would record them: the text of a format file for a class, and
 * an event's bytes as that tells them.
 *
 *   bytes      what
 *   0..1       u16 the event's number
 *   2          u8 flags, 0
 *   3          u8 preempt count, 0
 *   4..7       s32 thread
 *   8..        integers at multiples of their size; of text and raw memory a u32 ("__data_loc"): in its
 *              low half where in the record it lies, in the upper its length
 *   behind     what those point to; texts with their NUL
 *
 * Bit fields take their scalar's room. A float is text. What a record does not have is 0 or empty. What
 * would end behind 65,535 bytes is cut short, as a u16 tells no more.
 *
 * Source: Linux Documentation/trace/events.rst, and format files of Linux 6.1. */

#include "base/arena.h"
#include "base/text.h"
#include "event/item.h"

struct kernel_layout {
    const struct event_class *class;
    struct kernel_place {
        uint32_t offset;
        uint8_t size; /* of a scalar; 0: a __data_loc */
        const char *name;
    } * places;    /* by field */
    uint32_t size; /* of all that does not vary */
};

/* Lays CLASS out; what it needs is in ARENA. -ENOMEM. */
int kernel_layout_make(struct arena *arena, const struct event_class *class,
                       struct kernel_layout *ret);

/* The format file of the event with the number ID, which is called as its class is, but for letters that
 * no identifier has: '_'. */
void kernel_layout_put_format(struct text *text, const struct kernel_layout *layout, unsigned id);

/* ITEM's record behind what TEXT holds, in this machine's byte order or, with SWAP, the other. */
void kernel_layout_put_record(struct text *text, const struct kernel_layout *layout, unsigned id,
                              int32_t pid, const struct item *item, bool swap);
