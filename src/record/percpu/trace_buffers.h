/* SPDX-License-Identifier: MIT */
#pragma once

/* Per-CPU trace buffers that another program or a hypervisor fills: those of the running Xen
 * (record/xen/buffers.h), or shared memory in the same layout (record/percpu/percpu.h).
 *
 * The steps, in order, none of which may be left out:
 *
 *     open       detects another consumer (and changes nothing); cleans up after one that was killed
 *     begin      sets masks and size and maps the buffers; drops old records if asked to; starts tracing
 *     drain      the chunks of each CPU's view, whenever wakeup_fd() is readable or from time to time
 *     stop       stops tracing; the remaining records can still be read
 *     free       restores what open found, after any of these steps
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
    bool keep_cpus;             /* Xen, with `cpus` NULL: keep Xen's mask, which cannot be read */
    unsigned pages; /* of 4096 bytes, of each CPU's buffer; 0: as it is, or the default */
    /* -EBUSY if the buffers have another size; otherwise the size is ignored then */
    bool pages_exactly;
    bool discard;        /* drop what was there before */
    bool start_disabled; /* another program starts the tracing */
};

#define BUFFERS_DEFAULT_PAGES 32

struct trace_buffers;

struct trace_buffers_ops {
    int (*begin)(struct trace_buffers *buffers, const struct trace_buffers_settings *settings,
                 struct error *error);
    /* A descriptor that is readable when a buffer got half full since acknowledge(); -1: none. */
    int (*wakeup_fd)(struct trace_buffers *buffers);
    /* Call before draining: buffers that are half full now do not signal again. */
    int (*acknowledge)(struct trace_buffers *buffers, struct error *error);
    /* A descriptor that is readable when the program that fills them has ended, so that no more will come; -1: it
     * does not end before this process, or that cannot be seen. NULL: the former. */
    int (*end_fd)(struct trace_buffers *buffers);
    /* An errno with ERROR: the buffers' memory was removed, and what the views show was never traced.
     * Call after reading and before using the data. NULL: it cannot be removed. */
    int (*gone)(struct trace_buffers *buffers, struct error *error);
    int (*stop)(struct trace_buffers *buffers, struct error *error);
    /* 1: another program had changed the event mask to *RET_MASK, and it was set again; 0: no change.
     * Takes a few microseconds; call it about once a second. */
    int (*check)(struct trace_buffers *buffers, uint32_t *ret_mask, struct error *error);
    /* Lost by CPU and not in its records yet; -EOPNOTSUPP: not known. */
    int (*pending)(struct trace_buffers *buffers, unsigned cpu, uint64_t *ret_lost);
    /* True if what describe() returns has changed since its last call. */
    bool (*changed)(struct trace_buffers *buffers);
    /* Fills in what is known of source and host but name, path and what is the recorder's; strings live
     * in ARENA. */
    int (*describe)(struct trace_buffers *buffers, struct arena *arena,
                    struct manifest_source *ret);
    /* LEAVE: tracing stays on and the masks as they were set. */
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
    char notice[256]; /* what people should know once it has begun, a sentence; "": nothing */
};

/* Calls of the operations, so that NULL needs no thought. */
static inline void buffers_free(struct trace_buffers *buffers)
{
    if (buffers)
        buffers->ops->free(buffers);
}
