/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/size.h"
#include "cmd/record/record.h"
#include "record/kernel/guest_kvm.h"

/* Parses WORD, LEN bytes: "60s" or "2G". -EINVAL. */
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

/* Parses one of these, or both with a comma between. */
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

const struct cli_option record_common_options[] = {
    {OPTION_STRING, 'o', "output", "DIR", "write the trace into DIR",
     offsetof(struct record_plan, output),
     .page = "DIR must be empty or not exist. A recording with --attach of only a program may "
             "continue a "
             "trace. A command and a QEMU have a default, 'strata-YYYYMMDD-HHMMSS'; otherwise the "
             "option is required, unless --live is given."},
    {OPTION_PARSED, 't', "time", "SECONDS", "stop after SECONDS (0.5 is half a second)",
     offsetof(struct record_plan, time), NULL, duration_parse_period,
     .page = "A command that was started gets SIGTERM."},
    {OPTION_PARSED, 0, "max-size", "SIZE", "stop writing a source at SIZE",
     offsetof(struct record_plan, max_size), NULL, size_parse,
     .default_text = "16G for guests, else no limit",
     .page = "SIZE is a number of bytes, or has the unit K, M or G. A recording of Xen, of buffers "
             "or of a "
             "kernel then ends. A virtual machine or a program keeps running, and further events "
             "count as lost.",
     .excludes = "--flight"},
    {OPTION_PARSED, 0, "flight", "TIME|SIZE", "keep only the last TIME (60s, 5m, 2h) or SIZE (2G)",
     offsetof(struct record_plan, flight), NULL, parse_flight,
     .page = "If both are given, as in '5m,2G', both limits apply."},
    {OPTION_FLAG, 0, "restart", NULL, "keep the trace in DIR as a snapshot, and record again",
     offsetof(struct record_plan, restarts),
     .page =
         "Use it for a service that starts the same recording again. The old trace moves to "
         "'DIR/snapshots/TIME-before-restart', with the events that ended programs left in their "
         "rings. The last 8 of these are kept. A complete trace without events is removed.",
     .requires = "--output=DIR"},
    {OPTION_PARSED, 0, "min-free", "SIZE", "stop when free disk space falls below SIZE",
     offsetof(struct record_plan, min_free), NULL, size_parse,
     .default_text = "64M with --xen and --percpu, else no limit",
     .page =
         "The exit status is then 1. A QEMU or program that was started is stopped as by --time."},
    {OPTION_PARSED, 0, "buffer-size", "SIZE", "set the size of each CPU's trace buffer",
     offsetof(struct record_plan, buffer_size), NULL, size_parse,
     .default_text = "4M for kernels, 128K for Xen",
     .page =
         "Xen allocates its buffers once per boot, in pages of 4096 bytes, for the first recording "
         "or "
         "by 'tbuf_size=' on its command line. If they have another size, the recording does not "
         "start. Programs choose the size of their own buffers."},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost",
     offsetof(struct record_plan, strict)},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_END},
};

#define MEMBER(m) offsetof(struct plan_live, m)

static const char *const live_formats[] = {
    [PLAN_LIVE_TEXT] = "text", [PLAN_LIVE_JSON] = "json", [PLAN_LIVE_CSV] = "csv", NULL};

const struct cli_option record_live_options[] = {
    {OPTION_FLAG, 0, "live", NULL, "print the events of kernels as they occur", MEMBER(on),
     .page = "A trace is then optional. Only guests at endpoints and the host's kernel can be "
             "printed live; another source is an error."},
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format of --live", MEMBER(format),
     .choices = live_formats, .default_text = "text", .requires = "--live"},
    {OPTION_FLAG, 0, "spreadsheet", NULL, "in CSV, write ' before a text that is a formula",
     MEMBER(spreadsheet),
     .page = "A spreadsheet would run a text that begins with one of '= + - @'.",
     .requires = "--format=csv"},
    {OPTION_RENAMED, 'l', "-l", "--live"},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_triggers, m)

const struct cli_option record_triggers_options[] = {
    {OPTION_STRINGS, 0, "on", "CONDITION",
     "save a snapshot when CONDITION is met, such as 'latency block > 50ms', 'exit != 0', or "
     "qmp:STOP",
     MEMBER(conditions), .requires = "--flight"},
    {OPTION_PARSED, 0, "after", "SECONDS", "save the snapshot SECONDS later", MEMBER(after), NULL,
     duration_parse, .default_text = "2",
     .page = "The snapshot then also shows the events after the condition.", .requires = "--on"},
    {OPTION_STRING, 0, "then", "COMMAND",
     "run COMMAND with the snapshot's directory as its last argument", MEMBER(command),
     .requires = "--on"},
    {OPTION_NUMBER, 0, "snapshots-per-hour", "N", "save at most N snapshots in any hour",
     MEMBER(per_hour), .default_text = "12",
     .page = "For one condition, at most one is saved in an hour divided by N.",
     .requires = "--on"},
    {OPTION_PARSED, 0, "snapshots-size", "SIZE", "remove the oldest snapshots beyond SIZE in all",
     MEMBER(size), NULL, size_parse,
     .default_text = "4G, or twice the size of --flight if that is more",
     .page = "Only snapshots that a condition saved count, and the newest is always kept.",
     .requires = "--on"},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_metrics, m)

const struct cli_option record_metrics_options[] = {
    {OPTION_STRING, 0, "metrics", "[ADDR:]PORT", "serve metrics for Prometheus at /metrics",
     MEMBER(listen),
     .page = "The address is printed. Without ADDR, only this machine can connect. PORT 0 selects "
             "a free "
             "port."},
    {OPTION_STRING, 0, "metrics-file", "FILE",
     "write metrics for node_exporter's textfile collector", MEMBER(file),
     .page = "FILE, usually '*.prom', is replaced every ten seconds and at the end."},
    {OPTION_PARSED, 0, "metrics-period", "SECONDS",
     "count exits, stolen time and latencies every SECONDS; 0: never", MEMBER(period), NULL,
     duration_parse, .default_text = "10",
     .page = "Each time, guests and programs are asked for the events that they still hold."},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_guests, m)

const struct cli_option record_guest_options[] = {
    {OPTION_STRING, 0, "key", "FILE", "read the key that the agents know from FILE", MEMBER(key),
     .page =
         "The key has 16 bytes or more, and only the owner may have access to the file. TCP and "
         "vsock "
         "require it, because other programs can connect there. An agent that does not know the "
         "key is refused."},
    {OPTION_STRINGS, 0, "kvm", "[NAME=]PID", "process ID of the guest's QEMU, for its clock in KVM",
     MEMBER(kvms),
     .page = "Without NAME, this is the first guest. It is required for TCP, and if QEMU did not "
             "make the port's socket itself, for example under libvirt."},
    {OPTION_STRING, 0, "kvm-files", "DIR", "KVM's directory in debugfs", MEMBER(kvm_files),
     .default_text = GUEST_KVM_ROOT},
    {OPTION_STRING, 0, "clock", "NAME", "set the trace clock: x86-tsc, mono, ...", MEMBER(clock),
     .default_text = "the best that the guest has",
     .page = "NAME is the kernel's name for the clock. The best is 'x86-tsc', then 'mono_raw'."},
    {OPTION_PARSED, 0, "queue-size", "SIZE", "set the agent's memory for unsent pages of each CPU",
     MEMBER(queue), NULL, size_parse, .default_text = "4M"},
    {OPTION_NUMBER, 0, "compress", "LEVEL", "compress by zstd, level 1 to 19; 0: off",
     MEMBER(level), .default_text = "0",
     .page = "Compression takes CPU time in the guest and saves bandwidth."},
    {OPTION_FLAG, 0, "kernel-symbols", NULL, "also collect the names of kernel functions",
     MEMBER(kallsyms), .page = "Events that show addresses then show names."},
    {OPTION_NUMBER, 0, "reconnect-timeout", "SECONDS",
     "let an agent without a connection trace for SECONDS more; 0: forever", MEMBER(keep),
     .default_text = "60"},
    {OPTION_NUMBER, 0, "cpus", "N", "virtio-trace: create FIFOs for N CPUs if they are missing",
     MEMBER(cpus)},
    {OPTION_STRING, 0, "tracefs-copy", "DIR", "virtio-trace: a copy of the guest's tracefs",
     MEMBER(tracefs),
     .page = "It decodes the pages. The recorder copies the necessary files to the trace. Make the "
             "copy in the guest during the same boot, by 'cp -r /sys/kernel/tracing/events COPY', "
             "and copy the "
             "files trace_clock, saved_cmdlines and printk_formats as well."},
    {OPTION_RENAMED, 0, "kallsyms", "--kernel-symbols"},
    {OPTION_RENAMED, 0, "filter", "--event='EVENT{CONDITION}'"},
    {OPTION_END},
};
