/* SPDX-License-Identifier: MIT */
#ifndef STRATA_RING_H
#define STRATA_RING_H

/* The emit path: what the generated _ring_trace_NAME() functions consist of. Only generated code needs
 * this header.
 *
 * A record goes into the calling thread's ring: strata_ring_begin() opens it and takes a time stamp,
 * strata_ring_put…() copy the arguments, strata_ring_end() commits. Nothing else may be done in between.
 * Any thread and any signal handler may emit. A handler that interrupts its thread between begin and end uses another
 * ring of the thread. An event takes no lock, allocates nothing and makes no system call. Exception: the first event in
 * a ring creates the ring, by system calls that are safe in signal handlers.
 *
 * src/runtime/ring/ring.h has the ring's layout in memory, the protocol and its proof, with the same names. */

#include "strata/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_RING_INLINE static inline __attribute__((always_inline))
#define STRATA_RING_RARE __attribute__((noinline, cold))

#if defined(__SANITIZE_THREAD__)
#define STRATA_RING_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRATA_RING_TSAN 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
    __has_feature(hwaddress_sanitizer)
#define STRATA_RING_SANITIZED 1
#endif
#endif
/* A sanitizer must see each access to a string. */
#if defined(__SANITIZE_ADDRESS__) || defined(STRATA_RING_TSAN)
#define STRATA_RING_SANITIZED 1
#endif

/* The cache line of the shared mapping that each event writes. */
struct strata_ring_commit {
    uint64_t committed;
    uint64_t time;
};

/* What the thread knows of a ring. A forked child clears it, so its first event finds no room and creates
 * a ring of its own. */
struct strata_ring {
    uint64_t head;  /* where the next record begins, a multiple of 8 */
    uint64_t limit; /* where it must end; 0: every event takes strata_ring_begin_slow() */
    uintptr_t base; /* the byte of position P of the open packet is at base + P */
    struct strata_ring_commit *line;
    uint32_t busy; /* a record is open; signal handlers emit into another ring */
    uint32_t reserved;
    /* only for src/runtime */
    uint64_t mask;     /* size of the ring - 1 */
    uint64_t sub_mask; /* size of a sub-buffer - 1 */
    uint8_t *data;
    uint64_t n_classes; /* classes for which the ring has drop counts */
};

/* A record between begin and end. */
struct strata_slot {
    struct strata_ring *ring;
    struct strata_ring_commit *line;
    uint8_t *record;
    uint64_t word; /* the header word */
    uint64_t from; /* position of the record */
    uint64_t size; /* bytes, with the header, and with what is known so far of its strings */
    uint64_t room; /* how many bytes more it may have in this packet */
};

/* The calling thread's ring, never NULL: a thread without a ring has a ring that is always busy. The TLS model is
 * initial-exec, because other models may allocate on first use, which signal handlers must not. */
extern STRATA_API __thread struct strata_ring *strata_ring_self
    __attribute__((tls_model("initial-exec")));

/* Begins a record in the rare cases: the thread has no ring, the packet is full, a handler interrupts a record, the clock
 * stepped back or was not read for long, the processor has no suitable clock. NULL: the event is dropped and counted;
 * do not call strata_ring_end(). */
STRATA_API STRATA_BOUND uint8_t *strata_ring_begin_slow(struct strata_slot *slot, uint32_t id,
                                                        size_t size);
/* Copies a string that may not fit into the packet, or that cannot be copied in pieces. NULL: the event is dropped and
 * counted; do not call strata_ring_end(). */
STRATA_API STRATA_BOUND uint8_t *strata_ring_string_slow(struct strata_slot *slot, uint8_t *at,
                                                         const char *string);
/* Counts a call of an event without a class (ID 0: it could not be registered) as dropped. */
STRATA_API STRATA_BOUND void strata_ring_drop(uint32_t id);

/* Bytes of a record before its arguments. */
#define STRATA_RING_HEADER 8

/* In ticks. After a longer time between two events of a ring, a new packet begins, because a record has 48 bits of
 * time. */
#define STRATA_RING_GAP (1ULL << 47)

STRATA_RING_INLINE uint64_t strata_ring_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0; /* rings have no limit: strata_ring_begin_slow() reads the clock */
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

STRATA_RING_INLINE uint32_t strata_ring_word_id(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (uint32_t)(word & 0xffff);
#else
    return (uint32_t)(word >> 48);
#endif
}

/* Lets the next record use the ring. A handler before this store emits into another ring, a handler after it emits into
 * this ring. */
STRATA_RING_INLINE void strata_ring_release(struct strata_ring *ring)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&ring->busy, 0, __ATOMIC_RELAXED);
}

/* Opens a record of class ID with SIZE bytes: STRATA_RING_HEADER, the arguments, and one for each string.
 * Returns where the arguments go. NULL: call strata_ring_begin_slow().
 *
 * Reading the clock takes most of the time, and some processors do nothing else meanwhile. So there are no instructions
 * here that an event of two words does not need. All loads and stores are plain, and none of them is in a cache line
 * that another processor writes. There is no locked or read-modify-write instruction. Rare cases are in another
 * function, so that this one needs no stack. bench/emit compares it with a loop that reads the clock and stores the
 * words. */
STRATA_RING_INLINE uint8_t *strata_ring_begin(struct strata_slot *slot, uint32_t id, size_t size)
{
    struct strata_ring *ring = strata_ring_self;
    struct strata_ring_commit *line;
    uint64_t from, time;

    if (strata_unlikely(__atomic_load_n(&ring->busy, __ATOMIC_RELAXED)))
        return NULL;

    /* From here to strata_ring_end() the ring is ours alone. A handler before this store has emitted all its records, and
     * a handler after it emits into another ring. So no record before ours in the ring has a later time. */
    __atomic_store_n(&ring->busy, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    from = ring->head;
    line = ring->line;
    time = strata_ring_ticks();

    /* Without an open packet the limit is 0, and nothing fits; without a ring `line` is not used. */
    if (strata_unlikely(from + size > ring->limit) ||
        strata_unlikely(time - line->time >= STRATA_RING_GAP)) {
        strata_ring_release(ring);
        return NULL;
    }

    /* Release: a consumer that sees this time sees everything that was committed before it (invariant
     * 6). */
    __atomic_store_n(&line->time, time, __ATOMIC_RELEASE);

    slot->ring = ring;
    slot->line = line;
    slot->from = from;
    slot->size = size;
    slot->room = ring->limit - from - size;
    slot->word = strata_ring_word(id, time);
    slot->record = (uint8_t *)(ring->base + (uintptr_t)from);
    return slot->record + STRATA_RING_HEADER;
}

/* Commits the record. */
STRATA_RING_INLINE void strata_ring_end(struct strata_slot *slot)
{
    struct strata_ring *ring = slot->ring;

    __builtin_memcpy(__builtin_assume_aligned(slot->record, 8), &slot->word, 8);

    /* A child that a handler forked while the record was open does not commit it: the parent does. */
    if (strata_unlikely(!__atomic_load_n(&ring->busy, __ATOMIC_RELAXED)))
        return;
    ring->head = slot->from + ((slot->size + 7) & ~7ULL);
    /* Release: a consumer that sees the new position sees the record. On x86 a plain store. */
    __atomic_store_n(&slot->line->committed, slot->from + slot->size, __ATOMIC_RELEASE);
    strata_ring_release(ring);
}

/* Drops the open record. */
STRATA_RING_INLINE void strata_ring_cancel(struct strata_slot *slot)
{
    strata_ring_release(slot->ring);
}

/* Copies an argument, and returns where the next one goes. */
STRATA_RING_INLINE uint8_t *strata_ring_put(uint8_t *at, const void *argument, size_t size)
{
    __builtin_memcpy(at, argument, size);
    return at + size;
}

#if defined(__x86_64__) && !defined(STRATA_RING_SANITIZED)
#define STRATA_RING_PIECE 16
typedef char strata_ring_piece __attribute__((vector_size(STRATA_RING_PIECE)));

/* The mask that keeps the first N bytes of a piece begins at STRATA_RING_PIECE - N. */
static const signed char strata_ring_keep[2 * STRATA_RING_PIECE] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                                    -1, -1, -1, -1, -1, -1, -1, -1};

/* Copies a piece of a string up to its NUL, and zeros after it. Returns a mask of the bytes that are 0. It reads past the
 * NUL, which the compiler must not know. */
STRATA_RING_INLINE unsigned strata_ring_copy_piece(uint8_t *at, const char *from)
{
    strata_ring_piece piece, keep;
    unsigned zeros;

    __asm__ __volatile__("movdqu %[from], %[piece]"
                         : [piece] "=x"(piece)
                         : [from] "m"(*from)
                         : "memory");
    zeros = (unsigned)__builtin_ia32_pmovmskb128((strata_ring_piece)(piece == 0));
    if (zeros) {
        __builtin_memcpy(&keep, strata_ring_keep + STRATA_RING_PIECE - __builtin_ctz(zeros),
                         sizeof(keep));
        piece &= keep;
    }
    __builtin_memcpy(at, &piece, sizeof(piece));
    return zeros;
}
#endif

/* Copies a string, cut at STRATA_STRING_MAX, with a NUL, in one pass. Returns where the next argument
 * goes. NULL: call strata_ring_string_slow(). */
STRATA_RING_INLINE uint8_t *strata_ring_put_string(struct strata_slot *slot, uint8_t *at,
                                                   const char *string)
{
#ifdef STRATA_RING_PIECE
    /* Bytes that are written past the NUL are in the room. */
    for (size_t i = 0; i < STRATA_STRING_MAX && i + STRATA_RING_PIECE <= slot->room && string;
         i += STRATA_RING_PIECE) {
        unsigned zeros;

        /* Bytes that are read past the NUL are in its page. */
        if (strata_unlikely(((uintptr_t)(string + i) & 4095) > 4096 - STRATA_RING_PIECE))
            break;
        zeros = strata_ring_copy_piece(at + i, string + i);
        if (zeros) {
            size_t length = i + (size_t)__builtin_ctz(zeros);

            slot->size += length;
            slot->room -= length;
            return at + length + 1;
        }
    }
#else
    (void)slot;
    (void)at;
    (void)string;
#endif
    return NULL;
}

/* Called at program start, in the object whose events are emitted: resolves the functions that events
 * call. The first call of a lazily bound function takes some KB of stack, which may be a signal
 * handler's. */
static inline void strata_ring_bind(void)
{
    (void)strata_ring_begin_slow(NULL, 0, 0);
    (void)strata_ring_string_slow(NULL, NULL, NULL);
    (void)strata_filter_pass(NULL, NULL);
}

#ifdef __cplusplus
}
#endif

#endif
