/* SPDX-License-Identifier: MIT */
#pragma once

/* How the real time, by which QEMU stamps its log, relates to CLOCK_MONOTONIC: pairs of both, every second
 * and at both ends, in a file as of timeline/clock_map.h. */

#include "base/error.h"

struct qemu_clock {
    int file;
    uint64_t next;             /* when the next pair is due, CLOCK_MONOTONIC */
    int64_t offset, monotonic; /* of the last pair: real time less monotonic, and when */
    unsigned n;
    int64_t worst; /* the largest error of a pair, ns */
    int64_t extra; /* by how much times in the log may be wrong besides, ns */
    bool is_extra_unwritten;
    int64_t stepped; /* by how much the real time was set at most, ns; 0: it was not */
    int error;       /* of writing the last line; while the disk is full, lines are left out */
};

/* QEMU cuts its times down to microseconds. */
#define VMM_CLOCK_TRUNCATION 1000

/* Makes the file PATH, and takes the first pair. -errno with ERROR. */
int qemu_clock_open(const char *path, struct qemu_clock *ret, struct error *error);
/* The times in the log may be wrong by NS besides. The file says so when this returns, unless the disk is full:
 * call it before such a time is written. */
void qemu_clock_widen(struct qemu_clock *clock, int64_t ns);
/* Takes a pair now. */
void qemu_clock_take(struct qemu_clock *clock);
/* Takes one if it is due. *RET_SLEEP: until the next one is, ns. */
void qemu_clock_step(struct qemu_clock *clock, uint64_t now, uint64_t *ret_sleep);
/* Takes the last pair. */
void qemu_clock_done(struct qemu_clock *clock);
