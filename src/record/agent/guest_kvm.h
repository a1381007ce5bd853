/* SPDX-License-Identifier: MIT */
#pragma once

/* A guest's time stamp counter as KVM on this host tells it, exactly, in debugfs:
 *
 *   kvm/PID-FD/                     a virtual machine: its process, and the descriptor that it is there
 *   kvm/PID-FD/vcpuN/tsc-offset                   a signed number
 *   kvm/PID-FD/vcpuN/tsc-scaling-ratio            an unsigned one, and …
 *   kvm/PID-FD/vcpuN/tsc-scaling-ratio-frac-bits  … how many of its bits are behind the point; both only where the
 *                                                 processor scales
 *
 *   guest's TSC = (host's TSC * ratio >> frac bits) + offset
 *
 * Each of the vCPUs has its own; a trace is related by them only where all are the same. Source: Linux
 * arch/x86/kvm/debugfs.c, and what a 6.18 kernel shows. */

#include <sys/types.h>

#include "base/error.h"
#include "record/agent/guest_session.h"

#define GUEST_KVM_ROOT "/sys/kernel/debug/kvm"

struct guest_tsc {
    int64_t offset;
    uint64_t ratio; /* with frac_bits 0 and ratio 1: not scaled */
    unsigned frac_bits;
};

/* The directory of the machine of process PID below ROOT, malloc()ed. -ENOENT with ERROR: it has none, or ROOT is not
 * there or not to be read; -ENOTUNIQ: it has several. */
int guest_kvm_find(const char *root, pid_t pid, char **ret_path, struct error *error);
/* What the files of that directory say now. -EBADMSG with ERROR: they say something else than numbers; -ENOTUNIQ: vCPUs
 * differ; -ENOENT and its like: they are not there (any more). */
int guest_kvm_read(const char *path, struct guest_tsc *ret, struct error *error);
/* The guest's TSC when the host's is at HOST. */
uint64_t guest_tsc_of(const struct guest_tsc *tsc, uint64_t host);
/* A pair of clocks of this moment. -ENOTSUP: this machine has no TSC. */
int guest_kvm_pair(const struct guest_tsc *tsc, struct guest_pair *ret);
