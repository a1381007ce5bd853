/* SPDX-License-Identifier: MIT */
#include "analysis/io_why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/own_threads.h"

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
        (interval->of != STATE_SUBJECT_THREAD && interval->of != STATE_SUBJECT_CPU))
        return 0;
    if (interval->of == STATE_SUBJECT_THREAD && note_thread(why, interval) < 0)
        return -ENOMEM;
    if (interval->state == STATE_UNKNOWN)
        return 0;
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
    why->kept[why->n++] = (struct io_state){
        .begin = interval->begin,
        .end = interval->end,
        .origin = interval->origin,
        .id = interval->id,
        .cpu = interval->moved_from == STATE_MOVED_UNSEEN ? CPU_UNKNOWN : interval->cpu,
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
    why->states.wanted = STATE_SUBJECTS(STATE_SUBJECT_THREAD) | STATE_SUBJECTS(STATE_SUBJECT_CPU);
    return 0;
}

int io_why_put(struct io_why *why, const struct item *items, unsigned n)
{
    return states_put(&why->states, items, n);
}

void io_why_begin_loss(struct io_why *why, const struct item *item)
{
    states_begin_loss(&why->states, item);
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

/* How a thread spent a time. */
struct spent {
    int64_t ran, waited, slept, unknown;
    const struct io_state *any;     /* NULL: nothing is known */
    const struct io_state **waits;  /* malloc; in the order of time */
    const struct io_state *longest; /* of these; NULL: none */
    unsigned n_waits;
};

static int add_wait(struct spent *spent, const struct io_state *state)
{
    if ((spent->n_waits & (spent->n_waits - 1)) == 0) {
        const struct io_state **more = (const struct io_state **)realloc(
            (void *)spent->waits, MAX(spent->n_waits * 2, 1u) * sizeof(struct io_state *));

        if (!more)
            return -ENOMEM;
        spent->waits = more;
    }
    spent->waits[spent->n_waits++] = state;
    return 0;
}

static void spent_done(struct spent *spent)
{
    free((void *)spent->waits);
}

/* 0, -ENOMEM. */
static int add_up(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                  struct spent *ret)
{
    struct spent spent = {.unknown = MAX(end - begin, 0)};
    int r = 0;

    for (unsigned i = 0; i < why->n && r == 0; i++) {
        const struct io_state *state = &why->kept[i];
        int64_t ticks = overlap(state, begin, end);

        if (state->of != STATE_SUBJECT_THREAD || state->id != pid || ticks == 0)
            continue;
        spent.any = state;
        if (state->state == STATE_RUNNING) {
            spent.ran += ticks;
        } else if (state_is_sleep(state->state)) {
            spent.slept += ticks;
        } else if (state_waits((enum state)state->state)) {
            spent.waited += ticks;
            if (!spent.longest || ticks > overlap(spent.longest, begin, end))
                spent.longest = state;
            r = add_wait(&spent, state);
        } else {
            continue;
        }
        spent.unknown -= ticks;
    }
    *ret = spent;
    return r;
}

/* ---- who ran while it waited ---- */

struct runner {
    int32_t pid;
    int64_t ticks;
};

struct runners {
    struct runner *seen; /* malloc */
    unsigned n, most;
};

static int add_runner(struct runners *runners, int32_t pid, int64_t ticks)
{
    unsigned i = 0;

    while (i < runners->n && runners->seen[i].pid != pid)
        i++;
    if (i == runners->n) {
        if ((i & (i - 1)) == 0) {
            struct runner *more = realloc(runners->seen, MAX(i * 2, 1u) * sizeof *more);

            if (!more)
                return -ENOMEM;
            runners->seen = more;
        }
        runners->seen[runners->n++] = (struct runner){.pid = pid};
    }
    runners->seen[i].ticks += ticks;
    if (runners->seen[i].ticks > runners->seen[runners->most].ticks)
        runners->most = i;
    return 0;
}

/* The first of the waits that ends after TIME. */
static unsigned find_wait(const struct spent *spent, int64_t time)
{
    unsigned low = 0, high = spent->n_waits;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (spent->waits[middle]->end > time)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* What ran on the CPUs that were waited for, from BEGIN to END. 0, -ENOMEM. */
static int find_runners(const struct io_why *why, const struct spent *spent, int64_t begin,
                        int64_t end, struct runners *runners)
{
    int r = 0;

    for (unsigned i = 0; i < why->n; i++) {
        const struct io_state *run = &why->kept[i];

        if (run->of != STATE_SUBJECT_CPU || run->state != STATE_RUNNING ||
            overlap(run, begin, end) == 0)
            continue;
        for (unsigned j = find_wait(spent, run->begin);
             r == 0 && j < spent->n_waits && spent->waits[j]->begin < run->end; j++) {
            const struct io_state *wait = spent->waits[j];
            int64_t ticks = overlap(run, MAX(begin, wait->begin), MIN(end, wait->end));

            if (ticks > 0 && wait->cpu == run->id && wait->origin == run->origin)
                r = add_runner(runners, run->by, ticks);
        }
    }
    return r;
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

        if (state->of == STATE_SUBJECT_THREAD && state->id == pid && state_is_sleep(state->state))
            slept += overlap(state, begin, end);
    }
    return slept;
}

/* ", slept 2.3 us" */
static void put_part(const char *what, int64_t ticks, const struct clock *clock, struct text *text)
{
    if (ticks <= 0)
        return;
    text_printf(text, ", %s ", what);
    put_ticks(clock, ticks, text);
}

static void put_runner(const struct spent *spent, const struct runners *runners, struct text *text)
{
    const struct origin *origin = spent->longest->origin;
    int32_t pid = runners->seen[runners->most].pid;
    const char *name = task_name(spent->longest, pid);
    bool is_own = own_thread_is(origin, pid, name);

    text_put_literal(text, " behind ");
    origin_put_thread(origin, name, pid, text);
    text_printf(text, " (%s%.0f%% of it)", is_own ? "a thread of the recorder, " : "",
                (double)runners->seen[runners->most].ticks * 100 / (double)spent->waited);
}

static void put_spent(const struct spent *spent, const struct runners *runners, int32_t pid,
                      int64_t duration, const struct clock *clock, struct text *text)
{
    bool slept_most = spent->slept > duration / 2;

    text_put_str(text, text_len(text) ? "; " : "");
    origin_put_thread(spent->any->origin, task_name(spent->any, pid), pid, text);
    text_put_literal(text, " ran ");
    put_ticks(clock, spent->ran, text);
    if (slept_most)
        put_part("slept", spent->slept, clock, text);
    put_part("was runnable", spent->waited, clock, text);
    if (spent->longest && spent->longest->cpu >= 0)
        text_printf(text, " on CPU %d", spent->longest->cpu);
    if (runners->n > 0)
        put_runner(spent, runners, text);
    if (!slept_most)
        put_part("slept", spent->slept, clock, text);
    put_part("unknown", spent->unknown, clock, text);
}

void io_why_put_thread(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                       const struct clock *clock, struct text *text)
{
    struct runners runners = {0};
    struct spent spent;
    int r = add_up(why, pid, begin, end, &spent);

    if (r == 0 && spent.n_waits > 0)
        r = find_runners(why, &spent, begin, end, &runners);
    if (r < 0)
        text->error = r;
    else if (spent.any && states_has_switches(&why->states, spent.any->origin))
        put_spent(&spent, &runners, pid, end - begin, clock, text);
    free(runners.seen);
    spent_done(&spent);
}

void io_why_put_text(const struct io_why *why, int32_t pid, int64_t begin, int64_t end,
                     const struct clock *clock, struct text *text)
{
    int32_t before = PID_UNKNOWN;

    for (unsigned i = 0; i < why->n; i++) {
        const struct io_state *state = &why->kept[i];

        if (state->of != STATE_SUBJECT_THREAD || state->state != STATE_WOKEN || state->by != pid ||
            state->id == before || state->begin < begin || state->begin >= end ||
            strcmp(task_name(state, state->id), WORKER) != 0)
            continue;
        before = state->id;
        io_why_put_thread(why, before, begin, end, clock, text);
    }
    io_why_put_thread(why, pid, begin, end, clock, text);
}
