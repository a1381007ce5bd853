/* SPDX-License-Identifier: MIT */
/* strata exits: how often and why vCPUs leave their guest, and how long until they return. */

#include "analysis/exits.h"

#include <errno.h>
#include <string.h>

#include "cli/output.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"

struct exits_options {
    struct analysis_options common;
    struct exits_settings settings;
};

#define MEMBER(m) offsetof(struct exits_options, m)

static const struct cli_option what_options[] = {
    {OPTION_FLAG, 0, "handled", NULL,
     "measure until the exit is handled: the vCPU enters its guest, is preempted, or was asleep",
     MEMBER(settings.handled), .default_text = "until it enters its guest",
     .page = "A sleeping vCPU counts until it wakes up for the first time. Xen's xenalyze(8) shows "
             "these "
             "times."},
    {OPTION_FLAG, 0, "no-idle", NULL, "leave out exits of idle guests (hlt, mwait, WFx)",
     MEMBER(settings.no_idle)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is measured", what_options, 0},
    {"Output", analysis_output_options, MEMBER(common),
     .page = "Rows are by reason; --by adds keys, up to 4. The key detail is what the guest "
             "accessed or called "
             "(\"Details\"). Spans are exits."},
    {"Which exits", analysis_span_options, MEMBER(common)},
    {"Selection", select_option_table, MEMBER(common.select),
     .page = "--from, --until, --cpu, --pid and --vcpu select exits by their begin. --event, "
             "--layer and "
             "--limit leave out events that are read (strata-analysis(7))."},
    {"Reading", open_option_table, MEMBER(common.open)},
    {"Threads", jobs_option_table, MEMBER(common.jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command exits_command = {
    .name = "exits",
    .summary = "show why vCPUs leave their guest, and for how long",
    .operands = "PATH...",
    .about = "Counts VM exits by reason, and measures the time until the vCPU enters its guest\n"
             "again. Scheduler events split this time: run, wait for a CPU, sleep. Reads the\n"
             "exits of KVM, Xen, and QEMU with KVM.\n\n"
             "--by detail adds what the guest accessed or called: port, address, MSR, CPUID\n"
             "leaf or hypercall, if the trace has an event with it.\n\n"
             "Record with: strata record --host --for exits, or --xen --for exits.",
    .groups = groups,
    .examples = "  strata exits trace\n"
                "  strata exits --by detail,vcpu --sort sum trace\n"
                "  strata exits --handled --cpu-vendor amd xen.trace",
};

enum {
    KEY_REASON,
    KEY_DETAIL,
};
static const char *const own_keys[] = {[KEY_REASON] = "reason", [KEY_DETAIL] = "detail", NULL};

static int measure(struct exits_options *options, struct trace *trace)
{
    struct arena arena = {0};
    struct analysis_settings settings;
    struct exits exits = {0};
    int status = EXIT_FAILURE;
    unsigned found;
    int r;

    if (analysis_take_keys(&options->common, own_keys, &arena, &found) < 0) {
        arena_done(&arena);
        return cli_no_memory();
    }
    options->settings.detail = (found & 1u << KEY_DETAIL) != 0;
    if (analysis_settings_init(&options->common, trace, &arena, &settings) == EXIT_SUCCESS) {
        r = exits_init(&exits, &settings, &options->settings, trace_classes(trace));
        if (r == -EINVAL)
            cli_error("rows have at most %u keys beside the reason, --by has more", ROW_KEYS - 1);
        else if (r < 0)
            cli_no_memory();
        else
            status = analysis_run(&options->common, trace, &exits.analysis);
    }
    exits_done(&exits);
    arena_done(&arena);
    return status;
}

int cmd_exits(int argc, char **argv)
{
    struct exits_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&exits_command, argc, argv, &options, &n, &status)) {
        struct trace *trace = n > 0 ? analysis_open(&options.common, argv + 1, n) : NULL;

        if (n == 0)
            status = cli_usage_error("exits", "no trace file given");
        else if (trace)
            status = measure(&options, trace);
        trace_free(trace);
    }
    analysis_options_done(&options.common);
    return status;
}
