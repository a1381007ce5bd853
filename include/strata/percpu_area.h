/* SPDX-License-Identifier: MIT */
#ifndef STRATA_PERCPU_AREA_H
#define STRATA_PERCPU_AREA_H

/* The memory in which a hypervisor, a kernel or a program has its per-CPU trace buffers (strata/percpu.h
 * writes into them), from both sides: making it, and finding the buffers in it.
 *
 * Freestanding; errors, and what is believed of others, as in strata/percpu_view.h.
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

/* Gives CPU the buffer of number NUMBER, once per area. Where that is, it takes from the area: to be done
 * before consumers that nobody trusts can write there. HOOKS may be NULL. -EINVAL: no such CPU; -ENODEV:
 * it is offline; -EBUSY: its buffer is in use. */
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

/* An event's bit in the map of single events. */
static inline uint32_t strata_percpu_single(uint32_t event)
{
    uint32_t class_bit = event >> 16 & 0xfff;

    return (class_bit ? (uint32_t)__builtin_ctz(class_bit) << 16 : 0) | (event & 0xffff);
}

/* Switches a single event off, or on again. Any CPU, any process that has the area mapped. */
void strata_percpu_set_single(struct strata_percpu_control *control, uint32_t event, bool off);

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
