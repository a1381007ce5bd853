/* SPDX-License-Identifier: MIT */
#pragma once

/* The names of tasks at the reader's present time, from records COMM and FORK. A name has a number, from 1, which stays
 * valid. Beyond PERF_TASKS_MAX tasks or names, further ones are unknown. Not thread-safe. */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

#define PERF_TASKS_MAX 1048576
#define PERF_TASKS_RECENT 256

struct perf_tasks {
    struct arena arena;
    struct map names; /* numbers of names by text */
    const char **list;
    uint32_t n, capacity;
    struct map of_task; /* numbers of names by thread + 1 */
    struct recent_comm {
        int32_t tid;
        uint32_t comm;
    } recent[PERF_TASKS_RECENT];
};

void perf_tasks_done(struct perf_tasks *tasks);

/* Sets the name of task TID from now on: LEN bytes at NAME. -ENOMEM. */
int perf_tasks_set(struct perf_tasks *tasks, int32_t tid, const char *name, size_t len);
/* Gives TID the name of PARENT. -ENOMEM. */
int perf_tasks_fork(struct perf_tasks *tasks, int32_t tid, int32_t parent);

/* The slow half of perf_tasks_comm(). */
uint32_t perf_tasks_look_up(struct perf_tasks *tasks, int32_t tid);

/* The number of TID's name, or 0. */
static inline uint32_t perf_tasks_comm(struct perf_tasks *tasks, int32_t tid)
{
    const struct recent_comm *recent = &tasks->recent[(uint32_t)tid % PERF_TASKS_RECENT];

    if (tid <= 0)
        return 0;
    return recent->tid == tid ? recent->comm : perf_tasks_look_up(tasks, tid);
}

/* The name with number COMM; NULL for 0 or an unknown number. */
const char *perf_tasks_name(const struct perf_tasks *tasks, uint32_t comm);
