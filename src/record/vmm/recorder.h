/* SPDX-License-Identifier: MIT */
#pragma once

/* The recorder of a virtual machine monitor that has no events of its own. It records only the identity of the monitor
 * and which of its threads run vCPUs, in a source of kind "none". This relates events of the host's and the guest's
 * kernels to vCPUs. It is the primary recorder, and ends with the monitor. */

#include "record/recorder.h"
#include "record/vmm/process.h"

/* All pointers are borrowed for the life of the recorder. */
struct vmm_recorder_settings {
    const struct vmm_process *process;
    const char *name; /* name of its source */
    const char *kvm;  /* the directory where KVM describes virtual machines */
};

/* -ENOMEM. */
int vmm_recorder_new(const struct vmm_recorder_settings *settings, struct recorder **ret);
