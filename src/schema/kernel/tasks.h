/* SPDX-License-Identifier: MIT */
#pragma once

/* Names of tasks that events themselves have: sched_switch, wakeups, fork, exec, renames. They are for tasks that the
 * kernel's own table (saved_cmdlines) lacks, which is small, and absent when a guest ends without a word. */

#include "base/arena.h"
#include "base/macro.h"
#include "event/class.h"

#define KERNEL_TASK_NAME 16 /* bytes of a name in the kernel, with its NUL */

/* Where an event has the number and the name of a task. */
struct kernel_task_pair {
    uint32_t pid_offset;
    uint32_t name_offset;
    uint32_t
        name_size; /* 0: at `name_offset` stands where it lies (u16) and how long it is (u16) */
    bool is_path;  /* the name is what follows the last slash */
    bool swap;
};

struct kernel_task_pairs {
    unsigned n;
    struct kernel_task_pair list[2];
};

/* The pairs of CLASS, or NULL where it has none. -ENOMEM. */
int kernel_task_pairs_find(struct arena *arena, const struct event_class *class,
                           const struct kernel_task_pairs **ret_pairs);

/* The I-th task of an event, its name cut and filled up with NULs. False: it lies outside of the payload. */
bool kernel_task_pair_read(const struct kernel_task_pair *pair, const uint8_t *payload, size_t size,
                           int32_t *ret_pid, char ret_name[KERNEL_TASK_NAME]);
