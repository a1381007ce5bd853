/* SPDX-License-Identifier: MIT */
/* strata collect: strata record --guest with an option for each kind of endpoint, and prints what QEMU and libvirt need
 * for an endpoint. */

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

static const struct cli_option event_table[] = {
    {OPTION_STRINGS, 'e', "event", "EVENT[{CONDITION}]", "record these events: sched:sched_*,irq:*",
     offsetof(struct record_plan, events),
     .page = "Separate several by commas. CONDITION is in the kernel's filter language: "
             "'sched:sched_switch{prev_pid == 1}'. The default events are those of strata record "
             "--guest."},
    {OPTION_RENAMED, 0, "port", "[NAME=]PATH"},
    {OPTION_RENAMED, 0, "fifo", "[NAME=]fifo:PATH"},
    {OPTION_RENAMED, 0, "tcp", "[NAME=]tcp:HOST:PORT"},
    {OPTION_RENAMED, 0, "vsock", "[NAME=]vsock:CID:PORT"},
    {OPTION_RENAMED, 0, "virtio-trace", "[NAME=]virtio-trace:DIR"},
    {OPTION_END},
};

static const struct cli_option print_table[] = {
    {OPTION_FLAG, 0, "print-qemu", NULL, "print the options for QEMU and exit",
     offsetof(struct collect_options, print_qemu),
     .page = "They are for one guest, which may have a port (PATH, fifo:PATH) and the ports of a "
             "virtio-trace agent (virtio-trace:DIR, --cpus)."},
    {OPTION_FLAG, 0, "print-libvirt", NULL, "print the XML for libvirt and exit",
     offsetof(struct collect_options, print_libvirt)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"Which events", event_table, 0},
    {"How", record_guest_options, offsetof(struct record_plan, guests)},
    {"Options", record_common_options, 0},
    {"Live output", record_live_options, offsetof(struct record_plan, live)},
    {"Setup", print_table, 0},
    {NULL},
};

const struct command collect_command = {
    .name = "collect",
    .summary = "record the kernels of guests",
    .operands = "[NAME=]ENDPOINT...",
    .about = "Records events of guest kernels into DIR until SIGINT or SIGTERM, as\n"
             "strata record --guest=ENDPOINT does for each ENDPOINT: the socket of the guest's\n"
             "port, tcp:HOST:PORT, vsock:CID:PORT, fifo:PATH or virtio-trace:DIR. strata-agent\n"
             "must run in each guest. --live prints events as they come; DIR is then optional.",
    .groups = groups,
    .examples = "  strata collect --print-qemu /run/vm/web.agent\n"
                "  strata collect -o trace -e 'sched:*' -t 10 web=/run/vm/web.agent",
};

/* Prints the lines for one guest, which may have the ports of both protocols. */
static int print_lines(const struct collect_options *collect, char **endpoints, int n)
{
    uint64_t cpus = collect->plan.guests.cpus;
    const char *port = NULL, *old = NULL;
    bool has_fifos = false;
    char name[72];

    for (int i = 0; i < n; i++) {
        const char *place = plan_guest_split(endpoints[i], 0, name, sizeof name);
        bool fifos;
        enum guest_endpoint_kind kind = plan_guest_kind(place, &place, &fifos);
        const char **which = kind == ENDPOINT_PORT           ? &port
                             : kind == ENDPOINT_VIRTIO_TRACE ? &old
                                                             : NULL;

        if (!which)
            return cli_usage_error("collect", "'%s' requires no options", endpoints[i]);
        if (*which)
            return cli_usage_error("collect",
                                   "the options are for one guest; give one PATH or fifo:PATH, "
                                   "and one virtio-trace:DIR if it has both");
        *which = place;
        has_fifos |= fifos;
    }
    if (!port && !old)
        return cli_usage_error("collect", "no port given: PATH, fifo:PATH, or virtio-trace:DIR "
                                          "and --cpus=N");
    if (old && (cpus == 0 || cpus > PROTO_CPUS_MAX))
        return cli_usage_error("collect", "--cpus=N is required");
    if (collect->print_qemu)
        collect_print_qemu(port, has_fifos, old, (unsigned)cpus);
    if (collect->print_libvirt)
        collect_print_libvirt(port, has_fifos, old, (unsigned)cpus);
    return EXIT_SUCCESS;
}

static int record(struct record_plan *plan, char **endpoints, int n)
{
    struct error error = {0};
    int r = 0;

    if (n == 0)
        return cli_usage_error("collect", "no guest given (examples: web=/run/vm/web.agent, "
                                          "web=tcp:10.0.0.2:4727)");
    for (int i = 0; r >= 0 && i < n; i++)
        r = strings_add(&plan->guests.words, endpoints[i]);
    if (r >= 0)
        r = record_plan_make(plan, NULL, 0, -1, &error);
    return r < 0 ? record_run_failed(plan, &error, r) : record_run(plan);
}

int cmd_collect(int argc, char **argv)
{
    struct collect_options options = {.plan = RECORD_PLAN_DEFAULT};
    int status = EXIT_FAILURE;
    int n;

    options.plan.verb = "collect";
    if (options_parse(&collect_command, argc, argv, &options, &n, &status))
        status = options.print_qemu || options.print_libvirt ? print_lines(&options, argv + 1, n)
                                                             : record(&options.plan, argv + 1, n);
    record_plan_done(&options.plan);
    return status;
}
