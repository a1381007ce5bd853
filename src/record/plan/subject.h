/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds what a recording is about: the program or QEMU that a command starts, or the process that is named by a number,
 * the socket of a monitor, a directory of rings, or a libvirt domain. */

#include "record/plan/plan.h"
#include "record/qemu/recorder.h"
#include "record/vmm/process.h"

struct record_subject {
    /* RECORD_BESIDE, RECORD_PROGRAM, RECORD_QEMU, RECORD_RINGS, RECORD_RUNNING_QEMU, RECORD_VMMS. */
    enum record_kind kind;
    /* The process of --host-threads, and of the virtual machine if there is one guest. 0: the process is started later,
     * or unknown. */
    pid_t pid;
    /* For QEMU: its command and the address of its monitor. */
    struct qemu_recorder_settings qemu;
    /* process of a running QEMU whose root directory is another one than ours; 0: none */
    pid_t root_of;
    char *rings; /* directory of the rings */
    struct vmm_process *vmms;
    unsigned n_vmms;
    /* Storage for the members above. */
    char *program;
    struct qemu_process running;
    struct qmp_endpoint monitor;
    struct libvirt_domain *domain;
    char exe[64];
};

/* Finds the subject of PLAN, and checks that it can be recorded. The caller always frees RET by
 * record_subject_done(). */
int record_subject_find(const struct record_plan *plan, struct record_subject *ret,
                        struct error *error);
void record_subject_done(struct record_subject *subject);
