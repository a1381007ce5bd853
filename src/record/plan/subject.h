/* SPDX-License-Identifier: MIT */
#pragma once

/* What a recording is about: the program or QEMU that a command starts, or the process that is meant by a number, the socket of
 * a monitor, a directory of rings, or a domain of libvirt. */

#include "record/plan/plan.h"
#include "record/qemu/recorder.h"
#include "record/vmm/process.h"

struct record_subject {
    /* RECORD_BESIDE, RECORD_PROGRAM, RECORD_QEMU, RECORD_RINGS, RECORD_RUNNING_QEMU, RECORD_VMMS. */
    enum record_kind kind;
    /* Threads of this process are what --host-threads means, and it is the virtual machine of a single guest; 0: of what is
     * started, or not known. */
    pid_t pid;
    /* QEMU: its command and where its monitor is. */
    struct qemu_recorder_settings qemu;
    pid_t root_of; /* of a running QEMU that has other files than are here; 0: none */
    char *rings;   /* the directory */
    struct vmm_process *vmms;
    unsigned n_vmms;
    /* What the above borrows. */
    char *program;
    struct qemu_process running;
    struct qmp_endpoint monitor;
    struct libvirt_domain *domain;
    char exe[64];
};

/* Looks for what PLAN means, and that it can be recorded so. RET is to be freed in any case. */
int record_subject_find(const struct record_plan *plan, struct record_subject *ret,
                        struct error *error);
void record_subject_done(struct record_subject *subject);
