/* SPDX-License-Identifier: MIT */
/* strata io: how long disk requests take, and in which stage. */

#include "analysis/io.h"
#include "cli/output.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"

struct io_options {
    struct analysis_options common;
};

#define MEMBER(m) offsetof(struct io_options, m)

static const struct option_group groups[] = {
    {"Output", analysis_output_options, MEMBER(common),
     .page = "Rows are by layer, device, kind and stage; --by adds keys, up to 2 (\"KEYS\"). Spans "
             "are requests "
             "and their stages."},
    {"Which requests", analysis_span_options, MEMBER(common)},
    {"Selection", select_option_table, MEMBER(common.select),
     .page = "--from, --until, --cpu, --pid and --vcpu select requests by their begin. "
             "--event, --layer and "
             "--limit leave out events that are read (strata-analysis(7)). A request has the CPU "
             "and vCPU on which it was issued. Its thread is the thread that queued it or, if "
             "unknown, the thread that issued it."},
    {"Reading", open_option_table, MEMBER(common.open)},
    {"Threads", jobs_option_table, MEMBER(common.jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command io_command = {
    .name = "io",
    .summary = "measure requests to disks by stage, across layers",
    .operands = "PATH...",
    .about = "Measures requests to disks: from the guest's block layer through QEMU's\n"
             "virtio-blk device and its thread pool and back, or of one kernel alone. Each\n"
             "device and kind of request has a row for the whole and one for each stage, which\n"
             "add up to it. A stage is named after the event that ends it: queue, kick,\n"
             "dispatch, vmm, backend, done, notify, inject, guest (strata-io(1)).",
    .groups = groups,
    .examples = "  strata record --for io -o vm -- qemu-system-x86_64 ...\n"
                "  strata io vm\n"
                "  strata io --by task --sort sum vm\n"
                "  strata io --slowest 3 vm",
};

static int measure(struct io_options *options, struct trace *trace)
{
    static const char *const own_keys[] = {"layer", "device", "kind", "stage", NULL};
    struct analysis_settings settings;
    struct arena arena = {0};
    struct io io;
    int status = EXIT_FAILURE;
    unsigned found;
    int r;

    if (analysis_take_keys(&options->common, own_keys, &arena, &found) < 0)
        status = cli_no_memory();
    else
        status = analysis_settings_init(&options->common, trace, &arena, &settings);
    if (status == EXIT_SUCCESS) {
        r = io_init(&io, &settings);
        if (r == -EINVAL) {
            cli_error("rows have at most %u keys beside layer, device, kind and stage, --by has "
                      "more",
                      ROW_KEYS - IO_OWN_KEYS);
            status = EXIT_FAILURE;
        } else if (r < 0) {
            status = cli_no_memory();
        } else {
            status = analysis_run(&options->common, trace, &io.analysis);
        }
        io_done(&io);
    }
    arena_done(&arena);
    return status;
}

int cmd_io(int argc, char **argv)
{
    struct io_options options = {0};
    struct trace *trace;
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&io_command, argc, argv, &options, &n, &status)) {
        if (n == 0) {
            status = cli_usage_error("io", "no trace file given");
        } else {
            trace = analysis_open(&options.common, argv + 1, n);
            if (trace)
                status = measure(&options, trace);
            trace_free(trace);
        }
    }
    analysis_options_done(&options.common);
    return status;
}
