/* SPDX-License-Identifier: MIT */
#pragma once

/* Selects the recorded events of a QEMU, and makes the settings of its recorder. */

#include "record/plan/kernel.h"
#include "record/plan/subject.h"
#include "record/qemu/arguments.h"
#include "record/qemu/recorder.h"

struct plan_qemu {
    struct qemu_recorder_settings settings; /* without the recorder of the guest */
    struct plan_kernel kernel;              /* of the guest, if plan->guest is true */
    struct qemu_probe probe;
    struct qemu_arguments arguments;
    struct strings events;
};

/* Asks the QEMU of SUBJECT for its version and events, and takes over the connection to its monitor. SUBJECT and PLAN
 * are borrowed. Fails if QEMU lacks a requested feature or event. */
int plan_qemu_make(const struct record_plan *plan, struct record_subject *subject,
                   struct plan_qemu *ret, struct error *error);
void plan_qemu_done(struct plan_qemu *qemu);
