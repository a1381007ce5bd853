/* SPDX-License-Identifier: MIT */

/* What was found of scheduling, as rows. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/sched.h"
#include "analysis/sched_row.h"
#include "base/macro.h"
#include "base/text.h"

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
    /* of wake-ups alone */
    V_N,
    V_SUM,
    V_MEAN,
    V_P50,
    V_P90,
    V_P99,
    V_MAX,
    /* of domains: shares, and number and sum of complete intervals */
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
    [V_WAKE_P99] = {"wake_p99", "P99", RESULT_DURATION},
    [V_WAKE_MAX] = {"wake_max", "MAX", RESULT_DURATION},
    [V_PREEMPT_N] = {"preempt_n", "PREEMPT-N", RESULT_COUNT},
    [V_PREEMPT_SUM] = {"preempt_sum", "SUM", RESULT_DURATION},
    [V_PREEMPT_MAX] = {"preempt_max", "MAX", RESULT_DURATION},
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
    V_WAKE_N, V_WAKE_SUM, V_SLEEP_N, V_SLEEP_SUM, V_END};
static const uint8_t vcpu_values[] = {
    V_RUN_SHARE, V_WAIT_SHARE, V_SLEEP_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_WAKE_P50, V_WAKE_P99, V_WAKE_MAX,
    V_PREEMPT_N, V_PREEMPT_SUM, V_PREEMPT_MAX, V_MIGRATIONS, V_RUN, V_WAIT, V_SLEEP, V_RUN_N, V_RUN_SUM,
    V_WAKE_N, V_WAKE_SUM, V_SLEEP_N, V_SLEEP_SUM,
    V_GUEST_SHARE, V_VMM_SHARE, V_STOLEN_SHARE, V_STOLEN_IDLE_SHARE, V_STOLEN_UNKNOWN_SHARE, V_HALTED_SHARE,
    V_GUEST, V_VMM, V_STOLEN, V_STOLEN_IDLE, V_STOLEN_UNKNOWN, V_END};
static const uint8_t cpu_values[] = {
    V_BUSY_SHARE, V_INTERRUPT_SHARE, V_IDLE_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_RUN, V_INTERRUPT, V_IDLE,
    V_END};
static const uint8_t domain_values[] = {
    V_CPU_SHARE, V_RUN_SHARE, V_WAIT_SHARE, V_SLEEP_SHARE, V_UNKNOWN_SHARE, V_RUNS, V_WAKE_P50, V_WAKE_P99,
    V_WAKE_MAX, V_PREEMPT_N, V_PREEMPT_SUM, V_PREEMPT_MAX, V_RUN, V_WAIT, V_SLEEP, V_WAKE_N, V_WAKE_SUM,
    V_END};
static const uint8_t xenalyze_values[] = {
    V_STATE_SHARE + STATE_BLOCKED, V_STATE_SHARE + STATE_PARTIAL_RUN, V_STATE_SHARE + STATE_FULL_RUN,
    V_STATE_SHARE + STATE_PARTIAL_CONTENTION, V_STATE_SHARE + STATE_CONCURRENCY_HAZARD,
    V_STATE_SHARE + STATE_FULL_CONTENTION,
    V_STATE_N + STATE_BLOCKED, V_STATE_N + STATE_PARTIAL_RUN, V_STATE_N + STATE_FULL_RUN,
    V_STATE_N + STATE_PARTIAL_CONTENTION, V_STATE_N + STATE_CONCURRENCY_HAZARD,
    V_STATE_N + STATE_FULL_CONTENTION,
    V_STATE_SUM + STATE_BLOCKED, V_STATE_SUM + STATE_PARTIAL_RUN, V_STATE_SUM + STATE_FULL_RUN,
    V_STATE_SUM + STATE_PARTIAL_CONTENTION, V_STATE_SUM + STATE_CONCURRENCY_HAZARD,
    V_STATE_SUM + STATE_FULL_CONTENTION, V_END};
static const uint8_t wakeup_values[] = {V_N, V_SUM, V_MEAN, V_P50, V_P90, V_P99, V_MAX, V_END};
static const uint8_t who_values[] = {V_N, V_SUM, V_MAX, V_END};
static const uint8_t waker_values[] = {V_N, V_SUM, V_MEAN, V_P50, V_P99, V_MAX, V_END};
/* clang-format on */

static struct sched *get_sched(struct analysis *analysis)
{
    return container_of(analysis, struct sched, analysis);
}

static const uint8_t *values_of(const struct sched_options *options)
{
    switch (options->view) {
    case SCHED_WAKEUPS: return wakeup_values;
    case SCHED_WHO: return who_values;
    case SCHED_WAKERS: return waker_values;
    case SCHED_TIMES: break;
    }
    switch (options->by) {
    case SCHED_BY_TASK: break;
    case SCHED_BY_VCPU: return vcpu_values;
    case SCHED_BY_CPU: return cpu_values;
    case SCHED_BY_DOMAIN: return options->xenalyze_names ? xenalyze_values : domain_values;
    }
    return task_values;
}

void sched_add_columns(struct analysis *analysis, struct result *result)
{
    const struct sched_options *options = &get_sched(analysis)->options;

    if (options->view == SCHED_WAKERS)
        result_add_key(result, "waker", "WAKER", false);
    switch (options->by) {
    case SCHED_BY_TASK: result_add_key(result, "task", "TASK", false); break;
    case SCHED_BY_VCPU: result_add_key(result, "vcpu", "VCPU", false); break;
    case SCHED_BY_CPU: result_add_key(result, "cpu", "CPU", true); break;
    case SCHED_BY_DOMAIN: result_add_key(result, "domain", "DOMAIN", false); break;
    }
    if (options->by == SCHED_BY_TASK)
        result_add_key(result, "pid", "PID", true);
    if (options->view == SCHED_WHO)
        result_add_key(result, "by", "BY", false);
    result_add_key(result, "layer", "LAYER", false);
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
    return row->in[STATE_RUNNABLE].time + row->in[STATE_WOKEN].time + row->in[STATE_PREEMPTED].time;
}

static int64_t sleep_time(const struct sched_row *row)
{
    return row->in[STATE_SLEEPING].time + row->in[STATE_UNINTERRUPTIBLE].time +
           row->in[STATE_OFFLINE].time;
}

/* A row, with what its values are shares of. */
struct measured {
    const struct sched *sched;
    const struct sched_row *row;
    double duration; /* of the trace, in ticks, times the number of vCPUs */
    double cpu_time; /* of all CPUs */
    /* What became of a vCPU's time: all of it, where the guest and the host are in the trace; NULL: nothing tells. */
    const int64_t *parts;
    bool has_all_parts;
};

/* It could have run, and what its guest's CPU did is not known. */
static int64_t stolen_unknown(const struct measured *m)
{
    return wait_time(m->row) - m->parts[STEAL_STOLEN] - m->parts[STEAL_STOLEN_IDLE];
}

static double share_of(const struct measured *m, enum value value)
{
    const struct sched_row *row = m->row;

    switch (value) {
    case V_BUSY_SHARE:
    case V_RUN_SHARE: return (double)run_time(row) / m->duration;
    case V_WAIT_SHARE: return (double)wait_time(row) / m->duration;
    case V_SLEEP_SHARE: return (double)sleep_time(row) / m->duration;
    case V_IDLE_SHARE: return (double)row->in[STATE_IDLE].time / m->duration;
    case V_INTERRUPT_SHARE: return (double)row->in[STATE_INTERRUPT].time / m->duration;
    case V_UNKNOWN_SHARE: {
        int64_t known = run_time(row) + wait_time(row) + sleep_time(row) +
                        row->in[STATE_IDLE].time + row->in[STATE_INTERRUPT].time;

        return MAX(0.0, 1 - (double)known / m->duration);
    }
    case V_CPU_SHARE: return (double)run_time(row) / m->cpu_time;
    case V_GUEST_SHARE:
    case V_VMM_SHARE:
    case V_STOLEN_SHARE:
    case V_STOLEN_IDLE_SHARE:
    case V_HALTED_SHARE:
        return (double)m->parts[STEAL_GUEST + (value - V_GUEST_SHARE)] / m->duration;
    case V_STOLEN_UNKNOWN_SHARE: return (double)stolen_unknown(m) / m->duration;
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

/* False: it has none. */
static bool duration_of(const struct measured *m, enum value value, int64_t *ret)
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
    case V_INTERRUPT: *ret = row->in[STATE_INTERRUPT].time; return true;
    case V_PREEMPT_SUM: *ret = row->preempt_sum; return row->preempt_n > 0;
    case V_PREEMPT_MAX: *ret = row->preempt_max; return row->preempt_n > 0;
    case V_GUEST:
    case V_VMM:
    case V_STOLEN:
    case V_STOLEN_IDLE: *ret = m->parts[STEAL_GUEST + (value - V_GUEST)]; return true;
    case V_STOLEN_UNKNOWN: *ret = stolen_unknown(m); return true;
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

static bool has_value(const struct measured *m, enum value value)
{
    switch (value) {
    case V_GUEST_SHARE:
    case V_VMM_SHARE:
    case V_GUEST:
    case V_VMM: return m->parts;
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

static void set_values(struct result_row *to, const struct measured *m)
{
    const uint8_t *values = values_of(&m->sched->options);

    for (unsigned i = 0; values[i] != V_END; i++) {
        enum value value = (enum value)values[i];
        int64_t duration;

        if (!has_value(m, value))
            continue;
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

/* ---- keys ---- */

static void put_vcpu(const struct sched_row *row, struct text *text)
{
    int32_t vcpu = row->of == STATE_OF_VCPU ? row->id : row->vcpu;

    if (row->origin->put_vcpu && row->of == STATE_OF_VCPU)
        row->origin->put_vcpu(row->origin, vcpu, text);
    else
        text_put_i64(text, vcpu);
}

static int set_key_text(struct result *result, struct result_row *to, unsigned key,
                        struct text *text)
{
    text_put_char(text, '\0');
    return text->error ? -ENOMEM : result_set_key(result, to, key, text->start);
}

/* What ROW is called, from key FIRST on; the layer is the last key. */
static int set_keys(const struct sched *sched, struct result *result, struct result_row *to,
                    unsigned first, const struct sched_row *row)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    bool is_vcpu = row->of == STATE_OF_VCPU;
    int r;

    if (row->is_others)
        return result_set_key(result, to, first, "(others)");
    switch (sched->options.by) {
    case SCHED_BY_TASK:
        if (is_vcpu)
            put_vcpu(row, &text);
        else
            text_put_str(&text, sched_row_name(row));
        break;
    case SCHED_BY_VCPU: put_vcpu(row, &text); break;
    case SCHED_BY_CPU: text_put_i64(&text, row->id); break;
    case SCHED_BY_DOMAIN:
        text_printf(&text, "d%" PRId32, is_vcpu ? (int32_t)((uint32_t)row->id >> 16) : row->id);
        break;
    }
    r = set_key_text(result, to, first, &text);
    if (r == 0 && sched->options.by == SCHED_BY_TASK && !is_vcpu) {
        char pid[16];

        snprintf(pid, sizeof pid, "%" PRId32, row->id);
        r = result_set_key(result, to, first + 1, pid);
        result_set_key_number(to, first + 1, row->id);
    }
    if (r == 0)
        r = result_set_key(result, to, result->n_keys - 1, layer_name(row->origin->layer));
    return r;
}

/* ---- rows ---- */

static int add_row(const struct sched *sched, struct result *result, const struct sched_row *row,
                   double vcpus)
{
    int64_t parts[STEAL_PARTS] = {0};
    struct measured m = {.sched = sched, .row = row};
    struct result_row *to = result_add_row(result);

    if (!to)
        return -ENOMEM;
    m.duration = (double)states_duration(sched->states, row->origin) * vcpus;
    m.cpu_time = (double)states_duration(sched->states, row->origin);
    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;

        (void)states_counts(sched->states, i, &origin);
        if (origin == row->origin)
            m.cpu_time *= MAX(1u, states_cpus_seen(sched->states, i));
    }
    if (sched->options.by == SCHED_BY_VCPU && row->of == STATE_OF_THREAD)
        m.parts = steal_times((struct steal *)&sched->steal, row->vcpu);
    m.has_all_parts = m.parts;
    if (!m.parts && row->inside + row->outside > 0) {
        parts[STEAL_GUEST] = row->inside;
        parts[STEAL_VMM] = row->outside;
        m.parts = parts;
    }
    set_values(to, &m);
    to->durations = row->wakes;
    return set_keys(sched, result, to, 0, row);
}

/* The sum of the vCPUs of each domain. */
static int add_domains(struct sched *sched, struct result *result)
{
    for (unsigned i = 0; i < sched->n_rows; i++) {
        const struct sched_row *first = sched->rows[i];
        struct sched_row sum = *first;
        struct histogram wakes = {0};
        unsigned n = 0;
        int r = 0;

        if (first->of != STATE_OF_VCPU || first->is_others)
            continue;
        for (unsigned j = 0; j < i && n == 0; j++)
            n = sched->rows[j]->of == STATE_OF_VCPU && sched->rows[j]->origin == first->origin &&
                sched->rows[j]->id >> 16 == first->id >> 16;
        if (n > 0 || !sched_row_is_shown(sched, first))
            continue;
        memset(sum.in, 0, sizeof sum.in);
        sum.runs = sum.preempt_n = 0;
        sum.wake_sum = sum.preempt_sum = sum.preempt_max = 0;
        for (unsigned j = i; j < sched->n_rows && r == 0; j++) {
            const struct sched_row *row = sched->rows[j];

            if (row->of != STATE_OF_VCPU || row->origin != first->origin ||
                row->id >> 16 != first->id >> 16)
                continue;
            n++;
            for (unsigned k = 0; k < STATES; k++)
                sum.in[k].time += row->in[k].time;
            sum.runs += row->runs;
            sum.wake_sum += row->wake_sum;
            sum.preempt_n += row->preempt_n;
            sum.preempt_sum += row->preempt_sum;
            sum.preempt_max = MAX(sum.preempt_max, row->preempt_max);
            if (row->wakes)
                r = histogram_merge(&wakes, row->wakes);
        }
        sum.wakes = &wakes;
        if (r == 0)
            r = add_row(sched, result, &sum, n);
        if (r == 0)
            result->rows[result->n_rows - 1]->durations = NULL;
        histogram_done(&wakes);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Without the switches of its source, nothing is known of a thread; nor is anything of one that was never on the
 * CPUs that are asked for. */
static bool is_known(const struct sched *sched, const struct sched_row *row)
{
    if (!states_has_switches(sched->states, row->origin))
        return false;
    for (unsigned i = 0; sched->options.cpus.n > 0 && i < STATES; i++)
        if (row->in[i].time > 0 || row->in[i].n > 0)
            return true;
    return sched->options.cpus.n == 0 || row->runs > 0;
}

static int add_times(struct sched *sched, struct result *result)
{
    bool by_domain = sched->options.by == SCHED_BY_DOMAIN && !sched->options.xenalyze_names;

    if (by_domain)
        return add_domains(sched, result);
    for (unsigned i = 0; i < sched->n_rows; i++) {
        const struct sched_row *row = sched->rows[i];

        if ((sched->options.by == SCHED_BY_DOMAIN && row->of != STATE_OF_DOMAIN) ||
            (sched->options.view == SCHED_WAKEUPS && (!row->wakes || row->wakes->n == 0)) ||
            !sched_row_is_shown(sched, row) || !is_known(sched, row))
            continue;
        if (add_row(sched, result, row, 1) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* What thread, or vCPU, ID of the source of ROW is called. */
static int set_other(const struct sched *sched, struct result *result, struct result_row *to,
                     unsigned key, const struct sched_row *row, int32_t id)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    const struct sched_row *other = sched_find_row(sched, row->of, row->origin, id);

    if (row->of == STATE_OF_VCPU && row->origin->put_vcpu && id >= 0)
        row->origin->put_vcpu(row->origin, id, &text);
    else if (row->of == STATE_OF_THREAD && id == 0)
        text_put_literal(&text, "<idle>");
    else if (other && !other->is_others)
        text_printf(&text, "%s-%" PRId32, sched_row_name(other), id);
    else if (id >= 0)
        text_printf(&text, "%" PRId32, id);
    else
        text_put_literal(&text, "<unknown>");
    return set_key_text(result, to, key, &text);
}

static int add_who(struct sched *sched, struct result *result)
{
    static const char *const names[] = {"<idle>", "<interrupt>", "<unknown>", "<others>"};

    for (unsigned i = 0; i < sched->who.n; i++) {
        const struct who_pair *pair = sched->who.list[i];
        const struct sched_row *row = pair->victim;
        struct result_row *to;
        int r = 0;

        if (row && !sched_row_is_shown(sched, row))
            continue;
        to = result_add_row(result);
        if (!to)
            return -ENOMEM;
        result_set_number(to, 0, (int64_t)pair->n);
        result_set_number(to, 1, pair->sum);
        result_set_number(to, 2, pair->max);
        if (row)
            r = set_keys(sched, result, to, 0, row);
        if (r == 0 && pair->by < 0)
            r = result_set_key(result, to, result->n_keys - 2, names[-pair->by - 1]);
        else if (r == 0)
            r = set_other(sched, result, to, result->n_keys - 2, row, pair->by);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_wakers(struct sched *sched, struct result *result)
{
    for (const struct sched_waker *waker = sched->first_waker; waker; waker = waker->next) {
        const struct histogram *wakes = &waker->wakes;
        struct result_row *to;
        int r;

        if (!sched_row_is_shown(sched, waker->row) || wakes->n == 0)
            continue;
        to = result_add_row(result);
        if (!to)
            return -ENOMEM;
        result_set_number(to, 0, (int64_t)wakes->n);
        result_set_number(to, 1, waker->sum);
        result_set_number(to, 2, waker->sum / (int64_t)wakes->n);
        result_set_number(to, 3, (int64_t)histogram_quantile(wakes, 500));
        result_set_number(to, 4, (int64_t)histogram_quantile(wakes, 990));
        result_set_number(to, 5, (int64_t)wakes->max);
        to->durations = wakes;
        r = waker->by == STATE_BY_INTERRUPT
                ? result_set_key(result, to, 0, "<interrupt>")
                : set_other(sched, result, to, 0, waker->row, waker->by);
        if (r == 0)
            r = set_keys(sched, result, to, 1, waker->row);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The row of RESULT that shows ROW; NULL: none does. */
static const struct result_row *shown_as(const struct sched *sched, const struct result *result,
                                         const struct sched_row *row)
{
    if (sched->options.view != SCHED_TIMES && sched->options.view != SCHED_WAKEUPS)
        return NULL;
    for (unsigned i = 0; i < result->n_rows; i++)
        if (result->rows[i]->durations == row->wakes && row->wakes)
            return result->rows[i];
    return NULL;
}

static int add_slowest(const struct sched *sched, struct result *result)
{
    for (unsigned i = 0; i < sched->n_slowest; i++) {
        struct result_slow slow = sched->slowest[i];

        slow.row = shown_as(sched, result, sched->slowest_rows[i]);
        if (slow.row && result_add_slow(result, &slow) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- what is not in the rows ---- */

static int add_contradictions(const struct sched *sched, struct result *result)
{
    struct result_contradictions *all = &result->contradictions;
    uint64_t missing_wakes = 0;

    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;
        const struct state_counts *counts = states_counts(sched->states, i, &origin);

        all->n += counts->contradictions;
        all->n_checked += counts->switches;
        missing_wakes += counts->missing_wakes;
        result->unpaired[SPAN_NO_BEGIN] += counts->no_begin;
        result->unpaired[SPAN_OPEN] += counts->open;
        result->unpaired[SPAN_LOST] += counts->lost;
        result->unpaired[SPAN_GONE] += counts->gone;
        result->unpaired[SPAN_CONTRADICTED] += counts->contradicted;
        result->unpaired[SPAN_GIVEN_UP] += counts->given_up;
        for (unsigned cpu = 0; cpu < states_cpus(sched->states, i); cpu++) {
            uint64_t n = states_cpu_contradictions(sched->states, i, cpu);
            unsigned at = 0;

            if (n == 0)
                continue;
            while (at < all->n_cpus && all->by_cpu[at].cpu != (int32_t)cpu)
                at++;
            if (at == all->n_cpus) {
                void *more = arena_alloc(&result->arena, (at + 1) * sizeof *all->by_cpu);

                if (!more)
                    return -ENOMEM;
                if (at > 0)
                    memcpy(more, all->by_cpu, at * sizeof *all->by_cpu);
                all->by_cpu = more;
                all->by_cpu[at].cpu = (int32_t)cpu;
                all->by_cpu[at].n = 0;
                all->n_cpus++;
            }
            all->by_cpu[at].n += n;
        }
    }
    return missing_wakes == 0
               ? 0
               : result_add_note(result,
                                 "%" PRIu64
                                 " times a thread ran after it slept and was not woken in "
                                 "the trace: its sleep and its wait are unknown",
                                 missing_wakes);
}

/* The text has no columns without a value. */
static void hide_empty(struct result *result)
{
    for (unsigned i = 0; i < result->n_columns; i++) {
        bool has = result->n_rows == 0;

        for (unsigned j = 0; j < result->n_rows && !has; j++)
            has = result_has(result->rows[j], i);
        if (!has)
            result->columns[i].title = NULL;
    }
}

/* What a kernel's source lacks, and how it is recorded. */
static int add_notes(const struct sched *sched, struct result *result)
{
    unsigned events = 0;
    bool has_kernel = false, has_guest = false, has_host = false, has_xen = false;

    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;
        unsigned has = states_events(sched->states, i);

        (void)states_counts(sched->states, i, &origin);
        if (!(has & STATE_EVENT_SWITCH))
            continue;
        events |= has;
        has_xen |= origin->layer == LAYER_HYPERVISOR;
        has_kernel |= origin->layer != LAYER_HYPERVISOR;
        has_guest |= origin->layer == LAYER_GUEST;
        has_host |= origin->layer == LAYER_HOST;
    }
    if (has_kernel && !(events & (STATE_EVENT_WAKE | STATE_EVENT_WAKE_NEW)) &&
        result_add_note(result, "there are no wake-ups in the trace, so that the waits after sleep "
                                "count as sleep; record sched_waking, too: --host='sched:*'") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_CPU && has_kernel && !(events & STATE_EVENT_INTERRUPT) &&
        result_add_note(result, "there are no interrupts in the trace, so that they count as busy "
                                "or idle; record them, too: --host='sched:*,irq:*'") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_VCPU && sched->options.view == SCHED_TIMES && !has_xen &&
        !(has_guest && has_host) &&
        result_add_note(result, "stolen time needs sched_switch of the host and of the guest; "
                                "record both: strata record --guest --host -- qemu-system-…") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_VCPU && result->n_rows == 0 && has_host &&
        result_add_note(result, "no thread of the host is known to run one vCPU and no other; QEMU "
                                "has one thread for each with KVM, and with -accel "
                                "tcg,thread=multi") < 0)
        return -ENOMEM;
    if (sched->options.cpus.n > 0 && result->n_rows == 0 && events &&
        result_add_note(result, "nothing ran on these CPUs or waited for them") < 0)
        return -ENOMEM;
    if (sched->options.by == SCHED_BY_DOMAIN && !has_xen &&
        result_add_note(result, "domains are Xen's; record them: strata record --xen -e sched") < 0)
        return -ENOMEM;
    return 0;
}

int sched_add_rows(struct analysis *analysis, struct result *result)
{
    struct sched *sched = get_sched(analysis);
    int r;

    switch (sched->options.view) {
    case SCHED_WHO: r = add_who(sched, result); break;
    case SCHED_WAKERS: r = add_wakers(sched, result); break;
    default: r = add_times(sched, result); break;
    }
    if (sched->options.by == SCHED_BY_VCPU)
        hide_empty(result);
    if (r == 0)
        r = add_slowest(sched, result);
    if (r == 0)
        r = add_contradictions(sched, result);
    return r < 0 ? r : add_notes(sched, result);
}
