/* SPDX-License-Identifier: MIT */
#pragma once

/* Records how CLOCK_REALTIME, by which QEMU stamps its log, relates to CLOCK_MONOTONIC: pairs of both clocks, every
 * second and at both ends, in a file in the format of timeline/clock_map.h. */

#include "base/error.h"

struct qemu_clock {
    int file;
    uint64_t next; /* when the next pair is due, CLOCK_MONOTONIC */
    /* of the last pair: real time minus monotonic time, and the monotonic time */
    int64_t offset, monotonic;
    unsigned n;
    int64_t worst; /* the largest error of a pair, ns */
    int64_t extra; /* further error of times in the log, ns */
    bool is_extra_unwritten;
    int64_t stepped; /* the largest step of the real time, ns; 0: none */
    int error;       /* of writing the last line; lines are left out while the disk is full */
};

/* ns. QEMU truncates its times to microseconds. */
#define VMM_CLOCK_TRUNCATION 1000

/* Creates the file PATH, and takes the first pair. -errno with ERROR. */
int qemu_clock_open(const char *path, struct qemu_clock *ret, struct error *error);
/* Adds NS to the error of the times in the log. The file says so when this returns, unless the disk is full. Call it
 * before a line with such a time is written. */
void qemu_clock_widen(struct qemu_clock *clock, int64_t ns);
/* Takes a pair now. */
void qemu_clock_take(struct qemu_clock *clock);
/* Takes a pair if one is due. *RET_SLEEP: ns until the next pair is due. */
void qemu_clock_step(struct qemu_clock *clock, uint64_t now, uint64_t *ret_sleep);
/* Takes the last pair. */
void qemu_clock_done(struct qemu_clock *clock);
