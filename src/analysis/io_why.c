/* SPDX-License-Identifier: MIT */
#include "analysis/io_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define WORKER "worker"          /* as QEMU calls the threads of its pool */
#define ALL_VCPUS "ALL CPUs/TCG" /* ... and the one that emulates all vCPUs */

static int note_vcpu(struct io_why *why, const struct state_interval *interval)
{
    struct io_vcpu *more;

    for (unsigned i = 0; i < why->n_vcpus; i++)
        if (why->vcpus[i].vcpu == interval->vcpu) {
            if (why->vcpus[i].pid != interval->id)
                why->vcpus[i].pid = PID_UNKNOWN;
            return 0;
        }
    if (why->n_vcpus == IO_WHY_VCPUS_MAX)
        return 0;
    if ((why->n_vcpus & (why->n_vcpus - 1)) == 0) {
        more = realloc(why->vcpus, MAX(why->n_vcpus * 2, 1u) * sizeof *more);
        if (!more)
            return -ENOMEM;
        why->vcpus = more;
    }
    why->vcpus[why->n_vcpus++] = (struct io_vcpu){.vcpu = interval->vcpu, .pid = interval->id};
    return 0;
}

static int note_thread(struct io_why *why, const struct state_interval *interval)
{
    if (interval->vcpu != VCPU_UNKNOWN)
        return note_vcpu(why, interval);
    if (strcmp(interval->name, ALL_VCPUS) != 0)
        return 0;
    if (!why->has_all_vcpus)
        why->all_vcpus = interval->id;
    else if (why->all_vcpus != interval->id)
        why->all_vcpus = PID_UNKNOWN;
    why->has_all_vcpus = true;
    return 0;
}

static void forget_older(struct io_why *why)
{
    unsigned half = why->n / 2;

    why->all_gone_until = MAX(why->all_gone_until, why->kept[half].end);
    memmove(why->kept, why->kept + half, (why->n - half) * sizeof *why->kept);
    why->n -= half;
}

static int compare_times(const void *a, const void *b)
{
    const struct io_time *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Orders TIMES and joins those that overlap. Returns how many are left. */
static unsigned join_times(struct io_time *times, unsigned n)
{
    unsigned joined = 0;

    if (n > 0)
        qsort(times, n, sizeof *times, compare_times);
    for (unsigned i = 0; i < n; i++) {
        if (joined > 0 && times[i].begin <= times[joined - 1].end)
            times[joined - 1].end = MAX(times[joined - 1].end, times[i].end);
        else
            times[joined++] = times[i];
    }
    return joined;
}

static bool is_in(const struct io_state *state, const struct io_time *times, unsigned n)
{
    unsigned low = 0, high = n;

    /* The first of the times that ends after the state begins. */
    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (times[middle].end > state->begin)
            high = middle;
        else
            low = middle + 1;
    }
    return low < n && times[low].begin < state->end;
}

static void keep_only(struct io_why *why, const struct io_time *times, unsigned n, int64_t from)
{
    unsigned left = 0;

    for (unsigned i = 0; i < why->n; i++)
        if (why->kept[i].end > from || is_in(&why->kept[i], times, n))
            why->kept[left++] = why->kept[i];
    why->n = left;
}

bool io_why_is_crowded(const struct io_why *why)
{
    return why->n >= why->n_crowded;
}

void io_why_keep_only(struct io_why *why, struct io_time *times, unsigned n, const int64_t *froms,
                      unsigned n_froms)
{
    n = join_times(times, n);
    keep_only(why, times, n, froms[0]);
    for (unsigned i = 1; i <= n_froms && why->n > why->max / 4 * 3; i++) {
        int64_t from = i < n_froms ? froms[i] : why->kept[why->n / 2].end;

        why->gone_until = MAX(why->gone_until, from);
        keep_only(why, times, n, from);
    }
    if (why->n > why->max / 4 * 3)
        forget_older(why);
    why->n_crowded = why->n + (why->max - why->n) / 2;
}

static int keep(struct io_why *why, const struct state_interval *interval)
{
    if (interval->origin->layer != LAYER_HOST ||
        (interval->of != STATE_OF_THREAD && interval->of != STATE_OF_CPU))
        return 0;
    if (interval->of == STATE_OF_THREAD && note_thread(why, interval) < 0)
        return -ENOMEM;
    if (why->n == why->max)
        forget_older(why);
    if (why->n == why->room) {
        unsigned room = MAX(why->room * 2, 1024u);
        struct io_state *more = realloc(why->kept, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        why->kept = more;
        why->room = room;
    }
    why->kept[why->n++] = (struct io_state){.begin = interval->begin,
                                            .end = interval->end,
                                            .origin = interval->origin,
                                            .id = interval->id,
                                            .cpu = interval->cpu,
                                            .by = interval->by,
                                            .of = interval->of,
                                            .state = interval->state};
    return 0;
}

static int put_states(void *arg, const struct state_interval *intervals, unsigned n)
{
    int r = 0;

    for (unsigned i = 0; i < n && r == 0; i++)
        r = keep(arg, &intervals[i]);
    return r;
}

int io_why_init(struct io_why *why)
{
    static const struct states_ops ops = {.put = put_states};

    *why = (struct io_why){.all_vcpus = PID_UNKNOWN,
                           .max = IO_WHY_MAX,
                           .n_crowded = IO_WHY_MAX / 2,
                           .gone_until = INT64_MIN,
                           .all_gone_until = INT64_MIN};
    states_init(&why->states, &ops, why);
    why->states.wanted = STATES_OF(STATE_OF_THREAD) | STATES_OF(STATE_OF_CPU);
    return 0;
}

int io_why_put(struct io_why *why, const struct item *items, unsigned n)
{
    return states_put(&why->states, items, n);
}

int io_why_finish(struct io_why *why)
{
    return states_finish(&why->states);
}

void io_why_done(struct io_why *why)
{
    states_done(&why->states);
    free(why->kept);
    free(why->vcpus);
    *why = (struct io_why){0};
}

static int64_t overlap(const struct io_state *state, int64_t begin, int64_t end)
{
    return MAX(MIN(state->end, end) - MAX(state->begin, begin), 0);
}

static const char *task_name(const struct io_state *state, int32_t pid)
{
    const char *name = pid > 0 ? origin_task_name(state->origin, pid) : NULL;

    return name ? name : "";
}

static void put_ticks(const struct clock *clock, int64_t ticks, struct text *text)
{
    double ns = clock->hz > 0 ? (double)ticks * 1e9 / (double)clock->hz : (double)ticks;

    if (clock->hz == 0)
        text_printf(text, "%.0f ticks", ns);
    else if (ns < 999500)
        text_printf(text, "%.1f us", ns / 1e3);
    else
        text_printf(text, "%.2f ms", ns / 1e6);
}

/* Which thread ran most on CPU while WAIT lasted. */
static int32_t find_runner(const struct io_why *why, const struct io_state *wait, int64_t begin,
                           int64_t end, int64_t *ret_ticks)
{
    struct {
        int32_t pid;
        int64_t ticks;
    } seen[16] = {0};
    unsigned n = 0, most = 0;

    begin = MAX(begin, wait->begin);
    end = MIN(end, wait->end);
    for (unsigned i = 0; i < why->n; i++) {
        const struct io_state *state = &why->kept[i];
        unsigned j = 0;

        if (state->of != STATE_OF_CPU || state->origin != wait->origin || state->id != wait->cpu ||
            state->state != STATE_RUNNING || overlap(state, begin, end) == 0)
            continue;
        while (j < n && seen[j].pid != state->by)
            j++;
        if (j == ARRAY_SIZE(seen))
            continue;
        n = MAX(n, j + 1);
        seen[j].pid = state->by;
        seen[j].ticks += overlap(state, begin, end);
        most = seen[j].ticks > seen[most].ticks ? j : most;
    }
    *ret_ticks = n > 0 ? seen[most].ticks : 0;
    return n > 0 ? seen[most].pid : PID_UNKNOWN;
}

/* How long the thread waited, and the longest of the waits. */
static const struct io_state *add_up(const struct io_why *why, int32_t pid, int64_t begin,
                                     int64_t end, int64_t *ret_ran, int64_t *ret_waited,
                                     const struct io_state **ret_any)
{
    const struct io_state *longest = NULL;

    *ret_ran = *ret_waited = 0;
    *ret_any = NULL;
    for (unsigned i = 0; i < why->n; i++) {
        const struct io_state *state = &why->kept[i];
        int64_t ticks = overlap(state, begin, end);

        if (state->of != STATE_OF_THREAD || state->id != pid || ticks == 0)
            continue;
        *ret_any = state;
        if (state->state == STATE_RUNNING)
            *ret_ran += ticks;
        if (!state_waits((enum state)state->state))
            continue;
        *ret_waited += ticks;
        if (!longest || ticks > overlap(longest, begin, end))
            longest = state;
    }
    return longest;
}

int32_t io_why_vcpu_thread(const struct io_why *why, int32_t vcpu)
{
    if (vcpu == VCPU_UNKNOWN)
        return PID_UNKNOWN;
    for (unsigned i = 0; i < why->n_vcpus; i++)
        if (why->vcpus[i].vcpu == vcpu)
            return why->vcpus[i].pid;
    return why->all_vcpus;
}

int64_t io_why_slept(const struct io_why *why, int32_t pid, int64_t begin, int64_t end)
{
    int64_t slept = 0;

    for (unsigned i = 0; i < why->n; i++) {
        const struct io_state *state = &why->kept[i];

        if (state->of == STATE_OF_THREAD && state->id == pid &&
            (state->state == STATE_SLEEPING || state->state == STATE_UNINTERRUPTIBLE))
            slept += overlap(state, begin, end);
    }
    return slept;
}

/* SLEPT: what is put of that, before the waits for a CPU. */
static void put_thread(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                       int64_t slept, const struct clock *clock, struct text *text)
{
    int64_t ran, waited, runner_ticks;
    const struct io_state *any;
    const struct io_state *longest = add_up(why, pid, begin, end, &ran, &waited, &any);
    int32_t runner;

    if (!any || !states_has_switches(&why->states, any->origin))
        return;
    text_printf(text, "%s%s-%d ran ", text_len(text) ? "; " : "", task_name(any, pid), pid);
    put_ticks(clock, ran, text);
    if (slept > 0) {
        text_put_literal(text, ", slept ");
        put_ticks(clock, slept, text);
    }
    if (waited == 0)
        return;
    text_put_literal(text, ", was runnable ");
    put_ticks(clock, waited, text);
    if (longest->cpu < 0)
        return;
    text_printf(text, " on CPU %d", longest->cpu);
    runner = find_runner(why, longest, begin, end, &runner_ticks);
    if (runner != PID_UNKNOWN)
        text_printf(text, " behind %s-%d", task_name(longest, runner), runner);
}

void io_why_put_text(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                     const struct clock *clock, struct text *text)
{
    int32_t before = PID_UNKNOWN;

    for (unsigned i = 0; i < why->n; i++) {
        const struct io_state *state = &why->kept[i];

        if (state->of != STATE_OF_THREAD || state->state != STATE_WOKEN || state->by != pid ||
            state->id == before || state->begin < begin || state->begin >= end ||
            strcmp(task_name(state, state->id), WORKER) != 0)
            continue;
        before = state->id;
        put_thread(why, before, begin, end, 0, clock, text);
    }
    put_thread(why, pid, begin, end, 0, clock, text);
}

void io_why_put_thread(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                       const struct clock *clock, struct text *text)
{
    size_t before = text_len(text);
    int64_t slept = io_why_slept(why, pid, begin, end);
    bool is_most = slept > (end - begin) / 2;

    put_thread(why, pid, begin, end, is_most ? slept : 0, clock, text);
    if (text_len(text) == before || is_most || slept == 0)
        return;
    text_put_literal(text, ", slept ");
    put_ticks(clock, slept, text);
}
