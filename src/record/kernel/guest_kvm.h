/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads KVM's exact values of a guest's time stamp counter from this host's debugfs:
 *
 *   kvm/PID-FD/                     a virtual machine: the thread that created it, and its descriptor there
 *   kvm/PID-FD/vcpuN/tsc-offset                   a signed number
 *   kvm/PID-FD/vcpuN/tsc-scaling-ratio            an unsigned number
 *   kvm/PID-FD/vcpuN/tsc-scaling-ratio-frac-bits  the number of its fraction bits
 *
 *   guest's TSC = (host's TSC * ratio >> frac bits) + offset
 *
 * The two scaling files exist only if the processor scales. Each vCPU has its own values; they are used only if they
 * are equal for all vCPUs. Source: Linux arch/x86/kvm/debugfs.c, and what a 6.18 kernel shows. */

#include <sys/types.h>

#include "base/error.h"
#include "record/kernel/guest_session.h"

#define GUEST_KVM_ROOT "/sys/kernel/debug/kvm"

struct guest_tsc {
    int64_t offset;
    uint64_t ratio; /* 1, with frac_bits 0: not scaled */
    unsigned frac_bits;
};

/* Finds the directory of the virtual machine of process PID below ROOT. The caller frees *RET_PATH. -ENOENT with ERROR:
 * no such directory, or ROOT cannot be read; -ENOTUNIQ: several. */
int guest_kvm_find(const char *root, pid_t pid, char **ret_path, struct error *error);
/* The process of the virtual machine below ROOT whose command line, like QEMU's, sets vsock CID to this value. 0:
 * none. */
pid_t guest_kvm_find_cid(const char *root, uint32_t cid);
/* Reads the files in the directory PATH. -EBADMSG with ERROR: they do not hold numbers; -ENOTUNIQ: the vCPUs differ;
 * -ENOENT or another -errno: the virtual machine has ended, or the files cannot be read. */
int guest_kvm_read(const char *path, struct guest_tsc *ret, struct error *error);
/* The guest's TSC when the host's is HOST. */
uint64_t guest_tsc_of(const struct guest_tsc *tsc, uint64_t host);
/* Makes a pair of the guest's clock and the host's now. -ENOTSUP: this machine has no TSC. */
int guest_kvm_pair(const struct guest_tsc *tsc, struct guest_pair *ret);
