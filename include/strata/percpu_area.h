/* SPDX-License-Identifier: MIT */
#ifndef STRATA_PERCPU_AREA_H
#define STRATA_PERCPU_AREA_H

/* The memory with the per-CPU trace buffers of a hypervisor, a kernel or a program: creating it, and finding the
 * buffers in it. strata/percpu.h writes into the buffers.
 *
 * Freestanding. Errors and trust are as in strata/percpu_view.h.
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
 *        128      4  enabled: 1 when tracing is on          \
 *        132      4  event mask                              \ the program and consumers may write these
 *        136      4  1 when the map of single events counts  / at any time; all values are valid
 *        140      4  high-water mark, bytes; 0: none        /
 *
 *        192      4  notify: how many times a CPU crossed the mark; the CPUs write it, and a consumer may
 *                    wait for it to change (a futex)
 *
 *        256      4  1 when a consumer has saved the values below before it changed any: if it is killed,
 *                    the next consumer restores them
 *        260     16  enabled, event mask, single events, mark as the consumer found them
 *       1024    512  CPUs that trace, a bit each
 *       1536    512  the same as the consumer found it
 *
 *       4096  98304  map of single events: bit strata_percpu_single(event) is set when that event is off
 *     102400   64*n  the CPUs' states
 *          …         t_info
 *          …  4096*N for each CPU that is not offline: its buffer
 *
 * Each of them begins at a multiple of 4096. The state of a CPU:
 *
 *          0      8  lost: bits 0-51 number of lost records that no LOST_RECORDS has reported yet;
 *                    bits 52-63 change each time one is written
 *          8      8  cycles of the first of them
 *         16      8  number of lost records that LOST_RECORDS has reported since the area was created
 *         24      8  how many times this CPU crossed the mark
 *         32      8  a consumer's copy of `lost`: the consumer knows these records, so they are not reported
 *
 * ## Masks
 *
 * As in Xen, an event passes if it has a class bit (16-27) and a subclass bit (12-15) in common with the mask, the bit
 * of its CPU is set, and it is not switched off as a single event. */

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
/* The class for the program's own events: STRATA_TRC_GUEST | number, up to 0xfff. */
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

/* The area, as in the table above. */
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
    uint64_t reported;
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

/* Size of the area in bytes; 0: invalid options. */
size_t strata_percpu_size(const struct strata_percpu_options *options);

/* Makes an area of MEMORY, which has BYTES bytes, all zero, and is aligned to a page. Tracing is then off, the masks have
 * all events and CPUs, and the high-water mark is at half of a buffer, as in Xen. A consumer that has mapped the memory
 * recognises the area when it is complete. -EINVAL: invalid options or memory. */
int strata_percpu_init(void *memory, size_t bytes, const struct strata_percpu_options *options,
                       struct strata_percpu_control **ret);

/* ---- A CPU ---- */

/* The state of a CPU that emits. Only this CPU writes here; consumers must have no access. If it is all zero, the CPU
 * has no buffer, and its records are lost and not counted. */
struct __attribute__((aligned(64))) strata_percpu_cpu {
    /* Positions: bits 0-31 bytes from the begin of the data, 32-63 number of rounds. */
    uint64_t reserve;   /* space before it is in use */
    uint64_t committed; /* records before it are complete and published */
    uint64_t limit;     /* the inlined code handles records that end before it */
    uint32_t cons_seen; /* the cons from which limit was computed */
    uint32_t size;      /* X */
    uint32_t *buffer;   /* cons, prod, data */
    uint32_t number;
    uint32_t current; /* what runs on the CPU, for LOST_RECORDS: domain | vcpu << 16 */
    /* The rest belongs to src/percpu. */
    struct strata_percpu_control *control;
    struct strata_percpu_state *state;
    /* Odd while above the high-water mark. */
    uint64_t crossed __attribute__((aligned(8)));
    uint64_t (*cycles)(void);
    void (*notify)(struct strata_percpu_cpu *cpu);
};

struct strata_percpu_hooks {
    /* Reads the counter that stamps records, as STRATA_PERCPU_CYCLES() does. NULL: the CPU's own counter. */
    uint64_t (*cycles)(void);
    /* Wakes a consumer. The CPU calls it at the end of an emission, when the unread part of its buffer has reached the
     * high-water mark: once per crossing, after it has increased `notify` of the area. The hook may emit. NULL: none. */
    void (*notify)(struct strata_percpu_cpu *cpu);
};

/* Gives CPU the buffer of number NUMBER, once per area. Call it before untrusted consumers can write to the area,
 * because it reads the place of the buffer there. HOOKS may be NULL. -EINVAL: no such CPU; -ENODEV: it is
 * offline; -EBUSY: its buffer is in use. */
int strata_percpu_cpu_init(struct strata_percpu_cpu *cpu, struct strata_percpu_control *control,
                           uint32_t number, const struct strata_percpu_hooks *hooks);

/* Sets what runs on the CPU now. Called by that CPU. */
static inline void strata_percpu_set_current(struct strata_percpu_cpu *cpu, uint16_t domain,
                                             uint16_t vcpu)
{
    __atomic_store_n(&cpu->current, (uint32_t)vcpu << 16 | domain, __ATOMIC_RELAXED);
}

/* ---- Switches ---- */

/* The area whose switches the macros read. Until it is set, all events are off. */
extern struct strata_percpu_control *strata_percpu_control;

/* An event's bit in the map of single events. */
static inline uint32_t strata_percpu_single(uint32_t event)
{
    uint32_t class_bit = event >> 16 & 0xfff;

    return (class_bit ? (uint32_t)__builtin_ctz(class_bit) << 16 : 0) | (event & 0xffff);
}

/* Switches a single event off, or on again. Any CPU may call it, and any process that has the area mapped. */
void strata_percpu_set_single(struct strata_percpu_control *control, uint32_t event, bool off);

/* ---- The consumer's side of an area ---- */

/* A consumer's view of an area; it owns nothing. */
struct strata_percpu_area {
    struct strata_percpu_control *control;
    /* Copied when the area was checked, and not read again, because the writers of the area are not trusted. */
    uint32_t n_cpus, pages;
    size_t size;
    struct strata_percpu_info info;
    struct strata_percpu_state *states;
    uint32_t *singles;
};

/* Checks MEMORY: BYTES bytes, aligned to a page, mapped for reading and writing. All sizes and offsets in it must stay
 * inside. -EINVAL: not an area, or not a complete one; -EBADMSG: a damaged area; -ENOTSUP: another version. */
int strata_percpu_area_init(struct strata_percpu_area *ret, void *memory, size_t bytes);

/* The view of a CPU's buffer. -EINVAL: no such CPU; -ENODEV: it is offline; -EBADMSG: its list of pages
 * is damaged. */
int strata_percpu_area_view(const struct strata_percpu_area *area, unsigned cpu,
                            struct strata_percpu_view *ret);

/* The number of lost records that no LOST_RECORDS has reported yet, and the cycles of the first of them.
 * Once the CPU emits no more, this and the records read account for all records. */
uint64_t strata_percpu_area_lost(const struct strata_percpu_area *area, unsigned cpu,
                                 uint64_t *ret_first);

/* The same. The consumer then reports these records, and LOST_RECORDS does not. */
uint64_t strata_percpu_area_take_lost(const struct strata_percpu_area *area, unsigned cpu,
                                      uint64_t *ret_first);

#ifdef __cplusplus
}
#endif

#endif
