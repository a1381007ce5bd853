/* SPDX-License-Identifier: MIT */

/* For each thread, vCPU, CPU or domain: a row for each of its states, with how often and how long at a time. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/result/result_rows.h"
#include "analysis/sched_row.h"
#include "base/hash.h"
#include "base/macro.h"
#include "base/ticks.h"

/* Task, pid, layer, state; fewer without pids. */
#define KEYS_MAX 4

static bool has_pids(const struct sched *sched)
{
    return sched->options.by == SCHED_BY_TASK && !sched->options.no_pids;
}

static int32_t domain_of(const struct state_interval *interval)
{
    return interval->of == STATE_SUBJECT_VCPU ? (int32_t)((uint32_t)interval->id >> 16)
                                              : interval->id;
}

static _cold_ struct row *add_state_row(struct sched *sched, const struct sched_row *row,
                                        enum state state, const uint64_t *numbers)
{
    struct text *text = &sched->states_rows.text;
    const char *keys[ROW_KEYS] = {0};
    size_t starts[KEYS_MAX];
    struct row *added;
    unsigned n = 0;

    text->next = text->start;
    starts[n++] = 0;
    sched_row_put_name(sched, row, text);
    text_put_char(text, '\0');
    if (has_pids(sched)) {
        starts[n++] = text_len(text);
        if (row->of == STATE_SUBJECT_THREAD)
            text_put_i64(text, row->id);
        text_put_char(text, '\0');
    }
    starts[n++] = text_len(text);
    text_put_str(text, layer_name(row->origin->layer));
    text_put_char(text, '\0');
    starts[n++] = text_len(text);
    text_put_str(text, state_name(state));
    text_put_char(text, '\0');
    if (text->error)
        return NULL;
    for (unsigned i = 0; i < n; i++)
        keys[i] = text->start + starts[i];
    added = rows_add(&sched->states_rows, numbers, keys);
    if (!added || added->origin)
        return added;
    added->origin = row->origin;
    if (has_pids(sched) && row->of == STATE_SUBJECT_THREAD) {
        added->values[1] = row->id;
        added->has_value = 1u << 1;
    }
    if (sched->options.by == SCHED_BY_CPU) {
        added->values[0] = row->id;
        added->has_value = 1u << 0;
    }
    return added;
}

static struct row *get_state_row(struct sched *sched, const struct sched_row *row,
                                 const struct state_interval *interval)
{
    uint64_t numbers[ROW_KEYS] = {(uintptr_t)row->origin + row->of, 0, 0, interval->state};
    struct row *found;

    switch (sched->options.by) {
    case SCHED_BY_TASK:
        numbers[1] = has_pids(sched) || row->of != STATE_SUBJECT_THREAD ? (uint32_t)row->id : 0;
        if (row->of == STATE_SUBJECT_THREAD)
            numbers[2] = hash_bytes(sched_row_name(row), strlen(sched_row_name(row)));
        break;
    case SCHED_BY_VCPU:
        numbers[1] = (uint32_t)(row->of == STATE_SUBJECT_VCPU ? row->id : row->vcpu);
        break;
    case SCHED_BY_VM: {
        const char *vm = sched_row_vm(row);

        numbers[1] = hash_bytes(vm, strlen(vm));
        break;
    }
    case SCHED_BY_CPU: numbers[1] = (uint32_t)row->id; break;
    case SCHED_BY_DOMAIN: numbers[1] = (uint32_t)domain_of(interval); break;
    }
    /* Rows have as many numbers as keys; fewer distinguish these. */
    if (sched->states_rows.n_keys < KEYS_MAX)
        numbers[2] = hash_mix(numbers[2], numbers[3]);
    found = rows_find(&sched->states_rows, numbers);
    return likely(found != NULL) ? found : add_state_row(sched, row, interval->state, numbers);
}

static void keep_slow(struct sched *sched, struct row *row, const struct analysis_span *span)
{
    struct slow_span slow = {.begin = span->begin,
                             .end = span->end,
                             .cpu = span->cpu,
                             .pid = span->pid,
                             .vcpu = span->vcpu,
                             .origin = span->origin,
                             .row = row};

    slowest_keep(&sched->states_rows.slowest, &slow);
}

int sched_states_put(struct sched *sched, const struct sched_row *row,
                     const struct state_interval *interval)
{
    int64_t duration = ticks_between(interval->begin, interval->end);
    struct analysis_span span = {
        .begin = interval->begin,
        .end = interval->end,
        .cpu = interval->cpu,
        .pid = interval->of == STATE_SUBJECT_THREAD ? interval->id : PID_UNKNOWN,
        .vcpu = interval->of == STATE_SUBJECT_VCPU ? interval->id : interval->vcpu,
        .origin = interval->origin,
    };
    struct row *counted;

    if (!interval->begin_seen || !interval->end_seen || interval->state == STATE_UNKNOWN ||
        duration < sched->analysis.settings.longer || !sched_row_is_shown(sched, row))
        return 0;
    /* Domains' own states are xenalyze's; else those of their vCPUs count. */
    if (sched->options.by == SCHED_BY_DOMAIN &&
        (interval->of == STATE_SUBJECT_DOMAIN) != sched->options.xenalyze_names)
        return 0;
    counted = get_state_row(sched, row, interval);
    if (!counted)
        return -ENOMEM;
    if (sched->states_rows.slowest.max > 0)
        keep_slow(sched, counted, &span);
    if (sched->analysis.put_span) {
        int r;

        span.keys = counted->keys;
        span.numbers = counted->values;
        span.has_number = counted->has_value;
        r = sched->analysis.put_span(sched->analysis.put_span_arg, &span);
        if (r < 0)
            return r;
    }
    row_note_source(&sched->states_rows, counted, interval->origin, interval->origin, interval->cpu,
                    VCPU_UNKNOWN, true, true);
    return row_count(&sched->states_rows, counted, interval->begin, duration, 0);
}

int sched_states_init(struct sched *sched)
{
    int r = rows_init(&sched->states_rows, has_pids(sched) ? KEYS_MAX : KEYS_MAX - 1,
                      sched->analysis.settings.slowest, sched->analysis.settings.every,
                      sched->analysis.settings.has_batches);

    sched->states_rows.by_cpu = sched->options.by == SCHED_BY_CPU;
    return r;
}

/* A state that begins in the selected times counts with its whole length, and a state that began before does not count.
 * So these are not shares of the selected times. */
static int hide_shares(const struct sched *sched, struct result *result)
{
    const struct selection *select = sched->analysis.settings.select;
    int share = result_find_column(result, "share");

    if (share < 0 || !select || !(select->options->from.given || select->options->to.given))
        return 0;
    for (unsigned i = 0; i < result->n_rows; i++)
        result_set_unknown(result->rows[i], (unsigned)share);
    return result->n_rows == 0
               ? 0
               : result_add_note(result, "each state counts with its whole length, even outside of "
                                         "--from and --until; for shares of that time use strata "
                                         "sched without --states");
}

int sched_states_add_rows(struct sched *sched, struct result *result)
{
    int r = result_add_duration_rows(result, &sched->states_columns, &sched->states_rows);

    if (r == 0)
        r = hide_shares(sched, result);
    return r < 0 ? r : result_add_slow_spans(result, &sched->states_rows);
}
