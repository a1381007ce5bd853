/* SPDX-License-Identifier: MIT */
#ifndef STRATA_RING_H
#define STRATA_RING_H

/* The emit path: what the generated _ring_trace_NAME() functions consist of. Only generated code needs
 * this header.
 *
 * A record goes into the calling thread's ring: strata_ring_begin() reserves space and takes a time
 * stamp, strata_ring_put…() copy the arguments, strata_ring_end() commits. Nothing else may be done in
 * between. Any thread, and signal handlers, even while the interrupted thread is between begin and end.
 * No lock, no allocation and no system call, except for a thread's first event: it creates the ring by
 * system calls that are safe in signal handlers.
 *
 * The ring's layout in memory, the protocol and its proof: src/runtime/ring.h, which uses the same
 * names. */

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

/* The cache line of the shared mapping that each event writes. */
struct strata_ring_commit {
    uint64_t committed;
    uint64_t time;
    uint32_t extents_used;
    uint32_t reserved;
    uint64_t nested_time;
};

/* The thread's private part. A forked child clears it, so its first event finds no room and creates a
 * ring of its own. */
struct strata_ring {
    uint64_t head;
    uint64_t
        fast_mask; /* size of a sub-buffer - 1; 0: every event takes strata_ring_begin_slow() */
    uint64_t mask; /* size of the ring - 1 */
    uint8_t *data;
    struct strata_ring_commit *line;
    /* only for src/runtime */
    uint64_t sub_mask;
    uint64_t n_classes; /* for which the ring has drop counts */
};

/* A record between begin and end. */
struct strata_slot {
    struct strata_ring *ring;
    struct strata_ring_commit *line;
    uint8_t *record;
    uint64_t word; /* the header word */
    uint64_t from; /* head before the record */
    uint64_t end;  /* head after the record */
    /* of a nested record, for src/runtime */
    uint32_t extent;
    bool claimed, extends;
};

/* The calling thread's ring. Never NULL: a thread without a ring has one in which nothing fits.
 * Initial-exec, because the other TLS models may allocate on first use, which signal handlers must not. */
extern STRATA_API __thread struct strata_ring *strata_ring_self
    __attribute__((tls_model("initial-exec")));

/* The rare cases: the thread has no ring, the packet is full, a handler interrupts a record, the clock
 * stepped back or was not read for long, the processor has no suitable clock. NULL: dropped and
 * counted. */
STRATA_API STRATA_BOUND uint8_t *strata_ring_begin_slow(struct strata_slot *slot, uint32_t id,
                                                        size_t size);
/* Counts a call of an event without a class (ID 0: it could not be registered) as dropped. */
STRATA_API STRATA_BOUND void strata_ring_drop(uint32_t id);
/* The record follows one that is still open. */
STRATA_API STRATA_BOUND void strata_ring_end_nested(const struct strata_slot *slot);
/* Signal handlers added records after this one while it was open. */
STRATA_API STRATA_BOUND void strata_ring_publish(const struct strata_slot *slot);

/* Bytes of a record before its arguments. */
#define STRATA_RING_HEADER 8

/* Ticks. After a longer time between two events of a ring a new packet is begun, because a record has
 * 48 bits of time. */
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

/* Compare-and-exchange that is atomic for the thread and its signal handlers only: no other thread
 * writes there, so on x86 it needs no lock prefix. Orders nothing between processors; it is a compiler
 * barrier. */
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

/* Copies the slot, so that the common case can keep its slot in registers. */
STRATA_RING_INLINE uint8_t *strata_ring_begin_rare(struct strata_slot *slot, uint32_t id,
                                                   size_t size)
{
    struct strata_slot rare;
    uint8_t *at = strata_ring_begin_slow(&rare, id, size);

    if (at)
        *slot = rare;
    return at;
}

/* Reserves space for a record of class ID with SIZE bytes, including STRATA_RING_HEADER. Returns where
 * the arguments go; NULL: dropped, do not call strata_ring_end().
 *
 * Cost (bench/emit, a 2 CPU virtual machine, an event of two words): 10.5 ns, the same as a loop that
 * only reads the clock and stores the three words. Reading the clock takes that long. Everything else,
 * which alone takes 5.3 ns (2 of them for the exchange and the checks of the gap and the time), runs
 * while the processor waits for the clock. So the code here may be careful, but must not wait for
 * anything: no locked instruction, no cache line that another processor writes. */
STRATA_RING_INLINE uint8_t *strata_ring_begin(struct strata_slot *slot, uint32_t id, size_t size)
{
    struct strata_ring *ring = strata_ring_self;
    struct strata_ring_commit *line = ring->line;
    uint64_t from = __atomic_load_n(&ring->head, __ATOMIC_RELAXED), at = (from + 7) & ~7ULL, time;

    /* The time stamp is taken after head was read and before it is moved. A handler that emits in
     * between moves head, and the exchange fails; so the record that comes first in the ring has the
     * earlier time. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    time = strata_ring_ticks();

    /* At the start of a sub-buffer, where no packet is open, (at - 1) & fast_mask is the mask itself,
     * and nothing fits. Without a ring the mask is 0, and `line` is not used. */
    if (strata_unlikely(((at - 1) & ring->fast_mask) + size >= ring->fast_mask) ||
        strata_unlikely(time - line->time >= STRATA_RING_GAP) ||
        strata_unlikely(__atomic_load_n(&line->committed, __ATOMIC_RELAXED) != from) ||
        strata_unlikely(!strata_ring_exchange(&ring->head, from, at + size)))
        return strata_ring_begin_rare(slot, id, size);

    /* Release: a consumer that sees this time sees everything that was committed before it (invariant
     * 6). */
    __atomic_store_n(&line->time, time, __ATOMIC_RELEASE);

    slot->ring = ring;
    slot->line = line;
    slot->from = from;
    slot->end = at + size;
    slot->word = strata_ring_word(id, time);
    slot->record = ring->data + (at & ring->mask);
    return slot->record + STRATA_RING_HEADER;
}

/* Commits the record. */
STRATA_RING_INLINE void strata_ring_end(struct strata_slot *slot)
{
    struct strata_ring_commit *line = slot->line;

    __builtin_memcpy(__builtin_assume_aligned(slot->record, 8), &slot->word, 8);

    if (strata_unlikely(__atomic_load_n(&line->committed, __ATOMIC_RELAXED) != slot->from)) {
        struct strata_slot nested = *slot;

        strata_ring_end_nested(&nested);
        return;
    }

    /* Release: a consumer that sees the new position sees the record. On x86 a plain store. */
    __atomic_store_n(&line->committed, slot->end, __ATOMIC_RELEASE);

    /* A handler that ran before the store took its record for nested and left publishing it to us; one
     * that runs from here on publishes its own. So head is read after the store in program order; that
     * is enough, as both run on one processor. */
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

/* Recorded for a null pointer, as printf() prints it. */
#define STRATA_RING_NULL "(null)"

/* The number of bytes of the string that are recorded, without the NUL. */
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

/* Called at program start, in the object whose events are emitted: resolves the functions that events
 * call. The first call of a lazily bound function takes some KB of stack, which may be a signal
 * handler's. */
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
