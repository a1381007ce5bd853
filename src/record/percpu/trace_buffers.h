/* SPDX-License-Identifier: MIT */
#pragma once

/* Per-CPU trace buffers that another program or a hypervisor fills: buffers of the running Xen (record/xen/buffers.h),
 * or shared memory with the same layout (record/percpu/percpu.h).
 *
 * All of these steps are required, in this order:
 *
 *     open       detects another consumer (and changes nothing); cleans up after a consumer that was killed
 *     begin      sets masks and size and maps the buffers; drops old records if asked to; starts tracing
 *     drain      reads the chunks of each CPU's view when wakeup_fd() is readable, or from time to time
 *     stop       stops tracing; the remaining records can still be read
 *     free       restores what open found; may follow any of these steps
 *
 * Not thread-safe. */

#include "base/arena.h"
#include "base/cpu_set.h"
#include "strata/percpu_view.h"
#include "tracedir/manifest.h"

struct trace_buffers_settings {
    bool set_events;
    uint32_t events;            /* Xen's event mask */
    const struct cpu_set *cpus; /* NULL: all */
    bool keep_cpus;             /* Xen, if `cpus` is NULL: keep Xen's mask, which cannot be read */
    /* size of each CPU's buffer, in pages of 4096 bytes; 0: unchanged, or the default */
    unsigned pages;
    /* True: -EBUSY if the buffers exist with another size. False: `pages` is ignored then. */
    bool pages_exactly;
    bool discard;        /* drop old records */
    bool start_disabled; /* another program starts the tracing */
};

#define BUFFERS_DEFAULT_PAGES 32

struct trace_buffers;

struct trace_buffers_ops {
    int (*begin)(struct trace_buffers *buffers, const struct trace_buffers_settings *settings,
                 struct error *error);
    /* Returns a descriptor that is readable when a buffer has become half full since acknowledge(); -1: none. */
    int (*wakeup_fd)(struct trace_buffers *buffers);
    /* Call it before draining. Buffers that are half full now do not signal again. */
    int (*acknowledge)(struct trace_buffers *buffers, struct error *error);
    /* Returns a descriptor that is readable when the program that fills the buffers has ended, so that no more records
     * come. -1: the program does not end before this process, or its end cannot be seen. Op NULL: it does not end
     * before this process. */
    int (*end_fd)(struct trace_buffers *buffers);
    /* Returns a negative errno with ERROR if the buffers' memory was removed, so that the content of the views was
     * never traced. Call it after reading and before using the data. Op NULL: the memory cannot be removed. */
    int (*gone)(struct trace_buffers *buffers, struct error *error);
    int (*stop)(struct trace_buffers *buffers, struct error *error);
    /* Returns 1 if another program had changed the event mask, to *RET_MASK, and it was set again; 0: no change. Takes
     * a few microseconds; call it about once a second. */
    int (*check)(struct trace_buffers *buffers, uint32_t *ret_mask, struct error *error);
    /* Events lost on CPU that its records do not include yet. -EOPNOTSUPP: unknown. */
    int (*pending)(struct trace_buffers *buffers, unsigned cpu, uint64_t *ret_lost);
    /* True if the result of describe() has changed since its last call. */
    bool (*changed)(struct trace_buffers *buffers);
    /* Fills in what is known of the source and the host, without the name, the path and the recorder's members. Strings
     * are in ARENA. */
    int (*describe)(struct trace_buffers *buffers, struct arena *arena,
                    struct manifest_source *ret);
    /* LEAVE: tracing stays on, and the masks stay as they were set. */
    int (*restore)(struct trace_buffers *buffers, bool leave, struct error *error);
    void (*free)(struct trace_buffers *buffers);
};

/* The head of an implementation's structure. */
struct trace_buffers {
    const struct trace_buffers_ops *ops;
    unsigned n_cpus;
    /* By CPU, after begin; NULL: the CPU is offline and has no buffer. */
    struct strata_percpu_view **views;
    unsigned pages;   /* of each buffer, when begun */
    char notice[256]; /* a sentence that the user should know after the beginning, or "" */
};

/* Calls free(); does nothing with NULL. */
static inline void buffers_free(struct trace_buffers *buffers)
{
    if (buffers)
        buffers->ops->free(buffers);
}
