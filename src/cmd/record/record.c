/* SPDX-License-Identifier: MIT */
/* strata record: records virtual machines, programs, kernels and per-CPU buffers while they run. */

#include <stdlib.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/config.h"
#include "cmd/record/record.h"
#include "cmd/record/run.h"
#include "record/plan/conditions.h"
#include "record/xen/options.h"
#include "record/xen/recorder_types.h"

struct record_options {
    struct record_plan plan;
    struct record_config_options config;
    /* For recorders that any recording can have. */
    struct buffers_options buffers;
};

static const struct cli_option processes[] = {
    {OPTION_FLAG, 'a', "attach", NULL, "record a running QEMU, monitor or program",
     offsetof(struct record_plan, attach)},
    {OPTION_STRINGS, 0, "libvirt", "DOMAIN", "record a domain of libvirt: its name, UUID or number",
     offsetof(struct record_plan, domains), .excludes = "--attach"},
    {OPTION_END},
};

static const struct cli_option kernels[] = {
    {OPTION_MAYBE, 0, "guest", "[NAME=]ENDPOINT",
     "record a guest's kernel, by strata-agent; without ENDPOINT: the guest of the recorded QEMU",
     offsetof(struct record_plan, guests.words),
     .page =
         "ENDPOINT is the socket or the FIFOs of the guest's virtio-serial port, tcp:HOST:PORT, "
         "vsock:CID[:PORT], fifo:PATH, which creates the FIFOs, or virtio-trace:DIR. A path in the "
         "current directory needs './' or NAME. Without NAME, guests are named guest, guest2 and "
         "so on, and the guest of the recorded QEMU is the first. strata-collect(1) describes "
         "endpoints, clocks and untrusted guests, and prints the options of QEMU and libvirt that "
         "make an endpoint. For its events, see --event."},
    {OPTION_FLAG, 0, "host", NULL, "also record this host's kernel",
     offsetof(struct record_plan, host), .instead = "--event=host:EVENT",
     .page =
         "The recorder has a tracefs instance of its own, which is removed at the end, even if the "
         "recorder is killed. This requires root, or write access to "
         "/sys/kernel/tracing/instances. An event reaches the trace within 2 seconds, with "
         "--live within 100 ms. For its events, see --event."},
    {OPTION_END},
};

static const struct cli_option event_options[] = {
    {OPTION_STRINGS, 'e', "event", "[LAYER:]EVENT[{CONDITION}]",
     "record these events: names with * and ?; for Xen also classes",
     offsetof(struct record_plan, events),
     .page =
         "LAYER is vmm (QEMU), program, hypervisor (Xen), guest or host. Without it, these are "
         "events of QEMU or of the program; if neither is recorded, of Xen or of the buffers; if "
         "only kernels are recorded, of these. 'guest:' and 'host:' record that kernel also "
         "without "
         "--guest and --host. EVENT is NAME or GROUP:NAME. Separate several by commas. A pattern "
         "that matches no event of QEMU or of a kernel is an error. With CONDITION, an event is "
         "recorded only if it holds: of a kernel in the kernel's filter language, as in "
         "'guest:sched:sched_switch{prev_pid == 1}', of a program as in strata-filter(5); QEMU and "
         "Xen have none. Of a layer without EVENT, see \"DEFAULT EVENTS\"."},
    {OPTION_STRING, 0, "for", "ANALYSIS[,ANALYSIS...]",
     "record the events that exits, sched, io or irq use, at each layer, instead of the default "
     "events",
     offsetof(struct record_plan, for_analyses),
     .page = "Events that other options name are recorded as well. Events that this kernel or QEMU "
             "does not "
             "have are left out."},
    {OPTION_RENAMED, 0, "guest-event", "--event=guest:EVENT"},
    {OPTION_END},
};

static const struct cli_option vm_options[] = {
    {OPTION_FLAG, 0, "host-threads", NULL, "record the host kernel only while recorded threads run",
     offsetof(struct record_plan, host_threads),
     .page =
         "Recorded threads are threads of the recorded process, of its children and of the "
         "recorder; "
         "their switches and wake-ups are recorded too. strata-sched(1) then shows other time as "
         "unknown. Most requests to disks end in an interrupt of another thread, which "
         "strata-io(1) then does not see. In a PID namespace, such as a container's, the host "
         "kernel is not recorded with this option.",
     .requires = "--host or --event=host:EVENT"},
    {OPTION_STRING, 0, "qemu", "PROGRAM", "name the QEMU that COMMAND, a script, starts",
     offsetof(struct record_plan, qemu)},
    {OPTION_END},
};

static const struct cli_option libvirt_options[] = {
    {OPTION_STRING, 0, "libvirt-uri", "URI", "connect to this daemon",
     offsetof(struct record_plan, libvirt_uri),
     .default_text = "$LIBVIRT_DEFAULT_URI, or qemu:///system, then qemu:///session",
     .requires = "--libvirt or --attach"},
    {OPTION_END},
};

static const struct cli_option attach_options[] = {
    {OPTION_FLAG, 0, "keep-rings", NULL, "do not remove the rings of a program that has ended",
     offsetof(struct record_plan, keep), .requires = "--attach"},
    {OPTION_RENAMED, 'k', "-k", "--keep-rings"},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What to record", processes, 0},
    {"What to record", buffers_choice_options, offsetof(struct record_options, buffers)},
    {"What to record", kernels, 0},
    {"Which events", event_options, 0},
    {"Options", record_common_options, 0},
    {"Live output, of guests and the kernel of the host", record_live_options,
     offsetof(struct record_plan, live)},
    {"Triggers, with --flight", record_triggers_options, offsetof(struct record_plan, triggers),
     .page = "\"TRIGGERS\" describes conditions and snapshots."},
    {"Monitoring", record_metrics_options, offsetof(struct record_plan, metrics),
     .page = "strata-metrics(7) describes the metrics."},
    {"Configuration", record_config_options, offsetof(struct record_options, config)},
    {"With a command after --", vm_options, 0},
    {"With --guest=ENDPOINT", record_guest_options, offsetof(struct record_plan, guests)},
    {"With --xen and --percpu", buffers_options, offsetof(struct record_options, buffers)},
    {"With --libvirt and --attach", libvirt_options, 0},
    {"With --attach", attach_options, 0},
    {NULL},
};

const struct command record_command = {
    .name = "record",
    .summary = "record a trace of virtual machines, programs, kernels, or Xen",
    .operands = "[PID...|RINGS|-- COMMAND...]",
    .about = "Runs COMMAND and records it until it ends: a QEMU, with options for tracing\n"
             "added, or a program that links libstrata, with its children. --guest and --host\n"
             "add the kernels of the guest and of the host.\n\n"
             "--attach records a running QEMU, a running program with the trace option\n"
             "writer=none, or with --host other monitors of KVM's virtual machines\n"
             "(Firecracker, cloud-hypervisor, crosvm). RINGS is the directory of a program's\n"
             "rings.\n\n"
             "--libvirt records a running domain of libvirt, through libvirt's daemon.\n\n"
             "--xen records Xen's trace buffers. --percpu records the buffers of a program\n"
             "that traces as Xen does (strata-percpu(7)): NAME is a file, or an object of\n"
             "shm_open().\n\n"
             "--guest=ENDPOINT records the kernel of any running guest: ENDPOINT is the socket\n"
             "of its port, tcp:HOST:PORT, vsock:CID:PORT, fifo:PATH or virtio-trace:DIR.\n\n"
             "A recording ends when its sources end, after --time, or by SIGINT or SIGTERM.",
    .groups = groups,
    .examples = "  strata record --guest -o boot -- qemu-system-x86_64 -m 512 disk.img\n"
                "  strata record -o trace -e 'blk_*' -- ./program\n"
                "  strata record --xen -o trace -t 10 -e sched,vmexit\n"
                "  strata record --host --for exits,sched -o trace -- qemu-system-x86_64 ...\n"
                "  strata record -o trace --guest web=/run/web.agent --guest db=/run/db.agent",
};

/* Warns of unknown events of QEMU's monitor, which are not errors. */
static void warn_of_unknown_events(const struct plan_triggers *triggers)
{
    for (unsigned i = 0; i < triggers->conditions.n; i++) {
        const char *similar = NULL;

        if (plan_condition_unknown_event(&triggers->items[i], &similar))
            cli_warning("--on '%s': no QEMU up to 10.2 has this event%s%s%s",
                        triggers->items[i].text, similar ? "; did you mean '" : "",
                        similar ? similar : "", similar ? "'?" : "");
    }
}

/* Records what the command line and its files request. An exit status. */
static int run(struct record_options *options, const struct record_config *config)
{
    struct record_plan *plan = &options->plan;
    struct error error = {0};
    int r = record_plan_make(plan, config->words, config->n, config->n_command, &error);

    if (r < 0)
        return record_run_failed(plan, &error, r);
    warn_of_unknown_events(&plan->triggers);
    if (options->config.prints || options->config.prints_command)
        return record_config_print(&options->config, config, plan);
    return record_run(plan);
}

int cmd_record(int argc, char **argv)
{
    struct record_options options = {
        .plan = RECORD_PLAN_DEFAULT,
        .buffers = BUFFERS_OPTIONS_DEFAULT,
    };
    /* In the order in which they are started. */
    const struct plan_recorder recorders[] = {
        {&xen_recorder_type, &options.buffers},
        {&percpu_recorder_type, &options.buffers},
        {NULL},
    };
    struct record_config config;
    int status = EXIT_FAILURE;
    int n;

    options.plan.recorders = recorders;
    if (record_config_read(&record_command, argc, argv, &options, &config, &status) &&
        options_parse_beside(&record_command, config.given, config.n_given, argc, argv, &options,
                             &n, &status))
        status = run(&options, &config);
    record_plan_done(&options.plan);
    strings_done(&options.config.files);
    record_config_done(&config);
    return status;
}
