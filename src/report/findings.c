/* SPDX-License-Identifier: MIT */
#include "report/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_reasons.h"
#include "base/macro.h"
#include "base/printable.h"
#include "event/late_text.h"
#include "report/finding_builder.h"
#include "report/findings_requests.h"
#include "report/print_result.h"
#include "tracedir/manifest.h"

/* A CPU is busy from this load on. */
#define BUSY_MIN 0.9
/* A standstill of the machine is reported from this share of time on. */
#define STANDSTILL_MIN 0.001
/* Share of switches that are followed by another thread than they name. */
#define CONTRADICTED_MIN 0.01
/* Spans needed for a 99th percentile, and its least ratio to the median for a tail. */
#define TAIL_SPANS_MIN 100
#define TAIL_RATIO_MIN 5
#define TAIL_NS_MIN 1e6
#define SPANS_MIN 10
/* The least share of the time of the work that waits of a task must cost. */
#define TASK_WAIT_MIN 0.1
/* The least share of time that handlers of an interrupt must cost, without the longest one, to weigh more than a remark.
 * The longest one is another finding. */
#define HANDLERS_MIN 0.2
/* The weight of findings that are told after all that cost time. */
#define REMARK (FINDING_SHARE_MIN / 2)
#define COMMAND_SIZE 96

/* ---- what the trace lacks ---- */

static void find_losses(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_CPUS);

    if (!losses_any(&result->coverage->losses))
        return;
    print_losses(result, &finder->text);
    finder->is_of_trace = true;
    finder_add(finder, NULL, NULL, NULL, 3, "stat --gaps 10");
}

static void find_late_events(struct finder *finder)
{
    uint64_t n = finder->summary->coverage.n_late;
    char buf[LATE_TEXT_SIZE];

    if (n == 0)
        return;
    text_put_str(&finder->text, late_text(buf, n));
    finder->is_of_trace = true;
    finder_add(finder, NULL, NULL, NULL, 2.5, "info");
}

static void find_wrong_clocks(struct finder *finder, const struct trace_clocks *clocks)
{
    for (unsigned i = 0; i < clocks->n; i++) {
        if (clocks->rows[i].violations == 0)
            continue;
        text_printf(&finder->text,
                    "the clock of %s is wrong by an unknown amount: ", clocks->rows[i].source);
        trace_clock_put_violations(&clocks->rows[i], &finder->text);
        finder->is_of_trace = true;
        finder_add(finder, NULL, NULL, NULL, 2.8, "info");
    }
}

static void find_contradictions(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_CPUS);
    const struct result_contradictions *found = &result->contradictions;

    /* Without switches, other events contradict each other about who runs; sched has nothing of that to show. */
    if (found->n_checked == 0 || found->n == 0 ||
        (double)found->n < CONTRADICTED_MIN * (double)found->n_checked)
        return;
    text_printf(&finder->text,
                "%" PRIu64 " of %" PRIu64 " switches %s: what ran between them is unknown",
                found->n, found->n_checked,
                found->n == 1 ? "is followed by another thread than it names"
                              : "are followed by other threads than they name");
    finder->is_of_trace = true;
    finder_add(finder, NULL, NULL, NULL, 2, "sched --by cpu");
}

/* ---- machines that stood still ---- */

/* The machine of SOURCE was WHAT for NS, known to DECIMALS of a second. */
static void find_standstill(struct finder *finder, const struct manifest_source *source,
                            bool is_snapshot, uint64_t ns, const char *what, int decimals)
{
    int64_t length = source->ended.monotonic_ns - source->began.monotonic_ns;
    double share = length > 0 ? MIN((double)ns / (double)length, 1) : 1;

    if (ns == 0 || share < STANDSTILL_MIN)
        return;
    text_put_str(&finder->text, "the virtual machine ");
    if (source->vmm->name)
        text_printf_safe(&finder->text, "%s ", source->vmm->name);
    text_printf(&finder->text, "was %s for %s%.*f s", what, decimals == 0 ? "some " : "", decimals,
                (double)ns / 1e9);
    if (length > 0)
        text_printf(&finder->text, ", %.1f%% of the recording%s", share * 100,
                    is_snapshot ? " up to the snapshot" : "");
    text_put_str(&finder->text, ": it did nothing meanwhile");
    finder_add(finder, NULL, NULL, NULL, share >= FINDING_SHARE_MIN ? 3 + share : share, "info");
}

static void find_standstills(struct finder *finder, const struct trace *trace)
{
    /* When it stood still is not known. */
    if (finder->summary->select && selection_start(finder->summary->select, &(int64_t){0}))
        return;
    for (unsigned i = 0; i < trace->n_manifests; i++)
        for (unsigned j = 0; j < trace->manifests[i].n_sources; j++) {
            const struct manifest_source *source = &trace->manifests[i].sources[j];
            bool is_snapshot = trace->manifests[i].snapshot != NULL;

            if (!source->vmm)
                continue;
            find_standstill(finder, source, is_snapshot, source->vmm->stopped_ns,
                            "stopped by a signal", 0);
            find_standstill(finder, source, is_snapshot, source->vmm->paused_ns, "paused", 3);
        }
}

/* ---- CPUs ---- */

/* States for which part of the waits of ROW it is unknown who ran. */
static void put_unknown_waits(const struct result_row *row, struct text *text)
{
    if (row->own_unknown >= 0.005)
        text_printf(text, "; who ran for %.0f%% of them is unknown", row->own_unknown * 100);
    else if (row->own_unknown > 0)
        text_put_literal(text, "; who ran for less than 1% of them is unknown");
}

static void put_recorder_part(const struct result_row *row, struct text *text)
{
    if (row->own_part < FINDING_SHARE_MIN)
        return;
    text_printf(text, "; for %.0f%% of its waits, Strata's own threads ran (the cost of recording)",
                row->own_part * 100);
    put_unknown_waits(row, text);
}

/* Returns true if a vCPU waits. */
static bool find_waiting_vcpus(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_VCPUS);
    bool any = false;

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double waits = finding_number_or_0(result, row, "wait_share");
        bool is_stolen = !isnan(finding_number(result, row, "stolen_share")) &&
                         2 * finding_number_or_0(result, row, "stolen_unknown_share") <= waits;
        const char *column = is_stolen ? "stolen_share" : "wait_share";
        double share = is_stolen ? finding_number_or_0(result, row, column) : waits;
        double preempted = finding_number_or_0(result, row, "preempt_n");
        double part = row->own_part;

        any |= share >= FINDING_SHARE_MIN;
        if (share * (1 - part) < FINDING_SHARE_MIN)
            continue;
        text_printf(&finder->text,
                    is_stolen ? "vCPU %s has work and waits for a CPU %.1f%% of the time"
                              : "vCPU %s waits for a CPU %.1f%% of the time",
                    finding_key(result, row, "vcpu"), share * 100);
        if (preempted > 0) {
            text_printf(&finder->text, "; preempted %.0f times for ", preempted);
            finding_put_column(result, row, "preempt_sum", &finder->text);
            text_put_literal(&finder->text, ", at most ");
            finding_put_column(result, row, "preempt_max", &finder->text);
        }
        put_recorder_part(row, &finder->text);
        finder_add(finder, result, row, column, share * (1 - part), "sched --who --by vcpu");
    }
    return any;
}

/* Finds the CPUs of LAYER that are busy, or idle, nearly all of the time. */
static void find_busy_cpus(struct finder *finder, const char *layer)
{
    const struct result *result = finder_result(finder, SUMMARY_CPUS);
    const struct result_row *busiest = NULL;
    bool of_work = strcmp(layer_name(finder_work_layer(finder)), layer) == 0;
    unsigned n = 0, n_busy = 0;
    double idle = 0, most = 0;
    char command[COMMAND_SIZE];

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double busy = finding_number_or_0(result, row, "busy_share") +
                      finding_number_or_0(result, row, "interrupt_share");

        if (strcmp(finding_key(result, row, "layer"), layer) != 0)
            continue;
        n++;
        n_busy += busy >= BUSY_MIN;
        idle += finding_number_or_0(result, row, "idle_share");
        if (!busiest || busy > most) {
            busiest = row;
            most = busy;
        }
    }
    finder->is_of_all = n_busy != 1;
    if (n_busy > 0) {
        if (n_busy == 1)
            text_printf(&finder->text, "CPU %s of the %s is busy %.1f%% of the time",
                        finding_key(result, busiest, "cpu"), layer, most * 100);
        else
            text_printf(&finder->text,
                        "%u of %u CPUs of the %s are busy %.0f%% of the time or more; CPU %s, the "
                        "busiest, %.1f%%",
                        n_busy, n, layer, BUSY_MIN * 100, finding_key(result, busiest, "cpu"),
                        most * 100);
        snprintf(command, sizeof command, "sched --layer %s", layer);
        finder_add(finder, result, busiest, "busy_share", of_work ? FINDING_SHARE_MIN : REMARK,
                   command);
    } else if (n > 0 && idle / n >= BUSY_MIN) {
        text_printf(&finder->text, "the CPUs of the %s are idle %.1f%% of the time", layer,
                    idle / n * 100);
        finder_add(finder, result, busiest, "idle_share", 0.04, "sched --by cpu");
    }
    finder->is_of_all = false;
}

/* Puts "dd-114 of the guest". vCPUs of Xen have no thread number. */
static void put_task(const struct result *result, const struct result_row *row, struct text *text)
{
    const char *pid = finding_key(result, row, "pid");

    if (strcmp(pid, "-") != 0 && row->origin)
        origin_put_thread(row->origin, finding_key(result, row, "task"), atoi(pid), text);
    else
        text_put_str(text, finding_key(result, row, "task"));
    text_printf(text, " of the %s", finding_key(result, row, "layer"));
}

/* Makes a command with OPTIONS, for this task alone if it has a number. */
static void make_task_command(const struct result *result, const struct result_row *row,
                              const char *options, char command[COMMAND_SIZE])
{
    const char *pid = finding_key(result, row, "pid");

    if (strcmp(pid, "-") == 0)
        snprintf(command, COMMAND_SIZE, "%s --by vcpu", options);
    else
        snprintf(command, COMMAND_SIZE, "%s --layer %s --pid %s", options,
                 finding_key(result, row, "layer"), pid);
}

/* Threads of Linux that work for others. */
static bool is_kernel_thread(const char *name)
{
    static const char *const begins[] = {"rcu_",   "rcuo",  "kworker/", "ksoftirqd/", "migration/",
                                         "kswapd", "jbd2/", "irq/",     "khugepaged", "kcompactd"};

    for (unsigned i = 0; i < ARRAY_SIZE(begins); i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* True if the task of ROW does the work. On a host with a virtual machine, only threads of its monitor do. */
static bool is_work(const struct finder *finder, const struct result *result,
                    const struct result_row *row, enum layer layer)
{
    const struct origin *origin = row->origin;

    if (row->is_own || strcmp(finding_key(result, row, "layer"), layer_name(layer)) != 0 ||
        is_kernel_thread(finding_key(result, row, "task")))
        return false;
    return layer != LAYER_HOST || finder_work_layer(finder) == LAYER_HOST || !origin ||
           !origin->vm_of || origin->vm_of(origin, atoi(finding_key(result, row, "pid")));
}

/* The layer whose tasks do the work: the requests' layer, if it has states. QEMU's threads are the host's tasks. */
static enum layer find_task_layer(const struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_TASKS);
    enum layer layer = finder_work_layer(finder);

    for (unsigned i = 0; i < result->n_rows; i++)
        if (result->rows[i]->has_number &&
            strcmp(finding_key(result, result->rows[i], "layer"), layer_name(layer)) == 0)
            return layer;
    return LAYER_HOST;
}

/* How much of the work's time it costs that the task of ROW waits. MOST: the share that the busiest task runs. A task
 * that hardly runs does not do the work. */
static double get_cost(const struct result *result, const struct result_row *row, double most)
{
    double run = finding_number_or_0(result, row, "run_share");
    double wait = finding_number_or_0(result, row, "wait_share") * (1 - row->own_part);

    return most > 0 ? wait * MIN(1, 2 * run / most) : 0;
}

/* The largest share of the time that a task of LAYER runs. */
static double get_most_run(const struct finder *finder, enum layer layer)
{
    const struct result *result = finder_result(finder, SUMMARY_TASKS);
    double most = 0;

    for (unsigned i = 0; i < result->n_rows; i++)
        if (is_work(finder, result, result->rows[i], layer))
            most = MAX(most, finding_number_or_0(result, result->rows[i], "run_share"));
    return most;
}

/* Finds the task whose waits for a CPU cost most, and the task with the longest wake-ups. */
static void find_waiting_tasks(struct finder *finder, bool has_waiting_vcpus)
{
    const struct result *result = finder_result(finder, SUMMARY_TASKS);
    enum layer layer = find_task_layer(finder);
    const struct result_row *waits = NULL, *wakes = NULL;
    double longest = TAIL_NS_MIN, most = TASK_WAIT_MIN;
    double most_run = get_most_run(finder, layer);
    unsigned n = 0;
    char command[COMMAND_SIZE];

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double waits_share = finding_number_or_0(result, row, "wait_share");
        double cost = get_cost(result, row, most_run);
        double p99 = finding_number_or_0(result, row, "wake_p99");

        if (!is_work(finder, result, row, layer))
            continue;
        n += waits_share >= TASK_WAIT_MIN;
        if (cost >= most) {
            most = cost;
            waits = row;
        }
        if (p99 >= longest && finding_number_or_0(result, row, "wake_n") >= TAIL_SPANS_MIN &&
            finding_has_ns(result)) {
            longest = p99;
            wakes = row;
        }
    }
    if (waits && !has_waiting_vcpus) {
        if (n > 1)
            text_printf(&finder->text,
                        "of %u tasks that wait for a CPU %.0f%% of the time or more, ", n,
                        TASK_WAIT_MIN * 100);
        put_task(result, waits, &finder->text);
        text_printf(&finder->text,
                    n > 1 ? " costs most: it waits %.1f%%" : " waits for a CPU %.1f%% of the time",
                    finding_number_or_0(result, waits, "wait_share") * 100);
        put_recorder_part(waits, &finder->text);
        make_task_command(result, waits, "sched --who", command);
        finder->is_of_all = n > 1;
        finder_add(finder, result, waits, "wait_share", most, command);
    }
    if (wakes) {
        text_printf(&finder->text, "after 1 of 100 of its %.0f wake-ups, ",
                    finding_number(result, wakes, "wake_n"));
        put_task(result, wakes, &finder->text);
        text_put_literal(&finder->text, " waits ");
        finding_put_time(result, longest, &finder->text);
        text_put_literal(&finder->text, " or more for a CPU, at most ");
        finding_put_column(result, wakes, "wake_max", &finder->text);
        make_task_command(result, wakes, "sched --latency --slowest 3", command);
        finder_add(finder, result, wakes, "wake_p99", REMARK, command);
    }
}

/* ---- the cost of recording ---- */

/* For how many CPUs of LAYER it is unknown what they run. */
static double get_unknown_cpus(const struct finder *finder, const char *layer)
{
    const struct result *result = finder_result(finder, SUMMARY_CPUS);
    double unknown = 0;

    for (unsigned i = 0; i < result->n_rows; i++)
        if (strcmp(finding_key(result, result->rows[i], "layer"), layer) == 0)
            unknown += finding_number_or_0(result, result->rows[i], "unknown_share");
    return unknown;
}

/* How many CPUs of LAYER Strata's own threads use, including threads of other recordings, which have the same names.
 * *RET_UNKNOWN: how much they may use in addition. */
static double get_own_run(const struct finder *finder, const char *layer, double *ret_unknown)
{
    const struct result *result = finder_result(finder, SUMMARY_TASKS);
    double run = 0;

    *ret_unknown = 0;
    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];

        if (!row->is_own || strcmp(finding_key(result, row, "layer"), layer) != 0)
            continue;
        run += finding_number_or_0(result, row, "run_share");
        *ret_unknown += finding_number_or_0(result, row, "unknown_share");
    }
    *ret_unknown = MIN(*ret_unknown, get_unknown_cpus(finder, layer));
    return run;
}

/* Finds the row of PART that waits longest behind Strata's own threads, or NULL. *RET_SHARE: of the time. */
static const struct result_row *find_behind_own(const struct finder *finder, enum summary_part part,
                                                const char *layer, double *ret_share)
{
    const struct result *result = finder_result(finder, part);
    const struct result_row *worst = NULL;

    *ret_share = 0;
    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double share = finding_number_or_0(result, row, "wait_share") * row->own_part;

        if (share > *ret_share && strcmp(finding_key(result, row, "layer"), layer) == 0 &&
            (part == SUMMARY_VCPUS ||
             is_work(finder, result, row, row->origin ? row->origin->layer : LAYER_HOST))) {
            *ret_share = share;
            worst = row;
        }
    }
    return worst;
}

static void find_recording(struct finder *finder, const char *layer)
{
    double unknown, share;
    double run = get_own_run(finder, layer, &unknown);
    enum summary_part part = SUMMARY_VCPUS;
    const struct result_row *row = find_behind_own(finder, part, layer, &share);
    const struct result *result;
    char command[COMMAND_SIZE] = "sched --who --by vcpu";

    if (share < FINDING_SHARE_MIN) {
        part = SUMMARY_TASKS;
        row = find_behind_own(finder, part, layer, &share);
    }
    if (MAX(run, share) < FINDING_SHARE_MIN)
        return;
    finder->is_of_trace = finder->is_of_all = true;
    result = finder_result(finder, part);
    text_printf(
        &finder->text,
        "the cost of recording: Strata's own threads, of all recordings there, use %.1f%% of a CPU "
        "of the %s",
        run * 100, layer);
    if (unknown >= FINDING_UNKNOWN_MIN)
        text_printf(&finder->text, ", or up to %.1f%% more, which is unknown", unknown * 100);
    if (share >= FINDING_SHARE_MIN) {
        text_put_literal(&finder->text, "; ");
        if (part == SUMMARY_VCPUS)
            text_printf(&finder->text, "vCPU %s", finding_key(result, row, "vcpu"));
        else
            put_task(result, row, &finder->text);
        text_printf(&finder->text, " waits behind them %.1f%% of the time, %.0f%% of its waits",
                    share * 100, row->own_part * 100);
        put_unknown_waits(row, &finder->text);
        if (part == SUMMARY_TASKS)
            make_task_command(result, row, "sched --who", command);
        finder_add(finder, result, row, "wait_share", MAX(share, REMARK), command);
    } else {
        snprintf(command, sizeof command, "sched --layer %s --task 'strata*'", layer);
        finder_add(finder, NULL, NULL, NULL, REMARK, command);
    }
}

/* ---- exits ---- */

/* True if a reason is only a number, because the CPU vendor is unknown. */
static bool is_unnamed(const char *reason)
{
    return reason[strspn(reason, "0123456789")] == '\0';
}

static void put_exit(const struct result *result, const struct result_row *row, double share,
                     struct text *text)
{
    double rate = finding_number_or_0(result, row, "rate");
    double sum = finding_number_or_0(result, row, "sum");
    double wait = finding_number_or_0(result, row, "wait");

    text_printf(text, "exits by %s take %.1f%% of a vCPU's time, over all vCPUs: %.0f",
                finding_key(result, row, "reason"), share * 100,
                finding_number_or_0(result, row, "n"));
    if (rate > 0)
        text_printf(text, ", %.0f/s", rate);
    text_put_literal(text, ", the median ");
    finding_put_column(result, row, "p50", text);
    text_put_literal(text, ", at most ");
    finding_put_column(result, row, "max", text);
    finding_put_error(result, row, finding_number_or_0(result, row, "max"), text);
    if (wait >= 0.2 * sum && sum > 0)
        text_printf(text, "; in %.0f%% of it the vCPU waits for a CPU", wait / sum * 100);
    if (is_unnamed(finding_key(result, row, "reason")))
        text_put_literal(
            text, "; the CPU vendor is unknown (--cpu-vendor), so it is unknown if the guest "
                  "was idle");
}

/* Finds the two reasons that cost most, without the time in which an idle guest sleeps. */
static void find_exits(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_EXITS);
    const struct result_row *first = NULL;

    for (unsigned pass = 0; pass < 2; pass++) {
        const struct result_row *worst = NULL;
        double most = FINDING_SHARE_MIN;

        for (unsigned i = 0; i < result->n_rows; i++) {
            const struct result_row *row = result->rows[i];
            double sum = finding_number_or_0(result, row, "sum");
            double share = finding_number_or_0(result, row, "share");

            if (row == first || sum <= 0 ||
                exit_reason_name_is_idle(finding_key(result, row, "reason")))
                continue;
            share *= 1 - finding_number_or_0(result, row, "sleep") / sum;
            if (share >= most) {
                most = share;
                worst = row;
            }
        }
        if (!worst)
            return;
        put_exit(result, worst, most, &finder->text);
        finder_add(finder, result, worst, "share", MIN(most, 1.0), "exits --by detail --sort sum");
        first = worst;
    }
}

/* ---- interrupts ---- */

/* Finds handlers that take much of the time, and the longest handler. */
static void find_interrupts(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_IRQ);
    const struct result_row *longest = NULL, *latest = NULL;
    double most = TAIL_NS_MIN, late = TAIL_NS_MIN;

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double share = finding_number_or_0(result, row, "share"),
               sum = finding_number_or_0(result, row, "sum"),
               max = finding_number_or_0(result, row, "max");
        double delay = finding_number_or_0(result, row, "delay_p99");

        if (share >= FINDING_SHARE_MIN) {
            text_printf(&finder->text, "%s %s runs %.1f%% of a CPU's time, over all CPUs: %.0f",
                        finding_key(result, row, "kind"), finding_key(result, row, "name"),
                        share * 100, finding_number_or_0(result, row, "n"));
            finder_add(finder, result, row, "share",
                       share * (1 - max / sum) >= HANDLERS_MIN ? MIN(share, 1) : REMARK,
                       "irq --by cpu --sort sum");
        }
        if (finding_has_ns(result) && max >= most &&
            max >= TAIL_RATIO_MIN * finding_number_or_0(result, row, "p50")) {
            most = max;
            longest = row;
        }
        if (finding_has_ns(result) && delay >= late &&
            finding_number_or_0(result, row, "delay_n") >= TAIL_SPANS_MIN) {
            late = delay;
            latest = row;
        }
    }
    if (longest) {
        text_printf(&finder->text, "a handler of %s %s runs for ",
                    finding_key(result, longest, "kind"), finding_key(result, longest, "name"));
        finding_put_time(result, most, &finder->text);
        finding_put_error(result, longest, most, &finder->text);
        text_put_literal(&finder->text, ", the median is ");
        finding_put_column(result, longest, "p50", &finder->text);
        text_printf(&finder->text, " (%.0f)", finding_number_or_0(result, longest, "n"));
        finder_add(finder, result, longest, "max", REMARK, "irq --slowest 3");
    }
    if (latest) {
        text_printf(&finder->text, "%s %s is ", finding_key(result, latest, "kind"),
                    finding_key(result, latest, "name"));
        finding_put_time(result, late, &finder->text);
        finding_put_error(result, latest, late, &finder->text);
        text_printf(&finder->text, " late or more in 1 of 100 of %.0f times",
                    finding_number_or_0(result, latest, "delay_n"));
        finder_add(finder, result, latest, "delay_p99", REMARK, "irq --sort delay_p99");
    }
}

/* Finds durations within the error of the clocks, between layers or around a pause. They prove nothing. */
static void find_errors(struct finder *finder)
{
    static const enum summary_part parts[] = {SUMMARY_IO, SUMMARY_LATENCY};
    const struct result *worst_result = NULL;
    const struct result_row *worst = NULL;
    double most = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(parts); i++) {
        const struct result *result = finder_result(finder, parts[i]);

        for (unsigned j = 0; j < result->n_rows; j++) {
            const struct result_row *row = result->rows[j];
            double error = finding_number_or_0(result, row, "error");

            if (error > most && error > finding_number_or_0(result, row, "p50") &&
                finding_number_or_0(result, row, "n") >= SPANS_MIN) {
                most = error;
                worst = row;
                worst_result = result;
            }
        }
    }
    if (!worst)
        return;
    text_put_literal(&finder->text, "some durations are known within");
    finding_put_error(worst_result, worst, 0, &finder->text);
    text_put_literal(&finder->text, " only; those with ~ are below their error");
    finder->is_of_trace = true;
    finder_add(finder, worst_result, worst, "error", REMARK, "info");
}

/* ---- all ---- */

/* If nothing of the workload stands out: says where the time goes. */
static void find_no_problem(struct finder *finder)
{
    struct findings *findings = finder->findings;
    struct text *text = &finder->text;
    const struct result *vcpus = finder_result(finder, SUMMARY_VCPUS);
    double run = 0, wait = 0;
    bool has_text;

    for (unsigned i = 0; i < findings->n; i++)
        if (!findings->items[i].is_of_trace && findings->items[i].weight >= FINDING_SHARE_MIN)
            findings->has_problem = true;
    if (findings->has_problem)
        return;
    text_put_literal(text, "no problem stands out; ");
    has_text = findings_put_distribution(finder, text);
    for (unsigned i = 0; i < vcpus->n_rows; i++) {
        run += finding_number_or_0(vcpus, vcpus->rows[i], "run_share") / vcpus->n_rows;
        wait += finding_number_or_0(vcpus, vcpus->rows[i], "wait_share") / vcpus->n_rows;
    }
    if (vcpus->n_rows > 0)
        text_printf(text, "%svCPUs run %.0f%% of the time and wait for a CPU %.0f%%",
                    has_text ? "; " : "", run * 100, wait * 100);
    if (has_text || vcpus->n_rows > 0)
        finder_add(finder, NULL, NULL, NULL, FINDING_SHARE_MIN,
                   has_text ? "path" : "sched --by vcpu");
    else
        text->next = text->start;
}

static int compare_weights(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return strcmp(x->text, y->text);
}

int findings_find(const struct summary *summary, const struct trace *trace,
                  struct findings *ret_findings)
{
    struct finder finder = {.summary = summary, .findings = ret_findings, .text = TEXT_IN_MEMORY};

    *ret_findings = (struct findings){0};
    find_losses(&finder);
    find_standstills(&finder, trace);
    find_wrong_clocks(&finder, &trace->clocks);
    find_late_events(&finder);
    find_contradictions(&finder);
    find_waiting_tasks(&finder, find_waiting_vcpus(&finder));
    for (unsigned layer = 0; layer < LAYERS; layer++)
        find_busy_cpus(&finder, layer_name((enum layer)layer));
    for (unsigned layer = 0; layer < LAYERS; layer++)
        find_recording(&finder, layer_name((enum layer)layer));
    find_exits(&finder);
    find_requests(&finder);
    find_interrupts(&finder);
    find_errors(&finder);
    find_no_problem(&finder);
    text_done(&finder.text);
    if (ret_findings->n > 1)
        qsort(ret_findings->items, ret_findings->n, sizeof *ret_findings->items, compare_weights);
    return ret_findings->error;
}

void findings_done(struct findings *findings)
{
    arena_done(&findings->arena);
}
