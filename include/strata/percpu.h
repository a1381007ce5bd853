/* SPDX-License-Identifier: MIT */
#ifndef STRATA_PERCPU_H
#define STRATA_PERCPU_H

/* libstrata-percpu: per-CPU trace buffers for a hypervisor, a kernel or a bare-metal program, in the
 * layout that Xen publishes (strata/percpu_view.h has its byte tables and the consumer's side).
 *
 *     TRACE_2D(MY_EVENT, domain, vcpu);
 *
 * puts a record into the buffer of the CPU that it runs on, if tracing is on and the masks let the event
 * pass. A program that uses this header
 *
 *  - gives one piece of memory, of strata_percpu_size() bytes, to strata_percpu_init(): pages of a kernel,
 *    or a file that others map. All that consumers see lies in there;
 *  - gives each CPU a struct strata_percpu_cpu, in memory that consumers do not see, to
 *    strata_percpu_cpu_init();
 *  - says how a CPU finds its own: it defines strata_percpu_self(), or the macro STRATA_PERCPU_SELF() before
 *    this header;
 *  - tells where the switches are: strata_percpu_control = what strata_percpu_init() made;
 *  - links libstrata-percpu.a (pkg-config: strata-percpu), which needs no libc and calls nothing but the
 *    hooks that it was given.
 *
 * CPUs: each writes into its own buffer only, and stays the same from the begin to the end of an emission
 * (in a kernel, preemption is off). Interrupts, also those that cannot be masked, may come at any instant
 * of an emission and emit themselves, to any depth, if they return before what they interrupted goes on.
 * In a program, signal handlers are interrupts and threads are CPUs.
 * Nothing here waits, takes a lock, or uses a locked instruction, but that a crossing of the high-water
 * mark counts in a word that all CPUs share.
 *
 * Errors: as in strata/percpu_view.h. Emitting cannot fail: what finds no room is counted, and a record
 * LOST_RECORDS says so as soon as there is room again.
 *
 * Needs gcc or clang and 64-bit atomic accesses. The protocol, and why it is right: src/percpu/buffer.h.
 *
 * ## The area
 *
 * In the machine's own byte order. `n` CPUs, `N` pages per buffer.
 *
 *     offset  bytes
 *          0      8  "STRAPCPU"; stored last
 *          8      4  version, 1
 *         12      4  n
 *         16      4  N
 *         20      4  bytes of a page, 4096
 *         24      8  bytes of the area
 *         32      8  cycles a second of the counter that stamps records; 0: not known
 *         40      4  where t_info begins, from the start of the area
 *         44      4  bytes of t_info with its lists; the page numbers there count from the area's start
 *         48      4  process that made the area; 0: none
 *         64     64  name, ended by a NUL
 *
 *        128      4  enabled: 1 when tracing is on      \
 *        132      4  event mask                          \ whoever controls tracing writes these, at
 *        136      4  1 when the map of single events counts / any time; all values are well
 *        140      4  high-water mark, bytes; 0: none    /
 *
 *        192      4  notify: how many times a CPU crossed the mark; the CPUs write it, and a consumer may
 *                    wait for it to change (a futex)
 *
 *        256      4  1 when what follows was noted by a consumer before it changed anything: should it be
 *                    killed, the next one puts back what is here
 *        260     16  enabled, event mask, single events, mark as it found them
 *       1024    512  CPUs that trace, a bit each
 *       1536    512  the same as the consumer found it
 *
 *       4096  98304  map of single events: bit strata_percpu_single(event) is set when that event is off
 *     102400   64*n  the CPUs' states
 *          …         t_info
 *          …  4096*N for each CPU that is not offline: its buffer
 *
 * each beginning at a multiple of 4096. The state of a CPU:
 *
 *          0      8  lost: bits 0-51 how many records were lost and not yet told by a LOST_RECORDS;
 *                    bits 52-63 change each time one is written
 *          8      8  cycles of the first of them
 *         16      8  how many were told by LOST_RECORDS since the area was made
 *         24      8  how many times this CPU crossed the mark
 *         32      8  a consumer's copy of `lost`: it knows of those, and they need not be told
 *
 * ## Masks
 *
 * An event passes the mask, as in Xen, when they have a class bit (16-27) and a subclass bit (12-15) in
 * common, its CPU's bit is set, and it is not switched off as a single event. */

#include "strata/percpu_view.h"

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(__GNUC__)
#error "Strata needs gcc or clang"
#endif

/* ---- The classes of events ---- */

#define STRATA_TRC_GEN 0x0001f000U
#define STRATA_TRC_SCHED 0x0002f000U
#define STRATA_TRC_DOM0OP 0x0004f000U
#define STRATA_TRC_HVM 0x0008f000U
#define STRATA_TRC_MEM 0x0010f000U
#define STRATA_TRC_PV 0x0020f000U
#define STRATA_TRC_SHADOW 0x0040f000U
#define STRATA_TRC_HW 0x0080f000U
/* The class for events of one's own: STRATA_TRC_GUEST | number, up to 0xfff. */
#define STRATA_TRC_GUEST 0x0800f000U
#define STRATA_TRC_ALL 0x0ffff000U

#define STRATA_TRC_LOST_RECORDS 0x0001f001U
#define STRATA_TRC_WRAP_BUFFER 0x0001f002U

/* ---- The area ---- */

#define STRATA_PERCPU_MAGIC "STRAPCPU"
#define STRATA_PERCPU_VERSION 1
#define STRATA_PERCPU_CPUS_MAX 4096U
#define STRATA_PERCPU_NAME_MAX 64U
#define STRATA_PERCPU_WORDS_MAX 7U
/* 12 classes, 16 subclasses, 4096 numbers. */
#define STRATA_PERCPU_SINGLES (12U * 16U * 4096U)
#define STRATA_PERCPU_SINGLES_OFFSET 4096U
#define STRATA_PERCPU_STATES_OFFSET (STRATA_PERCPU_SINGLES_OFFSET + STRATA_PERCPU_SINGLES / 8)

struct strata_percpu_masks {
    uint32_t enabled;
    uint32_t events;
    uint32_t singles;
    uint32_t high_water;
};

/* See the table above. */
struct strata_percpu_control {
    char magic[8];
    uint32_t version;
    uint32_t n_cpus;
    uint32_t pages;
    uint32_t page_size;
    uint64_t size;
    uint64_t tsc_hz;
    uint32_t info_offset;
    uint32_t info_size;
    uint32_t pid;
    uint32_t reserved0[3];
    char name[STRATA_PERCPU_NAME_MAX];

    struct strata_percpu_masks masks;
    uint32_t reserved1[12];

    uint32_t notify;
    uint32_t reserved2[15];

    uint32_t is_found;
    struct strata_percpu_masks found;
    uint32_t reserved3[187];
    uint32_t cpus[STRATA_PERCPU_CPUS_MAX / 32];
    uint32_t found_cpus[STRATA_PERCPU_CPUS_MAX / 32];
};

struct strata_percpu_state {
    uint64_t lost;
    uint64_t first;
    uint64_t told;
    uint64_t crossings;
    uint64_t known;
    uint64_t reserved[3];
};

struct strata_percpu_options {
    uint32_t n_cpus; /* 1 to STRATA_PERCPU_CPUS_MAX */
    uint32_t pages;  /* per buffer, 1 to 65535; all lists of t_info together have less than 65536 */
    uint64_t tsc_hz; /* 0: not known */
    uint32_t pid;
    const char *name;       /* cut to fit; NULL: none */
    const uint32_t *online; /* a bit per CPU that gets a buffer; NULL: all of them */
};

/* How many bytes the area takes; 0: there can be none such. */
size_t strata_percpu_size(const struct strata_percpu_options *options);

/* Makes MEMORY, BYTES bytes at a page's begin that are all zero, an area: off, all events and CPUs in the
 * masks, the high-water mark at half of a buffer, as in Xen. Others who have it mapped know it for one
 * from the moment that it is complete. -EINVAL: options or memory that cannot be. */
int strata_percpu_init(void *memory, size_t bytes, const struct strata_percpu_options *options,
                       struct strata_percpu_control **ret);

/* ---- A CPU ---- */

/* What a CPU needs to emit, its own in every way: nobody else may write here, and consumers must not be
 * able to. One that is all zero has no buffer: what it emits is lost without trace. */
struct __attribute__((aligned(64))) strata_percpu_cpu {
    /* Positions: bits 0-31 bytes from the begin of the data, 32-63 how often that was left behind. */
    uint64_t reserve;   /* up to where space was given away */
    uint64_t committed; /* up to where records are complete and published */
    uint64_t limit;     /* records that end before it, and before the ring's end, are ordinary */
    uint32_t cons_seen; /* with which limit was worked out */
    uint32_t size;      /* X */
    uint32_t *buffer;   /* cons, prod, data */
    uint32_t number;
    uint32_t current; /* what runs on it: domain | vcpu << 16, as LOST_RECORDS tells */
    /* what follows is of src/percpu alone */
    struct strata_percpu_control *control;
    struct strata_percpu_state *state;
    uint64_t crossed; /* odd while above the high-water mark */
    uint64_t (*cycles)(void);
    void (*notify)(struct strata_percpu_cpu *cpu);
};

struct strata_percpu_hooks {
    /* Reads the counter that stamps records; must be what STRATA_PERCPU_CYCLES() does. NULL: the CPU's
     * own. */
    uint64_t (*cycles)(void);
    /* The CPU, at the end of an emission, has brought what is unread in its buffer to the high-water mark:
     * to wake a consumer. Once per crossing, after `notify` of the area went up; may emit. NULL: none. */
    void (*notify)(struct strata_percpu_cpu *cpu);
};

/* Gives CPU the buffer of number NUMBER, once per area. HOOKS may be NULL. -EINVAL: no such CPU;
 * -ENODEV: it is offline. */
int strata_percpu_cpu_init(struct strata_percpu_cpu *cpu, struct strata_percpu_control *control,
                           uint32_t number, const struct strata_percpu_hooks *hooks);

/* What runs on the CPU now. By the CPU itself. */
static inline void strata_percpu_set_current(struct strata_percpu_cpu *cpu, uint16_t domain,
                                             uint16_t vcpu)
{
    __atomic_store_n(&cpu->current, (uint32_t)vcpu << 16 | domain, __ATOMIC_RELAXED);
}

/* ---- Switches ---- */

/* The switches that the macros look at. All off until it is set. */
extern struct strata_percpu_control *strata_percpu_control;

#ifndef STRATA_PERCPU_CONTROL
#define STRATA_PERCPU_CONTROL() strata_percpu_control
#endif

/* An event's bit in the map of single events. */
static inline uint32_t strata_percpu_single(uint32_t event)
{
    uint32_t class_bit = event >> 16 & 0xfff;

    return (class_bit ? (uint32_t)__builtin_ctz(class_bit) << 16 : 0) | (event & 0xffff);
}

/* Switches a single event off, or on again. Any CPU, any process that has the area mapped. */
void strata_percpu_set_single(struct strata_percpu_control *control, uint32_t event, bool off);

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

#ifndef STRATA_PERCPU_SELF
/* The calling CPU's. Never NULL. */
struct strata_percpu_cpu *strata_percpu_self(void);
#define STRATA_PERCPU_SELF() strata_percpu_self()
#endif

#ifndef STRATA_PERCPU_CYCLES
#define STRATA_PERCPU_CYCLES() strata_percpu_cycles()
#endif

STRATA_PERCPU_INLINE uint64_t strata_percpu_cycles(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t cycles;

    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(cycles));
    return cycles;
#elif defined(__riscv) && __riscv_xlen == 64
    uint64_t cycles;

    __asm__ __volatile__("rdtime %0" : "=r"(cycles));
    return cycles;
#else
#error "define STRATA_PERCPU_CYCLES(), and the hook of the same, for this machine"
#endif
}

/* Records are words at multiples of 4, in memory that is of no type. */
typedef uint32_t __attribute__((may_alias)) strata_percpu_word;
typedef uint64_t __attribute__((may_alias, aligned(4))) strata_percpu_word2;

/* Compare and exchange that is one step for the CPU itself and its interrupts; no other CPU writes there,
 * so on x86 it needs no lock. It orders nothing between CPUs, but the compiler. */
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

/* Whether tracing is on at all: all that an event costs that is off. */
STRATA_PERCPU_INLINE bool strata_percpu_on(void)
{
    return __atomic_load_n(&STRATA_PERCPU_CONTROL()->masks.enabled, __ATOMIC_RELAXED);
}

/* Whether the masks let an event pass on a CPU. */
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

/* Where a position is in terms of cons and prod. */
STRATA_PERCPU_INLINE uint32_t strata_percpu_prod(uint64_t position, uint32_t size)
{
    return (uint32_t)position + (size & (0U - (uint32_t)(position >> 32 & 1)));
}

STRATA_PERCPU_INLINE uint32_t strata_percpu_header(uint32_t event, bool cycles, unsigned words)
{
    return (event & 0x0fffffffU) | words << 28 | (uint32_t)cycles << 31;
}

/* All that is not ordinary: the ring's end, no room, lost records to tell, the consumer has read, the
 * high-water mark, an interrupt that comes while another record is open. WORDS: as many as HEADER says. */
void strata_percpu_emit_slow(struct strata_percpu_cpu *cpu, uint32_t header, const uint32_t *words);
/* Interrupts put records behind the one that was just published. */
void strata_percpu_publish(struct strata_percpu_cpu *cpu);

/* A record of an event that passes the masks. What it costs (bench/percpu): reading the counter, in whose shadow
 * all the rest is done. So nothing here may wait: no locked instruction; of lines that another CPU writes
 * only that of cons and prod, which has to be written anyway. */
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
     * between moves it, and the exchange fails; so who comes first in the buffer has the earlier time. */
    from = __atomic_load_n(&cpu->reserve, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    time = cycles ? STRATA_PERCPU_CYCLES() : 0;
    end = from + 4 + (cycles ? 8 : 0) + 4 * n;
    buffer = cpu->buffer;

    /* Without a buffer the limit is 0, and nothing else is looked at. */
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
        *(strata_percpu_word2 *)at = time;
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

    /* Release: who sees the new prod sees the record. On x86 a plain store. */
    __atomic_store_n(&buffer[1], strata_percpu_prod(end, cpu->size), __ATOMIC_RELEASE);
    /* Behind it: an interrupt that comes between the two must take itself for nested, or its prod would be
     * there before ours. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&cpu->committed, end, __ATOMIC_RELAXED);

    /* An interrupt that came while `committed` was less took its record for nested, and left publishing
     * it to us; one that comes from here on publishes by itself. So this is read after that store, in the
     * order of the program; that is enough, as both are of one CPU. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (strata_percpu_unlikely(__atomic_load_n(&cpu->reserve, __ATOMIC_RELAXED) != end))
        strata_percpu_publish(cpu);
}

/* A record of an event that is on, if it passes the masks. */
STRATA_PERCPU_INLINE void strata_percpu_emit(uint32_t event, bool cycles, unsigned n, uint32_t w0,
                                             uint32_t w1, uint32_t w2, uint32_t w3, uint32_t w4,
                                             uint32_t w5, uint32_t w6)
{
    struct strata_percpu_cpu *cpu = STRATA_PERCPU_SELF();

    if (strata_percpu_wanted(STRATA_PERCPU_CONTROL(), cpu->number, event))
        strata_percpu_record(cpu, event, cycles, n, w0, w1, w2, w3, w4, w5, w6);
}

/* Counts a record as lost that cannot be one. */
void strata_percpu_lose(struct strata_percpu_cpu *cpu);

/* The same for a payload of any length: BYTES bytes of EXTRA, filled up with zeros to whole words; more
 * than 28 are counted as a lost record. */
static inline void strata_percpu_emit_bytes(uint32_t event, bool cycles, size_t bytes,
                                            const void *extra)
{
    struct strata_percpu_cpu *cpu = STRATA_PERCPU_SELF();
    uint32_t w[STRATA_PERCPU_WORDS_MAX] = {0, 0, 0, 0, 0, 0, 0};
    size_t i;

    if (!strata_percpu_wanted(STRATA_PERCPU_CONTROL(), cpu->number, event))
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
 * The arguments are evaluated when tracing is on, and else not. A 64-bit argument takes two words, and its
 * macro evaluates it twice: TRACE_3D(event, TRACE_PARAM64(address), flags). */

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

/* By how many arguments there are behind the event. */
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

/* Xen's names, unless they are in the way. */
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

/* ---- The consumer's side of an area ---- */

/* What a consumer keeps of an area; it owns nothing. */
struct strata_percpu_area {
    struct strata_percpu_control *control;
    /* As the area said when it was checked; it is not asked again, as who writes there may be ill. */
    uint32_t n_cpus, pages;
    size_t size;
    struct strata_percpu_info info;
    struct strata_percpu_state *states;
    uint32_t *singles;
};

/* MEMORY are BYTES bytes, at a page's begin, mapped for reading and writing. They are checked: what is
 * said of sizes and places is believed as far as it stays inside. -EINVAL: no area (yet); -EBADMSG: a
 * damaged one; -ENOTSUP: another version. */
int strata_percpu_area_init(struct strata_percpu_area *ret, void *memory, size_t bytes);

/* The view of a CPU's buffer. -EINVAL: no such CPU; -ENODEV: it is offline; -EBADMSG: its list of pages
 * is damaged. */
int strata_percpu_area_view(const struct strata_percpu_area *area, unsigned cpu,
                            struct strata_percpu_view *ret);

/* How many records were lost that no LOST_RECORDS told of yet, and cycles of the first of them. With
 * all that was read, this makes the account complete once the CPU is at rest. */
uint64_t strata_percpu_area_lost(const struct strata_percpu_area *area, unsigned cpu,
                                 uint64_t *ret_first);

/* The same, and the consumer takes them over: LOST_RECORDS will not tell of them again. */
uint64_t strata_percpu_area_take_lost(const struct strata_percpu_area *area, unsigned cpu,
                                      uint64_t *ret_first);

#ifdef __cplusplus
}
#endif

#endif
