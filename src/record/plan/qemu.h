/* SPDX-License-Identifier: MIT */
#pragma once

/* Which events of a QEMU are recorded, and what its recorder has to know of it. */

#include "record/plan/kernel.h"
#include "record/plan/subject.h"
#include "record/qemu/arguments.h"
#include "record/qemu/recorder.h"

struct plan_qemu {
    struct qemu_recorder_settings settings; /* without the recorder of the guest */
    struct plan_kernel kernel;              /* the guest's, where plan->guest is not NULL */
    struct qemu_probe probe;
    struct qemu_arguments arguments;
    struct strings events;
};

/* Asks the QEMU of SUBJECT what it has; takes the connection to its monitor. SUBJECT, PLAN are borrowed. An error: it lacks what
 * was asked for. */
int plan_qemu_make(const struct record_plan *plan, struct record_subject *subject,
                   struct plan_qemu *ret, struct error *error);
void plan_qemu_done(struct plan_qemu *qemu);
