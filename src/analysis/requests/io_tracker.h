/* SPDX-License-Identifier: MIT */
#pragma once

/* Requests to disks, across layers: from the guest's block layer through the VMM's virtio-blk device and thread pool
 * and back, or of one layer alone. The times at which a request passes points make its stages.
 *
 * Invariants:
 *  R1  A request has the points that the trace has events for. A stage lies between two neighbouring points of those: so
 *      the stages of a request add up to its total, exactly. A stage is named after the point that ends it.
 *  R2  A request of a guest and one of a VMM are one as analysis/requests/joins.h says: each is the only one with this sector, number
 *      of sectors and direction that is open, within the errors of both clocks. If there are several, none is joined (`ambiguous`).
 *  R3  A request of the VMM and one of its thread pool are one by program order: the thread that submits handled the
 *      request, and either blk_co_preadv or blk_co_pwritev of that thread names its bytes, or it is the only one that the
 *      thread has handled and not submitted yet. Others have no points of the thread pool (`opaque`).
 *  R4  A request that completes in parts ends with the last of them. A flush has no sector, whatever its events say, and
 *      the completion of the empty write that it was made of is none.
 *  R5  A loss ends all open requests of its source, and those of a VMM that are over and not notified of yet. A request that completes
 *      while a CPU or thread of its source has no data is not paired either: in a loss that has begun (item->before_loss), after one
 *      without an end (item->is_open), or before all CPUs begin (origin->complete_from). At most IO_OPEN_MAX are open; what comes beyond is counted. Of a kernel
 *      that recorded only some threads (origin->pid_filter), none is known to be open: requests end in interrupts. Nor is
 *      one of a source that was cut (origin->is_cut).
 *      What a VMM has of a request of a guest counts only with its end, if the VMM has events of it: without it, as in a loss or after the
 *      VMM's last event, all points of the VMM are unknown.
 *  R6  The begin of a request is known, or it counts as one whose begin is not in the trace: a request that may have been queued in
 *      what is missing (analysis/requests/io_begins.h), and one of a VMM that may have been notified of in a loss. One of a VMM that may
 *      have notified the guest in a loss is lost.
 *
 * Not thread-safe. */

#include "analysis/requests/io_begins.h"
#include "analysis/requests/joins.h"
#include "analysis/spans/spans.h"
#include "base/map.h"
#include "base/text.h"

#define IO_OPEN_MAX (1u << 16)

enum io_point {
    IO_QUEUED,    /* block_bio_queue */
    IO_ISSUED,    /* block_rq_issue */
    IO_KICKED,    /* virtio_queue_notify: the guest notifies the VMM */
    IO_HANDLED,   /* virtio_blk_handle_read, _write */
    IO_SUBMITTED, /* VMM_POOL_SUBMIT */
    IO_WORKED,    /* VMM_POOL_COMPLETE */
    IO_RETURNED,  /* virtio_blk_req_complete */
    /* virtio_notify, virtio_notify_irqfd; of QEMU 11.1, virtio_notify_irqfd_deferred_fn: the VMM notifies the guest */
    IO_NOTIFIED,
    IO_INTERRUPT, /* irq_handler_entry */
    IO_COMPLETED, /* block_rq_complete */
};
#define IO_POINTS (IO_COMPLETED + 1)

enum io_kind {
    IO_READ,
    IO_WRITE,
    IO_FLUSH,
    IO_DISCARD,
    IO_OTHER,
};

/* A request that is over. Lent. Times are ticks; TIME_UNKNOWN: it has no such point. */
struct io_request {
    const struct origin *origin; /* of its first point */
    const struct origin *vmm;    /* NULL: no VMM is known to have handled it */
    uint64_t device; /* of a block layer: dev; of a VMM's own: the address of its device */
    uint64_t sector;
    uint32_t sectors; /* of 512 bytes */
    enum io_kind kind;
    int64_t at[IO_POINTS];
    uint32_t
        error_ns; /* of a duration between two layers, at most; of one that is open, up to any other event */
    /* Of the times of the layer of its first point, and of its VMM's: the sum of two. In which part of their clocks they are
     * (struct item). */
    uint32_t own_error_ns, vmm_error_ns;
    uint8_t own_part, vmm_part;
    int32_t cpu, pid,
        vcpu;         /* of its issue; the thread is the one that queued it, where that is known */
    int32_t vmm_pid;  /* the thread that handled it; PID_UNKNOWN */
    int32_t kick_pid; /* the VMM's thread that IO_KICKED is of; PID_UNKNOWN */
    int32_t end_vcpu; /* the guest's vCPU on which it completes; VCPU_UNKNOWN */
    uint32_t group;   /* of begin(); where two layers have it, of the guest's event */
};

/* The largest error of the time that REQUEST was between two of its points. */
uint32_t io_request_error(const struct io_request *request, unsigned from, unsigned until);
/* Whose clock a point of REQUEST is of, in which part of it, and the error of this time. */
const struct origin *io_point_clock(const struct io_request *request, unsigned point,
                                    uint8_t *ret_part, uint32_t *ret_error_ns);

struct io_tracker_ops {
    /* 0, or a negative errno that io_tracker_put() returns. */
    int (*request)(void *arg, const struct io_request *request);
    /* Whose request ITEM, block_rq_issue or virtio_blk_handle_*, begins: a number of the user's. ITEM has the thread that
     * queued the request, where that is known. NULL: all have 0. */
    uint32_t (*begin)(void *arg, const struct item *item);
    /* In io_tracker_finish(), after the last request(): each that is open, as io_tracker_foreach_open() gives it. NULL: not
     * needed. */
    void (*open)(void *arg, const struct io_request *request);
    /* Whether the fate of REQUEST is counted, which is not complete; of an end without a begin, it has only a place and the
     * time of its end. NULL: all are counted. */
    bool (*selects)(void *arg, const struct io_request *request);
};

struct io_counts {
    uint64_t fates[SPAN_FATES];
    uint64_t
        ambiguous; /* requests of a VMM that may be those of several of a guest, or the other way round */
    uint64_t opaque; /* submissions to a thread pool that may belong to several requests */
    uint64_t
        unthreaded; /* the same, only because their thread is not known; they count as those of one thread */
    unsigned points; /* whose events there have been: bit 1 << enum io_point */
    /* An event that is called nearly as that of a point, or has other fields; NULL: none. Names are those of classes. */
    const char *unknown[IO_POINTS];
    unsigned
        undeclared; /* of these, those that the trace does not declare, so that they have no fields: bit 1 << point */
    unsigned layers; /* that have had requests: bit 1 << enum layer */
};

struct io_class;
struct io_slot;
struct io_bio;
struct io_thread;

struct io_tracker {
    const struct io_tracker_ops *ops;
    void *arg;
    struct io_counts counts;
    struct io_class *classes; /* by class->index */
    unsigned n_classes;
    struct io_slot *slots; /* number 0 is none */
    uint32_t n_slots, room, free;
    uint32_t *buckets;          /* by key: slots */
    struct joins joins;         /* of their numbers */
    struct io_bio *bios;        /* what was queued last, by device and sector */
    uint32_t first[4], last[4]; /* slots in lists */
    struct io_begins begins;
    bool is_finished;             /* nothing follows */
    struct io_thread *interrupts; /* of CPUs */
    unsigned n_interrupts;
    struct io_thread *kicks; /* of devices */
    unsigned n_kicks;
    struct map complete;             /* origins of which all CPUs have begun */
    const struct origin *blk_origin; /* the last blk_co_preadv or _pwritev: … */
    int32_t blk_pid;
    uint64_t blk_from, blk_until;    /* bytes */
    int64_t ticks_per_ms;            /* 0: the rate is not known */
    uint32_t guest_error, vmm_error; /* the largest yet, ns */
};

/* CLOCK: of the trace's times. 0, -ENOMEM. */
int io_tracker_init(struct io_tracker *tracker, const struct clock *clock,
                    const struct io_tracker_ops *ops, void *arg);
/* Items in the order of time. 0, -ENOMEM, or what request() returned. */
int io_tracker_put(struct io_tracker *tracker, const struct item *items, unsigned n);
int io_tracker_finish(struct io_tracker *tracker);
/* Calls FOUND for each request that is open, before io_tracker_finish(): with the points that it has passed. One that two
 * layers have is given once, with the points of both. */
void io_tracker_foreach_open(const struct io_tracker *tracker,
                             void (*found)(void *arg, const struct io_request *request), void *arg);
/* Gives the requests that are over and can have no more points at TIME, as later items do. Returns as io_tracker_put(). */
int io_tracker_give(struct io_tracker *tracker, int64_t time);
/* When REQUEST began: at the first of its points. */
int64_t io_request_begin(const struct io_request *request);
/* When it ended: at the last of its points. */
int64_t io_request_end(const struct io_request *request);
/* When the first of the requests began that are open, or are not given yet, and began after AFTER; INT64_MAX: there is
 * none. */
int64_t io_tracker_first(const struct io_tracker *tracker, int64_t after);
void io_tracker_done(struct io_tracker *tracker);

/* "kick": of the stage that POINT ends. */
const char *io_stage_name(enum io_point point);
/* "thread_pool_submit or thread_pool_submit_aio": the events that POINT is. */
void io_point_put_events(enum io_point point, struct text *text);
const char *io_kind_name(enum io_kind kind);
/* "254,0", or of a VMM, the address of its device: "0x556c8f3788f0". Into BUF, which it returns. */
#define IO_DEVICE_SIZE 40
const char *io_device_text(char buf[IO_DEVICE_SIZE], enum layer layer, uint64_t device);
/* The stage of REQUEST that ends at POINT, an enum io_point. A request whose VMM is unknown is with its device from its issue
 * on. */
const char *io_request_stage(const struct io_request *request, unsigned point);
