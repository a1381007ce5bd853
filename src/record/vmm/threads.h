/* SPDX-License-Identifier: MIT */
#pragma once

/* The threads of a process that runs virtual machines of KVM, and which of them run vCPUs. The vCPU of a thread is
 * known
 *
 *  - exactly, from the file kvm/PID-FD/vcpuN/pid in debugfs (Linux 6.0), once the vCPU has run;
 *  - otherwise as a hint, from the name that the program gives the thread: "fc_vcpu N" (Firecracker), "vcpuN"
 *    (cloud-hypervisor), "crosvm_vcpuN", "CPU N/KVM" (QEMU), "kvm-vcpu-N" (kvmtool).
 *
 * Events of the host's kernel (kvm_entry) are exact too, and readers of the trace use them. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define VMM_THREADS_MAX 4096u
#define VMM_VCPUS_MAX 4096u

struct vmm_thread {
    int32_t id;
    int32_t vcpu; /* -1: none, or unknown */
    char name[16];
    bool is_exact; /* `vcpu` is from the kernel */
};

/* A zeroed structure is empty. */
struct vmm_threads {
    struct vmm_thread *items; /* ascending by id; includes threads that have ended */
    unsigned n, room;
    unsigned n_vms; /* virtual machines of the process in KVM's debugfs; 0: cannot be read */
};

void vmm_threads_done(struct vmm_threads *threads);
/* Adds the threads that process PID has now, and what is known of their vCPUs. KVM: the directory GUEST_KVM_ROOT.
 * -ENOMEM; other -errno: the process has ended or cannot be examined, and known threads are kept. */
int vmm_threads_update(struct vmm_threads *threads, pid_t pid, const char *kvm);
/* The number of different vCPUs that have a thread. */
unsigned vmm_threads_vcpus(const struct vmm_threads *threads);
/* The vCPU of a thread with this NAME; -1: the name does not show one. */
int32_t vmm_vcpu_of_name(const char *name);
