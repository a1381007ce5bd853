/* SPDX-License-Identifier: MIT */
#pragma once

/* KVM's values of a guest's time stamp counter, which are exact, in this host's debugfs:
 *
 *   kvm/PID-FD/                     a virtual machine: the thread that made it, and its descriptor there
 *   kvm/PID-FD/vcpuN/tsc-offset                   a signed number
 *   kvm/PID-FD/vcpuN/tsc-scaling-ratio            an unsigned one, and …
 *   kvm/PID-FD/vcpuN/tsc-scaling-ratio-frac-bits  … the number of its fraction bits; both only where the
 *                                                 processor scales
 *
 *   guest's TSC = (host's TSC * ratio >> frac bits) + offset
 *
 * Each of the vCPUs has its own; they are used only if all are the same. Source: Linux
 * arch/x86/kvm/debugfs.c, and what a 6.18 kernel shows. */

#include <sys/types.h>

#include "base/error.h"
#include "record/kernel/guest_session.h"

#define GUEST_KVM_ROOT "/sys/kernel/debug/kvm"

struct guest_tsc {
    int64_t offset;
    uint64_t ratio; /* 1, with frac_bits 0: not scaled */
    unsigned frac_bits;
};

/* The directory of the virtual machine of process PID below ROOT, malloc()ed. -ENOENT with ERROR: there is none, or ROOT cannot
 * be read; -ENOTUNIQ: there are several. */
int guest_kvm_find(const char *root, pid_t pid, char **ret_path, struct error *error);
/* The process of a virtual machine below ROOT whose command line gives it that CID of vsock, as QEMU's does. 0: none. */
pid_t guest_kvm_find_cid(const char *root, uint32_t cid);
/* Reads the files of that directory. -EBADMSG with ERROR: they do not hold numbers; -ENOTUNIQ: the vCPUs differ; -ENOENT or
 * another -errno: the virtual machine has ended, or they cannot be read. */
int guest_kvm_read(const char *path, struct guest_tsc *ret, struct error *error);
/* The guest's TSC when the host's is HOST. */
uint64_t guest_tsc_of(const struct guest_tsc *tsc, uint64_t host);
/* Makes a pair of the guest's clock and the host's now. -ENOTSUP: this machine has no TSC. */
int guest_kvm_pair(const struct guest_tsc *tsc, struct guest_pair *ret);
