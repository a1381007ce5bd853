/* SPDX-License-Identifier: MIT */
/* strata record --attach of virtual machines of KVM whose monitors have no events of their own, such as Firecracker. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "record/vmm/recorder.h"

struct vmm {
    const struct vmm_process *process;
    char name[32]; /* of its source */
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct vmm *vmm = item->userdata;
    bool has_ended;
    unsigned n = vmm_recorder_vcpus(item->recorder, &has_ended);

    output_line(record_run_summary_file(run), "%s (process %ld)%s, recorded into %s",
                base_name(vmm->process->program), (long)vmm->process->pid,
                has_ended ? " has ended" : "", run->dir);
    if (n > 0)
        cli_message("  %-6s threads of %u vCPU%s", vmm->name, n, n == 1 ? "" : "s");
    else
        cli_message("  %-6s threads of its vCPUs only by the kernel's events (kvm:kvm_entry)",
                    vmm->name);
    for (unsigned i = 0; i < item->recorder->n_problems; i++)
        cli_message("  %s: %s", vmm->name, item->recorder->problems[i]);
    return EXIT_SUCCESS;
}

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
        struct record_item item = {.sum_up = sum_up, .userdata = vmm};
        struct vmm_recorder_settings settings = {
            .process = &subject->vmms[i],
            .name = vmm->name,
            .kvm = kvm ? kvm : GUEST_KVM_ROOT,
        };

        vmm->process = settings.process;
        snprintf(vmm->name, sizeof vmm->name, subject->n_vmms > 1 ? "vmm-%ld" : "vmm",
                 (long)vmm->process->pid);
        if (vmm_recorder_new(&settings, &item.recorder) < 0)
            return cli_no_memory();
        status = record_run_add(run, &item);
    }
    return status;
}

const struct record_about record_about_vmms = {.add = add, .free = free};
