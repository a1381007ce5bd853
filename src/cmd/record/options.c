/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <string.h>

#include "cli/duration.h"
#include "cli/size.h"
#include "cmd/record/record.h"
#include "record/kernel/guest_kvm.h"

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

const struct cli_option record_common_options[] = {
    {OPTION_STRING, 'o', "output", "DIR", "write the trace into DIR",
     offsetof(struct record_plan, output)},
    {OPTION_PARSED, 't', "time", "SECONDS", "stop after SECONDS (0.5 is half a second)",
     offsetof(struct record_plan, time), NULL, duration_parse_period},
    {OPTION_PARSED, 0, "max-size", "SIZE",
     "stop writing a source at SIZE (guests: 16G); QEMU or\nprogram keeps running, further events "
     "count "
     "as lost",
     offsetof(struct record_plan, max_size), NULL, size_parse},
    {OPTION_PARSED, 0, "flight", "TIME|SIZE", "keep only the last TIME (60s, 5m, 2h) or SIZE (2G)",
     offsetof(struct record_plan, flight), NULL, parse_flight},
    {OPTION_FLAG, 0, "restart", NULL, "keep the trace in DIR as a snapshot, and record again",
     offsetof(struct record_plan, restarts)},
    {OPTION_PARSED, 0, "min-free", "SIZE",
     "stop when free disk space falls below SIZE (64M with\n--xen and --percpu, else 0)",
     offsetof(struct record_plan, min_free), NULL, size_parse},
    {OPTION_PARSED, 0, "buffer-size", "SIZE",
     "set the size of each CPU's buffer (kernels: 4M; Xen:\n128K, fixed until a reboot)",
     offsetof(struct record_plan, buffers.buffer_size), NULL, size_parse},
    {OPTION_FLAG, 0, "strict", NULL, "exit with 3 if events were lost",
     offsetof(struct record_plan, strict)},
    {OPTION_HELP, 'h', "help", NULL, "show this help", 0},
    {OPTION_END},
};

#define MEMBER(m) offsetof(struct plan_live, m)

static const char *const live_formats[] = {
    [PLAN_LIVE_TEXT] = "text", [PLAN_LIVE_JSON] = "json", [PLAN_LIVE_CSV] = "csv", NULL};

const struct cli_option record_live_options[] = {
    {OPTION_FLAG, 0, "live", NULL, "print the events of kernels as they come", MEMBER(on)},
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format of --live (text)",
     MEMBER(format), .choices = live_formats},
    {OPTION_FLAG, 0, "spreadsheet", NULL,
     "in CSV, write ' before a text that begins with\n"
     "= + - @, which a spreadsheet would run as a formula",
     MEMBER(spreadsheet)},
    {OPTION_RENAMED, 'l', "-l", "--live"},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_triggers, m)

const struct cli_option record_triggers_options[] = {
    {OPTION_STRINGS, 0, "on", "CONDITION",
     "save a snapshot when CONDITION is met, such as\n'latency block > 50ms', 'exit != 0', or "
     "qmp:STOP;\nrepeatable",
     MEMBER(conditions)},
    {OPTION_PARSED, 0, "after", "SECONDS", "save it SECONDS after that (2)", MEMBER(after), NULL,
     duration_parse},
    {OPTION_STRING, 0, "then", "COMMAND",
     "run COMMAND with the snapshot's directory as its last\nargument", MEMBER(command)},
    {OPTION_NUMBER, 0, "snapshots-per-hour", "N", "save at most N snapshots in any hour (12)",
     MEMBER(per_hour)},
    {OPTION_PARSED, 0, "snapshots-size", "SIZE",
     "remove the oldest snapshots beyond SIZE in all (4G, or\ntwice the size of --flight)",
     MEMBER(size), NULL, size_parse},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_metrics, m)

const struct cli_option record_metrics_options[] = {
    {OPTION_STRING, 0, "metrics", "[ADDR:]PORT",
     "serve metrics for Prometheus, at /metrics (ADDR: this\nmachine only; PORT 0: a free one)",
     MEMBER(listen)},
    {OPTION_STRING, 0, "metrics-file", "FILE",
     "write metrics for node_exporter's textfile collector", MEMBER(file)},
    {OPTION_PARSED, 0, "metrics-period", "SECONDS",
     "count exits, stolen time and latencies every SECONDS\n(10; 0: never)", MEMBER(period), NULL,
     duration_parse},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_guests, m)

const struct cli_option record_guest_options[] = {
    {OPTION_STRING, 0, "key", "FILE", "file with the key that the agents know", MEMBER(key)},
    {OPTION_STRINGS, 0, "kvm", "[NAME=]PID", "process ID of the guest's QEMU, for its clock in KVM",
     MEMBER(kvms)},
    {OPTION_STRING, 0, "kvm-files", "DIR", "KVM's directory (" GUEST_KVM_ROOT ")",
     MEMBER(kvm_files)},
    {OPTION_STRINGS, 0, "filter", "GLOB=FILTER",
     "record events that match GLOB only if FILTER holds", MEMBER(filters)},
    {OPTION_STRING, 0, "clock", "NAME", "set the trace clock: x86-tsc, mono, ... (the best)",
     MEMBER(clock)},
    {OPTION_PARSED, 0, "queue-size", "SIZE", "set the agent's queue for each CPU (4M)",
     MEMBER(queue), NULL, size_parse},
    {OPTION_NUMBER, 0, "compress", "LEVEL", "compress by zstd, 1 to 19 (0: off)", MEMBER(level)},
    {OPTION_FLAG, 0, "kernel-symbols", NULL, "also collect the names of kernel functions",
     MEMBER(kallsyms)},
    {OPTION_NUMBER, 0, "reconnect-timeout", "SECONDS",
     "let an agent without a connection trace on (60)", MEMBER(keep)},
    {OPTION_NUMBER, 0, "cpus", "N", "virtio-trace: create FIFOs for N CPUs", MEMBER(cpus)},
    {OPTION_STRING, 0, "tracefs-copy", "DIR", "virtio-trace: a copy of the guest's tracefs",
     MEMBER(tracefs)},
    {OPTION_RENAMED, 0, "kallsyms", "--kernel-symbols"},
    {OPTION_END},
};

#undef MEMBER
#define MEMBER(m) offsetof(struct plan_buffers, m)

const struct cli_option record_buffers_options[] = {
    {OPTION_STRINGS, 0, "trace-events", "FILE",
     "declarations of additional events; copied to the trace", MEMBER(tables)},
    {OPTION_STRING, 0, "cpu", "LIST", "record these CPUs: 0,2-5,7- (all)", MEMBER(cpus)},
    {OPTION_PARSED, 0, "keep-in-memory", "SIZE",
     "keep the last SIZE in memory and write it at the end", MEMBER(memory), NULL, size_parse},
    {OPTION_NUMBER, 0, "poll", "MS", "read the buffers every MS milliseconds (100)", MEMBER(poll)},
    {OPTION_FLAG, 0, "include-old", NULL, "also record what is in the buffers already",
     MEMBER(backlog)},
    {OPTION_FLAG, 0, "libxenctrl", NULL, "talk to Xen through its libxenctrl", MEMBER(libxenctrl)},
    {OPTION_FLAG, 0, "leave-enabled", NULL, "leave tracing on at the end, with these masks",
     MEMBER(leave_on)},
    {OPTION_RENAMED, 0, "flight-recorder", "--keep-in-memory"},
    {OPTION_END},
};
