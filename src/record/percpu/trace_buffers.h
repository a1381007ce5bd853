/* SPDX-License-Identifier: MIT */
#pragma once

/* Per-CPU trace buffers that somebody else fills, as the recorder sees them: those of the Xen it runs on
 * (record/xen/buffers.h), or shared memory in the same layout (record/percpu/percpu.h).
 *
 * The course of things, in which nothing may be left out:
 *
 *     open       somebody who is at it already is found here, and nothing of his is touched; what one who was
 *                killed left behind is put right
 *     begin      masks, size, buffers mapped; what is there is dropped if wanted; then tracing is on
 *     the chunks of each CPU's view, again and again, when wakeup_fd() is readable or from time to time
 *     stop       no more is written; what is there can still be taken
 *     free       what was found is restored, from whichever of these steps
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
    bool keep_cpus;      /* of Xen, where `cpus` is NULL: its mask, which cannot be read, stays */
    unsigned pages;      /* of 4096 bytes, of each CPU's buffer; 0: as it is, or the default */
    bool pages_exactly;  /* -EBUSY where they have another size; else that is passed over */
    bool discard;        /* drop what was there before */
    bool start_disabled; /* somebody else switches tracing on */
};

#define BUFFERS_DEFAULT_PAGES 32

struct trace_buffers;

struct trace_buffers_ops {
    int (*begin)(struct trace_buffers *buffers, const struct trace_buffers_settings *settings,
                 struct error *error);
    /* A descriptor that is readable when a buffer has got half full since acknowledge(); -1: there is none. */
    int (*wakeup_fd)(struct trace_buffers *buffers);
    /* Before the buffers are looked at again: what was half full until now wakes nobody any more. */
    int (*acknowledge)(struct trace_buffers *buffers, struct error *error);
    /* A descriptor that is readable when the program that fills them has ended, so that no more will come; -1: it
     * does not end before this process, or that cannot be seen. NULL: the former. */
    int (*end_fd)(struct trace_buffers *buffers);
    /* An errno with ERROR: the buffers' memory was taken away, and what the views show now is nothing that was
     * ever traced. Is asked of what was looked at, before it is believed. NULL: it stays. */
    int (*gone)(struct trace_buffers *buffers, struct error *error);
    int (*stop)(struct trace_buffers *buffers, struct error *error);
    /* 1: somebody else had changed the event mask to *RET_MASK, and it is set again. 0: nobody had. Takes a few
     * microseconds; is due once a second or so. */
    int (*check)(struct trace_buffers *buffers, uint32_t *ret_mask, struct error *error);
    /* Lost by CPU and not in its records yet; -EOPNOTSUPP: not known. */
    int (*pending)(struct trace_buffers *buffers, unsigned cpu, uint64_t *ret_lost);
    /* Whether what describe() tells has changed since it was last called. */
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
    /* Of each CPU, when begun; NULL: it is offline, and has no buffer. */
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
