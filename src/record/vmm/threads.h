/* SPDX-License-Identifier: MIT */
#pragma once

/* The threads of a process that runs virtual machines of KVM, and which of them run vCPUs. Which vCPU one runs is known
 *
 *  - exactly, from the file kvm/PID-FD/vcpuN/pid in debugfs (Linux 6.0), from when the vCPU has run first;
 *  - otherwise as a hint, from the name that the program gives it: "fc_vcpu N" (Firecracker), "vcpuN" (cloud-hypervisor),
 *    "crosvm_vcpuN", "CPU N/KVM" (QEMU), "kvm-vcpu-N" (kvmtool).
 *
 * What the host's kernel has recorded (kvm_entry) is exact as well; readers of the trace use that. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VMM_THREADS_MAX 4096u
#define VMM_VCPUS_MAX 4096u

struct vmm_thread {
    int32_t id;
    int32_t vcpu; /* -1: none, or not known */
    char name[16];
    bool is_exact; /* `vcpu` is the kernel's */
};

/* Zeroed, it is empty. */
struct vmm_threads {
    struct vmm_thread *items; /* ascending by id; also those that have ended since */
    unsigned n, room;
    unsigned n_vms; /* that KVM's debugfs shows of the process; 0: it cannot be read */
};

void vmm_threads_done(struct vmm_threads *threads);
/* Adds the threads that process PID has now, and what is known of their vCPUs. KVM: the directory GUEST_KVM_ROOT. -ENOMEM;
 * another -errno: the process has ended, or cannot be looked at; what was known is kept. */
int vmm_threads_update(struct vmm_threads *threads, pid_t pid, const char *kvm);
/* How many different vCPUs have a thread. */
unsigned vmm_threads_vcpus(const struct vmm_threads *threads);
/* The vCPU that a thread called NAME runs; -1: its name does not say so. */
int32_t vmm_vcpu_of_name(const char *name);
