/* SPDX-License-Identifier: MIT */
#pragma once

/* What flows through Strata: an event, or a loss of events. */

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

/* Why events are missing. */
enum loss_cause {
    LOSS_DROPPED,    /* the tracer had no room and said so */
    LOSS_UNREADABLE, /* the input was damaged here and the reader went on behind it */
};

/* 64 bytes, one cache line. An item and its payload are lent (event/source.h). */
struct item {
    int64_t time; /* ticks of the origin's clock; of a loss: its end */
    const struct origin *origin;
    const struct event_class *class; /* NULL of a loss */
    union {
        const uint8_t *payload; /* event: `size` bytes, not aligned */
        uint64_t lost;          /* loss: how many events, or LOST_UNKNOWN */
    };
    union {
        struct {
            uint32_t size;        /* event: bytes of payload */
            uint32_t reader_word; /* event: for the reader's own put_text */
        };
        int64_t since; /* loss: its start, or TIME_UNKNOWN */
    };
    int32_t cpu;  /* or CPU_UNKNOWN */
    int32_t pid;  /* thread id where the format has one; or PID_UNKNOWN */
    int32_t vcpu; /* or VCPU_UNKNOWN; what it means is the origin's to say */
    union {
        uint32_t skipped; /* LOSS_UNREADABLE: bytes of input skipped (saturated) */
        uint32_t
            comm; /* event: its thread's name as of then, of the origin's comm(); 0: task_name() has it */
    };
    uint8_t kind;        /* enum item_kind */
    uint8_t cause;       /* enum loss_cause */
    uint8_t reader_byte; /* for the reader's own put_text */
    /* By how many ns `time` may be wrong at most where it is told in another clock than stamped it
     * (timeline/clock_convert.h), saturated; 0: in that clock itself. Readers leave it 0. */
    uint32_t error_ns;
};

/* What the thread of an event was called then, or NULL. Of a loss nobody knows when it was, where names change. */
static inline const char *item_task_name(const struct item *item)
{
    const struct origin *origin = item->origin;

    if (origin->comm && (item->kind != ITEM_EVENT || item->comm))
        return item->kind == ITEM_EVENT ? origin->comm(origin, item->comm) : NULL;
    return item->pid != PID_UNKNOWN && origin->task_name ? origin->task_name(origin, item->pid)
                                                         : NULL;
}

_Static_assert(sizeof(struct item) <= 64, "an item is one cache line");
