/* SPDX-License-Identifier: MIT */

/* The parts of strata/percpu.h that are not inlined. Interrupts that do the same may occur anywhere. Numbers in
 * brackets are the invariants of percpu/buffer.h. */

#include "percpu/buffer.h"

static uint64_t cycles_of(const struct strata_percpu_cpu *cpu)
{
    uint64_t time;

    /* Between what is read before and what is exchanged after. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    time = cpu->cycles ? cpu->cycles() : strata_percpu_cycles();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return time;
}

static uint64_t load(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static uint32_t header_size(uint32_t header)
{
    return 4 + 8 * (header >> 31) + 4 * (header >> 28 & 7);
}

/* Bytes from CONS up to POSITION; more than X when cons cannot be [6]. */
static uint32_t used_at(const struct strata_percpu_cpu *cpu, uint32_t cons, uint64_t position)
{
    uint32_t at = strata_percpu_prod(position, cpu->size);

    if (cons >= 2 * cpu->size || cons % 4 != 0)
        return UINT32_MAX;
    return at >= cons ? at - cons : at + 2 * cpu->size - cons;
}

/* The position BYTES after FROM. BYTES is at most the distance to the ring's end. */
static uint64_t advance(const struct strata_percpu_cpu *cpu, uint64_t from, uint32_t bytes)
{
    uint64_t to = from + bytes;

    return (uint32_t)to < cpu->size ? to : ((to >> 32) + 1) << 32;
}

static uint32_t to_end(const struct strata_percpu_cpu *cpu, uint64_t position)
{
    return cpu->size - (uint32_t)position;
}

/* Where a record of SIZE bytes put at FROM begins: there, or after a filler. */
static uint64_t begin_of(const struct strata_percpu_cpu *cpu, uint64_t from, uint32_t size)
{
    return to_end(cpu, from) < size ? advance(cpu, from, to_end(cpu, from)) : from;
}

static strata_percpu_word *word_at(const struct strata_percpu_cpu *cpu, uint64_t position)
{
    return (strata_percpu_word *)(cpu->buffer + 2) + (uint32_t)position / 4;
}

static strata_percpu_word *put_header(strata_percpu_word *at, uint32_t header, uint64_t time)
{
    *at++ = header;
    if (header >> 31) {
        *at++ = (uint32_t)time;
        *at++ = (uint32_t)(time >> 32);
    }
    return at;
}

/* Fills from FROM up to where BEGIN_OF() put a record, if that is beyond the ring's end. */
static void put_filler(const struct strata_percpu_cpu *cpu, uint64_t from, uint64_t begin,
                       uint64_t time)
{
    uint32_t words, header;

    if (from == begin)
        return;
    words = to_end(cpu, from) / 4 - 1;
    header = words > STRATA_PERCPU_WORDS_MAX
                 ? strata_percpu_header(STRATA_TRC_WRAP_BUFFER, true, words - 2)
                 : strata_percpu_header(STRATA_TRC_WRAP_BUFFER, false, words);
    put_header(word_at(cpu, from), header, time);
}

/* Takes from `lost` what was not KNOWN when it was decided to tell, and writes it down. Outermost alone,
 * whose record is open: no other one reports losses; but interrupts may lose more. */
static void put_lost(struct strata_percpu_cpu *cpu, uint64_t position, uint64_t time,
                     uint64_t known)
{
    struct strata_percpu_state *state = cpu->state;
    uint64_t lost, untold, count, first = load(&state->first);
    strata_percpu_word *at;

    do {
        lost = load(&state->lost);
        untold = lost_untold(lost, known);
        count = PERCPU_MIN(untold, UINT32_MAX);
    } while (!strata_percpu_exchange(&state->lost, lost,
                                     ((lost >> LOST_BITS) + 1) << LOST_BITS | (untold - count)));
    store(&state->reported, load(&state->reported) + count);

    at = put_header(word_at(cpu, position),
                    strata_percpu_header(STRATA_TRC_LOST_RECORDS, true, LOST_WORDS), time);
    *at++ = (uint32_t)count;
    *at++ = __atomic_load_n(&cpu->current, __ATOMIC_RELAXED);
    *at++ = (uint32_t)first;
    *at = (uint32_t)(first >> 32);
}

static void drop(struct strata_percpu_cpu *cpu)
{
    struct strata_percpu_state *state = cpu->state;
    uint64_t first, lost, time;

    for (;;) {
        first = load(&state->first);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* [7] */
        lost = load(&state->lost);
        time = cycles_of(cpu);
        if (lost_untold(lost, load(&state->known)) == 0 &&
            !strata_percpu_exchange(&state->first, first, time))
            continue;
        if (strata_percpu_exchange(&state->lost, lost, lost + 1))
            break;
    }
    store(&cpu->limit, 0);
}

/* Works out what an ordinary record is, and notifies. */
static void settle(struct strata_percpu_cpu *cpu)
{
    for (;;) {
        uint64_t crossed = load(&cpu->crossed), reserve, committed, limit = 0;
        uint32_t mark = __atomic_load_n(&cpu->control->masks.high_water, __ATOMIC_RELAXED);
        uint32_t cons, used, unread, room;

        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* [11] */
        committed = load(&cpu->committed);
        reserve = load(&cpu->reserve);
        /* Acquire: what the consumer has read before it gave it back, it has read. */
        cons = __atomic_load_n(&cpu->buffer[0], __ATOMIC_ACQUIRE);
        unread = used_at(cpu, cons, committed);
        used = used_at(cpu, cons, reserve);

        if (unread <= cpu->size && used <= cpu->size && unread <= used) {
            bool above = mark > 0 && unread >= mark;

            if (above != (crossed & 1)) {
                if (!strata_percpu_exchange(&cpu->crossed, crossed, crossed + 1))
                    continue;
                if (above) {
                    uint64_t n;

                    do
                        n = load(&cpu->state->crossings);
                    while (!strata_percpu_exchange(&cpu->state->crossings, n, n + 1));
                    /* Release: who sees it sees prod. The one word that CPUs share. */
                    __atomic_fetch_add(&cpu->control->notify, 1, __ATOMIC_RELEASE);
                    if (cpu->notify)
                        cpu->notify(cpu);
                }
                continue;
            }
            /* A record that ends at the ring's end is not an ordinary record, hence "less than" there. A record that
             * takes the last of the room is. */
            room = cpu->size - used + 4;
            room = PERCPU_MIN(room, to_end(cpu, reserve));
            if (mark > 0 && !above)
                room = PERCPU_MIN(room, mark > used ? mark - used : 0);
            limit = reserve + room;
        }

        store(&cpu->limit, limit);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* [10] */
        __atomic_store_n(&cpu->cons_seen, cons, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (load(&cpu->state->lost) & LOST_MASK)
            store(&cpu->limit, 0); /* an interrupt may have set it so before our store */
        return;
    }
}

/* The consumer may have been below the mark before what is published now brings it above [11]. Our record is
 * open, so no interrupt publishes in between. */
static void look_below(struct strata_percpu_cpu *cpu)
{
    uint64_t crossed = load(&cpu->crossed);
    uint32_t cons = __atomic_load_n(&cpu->buffer[0], __ATOMIC_RELAXED);

    if (crossed & 1 && used_at(cpu, cons, load(&cpu->committed)) <
                           __atomic_load_n(&cpu->control->masks.high_water, __ATOMIC_RELAXED))
        strata_percpu_exchange(&cpu->crossed, crossed, crossed + 1);
}

void strata_percpu_publish(struct strata_percpu_cpu *cpu)
{
    for (;;) {
        uint64_t end = load(&cpu->reserve);

        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        /* In this order: an interrupt between the two that publishes by itself leaves `committed` after
         * END. While it is before it, no other one publishes [3]. */
        if (load(&cpu->committed) >= end)
            break;
        look_below(cpu);
        __atomic_store_n(&cpu->buffer[1], strata_percpu_prod(end, cpu->size), __ATOMIC_RELEASE);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* [4] */
        store(&cpu->committed, end);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); /* [3] */
    }
    settle(cpu);
}

void strata_percpu_emit_slow(struct strata_percpu_cpu *cpu, uint32_t header, const uint32_t *words)
{
    uint32_t size = header_size(header);

    if (cpu->size == 0)
        return;

    for (;;) {
        uint64_t from = load(&cpu->reserve), lost_at = 0, record_at, at, end, time, known;
        uint64_t committed = load(&cpu->committed);
        bool outermost = committed == from, tells;
        uint32_t cons, used;
        strata_percpu_word *to;

        known = load(&cpu->state->known);
        tells = outermost && lost_untold(load(&cpu->state->lost), known) > 0;
        time = cycles_of(cpu);

        /* Acquire: as in settle(). */
        cons = __atomic_load_n(&cpu->buffer[0], __ATOMIC_ACQUIRE);
        used = used_at(cpu, cons, from);

        at = from;
        if (tells) {
            lost_at = begin_of(cpu, at, LOST_SIZE);
            at = advance(cpu, lost_at, LOST_SIZE);
        }
        record_at = begin_of(cpu, at, size);
        end = advance(cpu, record_at, size);

        if (used > cpu->size || used_at(cpu, cons, committed) > used ||
            used + (((end >> 32) - (from >> 32)) * cpu->size + (uint32_t)end - (uint32_t)from) >
                cpu->size) {
            if (load(&cpu->reserve) != from)
                continue; /* an interrupt was faster, and cons may be of after it */
            drop(cpu);
            return;
        }
        if (!strata_percpu_exchange(&cpu->reserve, from, end))
            continue;

        if (tells) {
            put_filler(cpu, from, lost_at, time);
            put_lost(cpu, lost_at, time, known);
        }
        put_filler(cpu, at, record_at, time);
        to = put_header(word_at(cpu, record_at), header, time);
        for (uint32_t i = 0; i < (header >> 28 & 7); i++)
            to[i] = words[i];

        if (outermost)
            strata_percpu_publish(cpu);
        return;
    }
}

void strata_percpu_lose(struct strata_percpu_cpu *cpu)
{
    if (cpu->size > 0)
        drop(cpu);
}
