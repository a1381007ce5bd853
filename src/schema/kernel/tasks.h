/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of tasks from events: sched_switch, wakeups, fork, exec, renames. They are used for tasks that are not in the
 * kernel's own table (saved_cmdlines), which is small, and missing if a guest is killed. */

#include "base/arena.h"
#include "base/macro.h"
#include "event/class.h"

#define KERNEL_TASK_NAME 16 /* bytes of a name in the kernel, with its NUL */

/* Where an event has the number and the name of a task. */
struct kernel_task_pair {
    uint32_t pid_offset;
    uint32_t name_offset;
    /* 0: `name_offset` is the offset of a word with the name's offset (u16) and length (u16) */
    uint32_t name_size;
    bool is_path; /* the name is the part after the last slash */
    bool swap;
};

struct eh_point;

/* What to read from the events of a class. */
struct kernel_task_pairs {
    /* If each event has its own fields (kernel_events_decode()); otherwise NULL. */
    const struct eh_point *point;
    unsigned n;
    /* The smallest payload that has each PID and name at its fixed place; 0: names may have another size, or the byte
     * order differs. */
    uint32_t quick_size;
    struct kernel_task_pair list[2];
};

/* Finds the pairs of CLASS; *RET_PAIRS is NULL if it has none. -ENOMEM. */
int kernel_task_pairs_find(struct arena *arena, const struct event_class *class,
                           const struct kernel_task_pairs **ret_pairs);

/* Reads a task of an event. Its name is cut, and padded with NULs. Returns false if it is outside of the payload. */
bool kernel_task_pair_read(const struct kernel_task_pair *pair, const uint8_t *payload, size_t size,
                           int32_t *ret_pid, char ret_name[KERNEL_TASK_NAME]);
