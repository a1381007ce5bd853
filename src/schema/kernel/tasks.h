/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of tasks from events: sched_switch, wakeups, fork, exec, renames. Used for tasks that are not
 * in the kernel's own table (saved_cmdlines), which is small, and missing if a guest is killed. */

#include "base/arena.h"
#include "base/macro.h"
#include "event/class.h"

#define KERNEL_TASK_NAME 16 /* bytes of a name in the kernel, with its NUL */

/* Where an event has the number and the name of a task. */
struct kernel_task_pair {
    uint32_t pid_offset;
    uint32_t name_offset;
    /* 0: `name_offset` is that of a word with the name's offset (u16) and length (u16) */
    uint32_t name_size;
    bool is_path; /* the name is what follows the last slash */
    bool swap;
};

struct eh_point;

/* What is looked for in the events of a class as they are read. */
struct kernel_task_pairs {
    const struct eh_point
        *point; /* each event has fields of its own: kernel_events_decode(). NULL: it has not */
    unsigned n;
    /* The least payload that has each pid and name at a place that does not change; 0: names may have another size,
     * or the byte order is another. */
    uint32_t quick_size;
    struct kernel_task_pair list[2];
};

/* The pairs of CLASS, or NULL where it has none. -ENOMEM. */
int kernel_task_pairs_find(struct arena *arena, const struct event_class *class,
                           const struct kernel_task_pairs **ret_pairs);

/* Reads task I of an event, its name cut and padded with NULs. False: outside of the payload. */
bool kernel_task_pair_read(const struct kernel_task_pair *pair, const uint8_t *payload, size_t size,
                           int32_t *ret_pid, char ret_name[KERNEL_TASK_NAME]);
