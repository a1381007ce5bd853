/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes events of any kind as a Linux kernel would record them: a format file for a class, and the bytes of an event
 * that the file describes.
 *
 *   bytes      what
 *   0..1       u16 the event's number
 *   2          u8 flags, 0
 *   3          u8 preempt count, 0
 *   4..7       s32 thread
 *   8..        integers at multiples of their size; of text and raw memory a u32 ("__data_loc"): in its
 *              low half its offset in the record, in the upper half its length
 *   then       the data of __data_loc fields; texts with their NUL
 *
 * A bit field has the size of its scalar. A float is text. Missing fields are 0 or empty. Data is cut at 65,535 bytes,
 * the largest offset of a u16.
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
    uint32_t size; /* of the fixed part */
};

/* Makes the layout of CLASS in ARENA. -ENOMEM. */
int kernel_layout_make(struct arena *arena, const struct event_class *class,
                       struct kernel_layout *ret);

/* Puts the format file of the event with the number ID. Its name is the class's, with '_' for characters that
 * identifiers cannot have. */
void kernel_layout_put_format(struct text *text, const struct kernel_layout *layout, unsigned id);

/* Appends ITEM's record to TEXT, in this machine's byte order, or with SWAP in the other one. */
void kernel_layout_put_record(struct text *text, const struct kernel_layout *layout, unsigned id,
                              int32_t pid, const struct item *item, bool swap);
