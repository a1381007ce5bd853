/* SPDX-License-Identifier: MIT */
#pragma once

/* Selects the recorded events of a kernel: of a QEMU's guest or of this machine. For guests at endpoints, see
 * record/plan/guests.h. */

#include "record/kernel/guest.h"
#include "record/plan/plan.h"

/* Default size of each CPU's buffer, in bytes. */
#define PLAN_KERNEL_BUFFER (UINT64_C(4) << 20)

struct plan_kernel {
    struct guest_event *items;
    struct trace_config trace; /* points into `items` */
};

/* Returns the events of guests' kernels, or of this machine's kernel (IS_HOST): the selected events and the events that
 * the plan needs; without either, the default events. Of this machine's needed and default events, only existing ones
 * are returned. The caller frees *RET; its strings are borrowed. */
int plan_kernel_events(const struct record_plan *plan, bool is_host, struct guest_event **ret,
                       uint32_t *ret_n);
/* Makes the complete request to a kernel. */
int plan_kernel_make(const struct record_plan *plan, bool is_host, struct plan_kernel *ret);
void plan_kernel_done(struct plan_kernel *kernel);
/* The default events, whether or not they exist: *RET_N patterns. */
const char *const *plan_kernel_usual(bool is_host, unsigned *ret_n);

/* The program strata-agent for this machine's kernel: beside strata, or to be found in PATH. Returns BUF or a
 * constant. */
const char *plan_kernel_agent(char *buf, size_t size);
