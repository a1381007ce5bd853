/* SPDX-License-Identifier: MIT */
/* strata record: records virtual machines, programs, kernels and per-CPU buffers while they run. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/duration.h"
#include "cli/options.h"
#include "cli/size.h"
#include "cmd/cmd.h"
#include "cmd/record/kernel.h"
#include "cmd/record/run.h"
#include "record/qemu/command.h"
#include "record/qemu/probe.h"

/* WORD, LEN bytes: "60s" or "2G". -EINVAL. */
static int parse_limit(const char *word, size_t len, struct retention_limit *limit)
{
    static const struct {
        char unit;
        uint64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    char text[32];

    if (len < 2 || len >= sizeof text || isdigit((unsigned char)word[len - 1]))
        return -EINVAL;
    memcpy(text, word, len);
    text[len] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (units[i].unit != text[len - 1])
            continue;
        text[len - 1] = '\0';
        return duration_parse_period(&limit->ns, text, NULL) < 0 ||
                       __builtin_mul_overflow(limit->ns, units[i].seconds, &limit->ns)
                   ? -EINVAL
                   : 0;
    }
    return size_parse(&limit->bytes, text, NULL) < 0 || limit->bytes == 0 ? -EINVAL : 0;
}

/* One of them, or both with a comma between. */
static int parse_flight(void *member, const char *value, struct error *error)
{
    size_t first = strcspn(value, ",");
    struct retention_limit limit = {0};
    int r = parse_limit(value, first, &limit);

    if (r >= 0 && value[first])
        r = parse_limit(value + first + 1, strlen(value + first + 1), &limit);
    if (r < 0)
        return error_set(error, r, "",
                         "is neither a time nor a size (examples: 60s, 5m, 512M, 2G)");
    *(struct retention_limit *)member = limit;
    return 0;
}

#define FLIGHT_MAX_SIZE ((uint64_t)1 << 60)

static const struct cli_option where[] = {
    {OPTION_FLAG, 'a', "attach", NULL, "a running QEMU, or a program with writer=none",
     offsetof(struct record_options, attach)},
    {OPTION_STRINGS, 0, "libvirt", "DOMAIN",
     "a running domain of libvirt: its name, UUID or number",
     offsetof(struct record_options, domains)},
    {OPTION_FLAG, 0, "xen", NULL, "the Xen of this machine, as root in dom0",
     offsetof(struct record_options, xen)},
    {OPTION_STRINGS, 0, "percpu", "NAME", "per-CPU buffers of a program; repeatable",
     offsetof(struct record_options, buffers.names)},
    {OPTION_MAYBES, 0, "guest", "[NAME=]ENDPOINT",
     "kernel of a guest, by the strata-agent in it;\nrepeatable. Of a QEMU: [=EVENTS], its guest",
     offsetof(struct record_options, guests.words)},
    {OPTION_MAYBE, 0, "host", "EVENTS", "also record the kernel of this host",
     offsetof(struct record_options, host)},
    {OPTION_END},
};

static const struct cli_option event_options[] = {
    {OPTION_STRINGS, 'e', "event", "EVENTS",
     "events to record: names with * and ?; for Xen also\nclasses",
     offsetof(struct record_options, events)},
    {OPTION_STRING, 0, "for", "ANALYSIS[,ANALYSIS...]",
     "events that exits, sched, io or irq use, of all that\nis recorded, in place of the usual "
     "ones",
     offsetof(struct record_options, for_analyses)},
    {OPTION_LIST, 0, "guest-event", "GLOB",
     "events of guests at ENDPOINTs (those of --event if\nnothing else is recorded; else a usual "
     "set)",
     offsetof(struct record_options, guests.events)},
    {OPTION_END},
};

const struct cli_option record_common_options[] = {
    {OPTION_STRING, 'o', "output", "DIR", "directory for the trace",
     offsetof(struct record_options, output)},
    {OPTION_PARSED, 't', "time", "SECONDS", "stop after SECONDS (0.5 is half a second)",
     offsetof(struct record_options, time), NULL, duration_parse_period},
    {OPTION_PARSED, 0, "max-size", "SIZE",
     "stop writing a source at SIZE (guests: 16G); what\nruns keeps running, further events count "
     "as lost",
     offsetof(struct record_options, max_size), NULL, size_parse},
    {OPTION_PARSED, 0, "flight", "TIME|SIZE", "keep the last TIME (60s, 5m, 2h) or SIZE (2G) alone",
     offsetof(struct record_options, flight), NULL, parse_flight},
    {OPTION_FLAG, 0, "restart", NULL, "keep the trace in DIR as a snapshot, and record again",
     offsetof(struct record_options, restarts)},
    {OPTION_PARSED, 0, "min-free", "SIZE",
     "stop before less is free on the disk (64M with\n--xen and --percpu, else 0)",
     offsetof(struct record_options, min_free), NULL, size_parse},
    {OPTION_PARSED, 0, "buffer-size", "SIZE",
     "size of each CPU's buffer (kernels: 4M; Xen: 128K,\nfixed until a reboot)",
     offsetof(struct record_options, buffers.buffer_size), NULL, size_parse},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost",
     offsetof(struct record_options, strict)},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_END},
};

static const struct cli_option vm_options[] = {
    {OPTION_FLAG, 0, "host-threads", NULL, "host kernel only while recorded threads run",
     offsetof(struct record_options, host_threads)},
    {OPTION_STRING, 0, "qemu", "PROGRAM", "QEMU binary that COMMAND (a script) starts",
     offsetof(struct record_options, qemu)},
    {OPTION_END},
};

static const struct cli_option libvirt_options[] = {
    {OPTION_STRING, 0, "libvirt-uri", "URI",
     "libvirt's daemon ($LIBVIRT_DEFAULT_URI, or\nqemu:///system, then qemu:///session)",
     offsetof(struct record_options, libvirt_uri)},
    {OPTION_END},
};

static const struct cli_option attach_options[] = {
    {OPTION_FLAG, 'k', "keep-rings", NULL, "do not remove the rings of a program that has ended",
     offsetof(struct record_options, keep)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is recorded", where, 0},
    {"Which events", event_options, 0},
    {"Options", record_common_options, 0},
    {"Live output, of guests and the kernel of the host", record_live_options,
     offsetof(struct record_options, live)},
    {"Triggers, with --flight", record_triggers_options, offsetof(struct record_options, triggers)},
    {"Monitoring", record_metrics_options, offsetof(struct record_options, metrics)},
    {"Configuration", record_config_options, offsetof(struct record_options, config)},
    {"With a command after --", vm_options, 0},
    {"With --guest=ENDPOINT", record_guest_options, offsetof(struct record_options, guests)},
    {"With --xen and --percpu", record_buffers_options, offsetof(struct record_options, buffers)},
    {"With --libvirt and --attach", libvirt_options, 0},
    {"With --attach", attach_options, 0},
    {NULL},
};

const struct command record_command = {
    .name = "record",
    .summary = "record a trace of virtual machines, programs, kernels, or Xen",
    .operands = "[PID...|RINGS|-- COMMAND...]",
    .about = "Runs COMMAND, any QEMU, with options for tracing added. Records QEMU's events,\n"
             "and on request the kernels of the guest and the host, until QEMU ends. Or runs a\n"
             "program that links libstrata and records it and its children until all have\n"
             "ended.\n\n"
             "--attach records a running QEMU, or a running program that was started with\n"
             "writer=none among its trace options. PID is a process of this user; RINGS is\n"
             "the directory of a program's rings. With --host also another monitor of KVM's\n"
             "virtual machines (Firecracker, cloud-hypervisor, crosvm), or several.\n\n"
             "--libvirt records a running domain of libvirt, through libvirt's daemon.\n\n"
             "--xen records Xen's trace buffers with everything that decoding needs. --percpu\n"
             "records the buffers of a program that traces as Xen does (strata-percpu(7)):\n"
             "NAME is a file, or an object of shm_open().\n\n"
             "--guest records the kernel of a running guest: ENDPOINT is the socket of its\n"
             "port, tcp:HOST:PORT, vsock:CID:PORT, fifo:PATH or virtio-trace:DIR.\n\n"
             "A recording ends with what is recorded, by --time, or by SIGINT or SIGTERM.",
    .groups = groups,
    .examples = "  strata record --guest -o boot -- qemu-system-x86_64 -m 512 disk.img\n"
                "  strata record -o trace -e 'blk_*' -- ./program\n"
                "  strata record --xen -o trace -t 10 -e sched,vmexit\n"
                "  strata record --host --for exits,sched -o trace -- qemu-system-x86_64 ...\n"
                "  strata record -o trace --guest web=/run/web.agent --guest db=/run/db.agent",
};

const char *record_output(const struct record_options *options, char *buf, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;

    if (options->output)
        return options->output;
    if (!localtime_r(&now, &tm) || strftime(buf, size, "strata-%Y%m%d-%H%M%S", &tm) == 0)
        snprintf(buf, size, "strata-%ld", (long)getpid());
    /* Another one that began in the same second has that name. */
    if (access(buf, F_OK) == 0)
        snprintf(buf + strlen(buf), size - strlen(buf), "-%ld", (long)getpid());
    return buf;
}

/* --guest without an endpoint, where no QEMU is recorded. */
static int report_guest_events(const struct record_options *options, const char *command)
{
    if (command)
        return cli_usage_error(
            "record", "--guest without an endpoint is for QEMU; '%s' is not QEMU", command);
    return cli_usage_error("record",
                           "--guest requires an endpoint, not '%s' (examples: "
                           "web=/run/vm/web.agent, web=tcp:10.0.0.2:4727)",
                           options->guest);
}

/* A virtual machine monitor, or a program. */
static int record_command_line(const struct record_options *options, char **command)
{
    struct qemu_command found = {0};
    struct error error = {0};
    unsigned n = 0;
    int status, r = 1;

    while (command[n])
        n++;
    if (options->qemu)
        r = qemu_find_program(options->qemu, getenv("PATH"), &found.program, &error) < 0 ? -ENOENT
                                                                                         : 1;
    else
        r = qemu_command_find((const char *const *)command, n, getenv("PATH"), &found, &error);
    if (r < 0) {
        cli_print_error(&error);
        return EXIT_FAILURE;
    }
    status = record_triggers_check_subject(&options->triggers,
                                           r > 0 ? RECORD_TRIGGERS_QEMU : RECORD_TRIGGERS_PROGRAM);
    if (status != EXIT_SUCCESS) {
        free(found.program);
        return status;
    }
    if (r > 0) {
        status = record_vm(options, found.program, found.n_before, command);
        free(found.program);
        return status;
    }
    if (options->guest)
        return report_guest_events(options, command[0]);
    if (qemu_command_is_tool(command[0]))
        cli_warning("%s: its events are recorded only if it is built with libstrata; without that, "
                    "its --trace "
                    "enable=PATTERN,file=LOG writes them, without times",
                    command[0]);
    return record_program(options, command);
}

int record_beside(const struct record_options *options)
{
    bool is_primary = !options->xen && options->buffers.names.n == 0;
    struct record_run run;
    bool is_unread;
    int status = record_triggers_check_subject(&options->triggers, RECORD_TRIGGERS_OTHER);

    if (status != EXIT_SUCCESS)
        return status;
    if (!record_run_init(options, false, &run))
        return EXIT_FAILURE;
    cmd_raise_files(); /* a file for each CPU of each guest */
    status = record_kernels_add(&run, is_primary, false, 0);
    if (status == EXIT_SUCCESS)
        status = record_buffers_add(&run);
    if (status == EXIT_SUCCESS)
        status = record_run(&run, options->output);
    is_unread = record_live_is_unread(&run);
    record_run_done(&run);
    return is_unread ? cli_output_error(-EPIPE) : status;
}

void record_options_done(struct record_options *options)
{
    strings_done(&options->buffers.tables);
    strings_done(&options->buffers.names);
    strings_done(&options->events);
    strings_done(&options->domains);
    record_triggers_options_done(&options->triggers);
    strings_done(&options->config.files);
    needed_events_done(&options->needs);
    record_guest_options_done(&options->guests);
}

/* --for. An exit status. */
static int find_needs(struct record_options *options)
{
    struct error error = {0};
    int r;

    if (!options->for_analyses)
        return EXIT_SUCCESS;
    r = needed_events_find(options->for_analyses, &options->needs, &error);
    if (r == -EINVAL)
        return cli_usage_error("record", "--for: %s", error.what);
    for (unsigned i = 0; r >= 0 && i < options->needs.guest.n; i++)
        r = strings_add(&options->guests.events, options->needs.guest.items[i]);
    return r < 0 ? cli_no_memory() : EXIT_SUCCESS;
}

static bool is_limited(const struct retention_limit *limit)
{
    return limit->ns > 0 || limit->bytes > 0;
}

/* Options that would do nothing. An exit status. */
static int check_requirements(const struct record_options *options)
{
    const struct record_guest_options *guests = &options->guests;
    const struct record_buffers_options *buffers = &options->buffers;
    bool has_guests = record_guests_are_given(guests);
    bool has_buffers = options->xen || buffers->names.n > 0;
    const struct {
        bool given, met;
        const char *option, *required;
    } requirements[] = {
        {options->host_threads, options->host, "--host-threads", "--host"},
        {options->restarts, options->output, "--restart", "--output=DIR"},
        {options->keep, options->attach, "--keep-rings", "--attach"},
        {guests->events.n > 0, has_guests, "--guest-event", "--guest=ENDPOINT"},
        {guests->filters.n > 0, has_guests, "--filter", "--guest=ENDPOINT"},
        {guests->kvms.n > 0, has_guests, "--kvm", "--guest=ENDPOINT"},
        {guests->key, has_guests, "--key", "--guest=ENDPOINT"},
        {guests->clock, has_guests, "--clock", "--guest=ENDPOINT"},
        {guests->queue > 0, has_guests, "--queue-size", "--guest=ENDPOINT"},
        {guests->level > 0, has_guests, "--compress", "--guest=ENDPOINT"},
        {guests->kallsyms, has_guests, "--kallsyms", "--guest=ENDPOINT"},
        {guests->cpus > 0, has_guests, "--cpus", "--guest=virtio-trace:DIR"},
        {guests->tracefs, has_guests, "--tracefs-copy", "--guest=virtio-trace:DIR"},
        {buffers->buffer_size > 0, has_buffers || has_guests || options->guest || options->host,
         "--buffer-size", "--guest, --host, --xen or --percpu"},
        {buffers->tables.n > 0, has_buffers, "--trace-events", "--xen or --percpu"},
        {buffers->cpus, has_buffers, "--cpu", "--xen or --percpu"},
        {buffers->memory > 0, has_buffers, "--flight-recorder", "--xen or --percpu"},
        {buffers->backlog, has_buffers, "--include-old", "--xen or --percpu"},
        {buffers->leave_on, has_buffers, "--leave-enabled", "--xen or --percpu"},
        {buffers->libxenctrl, options->xen, "--libxenctrl", "--xen"},
    };
    int status;

    for (size_t i = 0; i < ARRAY_SIZE(requirements); i++)
        if (requirements[i].given && !requirements[i].met)
            return cli_usage_error("record", "%s requires %s", requirements[i].option,
                                   requirements[i].required);
    if (buffers->buffer_size >> 10 > UINT32_MAX)
        return cli_usage_error("record", "--buffer-size is too large");
    if (buffers->memory > SIZE_MAX / 2)
        return cli_usage_error("record", "--flight-recorder is too large");
    if (is_limited(&options->flight) && options->max_size > 0)
        return cli_usage_error("record", "--max-size would end what --flight records without end; "
                                         "give one of them");
    if (is_limited(&options->flight) && buffers->memory > 0)
        return cli_usage_error("record",
                               "--flight-recorder writes at the end, and --flight keeps what is "
                               "written; give one of them");
    if (is_limited(&options->flight) && options->live.on && !options->output)
        return cli_usage_error("record", "--flight requires --output");
    if (options->domains.n > 1)
        return cli_usage_error("record",
                               "--libvirt accepts one domain; record '%s' by a command of its own, "
                               "and put both on one timeline by strata merge",
                               options->domains.items[1]);
    status = record_metrics_check(&options->metrics);
    return status == EXIT_SUCCESS
               ? record_triggers_check(&options->triggers, is_limited(&options->flight))
               : status;
}

/* One of those that stand in `where`, or a command. */
static int dispatch(const struct record_options *options, int n_command, int n, char **operands)
{
    bool has_buffers = options->xen || options->buffers.names.n > 0;
    bool has_guests = record_guests_are_given(&options->guests);
    bool is_running = options->attach || options->libvirt; /* what is recorded */
    bool wanted = is_running || has_buffers || has_guests;
    bool runs = n_command >= 0; /* what stands at operands[n] */

    if (runs && (is_running || n > 0))
        return cli_usage_error("record", "a command after '--' excludes %s",
                               n > 0             ? operands[0]
                               : options->attach ? "--attach"
                                                 : "--libvirt");
    if (options->libvirt && (options->attach || n > 0))
        return cli_usage_error("record", "--libvirt excludes %s",
                               options->attach ? "--attach" : operands[0]);
    if (options->libvirt_uri && !is_running)
        return cli_usage_error("record", "--libvirt-uri requires --libvirt or --attach");
    if (options->live.on && (runs || has_buffers || is_running))
        return cli_usage_error("record", "--live prints the events of guests and of the kernel of "
                                         "the host; leave it out, or record these alone");
    if ((runs || is_running) && has_buffers && options->events.n > 0)
        return cli_usage_error("record",
                               "--event does not say whose events: leave it out, or record "
                               "without --xen and --percpu");
    if (!runs && options->qemu)
        return cli_usage_error("record", "--qemu requires '-- COMMAND'");
    if (runs && n_command == 0)
        return cli_usage_error("record", "no command given after '--'");
    if (runs)
        return record_command_line(options, operands + n);
    if (options->guest && !is_running && n == 0)
        return report_guest_events(options, NULL);
    if (!wanted && n > 0)
        return cli_usage_error(
            "record", "unknown argument '%s'; put '--' before the command: strata record -- %s",
            operands[0], operands[0]);
    if (!wanted && !options->host)
        return cli_usage_error("record", "'-- COMMAND', --attach, --libvirt, --xen, --percpu, "
                                         "--guest=ENDPOINT or --host is required");
    if (is_running) {
        int status = record_triggers_check_subject(&options->triggers,
                                                   options->libvirt ? RECORD_TRIGGERS_LIBVIRT
                                                                    : RECORD_TRIGGERS_ATTACHED);

        if (status != EXIT_SUCCESS)
            return status;
    }
    if (options->libvirt)
        return record_libvirt(options);
    if (options->attach)
        return record_attached(options, n, operands);
    if (!options->output && !options->live.on)
        return cli_usage_error("record", "--output=DIR is required");
    if (n > 0)
        return cli_usage_error("record", "unknown argument '%s'; --%s accepts no PID", operands[0],
                               options->xen ? "xen"
                               : has_guests ? "guest"
                                            : "percpu");
    return record_beside(options);
}

/* What the command line and its files ask for. An exit status. */
static int run(struct record_options *options, const struct record_config *config)
{
    int status = record_live_check(options);

    options->runs = config->n_command >= 0;
    if (status == EXIT_SUCCESS && record_guests_sort(&options->guests, &options->guest) < 0)
        status = cli_no_memory();
    if (status == EXIT_SUCCESS)
        status = check_requirements(options);
    /* Files that lose their beginning may become as long as they like. */
    if (is_limited(&options->flight))
        options->max_size = FLIGHT_MAX_SIZE;
    options->libvirt = options->domains.n > 0 ? options->domains.items[0] : NULL;
    if (status == EXIT_SUCCESS)
        status = find_needs(options);
    if (status == EXIT_SUCCESS && (options->config.prints || options->config.prints_command))
        return record_config_print(&options->config, config);
    if (status == EXIT_SUCCESS)
        status = dispatch(options, config->n_command, config->n, config->words);
    return status;
}

int cmd_record(int argc, char **argv)
{
    struct record_options options = {
        .verb = "record",
        .min_free = RECORD_MIN_FREE_DEFAULT,
        .buffers = RECORD_BUFFERS_DEFAULT,
        .guests = RECORD_GUESTS_DEFAULT,
        .triggers = RECORD_TRIGGERS_DEFAULT,
        .metrics = RECORD_METRICS_DEFAULT,
    };
    struct record_config config;
    int status = EXIT_FAILURE;
    int n;

    if (record_config_read(&record_command, argc, argv, &options, &config, &status) &&
        options_parse(&record_command, argc, argv, &options, &n, &status))
        status = run(&options, &config);
    record_options_done(&options);
    record_config_done(&config);
    return status;
}
