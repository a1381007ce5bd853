/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of tasks at the time that the reader is at, from records COMM and FORK. A name has a number, from 1 on, and
 * stays; beyond PERF_TASKS_MAX tasks or names, further ones are unknown. Not thread-safe. */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

#define PERF_TASKS_MAX 1048576
#define PERF_TASKS_RECENT 256

struct perf_tasks {
    struct arena arena;
    struct map names; /* their numbers by text */
    const char **list;
    uint32_t n, capacity;
    struct map of_task; /* numbers of names by thread + 1 */
    struct recent_comm {
        int32_t tid;
        uint32_t comm;
    } recent[PERF_TASKS_RECENT];
};

void perf_tasks_done(struct perf_tasks *tasks);

/* Task TID is called the LEN bytes at NAME from now on. -ENOMEM. */
int perf_tasks_set(struct perf_tasks *tasks, int32_t tid, const char *name, size_t len);
/* TID is called as PARENT is. -ENOMEM. */
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

/* The name with a number; NULL: 0, or no such name. */
const char *perf_tasks_name(const struct perf_tasks *tasks, uint32_t comm);
