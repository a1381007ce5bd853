/* SPDX-License-Identifier: MIT */

/* Makes rows of what was found about scheduling. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/sched_row.h"
#include "base/macro.h"
#include "base/text.h"
#include "base/ticks.h"
#include "event/own_threads.h"

/* ---- keys ---- */

static void put_vcpu(const struct sched_row *row, struct text *text)
{
    int32_t vcpu = row->of == STATE_SUBJECT_VCPU ? row->id : row->vcpu;

    if (row->origin->put_vcpu && row->of == STATE_SUBJECT_VCPU)
        row->origin->put_vcpu(row->origin, vcpu, text);
    else
        text_put_i64(text, vcpu);
}

void sched_row_put_name(const struct sched *sched, const struct sched_row *row, struct text *text)
{
    bool is_vcpu = row->of == STATE_SUBJECT_VCPU;

    switch (sched->options.by) {
    case SCHED_BY_TASK:
        if (is_vcpu)
            put_vcpu(row, text);
        else
            text_put_str(text, sched_row_name(row));
        break;
    case SCHED_BY_VCPU: put_vcpu(row, text); break;
    case SCHED_BY_VM: text_put_str(text, sched_row_vm(row)); break;
    case SCHED_BY_CPU: text_put_i64(text, row->id); break;
    case SCHED_BY_DOMAIN:
        text_printf(text, "d%" PRId32, is_vcpu ? (int32_t)((uint32_t)row->id >> 16) : row->id);
        break;
    }
}

static int set_key_text(struct result *result, struct result_row *to, unsigned key,
                        struct text *text)
{
    text_put_char(text, '\0');
    return text->error ? -ENOMEM : result_set_key(result, to, key, text->start);
}

/* Sets the names of ROW, from key FIRST on; the layer is the last key. */
static int set_keys(const struct sched *sched, struct result *result, struct result_row *to,
                    unsigned first, const struct sched_row *row)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    bool is_vcpu = row->of == STATE_SUBJECT_VCPU;
    int r;

    if (row->is_others)
        return result_set_key(result, to, first, "(others)");
    sched_row_put_name(sched, row, &text);
    r = set_key_text(result, to, first, &text);
    if (r == 0 && sched->options.by == SCHED_BY_TASK && !is_vcpu) {
        char pid[16];

        snprintf(pid, sizeof pid, "%" PRId32, row->id);
        r = result_set_key(result, to, first + 1, pid);
        result_set_key_number(to, first + 1, row->id);
    }
    if (sched->options.by == SCHED_BY_CPU)
        result_set_key_number(to, first, row->id);
    if (r == 0)
        r = result_set_key(result, to, result->n_keys - 1, layer_name(row->origin->layer));
    return r;
}

/* ---- Strata's own threads ---- */

static bool is_own(const struct sched_row *row)
{
    return row->of == STATE_SUBJECT_THREAD && !row->is_others &&
           own_thread_is(row->origin, row->id, sched_row_name(row));
}

/* ---- rows ---- */

/* Adds the parts of ROW's time to PARTS. False if the state of its guest's CPU is unknown. */
static bool add_parts(const struct sched *sched, const struct sched_row *row,
                      int64_t parts[STEAL_PARTS])
{
    const struct origin *origin = row->origin;
    const int64_t *times = steal_times(
        &sched->counted->steal, origin->vm_of ? origin->vm_of(origin, row->id) : NULL, row->vcpu);

    for (unsigned i = 0; times && i < STEAL_PARTS; i++)
        parts[i] = ticks_sum(parts[i], times[i]);
    if (!times && row->enters) {
        parts[STEAL_GUEST] = ticks_sum(parts[STEAL_GUEST], row->inside);
        parts[STEAL_VMM] = ticks_sum(parts[STEAL_VMM], row->outside);
    }
    return times;
}

/* Adds a row. The times of VCPUS threads or vCPUs are added up in ROW. */
static int add_row(const struct sched *sched, struct result *result, const struct sched_row *row,
                   double vcpus, struct sched_measured *m)
{
    struct result_row *to = result_add_row(result);

    if (!to)
        return -ENOMEM;
    m->sched = sched;
    m->row = row;
    m->cpu_time = (double)states_duration(sched->states, row->origin);
    m->duration = m->cpu_time * vcpus - (double)row->in[STATE_OFFLINE].time;
    for (unsigned i = 0; i < sched->states->n_sources; i++) {
        const struct origin *origin;

        (void)states_counts(sched->states, i, &origin);
        if (origin != row->origin)
            continue;
        m->cpu_time *= MAX(1u, states_cpus_seen(sched->states, i));
        m->has_interrupts |= states_events(sched->states, i) & STATE_EVENT_INTERRUPT;
    }
    if (row->of == STATE_SUBJECT_THREAD && row->who.waited > 0) {
        to->own_part = (double)row->who.own / (double)row->who.waited;
        to->own_unknown = (double)row->who.unknown / (double)row->who.waited;
    }
    to->is_own = is_own(row);
    to->origin = row->origin;
    sched_set_values(to, m);
    to->durations = row->wakes;
    return set_keys(sched, result, to, 0, row);
}

static int add_one(const struct sched *sched, struct result *result, const struct sched_row *row)
{
    int64_t parts[STEAL_PARTS] = {0};
    struct sched_measured m = {0};

    m.has_all_parts = add_parts(sched, row, parts);
    if (m.has_all_parts || row->enters)
        m.parts = parts;
    return add_row(sched, result, row, 1, &m);
}

/* Without the switches of its source, nothing is known of a thread; nor of a thread that was never on the requested
 * CPUs in the requested times. */
static bool is_known(const struct sched *sched, const struct sched_row *row)
{
    if (!states_has_switches(sched->states, row->origin))
        return false;
    for (unsigned i = 0; sched->analysis.settings.select && i < STATES; i++)
        if (row->in[i].time > 0 || row->in[i].n > 0)
            return true;
    return !sched->analysis.settings.select || row->runs > 0;
}

/* True if ROW is a part of the requested sum: a vCPU of a domain, or a vCPU thread of a virtual machine. */
static bool is_part(const struct sched *sched, const struct sched_row *row)
{
    enum state_subject of =
        sched->options.by == SCHED_BY_VM ? STATE_SUBJECT_THREAD : STATE_SUBJECT_VCPU;

    return row->of == of && !row->is_others && sched_row_is_shown(sched, row) &&
           (of == STATE_SUBJECT_VCPU || states_has_switches(sched->states, row->origin));
}

static bool is_same_sum(const struct sched *sched, const struct sched_row *a,
                        const struct sched_row *b)
{
    return a->origin == b->origin &&
           (sched->options.by == SCHED_BY_VM ? strcmp(sched_row_vm(a), sched_row_vm(b)) == 0
                                             : a->id >> 16 == b->id >> 16);
}

static int add_to_sum(struct sched_row *sum, struct histogram *wakes, const struct sched_row *row)
{
    for (unsigned i = 0; i < STATES; i++)
        sum->in[i].time = ticks_sum(sum->in[i].time, row->in[i].time);
    for (unsigned i = 0; i < STATES; i++) {
        sum->in[i].n += row->in[i].n;
        sum->in[i].sum = ticks_sum(sum->in[i].sum, row->in[i].sum);
    }
    sum->runs += row->runs;
    sum->migrations += row->migrations;
    sum->enters |= row->enters;
    sum->undivided = ticks_sum(sum->undivided, row->undivided);
    sum->wake_sum = ticks_sum(sum->wake_sum, row->wake_sum);
    sum->preempt_n += row->preempt_n;
    sum->preempt_sum = ticks_sum(sum->preempt_sum, row->preempt_sum);
    sum->preempt_max = MAX(sum->preempt_max, row->preempt_max);
    return row->wakes ? histogram_merge(wakes, row->wakes) : 0;
}

/* Adds the sum for the domain or virtual machine whose first row is FIRST. */
static int add_sum(struct sched *sched, struct result *result, unsigned first)
{
    const struct sched_row *of = sched->counted->rows[first];
    struct sched_row sum = {
        .origin = of->origin, .of = of->of, .id = of->id, .vcpu = of->vcpu, .is_wanted = true};
    struct sched_measured m = {.has_all_parts = sched->options.by == SCHED_BY_VM};
    int64_t parts[STEAL_PARTS] = {0};
    struct histogram wakes = {0};
    unsigned n = 0;
    int r = 0;

    for (unsigned i = first; i < sched->counted->n_rows && r == 0; i++) {
        const struct sched_row *row = sched->counted->rows[i];

        if (!is_part(sched, row) || !is_same_sum(sched, of, row))
            continue;
        n++;
        r = add_to_sum(&sum, &wakes, row);
        if (sched->options.by == SCHED_BY_VM)
            m.has_all_parts &= add_parts(sched, row, parts);
    }
    if (m.has_all_parts || sum.enters)
        m.parts = parts;
    sum.wakes = &wakes;
    if (r == 0)
        r = add_row(sched, result, &sum, n, &m);
    if (r == 0)
        result->rows[result->n_rows - 1]->durations = NULL;
    histogram_done(&wakes);
    return r;
}

static int add_sums(struct sched *sched, struct result *result)
{
    for (unsigned i = 0; i < sched->counted->n_rows; i++) {
        const struct sched_row *row = sched->counted->rows[i];
        bool is_first = is_part(sched, row);
        int r;

        for (unsigned j = 0; j < i && is_first; j++)
            is_first = !is_part(sched, sched->counted->rows[j]) ||
                       !is_same_sum(sched, sched->counted->rows[j], row);
        if (!is_first)
            continue;
        r = add_sum(sched, result, i);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_times(struct sched *sched, struct result *result)
{
    if (sched->options.by == SCHED_BY_VM ||
        (sched->options.by == SCHED_BY_DOMAIN && !sched->options.xenalyze_names))
        return add_sums(sched, result);
    for (unsigned i = 0; i < sched->counted->n_rows; i++) {
        const struct sched_row *row = sched->counted->rows[i];

        if ((sched->options.by == SCHED_BY_DOMAIN && row->of != STATE_SUBJECT_DOMAIN) ||
            (sched->options.view == SCHED_WAKEUPS && (!row->wakes || row->wakes->n == 0)) ||
            !sched_row_is_shown(sched, row) || !is_known(sched, row))
            continue;
        if (add_one(sched, result, row) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Sets the name of thread or vCPU ID of ROW's source. */
static int set_other(const struct sched *sched, struct result *result, struct result_row *to,
                     unsigned key, const struct sched_row *row, int32_t id)
{
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    const struct sched_row *other = sched_find_row(sched, row->of, row->origin, id);

    if (row->of == STATE_SUBJECT_VCPU && row->origin->put_vcpu && id >= 0)
        row->origin->put_vcpu(row->origin, id, &text);
    else if (row->of == STATE_SUBJECT_THREAD && id == 0)
        text_put_literal(&text, "<idle>");
    else if (other && !other->is_others)
        origin_put_thread(row->origin, sched_row_name(other), id, &text);
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
        struct who_victim *victim = sched->who.list[i].victim;
        const struct who_pair *pair = &victim->pairs[sched->who.list[i].pair];
        const struct sched_row *row =
            victim != &sched->who.others ? container_of(victim, struct sched_row, who) : NULL;
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
    for (unsigned i = 0; i < sched->counted->n_rows; i++) {
        const struct sched_row *row = sched->counted->rows[i];

        if (row->of != STATE_SUBJECT_THREAD || is_own(row) || !sched_row_is_shown(sched, row))
            continue;
        result->recorder.waited = ticks_sum(result->recorder.waited, row->who.waited);
        result->recorder.own = ticks_sum(result->recorder.own, row->who.own);
        result->recorder.unknown = ticks_sum(result->recorder.unknown, row->who.unknown);
    }
    return 0;
}

static int add_wakers(struct sched *sched, struct result *result)
{
    for (const struct sched_waker *waker = sched->counted->first_waker; waker;
         waker = waker->next) {
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

/* The row of RESULT that shows ROW, or NULL. */
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
    const struct slowest *slowest = &sched->states_rows.slowest;
    bool has_rows_of_waits =
        sched->options.view == SCHED_TIMES || sched->options.view == SCHED_WAKEUPS;

    for (unsigned i = 0; i < slowest_n(slowest); i++) {
        const struct slow_span *span = slowest_get(slowest, i);
        const struct sched_row *row = span->kind;
        struct result_slow slow = {.begin = span->begin,
                                   .end = span->end,
                                   .is_open = span->is_open,
                                   .cpu = span->cpu,
                                   .pid = span->pid,
                                   .vcpu = span->vcpu,
                                   .origin = span->origin};

        slow.row = shown_as(sched, result, row);
        /* What waits at the end may have had no wait before, and so no row. */
        if (!slow.row && !(has_rows_of_waits && slow.is_open && sched_row_is_shown(sched, row) &&
                           is_known(sched, row)))
            continue;
        if (result_add_slow(result, &slow) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Hides columns without a value in text. */
static void hide_empty(struct result *result)
{
    for (unsigned i = 0; i < result->n_columns; i++) {
        bool has = result->n_rows == 0;

        for (unsigned j = 0; j < result->n_rows && !has; j++)
            has = result_has(result->rows[j], i) || result_is_unknown(result->rows[j], i);
        if (!has)
            result->columns[i].title = NULL;
    }
}

static void count_left_out(struct sched *sched)
{
    enum sched_by by = sched->options.by;
    bool has_domains = false;

    sched->analysis.left_out = 0;
    for (unsigned i = 0; i < sched->counted->n_rows; i++) {
        const struct sched_row *row = sched->counted->rows[i];

        sched->analysis.left_out += !sched_row_is_shown(sched, row);
        has_domains |= row->of == STATE_SUBJECT_DOMAIN;
    }
    sched->analysis.left_out_name = by == SCHED_BY_CPU                     ? "CPUs"
                                    : by == SCHED_BY_DOMAIN && has_domains ? "domains"
                                                                           : "threads";
    sched->analysis.left_out_of = by == SCHED_BY_VM       ? "known to be of one machine"
                                  : by == SCHED_BY_VCPU   ? "known to run one vCPU"
                                  : by == SCHED_BY_DOMAIN ? "of a domain of Xen"
                                                          : NULL;
}

int sched_add_rows(struct analysis *analysis, struct result *result)
{
    struct sched *sched = container_of(analysis, struct sched, analysis);
    int r;

    count_left_out(sched);
    switch (sched->options.view) {
    case SCHED_WHO: r = add_who(sched, result); break;
    case SCHED_WAKERS: r = add_wakers(sched, result); break;
    case SCHED_STATES: r = sched_states_add_rows(sched, result); break;
    default: r = add_times(sched, result); break;
    }
    if (sched->options.by == SCHED_BY_VCPU || sched->options.by == SCHED_BY_VM)
        hide_empty(result);
    if (r == 0 && sched->options.view != SCHED_STATES)
        r = add_slowest(sched, result);
    if (r == 0)
        r = sched_add_contradictions(sched, result);
    return r < 0 ? r : sched_add_notes(sched, result);
}
