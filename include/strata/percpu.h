/* SPDX-License-Identifier: MIT */
#ifndef STRATA_PERCPU_H
#define STRATA_PERCPU_H

/* libstrata-percpu: per-CPU trace buffers for a hypervisor, a kernel or a bare-metal program, in the
 * layout that Xen publishes. strata/percpu_view.h has the byte tables of the layout, strata/percpu_area.h has the byte
 * tables of the memory with the buffers.
 *
 *     TRACE_2D(MY_EVENT, domain, vcpu);
 *
 * puts a record into the buffer of the calling CPU, if tracing is on and the masks let the event pass. A
 * program that uses this header
 *
 *  - passes one piece of memory, of strata_percpu_size() bytes, to strata_percpu_init(): pages of a kernel,
 *    or a file that consumers map. It holds everything that consumers see;
 *  - passes a struct strata_percpu_cpu for each CPU, in memory that consumers cannot see, to
 *    strata_percpu_cpu_init();
 *  - defines how a CPU finds its own structure: the function strata_percpu_self(), or, after
 *    strata/percpu_area.h and before this header, the macro STRATA_PERCPU_SELF();
 *  - sets strata_percpu_control to the result of strata_percpu_init();
 *  - links libstrata-percpu.a (pkg-config: strata-percpu), which needs no libc and calls only the hooks
 *    that the program passes.
 *
 * CPUs: each CPU writes only into its own buffer. An emission begins and ends on the same CPU, so in a kernel
 * preemption must be off. Interrupts, also non-maskable interrupts, may occur at any point of an emission. They may
 * emit records, to any depth, if they return before the interrupted code continues. In a program, signal handlers are
 * interrupts and threads are CPUs.
 *
 * Nothing here waits, takes a lock, or uses a locked instruction. Exception: a CPU that crosses the high-water mark
 * adds to a word that all CPUs share.
 *
 * Errors: as in strata/percpu_view.h. Emitting cannot fail: a record without room is counted, and a record
 * LOST_RECORDS reports the count when there is room again.
 *
 * Needs gcc or clang and 64-bit atomic accesses. src/percpu/buffer.h has the protocol, and why it is correct. */

#include "strata/percpu_area.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Emitting ---- */

#define STRATA_PERCPU_INLINE static inline __attribute__((always_inline))
#define strata_percpu_unlikely(x) __builtin_expect(!!(x), 0)

#if defined(__SANITIZE_THREAD__)
#define STRATA_PERCPU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STRATA_PERCPU_TSAN 1
#endif
#endif

#ifndef STRATA_PERCPU_CONTROL
#define STRATA_PERCPU_CONTROL() strata_percpu_control
#endif

#ifndef STRATA_PERCPU_SELF
/* The structure of the calling CPU. Never NULL. */
struct strata_percpu_cpu *strata_percpu_self(void);
#define STRATA_PERCPU_SELF() strata_percpu_self()
#endif

#ifndef STRATA_PERCPU_CYCLES
#define STRATA_PERCPU_CYCLES() strata_percpu_cycles()
#endif

STRATA_PERCPU_INLINE uint64_t strata_percpu_cycles(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t cycles;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(cycles));
    return cycles;
#elif defined(__riscv) && __riscv_xlen == 64
    uint64_t cycles;

    __asm__ __volatile__("rdtime %0" : "=r"(cycles));
    return cycles;
#elif defined(__s390x__)
    uint64_t cycles;

    __asm__ __volatile__("stckf %0" : "=Q"(cycles) : : "cc");
    return cycles;
#else
#error "define STRATA_PERCPU_CYCLES(), and the hook of the same, for this machine"
#endif
}

/* These functions call what the program defined, so that no name of this header hides a name of the program. */
STRATA_PERCPU_INLINE struct strata_percpu_cpu *strata_percpu_this(void)
{
    return STRATA_PERCPU_SELF();
}

STRATA_PERCPU_INLINE struct strata_percpu_control *strata_percpu_switches(void)
{
    return STRATA_PERCPU_CONTROL();
}

STRATA_PERCPU_INLINE uint64_t strata_percpu_stamp(void)
{
    return STRATA_PERCPU_CYCLES();
}

/* Records are words at multiples of 4, in memory without a type. */
typedef uint32_t __attribute__((may_alias)) strata_percpu_word;
typedef uint64_t __attribute__((may_alias, aligned(4))) strata_percpu_word2;

/* Two words in the order of a record: the low word first. */
STRATA_PERCPU_INLINE uint64_t strata_percpu_low_first(uint64_t v)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : v << 32 | v >> 32;
}

/* Compares and exchanges, atomically for this CPU and its interrupts. No other CPU writes to AT, so x86 needs no lock
 * prefix. It is a barrier for the compiler, but not between CPUs. */
STRATA_PERCPU_INLINE bool strata_percpu_exchange(uint64_t *at, uint64_t expected, uint64_t desired)
{
#if defined(__x86_64__) && !defined(STRATA_PERCPU_TSAN)
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

/* True if tracing is on. This test is the whole cost of an event that is off. */
STRATA_PERCPU_INLINE bool strata_percpu_on(void)
{
    return __atomic_load_n(&strata_percpu_switches()->masks.enabled, __ATOMIC_RELAXED);
}

/* True if the masks let an event pass on a CPU. */
STRATA_PERCPU_INLINE bool strata_percpu_wanted(const struct strata_percpu_control *control,
                                               uint32_t number, uint32_t event)
{
    uint32_t mask = __atomic_load_n(&control->masks.events, __ATOMIC_RELAXED);
    uint32_t single;

    if (!(mask & event & 0x0fff0000U) || !(mask & event & 0xf000U) ||
        !(__atomic_load_n(&control->cpus[number / 32 % (STRATA_PERCPU_CPUS_MAX / 32)],
                          __ATOMIC_RELAXED) >>
              number % 32 &
          1))
        return false;
    if (!strata_percpu_unlikely(__atomic_load_n(&control->masks.singles, __ATOMIC_RELAXED)))
        return true;
    single = strata_percpu_single(event);
    return !(__atomic_load_n((const uint32_t *)(const void *)((const char *)control +
                                                              STRATA_PERCPU_SINGLES_OFFSET) +
                                 single / 32,
                             __ATOMIC_RELAXED) >>
                 single % 32 &
             1);
}

/* Converts a position to a value of cons and prod. */
STRATA_PERCPU_INLINE uint32_t strata_percpu_prod(uint64_t position, uint32_t size)
{
    return (uint32_t)position + (size & (0U - (uint32_t)(position >> 32 & 1)));
}

STRATA_PERCPU_INLINE uint32_t strata_percpu_header(uint32_t event, bool cycles, unsigned words)
{
    return (event & 0x0fffffffU) | words << 28 | (uint32_t)cycles << 31;
}

/* Handles what the inlined code leaves out: the end of the ring, no room, lost records to report, progress of the
 * consumer, the high-water mark, an interrupt while another record is open. HEADER states the number of WORDS. */
void strata_percpu_emit_slow(struct strata_percpu_cpu *cpu, uint32_t header, const uint32_t *words);
/* Publishes records that interrupts put after the record that was just published. */
void strata_percpu_publish(struct strata_percpu_cpu *cpu);

/* Writes a record of an event that passes the masks. Reading the counter takes most of the time (bench/percpu), and the
 * CPU does the rest meanwhile. So nothing here may wait: there is no locked instruction, and the only cache line that
 * another CPU writes is the line of cons and prod, which must be written anyway. */
STRATA_PERCPU_INLINE void strata_percpu_record(struct strata_percpu_cpu *cpu, uint32_t event,
                                               bool cycles, unsigned n, uint32_t w0, uint32_t w1,
                                               uint32_t w2, uint32_t w3, uint32_t w4, uint32_t w5,
                                               uint32_t w6)
{
    uint32_t header = strata_percpu_header(event, cycles, n);
    uint32_t *buffer;
    strata_percpu_word *at;
    uint64_t from, end, time;

    /* The stamp is taken after `reserve` was read and before it is moved. An interrupt that emits in
     * between moves it, and the exchange fails. So the record that is first in the buffer has the earlier time. */
    from = __atomic_load_n(&cpu->reserve, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    time = cycles ? strata_percpu_stamp() : 0;
    end = from + 4 + (cycles ? 8 : 0) + 4 * n;
    buffer = cpu->buffer;

    /* Without a buffer the limit is 0, and nothing else is read. */
    if (strata_percpu_unlikely(end >= __atomic_load_n(&cpu->limit, __ATOMIC_RELAXED)) ||
        strata_percpu_unlikely(__atomic_load_n(&buffer[0], __ATOMIC_RELAXED) != cpu->cons_seen) ||
        strata_percpu_unlikely(__atomic_load_n(&cpu->committed, __ATOMIC_RELAXED) != from) ||
        strata_percpu_unlikely(!strata_percpu_exchange(&cpu->reserve, from, end))) {
        uint32_t words[STRATA_PERCPU_WORDS_MAX] = {w0, w1, w2, w3, w4, w5, w6};

        strata_percpu_emit_slow(cpu, header, words);
        return;
    }

    at = (strata_percpu_word *)(buffer + 2) + (uint32_t)from / 4;
    *at++ = header;
    if (cycles) {
        *(strata_percpu_word2 *)at = strata_percpu_low_first(time);
        at += 2;
    }
    if (n > 0)
        at[0] = w0;
    if (n > 1)
        at[1] = w1;
    if (n > 2)
        at[2] = w2;
    if (n > 3)
        at[3] = w3;
    if (n > 4)
        at[4] = w4;
    if (n > 5)
        at[5] = w5;
    if (n > 6)
        at[6] = w6;

    /* Release: a consumer that sees the new prod also sees the record. On x86 a plain store. */
    __atomic_store_n(&buffer[1], strata_percpu_prod(end, cpu->size), __ATOMIC_RELEASE);
    /* `committed` comes after prod. An interrupt between the two stores must count as nested, or its prod would be
     * stored before ours. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&cpu->committed, end, __ATOMIC_RELAXED);

    /* An interrupt that occurred before this store left its record to us; a later interrupt publishes its own record. So
     * `reserve` is read after the store, in program order, which is enough on one CPU. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (strata_percpu_unlikely(__atomic_load_n(&cpu->reserve, __ATOMIC_RELAXED) != end))
        strata_percpu_publish(cpu);
}

/* Writes a record of an event that is on, if it passes the masks. */
STRATA_PERCPU_INLINE void strata_percpu_emit(uint32_t event, bool cycles, unsigned n, uint32_t w0,
                                             uint32_t w1, uint32_t w2, uint32_t w3, uint32_t w4,
                                             uint32_t w5, uint32_t w6)
{
    struct strata_percpu_cpu *cpu = strata_percpu_this();

    if (strata_percpu_wanted(strata_percpu_switches(), cpu->number, event))
        strata_percpu_record(cpu, event, cycles, n, w0, w1, w2, w3, w4, w5, w6);
}

/* Counts a record that is too long as lost. */
void strata_percpu_lose(struct strata_percpu_cpu *cpu);

/* The same with a payload of BYTES bytes, EXTRA, padded with zeros to whole words. Readers take them as words of 32 bits
 * in the machine's byte order. More than 28 bytes count as a lost record. */
static inline void strata_percpu_emit_bytes(uint32_t event, bool cycles, size_t bytes,
                                            const void *extra)
{
    struct strata_percpu_cpu *cpu = strata_percpu_this();
    uint32_t w[STRATA_PERCPU_WORDS_MAX] = {0, 0, 0, 0, 0, 0, 0};
    size_t i;

    if (!strata_percpu_wanted(strata_percpu_switches(), cpu->number, event))
        return;
    if (bytes > sizeof(w)) {
        strata_percpu_lose(cpu);
        return;
    }
    for (i = 0; i < bytes; i++)
        ((uint8_t *)w)[i] = ((const uint8_t *)extra)[i];
    strata_percpu_record(cpu, event, cycles, (unsigned)((bytes + 3) / 4), w[0], w[1], w[2], w[3],
                         w[4], w[5], w[6]);
}

/* ---- The macros ----
 *
 * The arguments are evaluated only while tracing is on. A 64-bit argument takes two words, and its macro
 * evaluates it twice: TRACE_3D(event, TRACE_PARAM64(address), flags). */

#define STRATA_PERCPU_TRACE_0(c, e) STRATA_PERCPU_EMIT(c, e, 0, 0, 0, 0, 0, 0, 0, 0)
#define STRATA_PERCPU_TRACE_1(c, e, a) STRATA_PERCPU_EMIT(c, e, 1, a, 0, 0, 0, 0, 0, 0)
#define STRATA_PERCPU_TRACE_2(c, e, a, b) STRATA_PERCPU_EMIT(c, e, 2, a, b, 0, 0, 0, 0, 0)
#define STRATA_PERCPU_TRACE_3(c, e, a, b, d) STRATA_PERCPU_EMIT(c, e, 3, a, b, d, 0, 0, 0, 0)
#define STRATA_PERCPU_TRACE_4(c, e, a, b, d, f) STRATA_PERCPU_EMIT(c, e, 4, a, b, d, f, 0, 0, 0)
#define STRATA_PERCPU_TRACE_5(c, e, a, b, d, f, g) STRATA_PERCPU_EMIT(c, e, 5, a, b, d, f, g, 0, 0)
#define STRATA_PERCPU_TRACE_6(c, e, a, b, d, f, g, h) \
    STRATA_PERCPU_EMIT(c, e, 6, a, b, d, f, g, h, 0)
#define STRATA_PERCPU_TRACE_7(c, e, a, b, d, f, g, h, i) \
    STRATA_PERCPU_EMIT(c, e, 7, a, b, d, f, g, h, i)

#define STRATA_PERCPU_EMIT(c, e, n, a, b, d, f, g, h, i)                                         \
    do {                                                                                         \
        if (strata_percpu_unlikely(strata_percpu_on()))                                          \
            strata_percpu_emit((uint32_t)(e), c, n, (uint32_t)(a), (uint32_t)(b), (uint32_t)(d), \
                               (uint32_t)(f), (uint32_t)(g), (uint32_t)(h), (uint32_t)(i));      \
    } while (0)

/* Selects the macro by the number of arguments after the event. */
#define STRATA_PERCPU_PICK(e, a, b, d, f, g, h, i, name, ...) name
#define STRATA_PERCPU_TRACE_N(c, ...)                                                          \
    STRATA_PERCPU_PICK(__VA_ARGS__, STRATA_PERCPU_TRACE_7, STRATA_PERCPU_TRACE_6,              \
                       STRATA_PERCPU_TRACE_5, STRATA_PERCPU_TRACE_4, STRATA_PERCPU_TRACE_3,    \
                       STRATA_PERCPU_TRACE_2, STRATA_PERCPU_TRACE_1, STRATA_PERCPU_TRACE_0, 0) \
    (c, __VA_ARGS__)

/* (event, up to 7 words): with and without cycles. */
#define STRATA_PERCPU_TRACE_TIME(...) STRATA_PERCPU_TRACE_N(true, __VA_ARGS__)
#define STRATA_PERCPU_TRACE(...) STRATA_PERCPU_TRACE_N(false, __VA_ARGS__)

/* BYTES bytes at EXTRA. */
#define STRATA_PERCPU_TRACE_VAR(event, cycles, bytes, extra)                   \
    do {                                                                       \
        if (strata_percpu_unlikely(strata_percpu_on()))                        \
            strata_percpu_emit_bytes((uint32_t)(event), cycles, bytes, extra); \
    } while (0)

/* Xen's names. Define STRATA_PERCPU_NO_XEN_NAMES if the program has its own. */
#ifndef STRATA_PERCPU_NO_XEN_NAMES
#define TRACE_PARAM64(p) (uint32_t)(p), (uint32_t)((uint64_t)(p) >> 32)
#define TRACE_0D(event) STRATA_PERCPU_TRACE_0(true, event)
#define TRACE_1D(...) STRATA_PERCPU_TRACE_1(true, __VA_ARGS__)
#define TRACE_2D(...) STRATA_PERCPU_TRACE_2(true, __VA_ARGS__)
#define TRACE_3D(...) STRATA_PERCPU_TRACE_3(true, __VA_ARGS__)
#define TRACE_4D(...) STRATA_PERCPU_TRACE_4(true, __VA_ARGS__)
#define TRACE_5D(...) STRATA_PERCPU_TRACE_5(true, __VA_ARGS__)
#define TRACE_6D(...) STRATA_PERCPU_TRACE_6(true, __VA_ARGS__)
#define TRACE_7D(...) STRATA_PERCPU_TRACE_7(true, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
