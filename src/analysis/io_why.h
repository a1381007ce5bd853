/* SPDX-License-Identifier: MIT */
#pragma once

/* What the threads of a VMM did on the host while a request was in a stage: the reason why that was slow. The states of
 * all threads of the host are kept for the requests that are kept, at most IO_WHY_MAX intervals; where these are more,
 * older ones are missing, and nothing is said. Not thread-safe. */

#include "analysis/states.h"
#include "base/text.h"

#define IO_WHY_MAX (1u << 19)
#define IO_WHY_SPANS_MAX 100 /* if more of the slowest are kept, nothing is said of them */

struct io_state {
    int64_t begin, end;
    const struct origin *origin;
    int32_t id; /* the thread; of a CPU, the CPU */
    int32_t cpu, by;
    uint8_t of, state;
};

struct io_why {
    struct states states;
    struct io_state *kept;
    unsigned n, room;
};

int io_why_init(struct io_why *why);
/* 0, -ENOMEM. */
int io_why_put(struct io_why *why, const struct item *items, unsigned n);
int io_why_finish(struct io_why *why);
void io_why_done(struct io_why *why);

/* Puts what thread PID of the host did from BEGIN to END, and those that it woke there and that are called "worker":
 * "qemu-system-x86-5559 ran 32.1 us, was runnable 4.03 ms on CPU 0 behind ALL CPUs/TCG-5574". Nothing is put if nothing
 * is known. */
void io_why_put_text(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                     const struct clock *clock, struct text *text);
