/* SPDX-License-Identifier: MIT */

/* The columns of scheduling, and a row's values in them. */

#include "analysis/sched_row.h"
#include "base/macro.h"
#include "base/ticks.h"

/* The values that rows may have. */
enum value {
    V_END,
    V_RUN_SHARE,
    V_WAIT_SHARE,
    V_SLEEP_SHARE,
    V_UNKNOWN_SHARE,
    V_RUNS,
    V_WAKE_P50,
    V_WAKE_P99,
    V_WAKE_MAX,
    V_PREEMPT_N,
    V_PREEMPT_SUM,
    V_PREEMPT_MAX,
    V_MIGRATIONS,
    V_RUN,
    V_WAIT,
    V_SLEEP,
    V_WAKE_N,
    V_WAKE_SUM,
    V_RUN_N,
    V_RUN_SUM,
    V_SLEEP_N,
    V_SLEEP_SUM,
    V_OFFLINE,
    V_COVERED,
    V_BUSY_SHARE,
    V_INTERRUPT_SHARE,
    V_IDLE_SHARE,
    V_INTERRUPT,
    V_IDLE,
    V_CPU_SHARE,
    V_GUEST_SHARE,
    V_VMM_SHARE,
    V_STOLEN_SHARE,
    V_STOLEN_IDLE_SHARE,
    V_HALTED_SHARE,
    V_GUEST,
    V_VMM,
    V_STOLEN,
    V_STOLEN_IDLE,
    V_STOLEN_UNKNOWN_SHARE,
    V_STOLEN_UNKNOWN,
    V_UNDIVIDED_SHARE,
    V_UNDIVIDED,
    /* only for wake-ups */
    V_N,
    V_SUM,
    V_MEAN,
    V_P50,
    V_P90,
    V_P99,
    V_MAX,
    /* for domains: shares, and number and sum of complete intervals */
    V_STATE_SHARE,
    V_STATE_N = V_STATE_SHARE + STATES,
    V_STATE_SUM = V_STATE_N + STATES,
    V_VALUES = V_STATE_SUM + STATES,
};

static const struct result_column columns[V_VALUES] = {
    [V_RUN_SHARE] = {"run_share", "RUN%", RESULT_SHARE},
    [V_WAIT_SHARE] = {"wait_share", "WAIT%", RESULT_SHARE},
    [V_SLEEP_SHARE] = {"sleep_share", "SLEEP%", RESULT_SHARE},
    [V_UNKNOWN_SHARE] = {"unknown_share", "?%", RESULT_SHARE},
    [V_RUNS] = {"runs", "N", RESULT_COUNT},
    [V_WAKE_P50] = {"wake_p50", "WAKE-P50", RESULT_DURATION},
    [V_WAKE_P99] = {"wake_p99", "WAKE-P99", RESULT_DURATION},
    [V_WAKE_MAX] = {"wake_max", "WAKE-MAX", RESULT_DURATION},
    [V_PREEMPT_N] = {"preempt_n", "PREEMPT-N", RESULT_COUNT},
    [V_PREEMPT_SUM] = {"preempt_sum", "PREEMPT-SUM", RESULT_DURATION},
    [V_PREEMPT_MAX] = {"preempt_max", "PREEMPT-MAX", RESULT_DURATION},
    [V_MIGRATIONS] = {"migrations", "MIGR", RESULT_COUNT},
    [V_RUN] = {"run", NULL, RESULT_DURATION},
    [V_WAIT] = {"wait", NULL, RESULT_DURATION},
    [V_SLEEP] = {"sleep", NULL, RESULT_DURATION},
    [V_WAKE_N] = {"wake_n", NULL, RESULT_COUNT},
    [V_WAKE_SUM] = {"wake_sum", NULL, RESULT_DURATION},
    [V_RUN_N] = {"run_n", NULL, RESULT_COUNT},
    [V_RUN_SUM] = {"run_sum", NULL, RESULT_DURATION},
    [V_SLEEP_N] = {"sleep_n", NULL, RESULT_COUNT},
    [V_SLEEP_SUM] = {"sleep_sum", NULL, RESULT_DURATION},
    [V_OFFLINE] = {"offline", NULL, RESULT_DURATION},
    [V_COVERED] = {"covered", NULL, RESULT_DURATION},
    [V_BUSY_SHARE] = {"busy_share", "BUSY%", RESULT_SHARE},
    [V_INTERRUPT_SHARE] = {"interrupt_share", "IRQ%", RESULT_SHARE},
    [V_IDLE_SHARE] = {"idle_share", "IDLE%", RESULT_SHARE},
    [V_INTERRUPT] = {"interrupt", NULL, RESULT_DURATION},
    [V_IDLE] = {"idle", NULL, RESULT_DURATION},
    [V_CPU_SHARE] = {"cpu_share", "CPU%", RESULT_SHARE},
    [V_GUEST_SHARE] = {"guest_share", "GUEST%", RESULT_SHARE},
    [V_VMM_SHARE] = {"vmm_share", "VMM%", RESULT_SHARE},
    [V_STOLEN_SHARE] = {"stolen_share", "STOLEN%", RESULT_SHARE},
    [V_STOLEN_IDLE_SHARE] = {"stolen_idle_share", "ST-IDLE%", RESULT_SHARE},
    [V_HALTED_SHARE] = {"halted_share", "HALTED%", RESULT_SHARE},
    [V_GUEST] = {"guest", NULL, RESULT_DURATION},
    [V_VMM] = {"vmm", NULL, RESULT_DURATION},
    [V_STOLEN] = {"stolen", NULL, RESULT_DURATION},
    [V_STOLEN_IDLE] = {"stolen_idle", NULL, RESULT_DURATION},
    [V_STOLEN_UNKNOWN_SHARE] = {"stolen_unknown_share", "STOLEN?%", RESULT_SHARE},
    [V_STOLEN_UNKNOWN] = {"stolen_unknown", NULL, RESULT_DURATION},
    [V_UNDIVIDED_SHARE] = {"run_unknown_share", "RUN?%", RESULT_SHARE},
    [V_UNDIVIDED] = {"run_unknown", NULL, RESULT_DURATION},
    [V_N] = {"n", "N", RESULT_COUNT},
    [V_SUM] = {"sum", "SUM", RESULT_DURATION},
    [V_MEAN] = {"mean", "MEAN", RESULT_DURATION},
    [V_P50] = {"p50", "P50", RESULT_DURATION},
    [V_P90] = {"p90", "P90", RESULT_DURATION},
    [V_P99] = {"p99", "P99", RESULT_DURATION},
    [V_MAX] = {"max", "MAX", RESULT_DURATION},
    [V_STATE_SHARE + STATE_BLOCKED] = {"blocked_share", "BLOCKED%", RESULT_SHARE},
    [V_STATE_SHARE + STATE_PARTIAL_RUN] = {"partial_run_share", "PARTIAL%", RESULT_SHARE},
    [V_STATE_SHARE + STATE_FULL_RUN] = {"full_run_share", "FULL%", RESULT_SHARE},
    [V_STATE_SHARE +
        STATE_PARTIAL_CONTENTION] = {"partial_contention_share", "P-CONT%", RESULT_SHARE},
    [V_STATE_SHARE +
        STATE_CONCURRENCY_HAZARD] = {"concurrency_hazard_share", "HAZARD%", RESULT_SHARE},
    [V_STATE_SHARE + STATE_FULL_CONTENTION] = {"full_contention_share", "F-CONT%", RESULT_SHARE},
    [V_STATE_N + STATE_BLOCKED] = {"blocked_n", NULL, RESULT_COUNT},
    [V_STATE_N + STATE_PARTIAL_RUN] = {"partial_run_n", NULL, RESULT_COUNT},
    [V_STATE_N + STATE_FULL_RUN] = {"full_run_n", NULL, RESULT_COUNT},
    [V_STATE_N + STATE_PARTIAL_CONTENTION] = {"partial_contention_n", NULL, RESULT_COUNT},
    [V_STATE_N + STATE_CONCURRENCY_HAZARD] = {"concurrency_hazard_n", NULL, RESULT_COUNT},
    [V_STATE_N + STATE_FULL_CONTENTION] = {"full_contention_n", NULL, RESULT_COUNT},
    [V_STATE_SUM + STATE_BLOCKED] = {"blocked_sum", NULL, RESULT_DURATION},
    [V_STATE_SUM + STATE_PARTIAL_RUN] = {"partial_run_sum", NULL, RESULT_DURATION},
    [V_STATE_SUM + STATE_FULL_RUN] = {"full_run_sum", NULL, RESULT_DURATION},
    [V_STATE_SUM + STATE_PARTIAL_CONTENTION] = {"partial_contention_sum", NULL, RESULT_DURATION},
    [V_STATE_SUM + STATE_CONCURRENCY_HAZARD] = {"concurrency_hazard_sum", NULL, RESULT_DURATION},
    [V_STATE_SUM + STATE_FULL_CONTENTION] = {"full_contention_sum", NULL, RESULT_DURATION},
};

/* clang-format off */
static const uint8_t task_values[] = {
    V_RUN_SHARE, V_WAIT_SHARE, V_SLEEP_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_WAKE_P50, V_WAKE_P99, V_WAKE_MAX,
    V_PREEMPT_N, V_PREEMPT_SUM, V_PREEMPT_MAX, V_MIGRATIONS, V_RUN, V_WAIT, V_SLEEP, V_RUN_N, V_RUN_SUM,
    V_WAKE_N, V_WAKE_SUM, V_SLEEP_N, V_SLEEP_SUM, V_OFFLINE, V_COVERED, V_END};
static const uint8_t vcpu_values[] = {
    V_RUN_SHARE, V_WAIT_SHARE, V_SLEEP_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_WAKE_P50, V_WAKE_P99, V_WAKE_MAX,
    V_PREEMPT_N, V_PREEMPT_SUM, V_PREEMPT_MAX, V_MIGRATIONS, V_RUN, V_WAIT, V_SLEEP, V_RUN_N, V_RUN_SUM,
    V_WAKE_N, V_WAKE_SUM, V_SLEEP_N, V_SLEEP_SUM,
    V_GUEST_SHARE, V_VMM_SHARE, V_UNDIVIDED_SHARE, V_STOLEN_SHARE, V_STOLEN_IDLE_SHARE, V_STOLEN_UNKNOWN_SHARE,
    V_HALTED_SHARE, V_GUEST, V_VMM, V_UNDIVIDED, V_STOLEN, V_STOLEN_IDLE, V_STOLEN_UNKNOWN, V_OFFLINE, V_COVERED, V_END};
static const uint8_t cpu_values[] = {
    V_BUSY_SHARE, V_INTERRUPT_SHARE, V_IDLE_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_RUN, V_INTERRUPT, V_IDLE,
    V_COVERED, V_END};
static const uint8_t domain_values[] = {
    V_CPU_SHARE, V_RUN_SHARE, V_WAIT_SHARE, V_SLEEP_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_WAKE_P50, V_WAKE_P99,
    V_WAKE_MAX, V_PREEMPT_N, V_PREEMPT_SUM, V_PREEMPT_MAX, V_RUN, V_WAIT, V_SLEEP, V_WAKE_N, V_WAKE_SUM,
    V_OFFLINE, V_COVERED, V_END};
static const uint8_t xenalyze_values[] = {
    V_STATE_SHARE + STATE_BLOCKED, V_STATE_SHARE + STATE_PARTIAL_RUN, V_STATE_SHARE + STATE_FULL_RUN,
    V_STATE_SHARE + STATE_PARTIAL_CONTENTION, V_STATE_SHARE + STATE_CONCURRENCY_HAZARD,
    V_STATE_SHARE + STATE_FULL_CONTENTION,
    V_STATE_N + STATE_BLOCKED, V_STATE_N + STATE_PARTIAL_RUN, V_STATE_N + STATE_FULL_RUN,
    V_STATE_N + STATE_PARTIAL_CONTENTION, V_STATE_N + STATE_CONCURRENCY_HAZARD,
    V_STATE_N + STATE_FULL_CONTENTION,
    V_STATE_SUM + STATE_BLOCKED, V_STATE_SUM + STATE_PARTIAL_RUN, V_STATE_SUM + STATE_FULL_RUN,
    V_STATE_SUM + STATE_PARTIAL_CONTENTION, V_STATE_SUM + STATE_CONCURRENCY_HAZARD,
    V_STATE_SUM + STATE_FULL_CONTENTION, V_OFFLINE, V_COVERED, V_END};
static const uint8_t wakeup_values[] = {V_N, V_SUM, V_MEAN, V_P50, V_P90, V_P99, V_MAX, V_END};
static const uint8_t who_values[] = {V_N, V_SUM, V_MAX, V_END};
static const uint8_t waker_values[] = {V_N, V_SUM, V_MEAN, V_P50, V_P99, V_MAX, V_END};
/* clang-format on */

static const uint8_t *values_of(const struct sched_options *options)
{
    switch (options->view) {
    case SCHED_WAKEUPS: return wakeup_values;
    case SCHED_WHO: return who_values;
    case SCHED_WAKERS: return waker_values;
    case SCHED_TIMES:
    case SCHED_STATES: break;
    }
    switch (options->by) {
    case SCHED_BY_TASK: break;
    case SCHED_BY_VCPU:
    case SCHED_BY_VM: return vcpu_values;
    case SCHED_BY_CPU: return cpu_values;
    case SCHED_BY_DOMAIN: return options->xenalyze_names ? xenalyze_values : domain_values;
    }
    return task_values;
}

void sched_add_columns(struct analysis *analysis, struct result *result)
{
    struct sched *sched = container_of(analysis, struct sched, analysis);
    const struct sched_options *options = &sched->options;

    if (options->view == SCHED_WAKERS)
        result_add_key(result, "waker", "WAKER", false);
    switch (options->by) {
    case SCHED_BY_TASK: result_add_key(result, "task", "TASK", false); break;
    case SCHED_BY_VCPU: result_add_key(result, "vcpu", "VCPU", false); break;
    case SCHED_BY_VM: result_add_key(result, "vm", "VM", false); break;
    case SCHED_BY_CPU: result_add_key(result, "cpu", "CPU", true); break;
    case SCHED_BY_DOMAIN: result_add_key(result, "domain", "DOMAIN", false); break;
    }
    if (options->by == SCHED_BY_TASK && !options->no_pids)
        result_add_key(result, "pid", "PID", true);
    if (options->view == SCHED_WHO)
        result_add_key(result, "by", "BY", false);
    result_add_key(result, "layer", "LAYER", false);
    if (options->view == SCHED_STATES) {
        result_add_key(result, "state", "STATE", false);
        result_add_duration_columns(result, &analysis->settings.percentiles,
                                    &sched->states_columns);
        return;
    }
    for (const uint8_t *value = values_of(options); *value != V_END; value++)
        result_add_column(result, columns[*value].name, columns[*value].title,
                          columns[*value].kind);
}

/* ---- values ---- */

static int64_t run_time(const struct sched_row *row)
{
    return row->in[STATE_RUNNING].time;
}

static int64_t wait_time(const struct sched_row *row)
{
    return ticks_sum(ticks_sum(row->in[STATE_RUNNABLE].time, row->in[STATE_WOKEN].time),
                     row->in[STATE_PREEMPTED].time);
}

static int64_t sleep_time(const struct sched_row *row)
{
    return ticks_sum(row->in[STATE_SLEEPING].time, row->in[STATE_UNINTERRUPTIBLE].time);
}

/* The ticks in which it could have run while the state of its guest's CPU is unknown. */
static int64_t stolen_unknown(const struct sched_measured *m)
{
    return ticks_between(ticks_sum(m->parts[STEAL_STOLEN], m->parts[STEAL_STOLEN_IDLE]),
                         wait_time(m->row));
}

/* The ticks in which its state is unknown. */
static double unknown_time(const struct sched_measured *m)
{
    const struct sched_row *row = m->row;
    double known = (double)run_time(row) + (double)wait_time(row) + (double)sleep_time(row) +
                   (double)row->in[STATE_IDLE].time + (double)row->in[STATE_INTERRUPT].time;

    return MAX(0.0, m->duration - known);
}

static double share_of(const struct sched_measured *m, enum value value)
{
    const struct sched_row *row = m->row;

    switch (value) {
    case V_BUSY_SHARE:
    case V_RUN_SHARE: return (double)run_time(row) / m->duration;
    case V_WAIT_SHARE: return (double)wait_time(row) / m->duration;
    case V_SLEEP_SHARE: return (double)sleep_time(row) / m->duration;
    case V_IDLE_SHARE: return (double)row->in[STATE_IDLE].time / m->duration;
    case V_INTERRUPT_SHARE: return (double)row->in[STATE_INTERRUPT].time / m->duration;
    case V_UNKNOWN_SHARE: return unknown_time(m) / m->duration;
    case V_CPU_SHARE: return (double)run_time(row) / m->cpu_time;
    case V_GUEST_SHARE:
    case V_VMM_SHARE:
    case V_STOLEN_SHARE:
    case V_STOLEN_IDLE_SHARE:
    case V_HALTED_SHARE:
        return (double)m->parts[STEAL_GUEST + (value - V_GUEST_SHARE)] / m->duration;
    case V_STOLEN_UNKNOWN_SHARE: return (double)stolen_unknown(m) / m->duration;
    case V_UNDIVIDED_SHARE: return (double)row->undivided / m->duration;
    default: return (double)row->in[value - V_STATE_SHARE].time / m->duration;
    }
}

static int64_t count_of(const struct sched_row *row, enum value value)
{
    switch (value) {
    case V_RUNS: return (int64_t)row->runs;
    case V_PREEMPT_N: return (int64_t)row->preempt_n;
    case V_MIGRATIONS: return (int64_t)row->migrations;
    case V_RUN_N: return (int64_t)row->in[STATE_RUNNING].n;
    case V_SLEEP_N: return (int64_t)(row->in[STATE_SLEEPING].n + row->in[STATE_UNINTERRUPTIBLE].n);
    case V_N:
    case V_WAKE_N: return row->wakes ? (int64_t)row->wakes->n : 0;
    default: return (int64_t)row->in[value - V_STATE_N].n;
    }
}

/* False if it has none. */
static bool duration_of(const struct sched_measured *m, enum value value, int64_t *ret)
{
    const struct sched_row *row = m->row;
    const struct histogram *wakes = row->wakes && row->wakes->n > 0 ? row->wakes : NULL;

    switch (value) {
    case V_RUN: *ret = run_time(row); return true;
    case V_WAIT: *ret = wait_time(row); return true;
    case V_SLEEP: *ret = sleep_time(row); return true;
    case V_RUN_SUM: *ret = row->in[STATE_RUNNING].sum; return true;
    case V_SLEEP_SUM:
        *ret = row->in[STATE_SLEEPING].sum + row->in[STATE_UNINTERRUPTIBLE].sum;
        return true;
    case V_IDLE: *ret = row->in[STATE_IDLE].time; return true;
    case V_OFFLINE: *ret = row->in[STATE_OFFLINE].time; return row->of != STATE_SUBJECT_THREAD;
    case V_COVERED: *ret = (int64_t)m->duration; return m->duration > 0;
    case V_INTERRUPT: *ret = row->in[STATE_INTERRUPT].time; return true;
    case V_PREEMPT_SUM: *ret = row->preempt_sum; return row->preempt_n > 0;
    case V_PREEMPT_MAX: *ret = row->preempt_max; return row->preempt_n > 0;
    case V_GUEST:
    case V_VMM:
    case V_STOLEN:
    case V_STOLEN_IDLE: *ret = m->parts[STEAL_GUEST + (value - V_GUEST)]; return true;
    case V_STOLEN_UNKNOWN: *ret = stolen_unknown(m); return true;
    case V_UNDIVIDED: *ret = row->undivided; return true;
    case V_WAKE_P50:
    case V_P50: *ret = wakes ? (int64_t)histogram_quantile(wakes, 500) : 0; return wakes;
    case V_P90: *ret = wakes ? (int64_t)histogram_quantile(wakes, 900) : 0; return wakes;
    case V_WAKE_P99:
    case V_P99: *ret = wakes ? (int64_t)histogram_quantile(wakes, 990) : 0; return wakes;
    case V_WAKE_MAX:
    case V_MAX: *ret = wakes ? (int64_t)wakes->max : 0; return wakes;
    case V_WAKE_SUM:
    case V_SUM: *ret = row->wake_sum; return wakes;
    case V_MEAN: *ret = wakes ? row->wake_sum / (int64_t)wakes->n : 0; return wakes;
    default: *ret = row->in[value - V_STATE_SUM].sum; return true;
    }
}

static bool has_value(const struct sched_measured *m, enum value value)
{
    switch (value) {
    case V_GUEST_SHARE:
    case V_GUEST: return m->parts;
    /* Without entries and exits, the VMM's time is in the guest's. */
    case V_VMM_SHARE:
    case V_VMM:
    case V_UNDIVIDED_SHARE:
    case V_UNDIVIDED: return m->parts && m->row->enters;
    case V_STOLEN_SHARE:
    case V_STOLEN_IDLE_SHARE:
    case V_HALTED_SHARE:
    case V_STOLEN:
    case V_STOLEN_IDLE:
    case V_STOLEN_UNKNOWN_SHARE:
    case V_STOLEN_UNKNOWN: return m->has_all_parts;
    default: return true;
    }
}

/* How long ROW was in the state or states of VALUE. -1 if VALUE is not about states. */
static int64_t state_time(const struct sched_row *row, enum value value)
{
    switch (value) {
    case V_RUN:
    case V_BUSY_SHARE:
    case V_CPU_SHARE:
    case V_RUN_SHARE: return run_time(row);
    case V_WAIT:
    case V_WAIT_SHARE: return wait_time(row);
    case V_SLEEP:
    case V_SLEEP_SHARE: return sleep_time(row);
    case V_IDLE:
    case V_IDLE_SHARE: return row->in[STATE_IDLE].time;
    case V_INTERRUPT:
    case V_INTERRUPT_SHARE: return row->in[STATE_INTERRUPT].time;
    default: return -1;
    }
}

/* True if it was never seen in the state of VALUE, but its state was not always known. */
static bool is_unknown(const struct sched_measured *m, enum value value)
{
    if ((value == V_INTERRUPT || value == V_INTERRUPT_SHARE) && !m->has_interrupts)
        return true;
    return state_time(m->row, value) == 0 && unknown_time(m) > 0;
}

void sched_set_values(struct result_row *to, const struct sched_measured *m)
{
    const uint8_t *values = values_of(&m->sched->options);

    for (unsigned i = 0; values[i] != V_END; i++) {
        enum value value = (enum value)values[i];
        int64_t duration;

        if (!has_value(m, value))
            continue;
        if (is_unknown(m, value)) {
            result_set_unknown(to, i);
            continue;
        }
        if (columns[value].kind == RESULT_SHARE) {
            if (m->duration > 0)
                result_set_real(to, i, share_of(m, value));
        } else if (columns[value].kind == RESULT_COUNT) {
            result_set_number(to, i, count_of(m->row, value));
        } else if (duration_of(m, value, &duration)) {
            result_set_number(to, i, duration);
        }
    }
}
