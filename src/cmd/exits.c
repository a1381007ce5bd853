/* SPDX-License-Identifier: MIT */
/* strata exits: how often and why vCPUs leave their guest, and how long that takes. */

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

static const struct option what_options[] = {
    {OPTION_FLAG, 0, "handled", NULL,
     "measure until the exit is handled: the vCPU enters its\nguest, is preempted, or was asleep "
     "(default: until it\nenters its guest)",
     MEMBER(settings.handled)},
    {OPTION_FLAG, 0, "no-idle", NULL, "without exits of idle guests (hlt, mwait, WFx)",
     MEMBER(settings.no_idle)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is measured", what_options, 0},
    {"Output", analysis_output_options, MEMBER(common)},
    {"Which exits", analysis_span_options, MEMBER(common)},
    {"Selection", select_option_table, MEMBER(common.select)},
    {"Reading", open_option_table, MEMBER(common.open)},
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

/* Whether KEY, LEN bytes, is a key that this analysis has itself. */
static bool is_own_key(const char *key, size_t len, bool *ret_detail)
{
    *ret_detail = len == 6 && memcmp(key, "detail", len) == 0;
    return *ret_detail || (len == 6 && memcmp(key, "reason", len) == 0);
}

/* Takes `detail` and `reason` out of --by. 0, -ENOMEM. */
static int take_own_keys(struct exits_options *options, struct arena *arena)
{
    char *rest, *p;

    if (!options->common.by)
        return 0;
    rest = p = arena_strdup(arena, options->common.by);
    if (!rest)
        return -ENOMEM;
    for (const char *key = options->common.by;; key++) {
        size_t len = strcspn(key, ",");
        bool detail;

        if (is_own_key(key, len, &detail)) {
            options->settings.detail = options->settings.detail || detail;
        } else {
            if (p > rest)
                *p++ = ',';
            memcpy(p, key, len);
            p += len;
        }
        key += len;
        if (*key == '\0')
            break;
    }
    *p = '\0';
    options->common.by = p > rest ? rest : NULL;
    return 0;
}

static int measure(struct exits_options *options, struct trace *trace)
{
    struct arena arena = {0};
    struct analysis_settings settings;
    struct exits exits = {0};
    int status = EXIT_FAILURE;
    int r;

    if (take_own_keys(options, &arena) < 0) {
        status = cli_no_memory();
    } else if (analysis_settings_init(&options->common, trace, &arena, &settings) == EXIT_SUCCESS) {
        r = exits_init(&exits, &settings, &options->settings, &trace->catalogue);
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
        struct trace *trace = n > 0 ? walk_open(&options.common.open, argv + 1, n) : NULL;

        if (n == 0)
            status = cli_usage_error("exits", "no trace file given");
        else if (trace)
            status = measure(&options, trace);
        trace_free(trace);
    }
    analysis_options_done(&options.common);
    return status;
}
