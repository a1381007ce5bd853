/* SPDX-License-Identifier: MIT */
/* strata collect: strata record --guest, with an option for each kind of endpoint, and what QEMU and libvirt need for
 * one. */

#include "cmd/collect.h"
#include "cli/options.h"
#include "cmd/cmd.h"
#include "cmd/record/record.h"
#include "cmd/record/run.h"
#include "proto/message.h"

struct collect_options {
    struct record_plan plan;
    bool print_qemu, print_libvirt;
};

#define MEMBER(m) offsetof(struct plan_guests, m)

static const struct cli_option where_table[] = {
    {OPTION_STRINGS, 0, "port", "[NAME=]PATH", "UNIX socket of the guest's virtio-serial port",
     MEMBER(ports),
     .page = "QEMU listens there. If the socket is missing, the recorder waits for it."},
    {OPTION_STRINGS, 0, "fifo", "[NAME=]PATH", "FIFOs PATH.in and PATH.out of the port",
     MEMBER(fifos), .page = "Missing FIFOs are created. They must exist before QEMU starts."},
    {OPTION_STRINGS, 0, "tcp", "[NAME=]HOST:PORT", "TCP address of the agent", MEMBER(tcps),
     .page = "The default port is 4727. Both sides must prove to know the key. The data is not "
             "encrypted.",
     .requires = "--key"},
    {OPTION_STRINGS, 0, "vsock", "[NAME=]CID:PORT", "vsock address of the agent", MEMBER(vsocks),
     .page = "Any program on the host can connect there.", .requires = "--key"},
    {OPTION_STRINGS, 0, "virtio-trace", "[NAME=]DIR",
     "FIFOs or sockets of an agent that uses the virtio-trace protocol", MEMBER(olds),
     .page =
         "Such an agent is trace-agent in the Linux sources. DIR has the FIFOs "
         "'agent-ctl-path.in', "
         "'agent-ctl-path.out', 'trace-path-cpu0.in' and so on, or sockets without '.in' and "
         "'.out'. The guest selects the events, and this agent counts no losses. After the stop, "
         "the recording ends when no data came for half a second."},
    {OPTION_END},
};

static const struct cli_option event_table[] = {
    {OPTION_LIST, 'e', "event", "GLOB", "record these events: sched:sched_*,irq:*", MEMBER(events)},
    {OPTION_END},
};

static const struct cli_option print_table[] = {
    {OPTION_FLAG, 0, "print-qemu", NULL, "print the options for QEMU and exit",
     offsetof(struct collect_options, print_qemu),
     .page = "They are for one guest, which may have a port (--port, --fifo) and the ports of a "
             "virtio-trace agent (--virtio-trace, --cpus)."},
    {OPTION_FLAG, 0, "print-libvirt", NULL, "print the XML for libvirt and exit",
     offsetof(struct collect_options, print_libvirt)},
    {OPTION_END},
};

#define GUESTS offsetof(struct record_plan, guests)

static const struct option_group groups[] = {
    {"Guests, any number", where_table, GUESTS},
    {"Which events", event_table, GUESTS},
    {"How", record_guest_options, GUESTS},
    {"Options", record_common_options, 0},
    {"Live output", record_live_options, offsetof(struct record_plan, live)},
    {"Setup", print_table, 0},
    {NULL},
};

const struct command collect_command = {
    .name = "collect",
    .summary = "record the kernels of guests",
    .operands = "",
    .about = "Records events of guest kernels into DIR until SIGINT or SIGTERM. strata-agent\n"
             "must run in each guest. If a connection is lost, strata connects again. --live\n"
             "prints events as they come; DIR is then optional. strata record --guest does the\n"
             "same, and can record other sources at the same time.",
    .groups = groups,
    .examples = "  strata collect --print-qemu --port=/run/vm/web.agent\n"
                "  strata collect -o trace -e 'sched:*' -t 10 --port=web=/run/vm/web.agent",
};

/* Of one guest, which may have the ports of both protocols. */
static int print_lines(const struct collect_options *collect)
{
    const struct plan_guests *options = &collect->plan.guests;
    const struct strings *ports = options->fifos.n ? &options->fifos : &options->ports;
    char name[72];
    const char *port = NULL, *old = NULL;

    if (options->ports.n + options->fifos.n > 1 || options->olds.n > 1)
        return cli_usage_error("collect",
                               "the options are for one guest; give one --port=PATH "
                               "or --fifo=PATH, and one --virtio-trace=DIR if it has both");
    if (ports->n + options->olds.n == 0)
        return cli_usage_error("collect", "no port given; give --port=PATH, --fifo=PATH, or "
                                          "--virtio-trace=DIR and --cpus=N");
    if (options->olds.n && (options->cpus == 0 || options->cpus > PROTO_CPUS_MAX))
        return cli_usage_error("collect", "--cpus=N is required");
    if (ports->n)
        port = plan_guest_split(ports->items[0], 0, name, sizeof name);
    if (options->olds.n)
        old = plan_guest_split(options->olds.items[0], 0, name, sizeof name);
    if (collect->print_qemu)
        collect_print_qemu(port, ports == &options->fifos, old, (unsigned)options->cpus);
    if (collect->print_libvirt)
        collect_print_libvirt(port, ports == &options->fifos, old, (unsigned)options->cpus);
    return EXIT_SUCCESS;
}

static int check(const struct record_plan *plan, int n)
{
    const struct plan_guests *guests = &plan->guests;

    if (n > 0)
        return cli_usage_error("collect", "unexpected argument; guests are given by options");
    if (!plan_guests_are_given(guests))
        return cli_usage_error(
            "collect", "no guest given; use --port, --fifo, --tcp, --vsock or --virtio-trace");
    if (!plan->output && !plan->live.on)
        return cli_usage_error("collect", "--output=DIR or --live is required");
    if (guests->ports.n + guests->fifos.n + guests->tcps.n + guests->vsocks.n > 0 &&
        guests->events.n + guests->filters.n == 0)
        return cli_usage_error("collect", "no events given; use --event=GLOB, as in -e 'sched:*'");
    return EXIT_SUCCESS;
}

static int record(struct record_plan *plan, int n)
{
    struct error error = {0};
    int status = check(plan, n);
    int r = status == EXIT_SUCCESS ? record_plan_make(plan, NULL, 0, -1, &error) : 0;

    if (status != EXIT_SUCCESS)
        return status;
    return r < 0 ? record_run_failed(plan, &error, r) : record_run(plan);
}

int cmd_collect(int argc, char **argv)
{
    struct collect_options options = {.plan = RECORD_PLAN_DEFAULT};
    int status = EXIT_FAILURE;
    int n;

    options.plan.verb = "collect";
    if (options_parse(&collect_command, argc, argv, &options, &n, &status))
        status = options.print_qemu || options.print_libvirt ? print_lines(&options)
                                                             : record(&options.plan, n);
    record_plan_done(&options.plan);
    return status;
}
