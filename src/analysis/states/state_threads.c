/* SPDX-License-Identifier: MIT */

/* The threads of a source, by their numbers, and their states. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/states/state_source.h"

#define BUCKETS_MIN 256

void state_thread_forget(struct state_source *source, struct state_thread *thread)
{
    uint32_t number = (uint32_t)(thread - source->threads);
    uint32_t *at = &source->buckets[state_thread_bucket(source, thread->now.id)];

    while (*at != number)
        at = &source->threads[*at].next;
    *at = thread->next;
    thread->used = false;
    thread->next = source->free;
    source->free = number;
}

/* T5: gives up a thread that does not run, the next one in a circle. */
static void give_one_up(struct state_source *source, int64_t time)
{
    /* Where all run, as no machine does, one of these. */
    for (uint32_t i = 0;; i++) {
        struct state_thread *thread;

        source->hand = source->hand + 1 < source->n_threads ? source->hand + 1 : 1;
        thread = &source->threads[source->hand];
        if (!thread->used)
            return;
        if (thread->now.state == STATE_RUNNING && i < source->n_threads)
            continue;
        state_thread_check(source, thread, time);
        state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_IS_OPEN);
        state_thread_forget(source, thread);
        source->counts.given_up++;
        return;
    }
}

static int make_room(struct state_source *source)
{
    uint32_t room = MAX(BUCKETS_MIN, source->threads_room * 2);
    struct state_thread *threads;
    uint32_t *buckets;

    buckets = calloc(room, sizeof *buckets);
    if (!buckets)
        return -ENOMEM;
    threads = realloc(source->threads, (room + 1) * sizeof *threads);
    if (!threads) {
        free(buckets);
        return -ENOMEM;
    }
    if (source->n_threads == 0)
        source->n_threads = 1;
    free(source->buckets);
    source->threads = threads;
    source->threads_room = room;
    source->buckets = buckets;
    source->n_buckets = room;
    for (uint32_t i = 1; i < source->n_threads; i++) {
        uint32_t *bucket = &buckets[state_thread_bucket(source, threads[i].now.id)];

        if (!threads[i].used)
            continue;
        threads[i].next = *bucket;
        *bucket = i;
    }
    return 0;
}

_cold_ struct state_thread *state_thread_add(struct state_source *source, int32_t id, int64_t time)
{
    struct state_thread *thread;
    uint32_t number;
    uint32_t *bucket;

    if (source->free == 0 && source->n_threads > source->threads_room) {
        if (source->threads_room < STATES_THREADS_MAX) {
            if (make_room(source) < 0) {
                source->states->error = -ENOMEM;
                return NULL;
            }
        } else {
            give_one_up(source, time);
        }
    } else if (source->threads_room == 0 && make_room(source) < 0) {
        source->states->error = -ENOMEM;
        return NULL;
    }
    if (source->free > 0) {
        number = source->free;
        source->free = source->threads[number].next;
    } else {
        number = source->n_threads++;
    }
    thread = &source->threads[number];
    bucket = &source->buckets[state_thread_bucket(source, id)];
    *thread = (struct state_thread){
        .now = {.begin = time,
                .origin = source->origin,
                .name = "",
                .inside = -1,
                .id = id,
                .cpu = CPU_UNKNOWN,
                .moved_from = CPU_UNKNOWN,
                .by = PID_UNKNOWN,
                .vcpu = VCPU_UNKNOWN,
                .of = source->is_xen ? STATE_SUBJECT_VCPU : STATE_SUBJECT_THREAD},
        .next = *bucket,
        .used = true,
        .waker = PID_UNKNOWN,
        .loss = source->loss,
        .guest = GUEST_TIME_NONE,
    };
    *bucket = number;
    return thread;
}

static void count_wait(struct state_source *source, const struct state_thread *thread,
                       enum state_why why)
{
    struct state_counts *counts = &source->counts;

    if (!state_waits((enum state)thread->now.state) || !state_is_counted(source, thread->now.begin))
        return;
    switch (why) {
    case STATE_ENDS: counts->no_begin += !thread->now.begin_seen; break;
    case STATE_IS_OPEN: counts->open++; break;
    case STATE_IS_LOST:
        if (thread->loss < source->completed && source->loss == source->completed)
            counts->early++;
        else
            counts->lost++;
        break;
    case STATE_IS_CONTRADICTED: counts->contradicted++; break;
    case STATE_IS_GONE: counts->gone++; break;
    }
}

void state_guest_cross(const struct state_source *source, struct guest_time *guest, bool enters,
                       int64_t time, int64_t begin, bool begin_seen)
{
    if (!guest->crossed && !enters && !begin_seen)
        guest->since = begin;
    guest->crossed = true;
    if (enters) {
        guest->entered = true;
        /* After an exit that is handled at once, KVM enters again without one in between. */
        if (guest->since == TIME_UNKNOWN)
            guest->since = time;
        return;
    }
    guest->left = true;
    if (guest->since != TIME_UNKNOWN)
        guest->inside = ticks_sum(guest->inside, state_time_within(source, guest->since, time));
    guest->since = TIME_UNKNOWN;
}

/* How long RUN, which ends by WHY, was inside of a guest; -1 if unknown (T12). */
static int64_t guest_inside(const struct state_source *source, const struct guest_time *guest,
                            const struct state_interval *run, enum state_why why)
{
    if (unlikely(guest->since != TIME_UNKNOWN))
        return ticks_sum(guest->inside, state_time_within(source, guest->since, run->end));
    return likely(run->begin_seen || guest->crossed || why == STATE_ENDS) ? guest->inside : -1;
}

/* Its state ends at TIME. */
static void hold_interval(struct state_source *source, struct state_thread *thread, int64_t time,
                          enum state_why why)
{
    bool is_hidden = unlikely(source->origin->pid_filter) && !thread->recorded;
    struct state_interval *interval;

    if (is_hidden)
        return;
    if (unlikely(why != STATE_ENDS || !thread->now.begin_seen))
        count_wait(source, thread, why);
    interval = state_hold(source);
    if (unlikely(!interval))
        return;
    *interval = thread->now;
    interval->end = time;
    interval->end_seen = why == STATE_ENDS;
    if (interval->state == STATE_WOKEN) {
        interval->by = thread->waker;
        interval->by_unsure = thread->waker_unsure;
    } else if (interval->state == STATE_RUNNING) {
        interval->inside = guest_inside(source, &thread->guest, interval, why);
        interval->enters = thread->guest.entered && thread->guest.left;
        /* It did so up to its last proof, which TIME is. */
        return;
    }
    if (unlikely(why == STATE_IS_LOST || why == STATE_IS_CONTRADICTED || why == STATE_IS_GONE)) {
        interval->state = STATE_UNKNOWN;
        interval->begin_seen = false;
    }
}

void state_thread_set(struct state_source *source, struct state_thread *thread, enum state state,
                      int64_t time, bool begin_seen, enum state_why why)
{
    struct state_interval *now = &thread->now;

    if (unlikely(source->is_cut) && state != STATE_RUNNING && state != STATE_UNKNOWN) {
        source->counts.lost += state_waits(state) && state_is_counted(source, time); /* T8 */
        state = STATE_UNKNOWN;
    }
    if (now->state == STATE_UNKNOWN) {
        if (state == STATE_UNKNOWN && why != STATE_IS_OPEN)
            return;
        if (time > now->begin && state_has_unknown(source) &&
            state_is_wanted(source, (enum state_subject)now->of))
            hold_interval(source, thread, time, STATE_IS_LOST);
        if (state == STATE_UNKNOWN)
            return;
    } else if ((time > now->begin || (time == now->begin && now->begin_seen)) &&
               state_is_wanted(source, (enum state_subject)now->of)) {
        hold_interval(source, thread, time, why);
    }
    if (unlikely(source->is_xen) && state_is_wanted(source, STATE_SUBJECT_DOMAIN)) {
        if ((why == STATE_IS_LOST || why == STATE_IS_CONTRADICTED) && now->state != STATE_RUNNING)
            state_domain_changed(source, thread, STATE_UNKNOWN, now->begin);
        state_domain_changed(source, thread, state, time);
    }
    now->state = (uint8_t)state;
    now->begin = time;
    now->begin_seen = begin_seen;
    now->begin_unsure = false;
    now->moved_from = CPU_UNKNOWN;
    now->inside = -1;
    thread->loss = source->loss;
    thread->guest.inside = 0;
    thread->guest.since = TIME_UNKNOWN;
    thread->guest.crossed = false;
}

void state_thread_lost(struct state_source *source, struct state_thread *thread)
{
    if (thread->now.state == STATE_RUNNING)
        return;
    count_wait(source, thread, STATE_IS_LOST);
    thread->now.state = STATE_UNKNOWN;
    thread->now.begin_seen = false;
    thread->loss = source->loss;
}
