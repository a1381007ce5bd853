/* SPDX-License-Identifier: MIT */
#pragma once

/* A process that runs virtual machines of KVM, whatever its program is: Firecracker, cloud-hypervisor, crosvm. It is
 * recognised by its descriptors, which are links in /proc/PID/fd:
 *
 *   anon_inode:kvm-vm        a virtual machine
 *   anon_inode:kvm-vcpu:N    its vCPU N
 *
 * Source: Linux virt/kvm/kvm_main.c, and what a 6.1 kernel shows. */

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

struct vmm_process {
    struct arena arena; /* of all strings below */
    pid_t pid;
    const char *program;        /* the file that it executes */
    const char *const *command; /* its command line, ended by NULL */
    unsigned n_command;
};

/* -ESRCH: no such process; -EACCES: another user's process; -ENODEV: it has no virtual machine of KVM; -ENOMEM or
 * another -errno; with ERROR. */
int vmm_process_open(pid_t pid, struct vmm_process *ret, struct error *error);
void vmm_process_done(struct vmm_process *process);

/* Counts the virtual machines, including duplicate descriptors, and the different vCPUs in the links of the directory
 * FDS. -errno: the directory cannot be read. */
int vmm_count_fds(const char *fds, unsigned *ret_vms, unsigned *ret_vcpus);
