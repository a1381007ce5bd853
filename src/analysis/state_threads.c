/* SPDX-License-Identifier: MIT */

/* The threads of a source, by their numbers, and what state each is in. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/state_source.h"

#define BUCKETS_MIN 256

static inline uint32_t bucket_of(const struct state_source *source, int32_t id)
{
    return (uint32_t)((uint32_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (source->n_buckets - 1);
}

struct state_thread *state_thread_find(const struct state_source *source, int32_t id)
{
    if (unlikely(source->n_buckets == 0))
        return NULL;
    for (uint32_t i = source->buckets[bucket_of(source, id)]; i > 0; i = source->threads[i].next)
        if (likely(source->threads[i].id == id))
            return &source->threads[i];
    return NULL;
}

void state_thread_forget(struct state_source *source, struct state_thread *thread)
{
    uint32_t number = (uint32_t)(thread - source->threads);
    uint32_t *at = &source->buckets[bucket_of(source, thread->id)];

    while (*at != number)
        at = &source->threads[*at].next;
    *at = thread->next;
    thread->used = false;
    thread->next = source->free;
    source->free = number;
}

/* T5: one that does not run, the next one in a circle. */
static void give_one_up(struct state_source *source, int64_t time)
{
    /* Where all run, as no machine does, one of these. */
    for (uint32_t i = 0;; i++) {
        struct state_thread *thread;

        source->hand = source->hand + 1 < source->n_threads ? source->hand + 1 : 1;
        thread = &source->threads[source->hand];
        if (!thread->used)
            return;
        if (thread->state == STATE_RUNNING && i < source->n_threads)
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
        uint32_t *bucket = &buckets[bucket_of(source, threads[i].id)];

        if (!threads[i].used)
            continue;
        threads[i].next = *bucket;
        *bucket = i;
    }
    return 0;
}

static _cold_ struct state_thread *add_thread(struct state_source *source, int32_t id, int64_t time)
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
    bucket = &source->buckets[bucket_of(source, id)];
    *thread = (struct state_thread){
        .next = *bucket,
        .id = id,
        .used = true,
        .cpu = CPU_UNKNOWN,
        .moved_from = CPU_UNKNOWN,
        .waker = PID_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .loss = source->loss,
        .since = time,
        .inside_since = TIME_UNKNOWN,
        .name = "",
    };
    *bucket = number;
    return thread;
}

struct state_thread *state_thread_get(struct state_source *source, int32_t id, int64_t time)
{
    struct state_thread *thread = state_thread_find(source, id);

    return likely(thread != NULL) ? thread : add_thread(source, id, time);
}

static void count_wait(struct state_counts *counts, const struct state_thread *thread,
                       enum state_why why)
{
    if (!state_waits((enum state)thread->state))
        return;
    switch (why) {
    case STATE_ENDS: counts->no_begin += !thread->begin_seen; break;
    case STATE_IS_OPEN: counts->open++; break;
    case STATE_IS_LOST: counts->lost++; break;
    case STATE_IS_CONTRADICTED: counts->contradicted++; break;
    case STATE_IS_GONE: counts->gone++; break;
    }
}

void state_thread_set(struct state_source *source, struct state_thread *thread, enum state state,
                      int64_t time, bool begin_seen, enum state_why why)
{
    struct state_interval interval;
    bool is_unknown;

    if (thread->state == STATE_UNKNOWN) {
        /* Nothing was known: there is no interval. */
        if (state == STATE_UNKNOWN)
            return;
    } else if (time > thread->since || (time == thread->since && thread->begin_seen)) {
        is_unknown = why == STATE_IS_LOST || why == STATE_IS_CONTRADICTED || why == STATE_IS_GONE;
        /* What ran did so up to its last proof, which TIME is. */
        if (thread->state == STATE_RUNNING)
            is_unknown = false;
        if (why != STATE_ENDS || !thread->begin_seen)
            count_wait(&source->counts, thread, why);
        interval = (struct state_interval){
            .of = source->is_xen ? STATE_OF_VCPU : STATE_OF_THREAD,
            .state = is_unknown ? STATE_UNKNOWN : (enum state)thread->state,
            .id = thread->id,
            .begin_seen = thread->begin_seen && !is_unknown,
            .end_seen = why == STATE_ENDS,
            .begin = thread->since,
            .end = time,
            .cpu = thread->cpu,
            .moved_from = thread->moved_from,
            .moved_at = thread->moved_at,
            .by = thread->state == STATE_WOKEN ? thread->waker : PID_UNKNOWN,
            .inside = -1,
            .vcpu = thread->vcpu,
            .name = thread->name,
        };
        if (thread->state == STATE_RUNNING && thread->enters) {
            if (thread->inside_since != TIME_UNKNOWN) {
                thread->inside =
                    ticks_sum(thread->inside, ticks_between(thread->inside_since, time));
                thread->inside_since = TIME_UNKNOWN;
            }
            interval.inside = thread->inside;
        }
        state_give(source, &interval);
    }
    if (source->is_xen)
        state_xen_changed(source, thread, state, time);
    thread->state = (uint8_t)state;
    thread->since = time;
    thread->begin_seen = begin_seen;
    thread->loss = source->loss;
    thread->moved_from = CPU_UNKNOWN;
    thread->inside = 0;
    thread->inside_since = TIME_UNKNOWN;
}

void state_thread_check(struct state_source *source, struct state_thread *thread, int64_t time)
{
    if (likely(thread->loss == source->loss) || thread->state == STATE_RUNNING)
        return;
    state_thread_set(source, thread, STATE_UNKNOWN, time, false, STATE_IS_LOST);
    thread->loss = source->loss;
}
