/* SPDX-License-Identifier: MIT */
/* strata record --attach for virtual machines of KVM whose monitors have no events of their own, such as
 * Firecracker. */

#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "record/vmm/recorder.h"

/* What its recorder borrows. */
struct vmm {
    char name[32]; /* of its source */
};

static int add(struct record_run *run)
{
    const struct record_subject *subject = &run->subject;
    const char *kvm = run->plan->guests.kvm_files;
    struct vmm *vmms = calloc(subject->n_vmms, sizeof *vmms);
    int status = EXIT_SUCCESS;

    run->userdata = vmms;
    if (!vmms)
        return cli_no_memory();
    for (unsigned i = 0; status == EXIT_SUCCESS && i < subject->n_vmms; i++) {
        struct vmm *vmm = &vmms[i];
        struct record_item item = {0};
        struct vmm_recorder_settings settings = {
            .process = &subject->vmms[i],
            .name = vmm->name,
            .kvm = kvm ? kvm : GUEST_KVM_ROOT,
        };

        snprintf(vmm->name, sizeof vmm->name, subject->n_vmms > 1 ? "vmm-%ld" : "vmm",
                 (long)settings.process->pid);
        if (vmm_recorder_new(&settings, &item.recorder) < 0)
            return cli_no_memory();
        status = record_run_add(run, &item);
    }
    return status;
}

const struct record_about record_about_vmms = {.add = add, .free = free};
