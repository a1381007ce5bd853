/* SPDX-License-Identifier: MIT */
/* strata sched: how threads, vCPUs, CPUs and domains spent their time. */

#include <stdlib.h>

#include "analysis/sched.h"
#include "cli/duration.h"
#include "cmd/analysis.h"
#include "cmd/cmd.h"
#include "print/table.h"

struct sched_command_options {
    struct analysis_options common;
    unsigned by; /* enum sched_by */
    bool wakeups, who, wakers, states, xenalyze_names;
};

static const char *const by_names[] = {"task", "vcpu", "vm", "cpu", "domain", NULL};

#define MEMBER(m) offsetof(struct sched_command_options, m)

/* For options about text, and about rows of wake-ups. */
#define NOT_TEXT "--format=json and --format=csv"
#define NOT_WAKEUPS "--states, --every, --folded, --events, --by=vm, --by=cpu and --by=domain"

static const struct cli_option what_options[] = {
    {OPTION_CHOICE, 'b', "by", "task|vcpu|vm|cpu|domain",
     "one row per task, vCPU, VM, CPU or domain", MEMBER(by), .choices = by_names,
     .default_text = "task",
     .page =
         "Tasks are the threads of kernels and the vCPUs of Xen. The vCPUs of QEMU are the threads "
         "of the "
         "host that the trace directory names as vCPUs, or that enter a guest with KVM. A row of a "
         "VM is the sum of its vCPUs; '-' is a machine without a known name."},
    {OPTION_FLAG, 0, "latency", NULL, "show only the time from wake-up to running", MEMBER(wakeups),
     .excludes = "--who, --wakers, " NOT_WAKEUPS},
    {OPTION_FLAG, 0, "who", NULL, "show who ran on the CPU while another waited", MEMBER(who),
     .excludes = "--latency, --wakers, " NOT_WAKEUPS},
    {OPTION_FLAG, 0, "wakers", NULL, "show who woke whom", MEMBER(wakers),
     .page =
         "Rows show how often, and how long it took until the woken thread ran. The waker is the "
         "thread "
         "on the CPU of the wake-up, or '<interrupt>' if the trace shows that the CPU was in an "
         "interrupt.",
     .excludes = "--latency, --who, " NOT_WAKEUPS},
    {OPTION_FLAG, 0, "states", NULL, "show one row per state: how often, how long", MEMBER(states),
     .page = "Only times whose begin and end are known count. With --from or --until, a state that "
             "begins "
             "in this time counts with its whole length, so there are no shares.",
     .excludes = "--latency, --who and --wakers"},
    {OPTION_FLAG, 0, "xenalyze-names", NULL, "use the states of xenalyze", MEMBER(xenalyze_names),
     .requires = "--by=domain", .excludes = "--cpu and --vcpu"},
    {OPTION_END},
};

static const struct cli_option output_options[] = {
    {OPTION_CHOICE, 'f', "format", "text|json|csv", "output format", MEMBER(common.format),
     .choices = table_formats, .default_text = "text"},
    {OPTION_STRING, 0, "sort", "COLUMN", "sort by COLUMN, largest first", MEMBER(common.sort),
     .default_text = "the first share; --latency: max; --who, --wakers, --states: sum",
     .page =
         "COLUMN is the title of a column, or its name in JSON, such as wait_share, wake_p99 or "
         "preempt_sum."},
    {OPTION_NUMBER, 0, "top", "N", "only the first N rows", MEMBER(common.top)},
    WIDE_OPTION(MEMBER(common.wide)),
    {OPTION_NUMBER, 's', "slowest", "N", "also list the N longest waits", MEMBER(common.slowest),
     .page =
         "Up to N waits that have not ended at the end of the trace follow, with the time that "
         "they have "
         "lasted (strata-analysis(7)). A thread whose only wait has not ended has no row, and is "
         "listed too. With --states, these are times in a state, and all of them have ended."},
    {OPTION_PARSED, 0, "context", "SECONDS",
     "also print the events from SECONDS before each of these waits to SECONDS after it",
     MEMBER(common.context), NULL, duration_parse, .requires = "--slowest", .excludes = NOT_TEXT},
    {OPTION_PARSED, 0, "every", "SECONDS", "states, each also over time, in periods of SECONDS",
     MEMBER(common.every), NULL, duration_parse_period,
     .page =
         "Text has a column for the number of times that began in each period, and a column for "
         "their "
         "99th percentile. Each character is one or several periods; '%' marks lost events. JSON "
         "has 'series'."},
    {OPTION_FLAG, 0, "folded", NULL, "print states as stacks for flamegraph.pl: KEY;KEY SUM",
     MEMBER(common.folded), .page = "SUM is in nanoseconds. speedscope reads this, too.",
     .excludes = "--events, --every, " NOT_TEXT},
    {OPTION_FLAG, 0, "events", NULL, "print each time in a state instead of rows",
     MEMBER(common.events),
     .page =
         "For each source, they are in the order of their ends. JSON has objects as in 'slowest'."},
    {OPTION_FLAG, 0, "hist", NULL, "also print a histogram of the wake-ups of each row",
     MEMBER(common.histogram)},
    {OPTION_END},
};

static const struct cli_option wait_options[] = {
    {OPTION_PARSED, 0, "longer", "SECONDS", "only waits of SECONDS or more (0.001 is 1 ms)",
     MEMBER(common.longer), NULL, duration_parse,
     .page = "Times and shares do not change; with --states, shorter times are left out."},
    {OPTION_STRING, 0, "task", "GLOB", "only tasks of this name", MEMBER(common.task)},
    {OPTION_END},
};

static const struct option_group groups[] = {
    {"What is shown", what_options, 0},
    {"Output", output_options, 0},
    {"Which waits", wait_options, 0},
    {"Selection", select_option_table, MEMBER(common.select),
     .page =
         "--pid and --vcpu select rows. --cpu, --from and --until select times in a state, and the "
         "time inside "
         "and outside the guest during a run: the part of a longer state that lies within. A run, "
         "a "
         "wait or a wake-up counts if it begins there, with its whole duration. --event, --layer "
         "and "
         "--limit leave out events that are read (strata-analysis(7)). States are unknown for a "
         "time "
         "in which they leave out scheduler events. --by=cpu excludes --pid, --vcpu and --task; "
         "--by=domain excludes --pid and --task."},
    {"Reading", open_option_table, MEMBER(common.open)},
    {"Threads", jobs_option_table, MEMBER(common.jobs)},
    {"Help", help_option_table, 0},
    {NULL},
};

const struct command sched_command = {
    .name = "sched",
    .summary = "show where the time of threads, vCPUs and CPUs went",
    .operands = "PATH...",
    .about = "Shows how long threads, vCPUs, CPUs or Xen's domains ran, waited for a CPU and\n"
             "slept, and how long it took from being woken to running. Reads the scheduler\n"
             "events of kernels and of Xen. For a vCPU whose host and guest are both in the\n"
             "trace, it shows how much time was stolen.\n\n"
             "Time for which events were lost or are missing is unknown (?%), never guessed.",
    .groups = groups,
    .examples = "  strata sched trace\n"
                "  strata sched --by vcpu trace\n"
                "  strata sched --who --task 'CPU 0/*' trace\n"
                "  strata sched --latency --slowest 5 trace",
};

static int measure(const struct sched_command_options *options, struct trace *trace,
                   const struct sched_options *settings)
{
    struct analysis_settings common;
    struct arena arena = {0};
    struct sched sched;
    int status = analysis_settings_init(&options->common, trace, &arena, &common);

    if (status == EXIT_SUCCESS) {
        status = sched_init(&sched, &common, settings) < 0
                     ? cli_no_memory()
                     : analysis_run(&options->common, trace, &sched.analysis);
        sched_done(&sched);
    }
    arena_done(&arena);
    return status;
}

/* True, with an error, if the options select what the rows are not about. */
static bool refuses(const struct sched_command_options *options, int *ret_status)
{
    const struct select_options *select = &options->common.select;

    if (options->by == SCHED_BY_CPU &&
        (select->pids.n > 0 || select->vcpus.n > 0 || options->common.task))
        *ret_status = cli_usage_error("sched", "--by=cpu has rows of CPUs; --pid, --vcpu and "
                                               "--task select threads: use --by=task --cpu");
    else if (options->by == SCHED_BY_DOMAIN && (select->pids.n > 0 || options->common.task))
        *ret_status = cli_usage_error("sched", "--by=domain has rows of Xen's domains; --pid and "
                                               "--task select threads");
    else
        return false;
    return true;
}

int cmd_sched(int argc, char **argv)
{
    struct sched_command_options options = {0};
    struct sched_options settings = {0};
    int status = EXIT_FAILURE;
    int n;

    if (options_parse(&sched_command, argc, argv, &options, &n, &status)) {
        bool states = options.states || options.common.folded || options.common.events ||
                      options.common.every > 0;

        settings.by = (enum sched_by)options.by;
        settings.view = options.wakeups  ? SCHED_WAKEUPS
                        : options.who    ? SCHED_WHO
                        : options.wakers ? SCHED_WAKERS
                        : states         ? SCHED_STATES
                                         : SCHED_TIMES;
        options.common.asks_names = settings.view == SCHED_STATES && settings.by == SCHED_BY_TASK;
        settings.xenalyze_names = options.xenalyze_names;
        if (!options.common.sort && settings.view != SCHED_TIMES)
            options.common.sort = settings.view == SCHED_WAKEUPS ? "max" : "sum";
        if (refuses(&options, &status))
            ;
        else if (n == 0)
            status = cli_usage_error("sched", "no trace file given");
        else {
            struct trace *trace = analysis_open(&options.common, argv + 1, n);

            if (trace)
                status = measure(&options, trace, &settings);
            trace_free(trace);
        }
    }
    analysis_options_done(&options.common);
    return status;
}
