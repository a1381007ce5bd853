/* SPDX-License-Identifier: MIT */
#include "report/findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_reasons.h"
#include "analysis/io.h"
#include "base/macro.h"
#include "base/printable.h"
#include "event/late_text.h"
#include "report/finding_builder.h"
#include "report/print_result.h"
#include "tracedir/manifest.h"

/* Something stands out from this share of time on. A CPU is busy from this load on. */
#define SHARE_MIN 0.05
#define BUSY_MIN 0.9
/* A standstill of the machine is reported from this share of time on. */
#define STANDSTILL_MIN 0.001
/* Share of switches that are followed by another thread than they name. */
#define CONTRADICTED_MIN 0.01
/* Spans needed for a 99th percentile, and its least ratio to the median for a tail. */
#define TAIL_SPANS_MIN 100
#define TAIL_RATIO_MIN 5
#define TAIL_NS_MIN 1e6
/* A stage that has most of the time of requests: its least share, and how many requests. */
#define STAGE_PART_MIN 0.4
#define STAGE_REQUESTS_MIN 10
/* The longest of all requests, however many there are. */
#define SLOWEST_RATIO_MIN 20
#define SLOWEST_NS_MIN 1e7
#define COMMAND_SIZE 96

/* ---- what the trace lacks ---- */

static void find_losses(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_CPUS);

    if (!losses_any(&result->coverage->losses))
        return;
    print_losses(result, &finder->text);
    finder_add(finder, NULL, NULL, NULL, 3, "stat --gaps 10");
}

static void find_late_events(struct finder *finder)
{
    uint64_t n = finder->summary->coverage.n_late;
    char buf[LATE_TEXT_SIZE];

    if (n == 0)
        return;
    text_put_str(&finder->text, late_text(buf, n));
    finder_add(finder, NULL, NULL, NULL, 2.5, "info");
}

static void find_wrong_clocks(struct finder *finder, const struct trace_clocks *clocks)
{
    for (unsigned i = 0; i < clocks->n; i++) {
        if (clocks->rows[i].violations == 0)
            continue;
        text_printf(&finder->text,
                    "the clock of %s is wrong, by how much is not known: ", clocks->rows[i].source);
        trace_clock_put_violations(&clocks->rows[i], &finder->text);
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
    finder_add(finder, NULL, NULL, NULL, share >= SHARE_MIN ? 3 + share : share, "info");
}

static void find_standstills(struct finder *finder, const struct trace *trace)
{
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
    if (row->own_part < SHARE_MIN)
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

        any |= share >= SHARE_MIN;
        if (share * (1 - part) < SHARE_MIN)
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
        finder_add(finder, result, busiest, "busy_share", most / 2, command);
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

/* Finds the task that waited longest for a CPU, and the task with the longest wake-ups. */
static void find_waiting_tasks(struct finder *finder, bool has_waiting_vcpus)
{
    const struct result *result = finder_result(finder, SUMMARY_TASKS);
    const struct result_row *waits = NULL, *wakes = NULL;
    double longest = TAIL_NS_MIN, most = SHARE_MIN;
    unsigned n = 0;
    char command[COMMAND_SIZE];

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double waits_share = finding_number_or_0(result, row, "wait_share");
        double share = waits_share * (1 - row->own_part);
        double p99 = finding_number_or_0(result, row, "wake_p99");

        if (row->is_own)
            continue;
        n += waits_share >= SHARE_MIN;
        if (share >= most) {
            most = share;
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
                        SHARE_MIN * 100);
        put_task(result, waits, &finder->text);
        text_printf(&finder->text,
                    n > 1 ? " waits most, %.1f%%" : " waits for a CPU %.1f%% of the time",
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
        finder_add(finder, result, wakes, "wake_p99", 0.05, command);
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

        if (!row->is_own && share > *ret_share &&
            strcmp(finding_key(result, row, "layer"), layer) == 0) {
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

    if (share < SHARE_MIN) {
        part = SUMMARY_TASKS;
        row = find_behind_own(finder, part, layer, &share);
    }
    if (MAX(run, share) < SHARE_MIN)
        return;
    finder->is_of_all = true;
    result = finder_result(finder, part);
    text_printf(
        &finder->text,
        "the cost of recording: Strata's own threads, of all recordings there, use %.1f%% of a CPU "
        "of the %s",
        run * 100, layer);
    if (unknown >= FINDING_UNKNOWN_MIN)
        text_printf(&finder->text, ", or up to %.1f%% more, which is unknown", unknown * 100);
    if (share >= SHARE_MIN) {
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
        finder_add(finder, result, row, "wait_share", MAX(share, run / 2), command);
    } else {
        snprintf(command, sizeof command, "sched --layer %s --task 'strata*'", layer);
        finder_add(finder, NULL, NULL, NULL, run / 2, command);
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
            text, "; the CPU vendor is not known (--cpu-vendor): whether the guest was idle is "
                  "not known");
}

/* Finds the two reasons that cost most, without the time in which an idle guest sleeps. */
static void find_exits(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_EXITS);
    const struct result_row *first = NULL;

    for (unsigned pass = 0; pass < 2; pass++) {
        const struct result_row *worst = NULL;
        double most = SHARE_MIN;

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

/* ---- spans ---- */

/* The error of ROW's times in ns, or INFINITY if it has no bound because events contradict the clocks' stated error. */
static double get_error(const struct result *result, const struct result_row *row)
{
    double error = finding_number(result, row, "error");

    return isnan(error) && result_find_column(result, "error") >= 0 ? INFINITY
           : isnan(error)                                           ? 0
                                                                    : error;
}

/* True if the 99th percentile differs from the median by much, and by more than the error of the clocks. */
static bool has_tail(const struct result *result, const struct result_row *row)
{
    double p50 = finding_number_or_0(result, row, "p50"),
           p99 = finding_number_or_0(result, row, "p99");

    return finding_number_or_0(result, row, "n") >= TAIL_SPANS_MIN && p99 >= TAIL_RATIO_MIN * p50 &&
           p99 >= get_error(result, row);
}

static void put_tail(const struct result *result, const struct result_row *row, struct text *text)
{
    text_printf(text, "1 of 100 takes ");
    finding_put_column(result, row, "p99", text);
    finding_put_error(result, row, finding_number_or_0(result, row, "p99"), text);
    text_put_literal(text, " or more, the median is ");
    finding_put_column(result, row, "p50", text);
    text_printf(text, " (%.0f)", finding_number_or_0(result, row, "n"));
}

/* Puts "read requests of 254,0 (guest)"; "(guest only)" for requests without a counterpart in QEMU. */
static void put_requests(const struct result *result, const struct result_row *row,
                         struct text *text)
{
    bool is_joined = !strstr(finding_key(result, row, "stage"), IO_NOT_JOINED);

    text_printf(text, "%s requests of %s (%s%s)", finding_key(result, row, "kind"),
                finding_key(result, row, "device"), finding_key(result, row, "layer"),
                is_joined ? "" : " only");
}

/* Says that the time of stages without events is part of the next stage. */
static void put_missing_stages(const struct result *result, struct text *text)
{
    for (unsigned i = 0; i < result->n_notes; i++)
        if (strncmp(result->notes[i], IO_NOTE_MISSING, strlen(IO_NOTE_MISSING)) == 0) {
            text_put_literal(text, "; stages that are not in the trace are part of the next one");
            return;
        }
}

/* Finds the stage with most of the time of the requests whose total is row number WHOLE. Skips stages shorter than the
 * error of their clocks. */
static void find_stage(struct finder *finder, unsigned whole)
{
    const struct result *result = finder_result(finder, SUMMARY_IO);
    const struct result_row *total = result->rows[whole];
    const struct result_row *longest = NULL;
    unsigned n = 0;

    /* The stages of a total follow it. */
    for (unsigned i = whole + 1; i < result->n_rows && !result->rows[i]->is_whole; i++) {
        const struct result_row *row = result->rows[i];

        n++;
        if (finding_number_or_0(result, row, "part") >= STAGE_PART_MIN &&
            get_error(result, row) <= finding_number_or_0(result, row, "mean") &&
            (!longest ||
             finding_number(result, row, "part") > finding_number(result, longest, "part")))
            longest = row;
    }
    if (!longest || n < 2)
        return;
    put_requests(result, total, &finder->text);
    text_printf(&finder->text, " spend %.0f%% of their time in stage %s, ",
                finding_number(result, longest, "part") * 100,
                finding_key(result, longest, "stage"));
    finding_put_column(result, longest, "mean", &finder->text);
    finding_put_error(result, longest, finding_number_or_0(result, longest, "mean"), &finder->text);
    text_put_literal(&finder->text, " of ");
    finding_put_column(result, total, "mean", &finder->text);
    text_printf(&finder->text, " on average (%.0f)", finding_number(result, total, "n"));
    put_missing_stages(result, &finder->text);
    finder_add(finder, result, longest, "part",
               MAX(SHARE_MIN, finding_number_or_0(result, total, "share")), "io --slowest 3");
}

/* Finds a request that is far longer than the others, which percentiles may hide. */
static void find_slow_request(struct finder *finder, const struct result_row *total)
{
    const struct result *result = finder_result(finder, SUMMARY_IO);
    double max = finding_number_or_0(result, total, "max");
    double n = finding_number_or_0(result, total, "n");
    int at = result_find_column(result, "max_at");

    if (!finding_has_ns(result) || n < 2 || at < 0 || max < SLOWEST_NS_MIN ||
        max < SLOWEST_RATIO_MIN * finding_number_or_0(result, total, "p50"))
        return;
    text_put_literal(&finder->text, "the slowest of the ");
    put_requests(result, total, &finder->text);
    text_put_literal(&finder->text, " takes ");
    finding_put_column(result, total, "max", &finder->text);
    finding_put_error(result, total, finding_number_or_0(result, total, "max"), &finder->text);
    if (total->longest_part && total->longest_share >= STAGE_PART_MIN) {
        text_printf(&finder->text, ", %.0f%% of it in stage %s", total->longest_share * 100,
                    total->longest_part);
        put_missing_stages(result, &finder->text);
    }
    text_put_literal(&finder->text, "; it begins at ");
    clock_put_time(&result->clock, total->values[at].number, &finder->text);
    text_put_literal(&finder->text, "; the median is ");
    finding_put_column(result, total, "p50", &finder->text);
    text_printf(&finder->text, " (%.0f)", n);
    finder_add(finder, result, total, "max",
               MAX(SHARE_MIN, finding_number_or_0(result, total, "share")), "io --slowest 3");
}

static void find_requests(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_IO);

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];

        if (!row->is_whole)
            continue;
        if (finding_number_or_0(result, row, "n") >= STAGE_REQUESTS_MIN)
            find_stage(finder, i);
        find_slow_request(finder, row);
        if (!has_tail(result, row))
            continue;
        text_put_literal(&finder->text, "of the ");
        put_requests(result, row, &finder->text);
        text_put_literal(&finder->text, ", ");
        put_tail(result, row, &finder->text);
        finder_add(finder, result, row, "p99",
                   MAX(SHARE_MIN, finding_number_or_0(result, row, "share")), "io --slowest 3");
    }
}

/* Finds handlers that take much of the time, and the longest handler. */
static void find_interrupts(struct finder *finder)
{
    const struct result *result = finder_result(finder, SUMMARY_IRQ);
    const struct result_row *longest = NULL, *latest = NULL;
    double most = TAIL_NS_MIN, late = TAIL_NS_MIN;

    for (unsigned i = 0; i < result->n_rows; i++) {
        const struct result_row *row = result->rows[i];
        double share = finding_number_or_0(result, row, "share"),
               max = finding_number_or_0(result, row, "max");
        double delay = finding_number_or_0(result, row, "delay_p99");

        if (share >= SHARE_MIN) {
            text_printf(&finder->text, "%s %s runs %.1f%% of a CPU's time, over all CPUs: %.0f",
                        finding_key(result, row, "kind"), finding_key(result, row, "name"),
                        share * 100, finding_number_or_0(result, row, "n"));
            finder_add(finder, result, row, "share", MIN(share, 1.0), "irq --by cpu --sort sum");
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
        finder_add(finder, result, longest, "max", SHARE_MIN, "irq --slowest 3");
    }
    if (latest) {
        text_printf(&finder->text, "%s %s is ", finding_key(result, latest, "kind"),
                    finding_key(result, latest, "name"));
        finding_put_time(result, late, &finder->text);
        finding_put_error(result, latest, late, &finder->text);
        text_printf(&finder->text, " late or more in 1 of 100 of %.0f times",
                    finding_number_or_0(result, latest, "delay_n"));
        finder_add(finder, result, latest, "delay_p99", SHARE_MIN, "irq --sort delay_p99");
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
                finding_number_or_0(result, row, "n") >= STAGE_REQUESTS_MIN) {
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
    finder_add(finder, worst_result, worst, "error", SHARE_MIN / 2, "info");
}

/* ---- all ---- */

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
    text_done(&finder.text);
    if (ret_findings->n > 1)
        qsort(ret_findings->items, ret_findings->n, sizeof *ret_findings->items, compare_weights);
    return ret_findings->error;
}

void findings_done(struct findings *findings)
{
    arena_done(&findings->arena);
}
