/* SPDX-License-Identifier: MIT */
#pragma once

/* An item of a stream: an event, or a loss of events. */

#include <stdint.h>

#include "event/class.h"

enum item_kind {
    ITEM_EVENT,
    ITEM_LOSS,
};

#define CPU_UNKNOWN (-1)
#define PID_UNKNOWN (-1)
#define VCPU_UNKNOWN (-1)
#define TIME_UNKNOWN INT64_MIN
#define LOST_UNKNOWN UINT64_MAX

/* Why events are missing. An item stores it in a part of a byte. */
enum __attribute__((packed)) loss_cause {
    LOSS_DROPPED,    /* the tracer had no room and reported it */
    LOSS_UNREADABLE, /* the input was damaged here, and the reader continued after it */
};

/* 64 bytes, one cache line. An item and its payload are lent (event/source.h). */
struct item {
    int64_t time; /* ticks of the origin's clock; for a loss, its end */
    const struct origin *origin;
    const struct event_class *class; /* NULL for a loss */
    union {
        const uint8_t *payload; /* event: `size` bytes, not aligned */
        uint64_t lost;          /* loss: number of events, or LOST_UNKNOWN */
    };
    union {
        struct {
            uint32_t size;        /* event: bytes of payload */
            uint32_t reader_word; /* event: for the reader's own put_text */
        };
        int64_t since; /* loss: its start, or TIME_UNKNOWN */
    };
    int32_t cpu;  /* or CPU_UNKNOWN */
    int32_t pid;  /* thread ID if the format has one; or PID_UNKNOWN */
    int32_t vcpu; /* or VCPU_UNKNOWN; the origin defines its meaning */
    union {
        uint32_t skipped; /* LOSS_UNREADABLE: bytes of input skipped (saturated) */
        /* event: its thread's name at that time, for the origin's comm(); 0: use task_name() */
        uint32_t comm;
    };
    uint8_t kind; /* enum item_kind */
    /* The next item of its CPU is a loss, which the reader has already found. A loss is lent at its end, so items of other CPUs
     * may come in between. Or no item of the CPU follows, and the CPU is not recorded from here on
     * (origin_is_recorded_to_end()). */
    bool before_loss;
    union {
        uint8_t reader_byte; /* event: for the reader's own put_text */
        struct {
            enum loss_cause cause : 6; /* loss */
            /* loss without an end: no item of its CPU follows, although the recording continued */
            bool is_open : 1;
            /* part of a loss, up to the end of the read data; its events are counted at the end of the loss */
            bool goes_on : 1;
        };
    };
    /* The part of the clock's time in which the clock was not set and did not stand still, or CLOCK_UNSTEADY if it was set or
     * stood still within `error_ns` of here (event/clock_error.h). */
    uint8_t clock_part;
    /* The largest possible error of `time`, in ns, saturated, if it was converted to another clock
     * (timeline/clock_convert.h). 0: that clock itself stamped it. Readers leave it 0. */
    uint32_t error_ns;
};

/* An error that is too large for 32 bits: 4.3 s or more. */
#define ERROR_UNKNOWN UINT32_MAX

/* True if a time has a known error. IS_REFUTED: causes and effects contradict the stated error of the clock. */
static inline bool error_is_known(uint32_t error_ns, bool is_refuted)
{
    return error_ns == 0 || (error_ns != ERROR_UNKNOWN && !is_refuted);
}

/* True if the error of ITEM's time is known and is ITEM->error_ns. False if the stated error of its clock is refuted.
 * Code that shows the error of a time must ask this. */
static inline bool item_error_is_known(const struct item *item)
{
    return error_is_known(item->error_ns, item->origin->is_error_refuted);
}

/* True if ITEM is a part of a loss whose end is not read. */
static inline bool item_is_part_of_loss(const struct item *item)
{
    return item->kind == ITEM_LOSS && item->goes_on;
}

/* Name of thread PID of ORIGIN (either may be unknown), or NULL. */
static inline const char *origin_task_name(const struct origin *origin, int32_t pid)
{
    return pid != PID_UNKNOWN && origin && origin->task_name ? origin->task_name(origin, pid)
                                                             : NULL;
}

/* Puts the thread PID with its NAME, "CPU 0/KVM-148". If its virtual machine has a name, the name comes first:
 * "web8's CPU 0/KVM-148". */
void origin_put_thread(const struct origin *origin, const char *name, int32_t pid,
                       struct text *text);

/* Name of the event's thread at that time, or NULL. A loss has none, because its exact time is unknown and names
 * change. */
static inline const char *item_task_name(const struct item *item)
{
    const struct origin *origin = item->origin;

    if (origin->comm && (item->kind != ITEM_EVENT || item->comm))
        return item->kind == ITEM_EVENT ? origin->comm(origin, item->comm) : NULL;
    return origin_task_name(origin, item->pid);
}

/* Name of the virtual machine whose monitor's thread runs the event, or NULL. */
static inline const char *item_vm_name(const struct item *item)
{
    return item->pid != PID_UNKNOWN && item->origin->vm_name
               ? item->origin->vm_name(item->origin, item->pid)
               : NULL;
}

_Static_assert(sizeof(struct item) <= 64, "an item is one cache line");
