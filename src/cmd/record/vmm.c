/* SPDX-License-Identifier: MIT */
/* strata record --attach of virtual machines of KVM whose monitors have no events of their own, such as Firecracker. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/kernel.h"
#include "cmd/record/run.h"
#include "record/vmm/recorder.h"

struct vmm {
    struct vmm_process process;
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
                base_name(vmm->process.program), (long)vmm->process.pid,
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

/* What can be said before a process is looked at. */
static int check(const struct record_options *options, const struct vmm *vmms, unsigned n)
{
    const struct vmm_process *process = &vmms[0].process;

    if (options->guest)
        return cli_usage_error("record",
                               "--guest without an endpoint is for QEMU; process %ld is %s: use "
                               "--guest=ENDPOINT (example: --guest=vsock:3)",
                               (long)process->pid, base_name(process->program));
    if (!options->host)
        return cli_usage_error("record",
                               "process %ld (%s) runs virtual machines of KVM and has no events "
                               "of its own: add --host, which records its exits",
                               (long)process->pid, base_name(process->program));
    if (options->events.n > 0)
        return cli_usage_error("record",
                               "--event switches no events of process %ld (%s): use --host=EVENTS "
                               "and --guest-event",
                               (long)process->pid, base_name(process->program));
    if (options->host_threads && n > 1)
        return cli_usage_error("record", "--host-threads accepts one process");
    return EXIT_SUCCESS;
}

static int add_vmms(struct record_run *run, struct vmm *vmms, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct record_item item = {.sum_up = sum_up, .userdata = &vmms[i]};
        struct vmm_recorder_settings settings = {
            .process = &vmms[i].process,
            .name = vmms[i].name,
            .kvm = run->options->guests.kvm_files ? run->options->guests.kvm_files : GUEST_KVM_ROOT,
        };

        if (vmm_recorder_new(&settings, &item.recorder) < 0)
            return cli_no_memory();
        if (!record_run_add(run, &item))
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

static int record(const struct record_options *options, struct vmm *vmms, unsigned n)
{
    struct record_run run;
    char name[64];
    int status;

    if (!record_run_init(options, false, &run))
        return EXIT_FAILURE;
    run.vmm = n == 1 ? vmms[0].process.pid : 0;
    cmd_raise_files(); /* a file for each CPU of each guest */
    status =
        record_kernels_add(&run, false, false, options->host_threads ? vmms[0].process.pid : 0);
    if (status == EXIT_SUCCESS)
        status = record_buffers_add(&run);
    if (status == EXIT_SUCCESS)
        status = add_vmms(&run, vmms, n);
    if (status == EXIT_SUCCESS)
        status = record_run(&run, record_output(options, name, sizeof name));
    record_run_done(&run);
    return status;
}

int record_vmms_attached(const struct record_options *options, unsigned n, const pid_t *pids)
{
    _cleanup_free_ struct vmm *vmms = calloc(n, sizeof *vmms);
    struct error error = {0};
    int status = EXIT_SUCCESS;

    if (!vmms)
        return cli_no_memory();
    for (unsigned i = 0; status == EXIT_SUCCESS && i < n; i++) {
        if (vmm_process_open(pids[i], &vmms[i].process, &error) < 0) {
            cli_print_error(&error);
            status = EXIT_FAILURE;
        }
        snprintf(vmms[i].name, sizeof vmms[i].name, n > 1 ? "vmm-%ld" : "vmm", (long)pids[i]);
    }
    if (status == EXIT_SUCCESS)
        status = check(options, vmms, n);
    if (status == EXIT_SUCCESS)
        status = record(options, vmms, n);
    for (unsigned i = 0; i < n; i++)
        vmm_process_done(&vmms[i].process);
    return status;
}
