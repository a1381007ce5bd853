/* SPDX-License-Identifier: MIT */
#ifndef STRATA_RING_H
#define STRATA_RING_H

/* The emit path: what generated .c files put into every _ring_trace_NAME(). Nobody else needs it.
 *
 * A record goes into the calling thread's ring: strata_ring_begin() gives it space and a time stamp,
 * strata_ring_put…() copy the arguments, strata_ring_end() commits. Between the two nothing else may be
 * done. Any thread; signal handlers too, also while the thread that they interrupt is between begin and
 * end. No lock, no allocation, no system call, but for a thread's first event (which makes the thread's
 * ring: system calls that are safe in signal handlers).
 *
 * How the ring lies in memory, the protocol and why it is right: src/runtime/ring.h. The names here are
 * as there. */

#include "strata/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_RING_INLINE static inline __attribute__((always_inline))

#if defined(__SANITIZE_THREAD__)
#define STRATA_RING_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRATA_RING_TSAN 1
#endif
#endif

/* The part of the shared mapping that each event writes. */
struct strata_ring_line {
    uint64_t committed;
    uint64_t time;
    uint32_t extents_used;
    uint32_t reserved;
    uint64_t late;
};

/* The part that is private to the thread. It is wiped in a forked child, whose first event therefore
 * finds that nothing fits and asks for a ring of its own. */
struct strata_ring {
    uint64_t head;
    uint64_t
        fast_mask; /* the size of a sub-buffer - 1; 0: every event goes by strata_ring_begin_slow() */
    uint64_t mask; /* the size of the ring - 1 */
    uint8_t *data;
    struct strata_ring_line *line;
    /* what follows is of src/runtime alone */
    uint64_t sub_mask;
    uint64_t n_classes; /* that the ring has drop counts for */
};

/* A record between begin and end. */
struct strata_slot {
    struct strata_ring *ring;
    struct strata_ring_line *line;
    uint8_t *record;
    uint64_t word; /* the header word */
    uint64_t from; /* head before */
    uint64_t end;  /* head behind */
    /* of a nested record, what src/runtime notes it in */
    uint32_t extent;
    bool claimed, extends;
};

/* The calling thread's ring. Never NULL: a ring in which nothing fits stands for none. Initial-exec, as
 * the other models may allocate on first use, which signal handlers must not. */
extern STRATA_API __thread struct strata_ring *strata_ring_self
    __attribute__((tls_model("initial-exec")));

/* The rare cases: the thread has no ring, the packet is full, a handler interrupts a record, the clock
 * stepped back or was not read for long, the processor has no clock that is fit. NULL: dropped, counted. */
STRATA_API STRATA_BOUND uint8_t *strata_ring_begin_slow(struct strata_slot *slot, uint32_t id,
                                                        size_t size);
/* Counts a call of an event that has no class (its id is 0: it could not be registered) as dropped. */
STRATA_API STRATA_BOUND void strata_ring_drop(uint32_t id);
/* The record lies behind one that is still open. */
STRATA_API STRATA_BOUND void strata_ring_end_nested(const struct strata_slot *slot);
/* Handlers put records behind this one while it was open. */
STRATA_API STRATA_BOUND void strata_ring_publish(const struct strata_slot *slot);

/* Bytes of a record in front of its arguments. */
#define STRATA_RING_HEADER 8

/* Ticks: longer ones between two events of a ring go into a new packet, as a record has 48 bits of time. */
#define STRATA_RING_GAP (1ULL << 47)

STRATA_RING_INLINE uint64_t strata_ring_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0; /* fast_mask is 0 */
#endif
}

/* Compare and exchange that is one step for the thread itself and its signal handlers; no other thread
 * writes there, so on x86 it needs no lock. It orders nothing between processors, but the compiler. */
STRATA_RING_INLINE bool strata_ring_exchange(uint64_t *at, uint64_t expected, uint64_t desired)
{
#if defined(__x86_64__) && !defined(STRATA_RING_TSAN)
    bool done;

    __asm__ __volatile__("cmpxchgq %[desired], %[at]"
                         : "=@ccz"(done), [at] "+m"(*at), "+a"(expected)
                         : [desired] "r"(desired)
                         : "memory");
    return done;
#else
    bool done = __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED);

    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return done;
#endif
}

STRATA_RING_INLINE uint64_t strata_ring_word(uint32_t id, uint64_t time)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return time << 16 | id;
#else
    return (uint64_t)id << 48 | (time & 0xffffffffffffULL);
#endif
}

/* By a copy, so that the slot of the ordinary case need not be in memory. */
STRATA_RING_INLINE uint8_t *strata_ring_begin_rare(struct strata_slot *slot, uint32_t id,
                                                   size_t size)
{
    struct strata_slot rare;
    uint8_t *at = strata_ring_begin_slow(&rare, id, size);

    if (at)
        *slot = rare;
    return at;
}

/* Space for a record of class ID and of SIZE bytes, STRATA_RING_HEADER of them included. Returns
 * where the arguments go; NULL: dropped, there is nothing to end.
 *
 * What it costs (bench/emit, a 2 CPU virtual machine, an event of two words): 10.5 ns, as a loop that
 * does nothing but read the clock and store the three words. The clock is what takes that long. All the
 * rest, which by itself takes 5.3 ns (2 of them for the exchange, the look for a gap and the time), is
 * done by the processor while it waits for the clock. So what is here may be careful, but must not wait
 * for anything: no locked instruction, no line that another processor writes. */
STRATA_RING_INLINE uint8_t *strata_ring_begin(struct strata_slot *slot, uint32_t id, size_t size)
{
    struct strata_ring *ring = strata_ring_self;
    struct strata_ring_line *line = ring->line;
    uint64_t from = __atomic_load_n(&ring->head, __ATOMIC_RELAXED), at = (from + 7) & ~7ULL, time;

    /* The stamp is taken after head was read and before it is moved. A handler that emits in between
     * moves head, and the exchange fails; so who comes first in the ring has the earlier time. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    time = strata_ring_ticks();

    /* At a sub-buffer's begin, where no packet is open, (at - 1) & fast_mask is the mask itself, and
     * nothing fits. Without a ring the mask is 0, and `line` is not looked at. */
    if (strata_unlikely(((at - 1) & ring->fast_mask) + size >= ring->fast_mask) ||
        strata_unlikely(time - line->time >= STRATA_RING_GAP) ||
        strata_unlikely(__atomic_load_n(&line->committed, __ATOMIC_RELAXED) != from) ||
        strata_unlikely(!strata_ring_exchange(&ring->head, from, at + size)))
        return strata_ring_begin_rare(slot, id, size);

    /* Release: a consumer that sees this time sees all that was committed before it (invariant 6). */
    __atomic_store_n(&line->time, time, __ATOMIC_RELEASE);

    slot->ring = ring;
    slot->line = line;
    slot->from = from;
    slot->end = at + size;
    slot->word = strata_ring_word(id, time);
    slot->record = ring->data + (at & ring->mask);
    return slot->record + STRATA_RING_HEADER;
}

/* Commits. */
STRATA_RING_INLINE void strata_ring_end(struct strata_slot *slot)
{
    struct strata_ring_line *line = slot->line;

    __builtin_memcpy(__builtin_assume_aligned(slot->record, 8), &slot->word, 8);

    if (strata_unlikely(__atomic_load_n(&line->committed, __ATOMIC_RELAXED) != slot->from)) {
        struct strata_slot nested = *slot;

        strata_ring_end_nested(&nested);
        return;
    }

    /* Release: who sees the new position sees the record. On x86 a plain store. */
    __atomic_store_n(&line->committed, slot->end, __ATOMIC_RELEASE);

    /* A handler that came while committed was less took its record for nested, and left publishing it
     * to us; one that comes from here on publishes by itself. So head is read after the store, in the
     * order of the program; that is enough, as both are on one processor. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (strata_unlikely(__atomic_load_n(&slot->ring->head, __ATOMIC_RELAXED) != slot->end)) {
        struct strata_slot outermost = *slot;

        strata_ring_publish(&outermost);
    }
}

/* Copies an argument, and returns where the next one goes. */
STRATA_RING_INLINE uint8_t *strata_ring_put(uint8_t *at, const void *argument, size_t size)
{
    __builtin_memcpy(at, argument, size);
    return at + size;
}

/* What stands for a null pointer, as printf() has it. */
#define STRATA_RING_NULL "(null)"

/* How many bytes of the string are recorded, its NUL not counted. */
STRATA_RING_INLINE size_t strata_ring_length(const char *string)
{
    const char *end = NULL;

    if (!string)
        return sizeof(STRATA_RING_NULL) - 1;
    end = (const char *)__builtin_memchr(string, 0, STRATA_STRING_MAX);
    return end ? (size_t)(end - string) : STRATA_STRING_MAX;
}

/* Copies LENGTH bytes (of strata_ring_length()) and a NUL. */
STRATA_RING_INLINE uint8_t *strata_ring_put_string(uint8_t *at, const char *string, size_t length)
{
    if (length > 0)
        __builtin_memcpy(at, string ? string : STRATA_RING_NULL, length);
    at[length] = 0;
    return at + length + 1;
}

/* Called when the program starts, in the object whose events are emitted: has what they call bound then. The
 * first call of a function that is bound lazily takes some KB of the stack, which may be a handler's. */
static inline void strata_ring_bind(void)
{
    volatile size_t none = 0;
    char from[1] = "", to[1];
    const void *volatile found;

    (void)strata_ring_begin_slow(NULL, 0, 0);
    strata_ring_end_nested(NULL);
    strata_ring_publish(NULL);
    (void)strata_filter_pass(NULL, NULL);
    found = __builtin_memchr(from, 0, none);
    (void)found;
    __builtin_memcpy(to, from, none);
    __asm__ __volatile__("" : : "r"(to) : "memory");
}

#ifdef __cplusplus
}
#endif

#endif
