/* SPDX-License-Identifier: MIT */
#pragma once

/* Which events of a kernel are recorded: of a QEMU's guest, of this machine. Guests at endpoints: record/plan/guests.h. */

#include "record/kernel/guest.h"
#include "record/plan/plan.h"

/* Bytes of each CPU's buffer where none are given. */
#define PLAN_KERNEL_BUFFER (UINT64_C(4) << 20)

struct plan_kernel {
    struct guest_event *items;
    struct trace_config trace; /* points into the above */
};

/* The events of guests' kernels, or of this machine's (IS_HOST): those that were chosen and those that the plan needs;
 * without either, what is usual. Of this machine's needed and usual ones those that are there. They are the caller's; their
 * strings are borrowed. */
int plan_kernel_events(const struct record_plan *plan, bool is_host, struct guest_event **ret,
                       uint32_t *ret_n);
/* All that a kernel is asked for. */
int plan_kernel_make(const struct record_plan *plan, bool is_host, struct plan_kernel *ret);
void plan_kernel_done(struct plan_kernel *kernel);
/* What is usual, whether or not it is there: *RET_N patterns. */
const char *const *plan_kernel_usual(bool is_host, unsigned *ret_n);

/* The program strata-agent, for this machine's: beside strata, or to be found in PATH. Returns BUF, or a
 * constant. */
const char *plan_kernel_agent(char *buf, size_t size);
