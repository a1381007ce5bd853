/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a virtual machine monitor that has no events of its own: it records nothing but who the monitor is, and
 * which of its threads run vCPUs, in a source of kind "none". What the host's and the guest's kernels record becomes that
 * of its vCPUs by this. It is the primary recorder, and ends with the monitor. */

#include "record/recorder.h"
#include "record/vmm/process.h"

/* All borrowed, for as long as the recorder is there. */
struct vmm_recorder_settings {
    const struct vmm_process *process;
    const char *name; /* of its source */
    const char *kvm;  /* the directory where KVM describes virtual machines */
};

/* -ENOMEM. */
int vmm_recorder_new(const struct vmm_recorder_settings *settings, struct recorder **ret);
