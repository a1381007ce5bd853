/* SPDX-License-Identifier: MIT */
/* strata irq: how long interrupts run, and how late they are. */

#include <stdlib.h>

#include "analysis/irq.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"

#define MEMBER(m) offsetof(struct analysis_options, m)

static const struct option_group groups[] = {
    {"Output", analysis_output_options, 0},
    {"Which spans", analysis_span_options, 0},
    {"Selection", select_option_table, MEMBER(select),
     .page = "--from, --until, --cpu, --pid and --vcpu select spans by their begin. --event, "
             "--layer and "
             "--limit leave out events that are read (strata-analysis(7)). A delay belongs to the "
             "handler that it ends "
             "with."},
    {"Reading", open_option_table, MEMBER(open)},
    {"Threads", jobs_option_table, MEMBER(jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command irq_command = {
    .name = "irq",
    .summary = "measure interrupts, softirqs and timers: run time and delay",
    .operands = "PATH...",
    .about = "Measures the handlers of interrupts, softirqs, tasklets and timers in traces of\n"
             "kernels: how long they run (SELF: without what interrupts them), and how long\n"
             "they are delayed (DELAY): from the raise of a softirq, from the time that a\n"
             "timer was set to, from the send of an IPI, or from the injection of an\n"
             "interrupt.",
    .groups = groups,
    .examples = "  strata irq trace\n"
                "  strata irq --by cpu --sort max trace\n"
                "  strata irq --slowest 3 --context 0.0005 trace",
};

static int measure(const struct analysis_options *options, struct trace *trace)
{
    struct analysis_settings settings;
    struct arena arena = {0};
    struct irq irq;
    int status = analysis_settings_init(options, trace, &arena, &settings);

    if (status == EXIT_SUCCESS) {
        status = EXIT_FAILURE;
        if (irq_init(&irq, &settings, trace_classes(trace)) < 0)
            cli_no_memory();
        else
            status = analysis_run(options, trace, &irq.analysis);
        irq_done(&irq);
    }
    arena_done(&arena);
    return status;
}

int cmd_irq(int argc, char **argv)
{
    struct analysis_options options = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&irq_command, argc, argv, &options, &n, &status)) {
        if (n == 0) {
            status = cli_usage_error("irq", "no trace file given");
        } else {
            struct trace *trace = analysis_open(&options, argv + 1, n);

            if (trace)
                status = measure(&options, trace);
            trace_free(trace);
        }
    }
    analysis_options_done(&options);
    return status;
}
