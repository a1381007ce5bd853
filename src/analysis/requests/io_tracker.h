/* SPDX-License-Identifier: MIT */
#pragma once

/* Follows disk requests across layers: from the guest's block layer through the VMM's virtio-blk device and thread pool
 * and back, or in one layer. The times at which a request passes points divide it into stages.
 *
 * Invariants:
 *  R1  A request has those points for which the trace has events. A stage lies between two neighbouring points. So the
 *      stages of a request add up exactly to its total. A stage is named after the point that ends it.
 *  R2  A request of a guest and a request of a VMM are joined by analysis/requests/joins.h: each must be the only open
 *      request with this sector, number of sectors and direction, within the errors of both clocks. If there are
 *      several, none is joined (`ambiguous`).
 *  R3  A request of the VMM and a request of its thread pool are joined by program order: the submitting thread has
 *      handled the request, and either blk_co_preadv or blk_co_pwritev of that thread names its bytes, or it is the
 *      only request that the thread has handled and not submitted yet. Other requests have no points of the thread pool
 *      (`opaque`).
 *  R4  A request that completes in parts ends with the last part. A flush has no sector, whatever its events say. The
 *      completion of the empty write from which it was made does not count.
 *  R5  A loss ends all open requests of its source, and requests of a VMM that are over but of which the guest was not
 *      notified yet. A request is not paired either if it completes while a CPU or thread of its source has no data: in
 *      a loss that has begun (item->before_loss), after a loss without an end (item->is_open), or before all CPUs begin
 *      (origin->complete_from). At most IO_OPEN_MAX requests are open; further ones are counted. If the kernel recorded
 *      only some threads (origin->pid_filter), no request is known to be open, because requests end in interrupts. The
 *      same holds for a source that was cut (origin->is_cut). If a VMM has events of a guest's request, its points
 *      count only with the end that the VMM records. Without this end, as in a loss or after the VMM's last event, all
 *      points of the VMM are unknown.
 *  R6  A request's begin counts as missing from the trace if the request may have been queued in missing data
 *      (analysis/requests/io_begins.h), or if it is a VMM's and the VMM may have been notified of it in a loss. A VMM's
 *      request is lost if the VMM may have notified the guest in a loss.
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
    /* virtio_notify, virtio_notify_irqfd; in QEMU 11.1 virtio_notify_irqfd_deferred_fn: the VMM notifies the guest */
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

/* A request that is over. Lent. Times are in ticks; TIME_UNKNOWN if it does not have the point. */
struct io_request {
    const struct origin *origin; /* of its first point */
    const struct origin *vmm;    /* NULL if no VMM is known to have handled it */
    uint64_t device;             /* block layer: dev; VMM only: address of its device */
    uint64_t sector;
    uint32_t sectors; /* of 512 bytes */
    enum io_kind kind;
    int64_t at[IO_POINTS];
    /* Largest error of a duration between two layers; for an open request, up to any other event. */
    uint32_t error_ns;
    /* Errors of times in the first point's layer, and in the VMM's: sums of two errors; and the parts of their clocks
     * in which they are (struct item). */
    uint32_t own_error_ns, vmm_error_ns;
    uint8_t own_part, vmm_part;
    int32_t cpu, pid, vcpu; /* of its issue; the thread is the one that queued it, if known */
    int32_t vmm_pid;        /* thread that handled it, or PID_UNKNOWN */
    int32_t kick_pid;       /* the VMM's thread at IO_KICKED, or PID_UNKNOWN */
    int32_t end_vcpu;       /* the guest's vCPU on which it completes, or VCPU_UNKNOWN */
    uint32_t group;         /* result of begin(); with two layers, for the guest's event */
};

/* The largest error of REQUEST's time between two of its points. */
uint32_t io_request_error(const struct io_request *request, unsigned from, unsigned until);
/* Returns whose clock stamped a point of REQUEST, in which part of the clock it is, and the error of its time. */
const struct origin *io_point_clock(const struct io_request *request, unsigned point,
                                    uint8_t *ret_part, uint32_t *ret_error_ns);

struct io_tracker_ops {
    /* 0, or a negative errno that io_tracker_put() returns. */
    int (*request)(void *arg, const struct io_request *request);
    /* Returns a number of the caller's for the request that ITEM begins: block_rq_issue or virtio_blk_handle_*. ITEM
     * has the thread that queued the request, if known. NULL: 0 for all requests. */
    uint32_t (*begin)(void *arg, const struct item *item);
    /* Called in io_tracker_finish(), after the last request(), for each open request, as by io_tracker_foreach_open().
     * May be NULL. */
    void (*open)(void *arg, const struct io_request *request);
    /* True if the fate of REQUEST, which is incomplete, is counted. For an end without a begin, it only has a place and
     * the time of its end. NULL: all are counted. */
    bool (*selects)(void *arg, const struct io_request *request);
};

struct io_counts {
    uint64_t fates[SPAN_FATES];
    uint64_t
        ambiguous;   /* requests of a VMM that may be several requests of a guest, or the reverse */
    uint64_t opaque; /* submissions to a thread pool that may belong to several requests */
    /* The same, but only because their thread is unknown; they count as one thread's. */
    uint64_t unthreaded;
    unsigned points; /* points with events: bit 1 << enum io_point */
    /* Names of event classes that are similar to a point's event or have other fields; or NULL. */
    const char *unknown[IO_POINTS];
    /* … whose fields are unknown because the trace does not declare them: bit 1 << point */
    unsigned undeclared;
    unsigned layers; /* layers with requests: bit 1 << enum layer */
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
    struct io_slot *slots; /* number 0 is not used */
    uint32_t n_slots, room, free;
    uint32_t *buckets;          /* by key: slots */
    struct joins joins;         /* of slot numbers */
    struct io_bio *bios;        /* what was queued last, by device and sector */
    uint32_t first[4], last[4]; /* slots in lists */
    struct io_begins begins;
    bool is_finished;             /* nothing follows */
    struct io_thread *interrupts; /* of CPUs */
    unsigned n_interrupts;
    struct io_thread *kicks; /* of devices */
    unsigned n_kicks;
    struct map complete;             /* origins whose CPUs have all begun */
    const struct origin *blk_origin; /* of the last blk_co_preadv or blk_co_pwritev */
    int32_t blk_pid;
    uint64_t blk_from, blk_until;    /* in bytes */
    int64_t ticks_per_ms;            /* 0 if the rate is unknown */
    uint32_t guest_error, vmm_error; /* largest so far, in ns */
};

/* CLOCK is the clock of the trace's times. 0, -ENOMEM. */
int io_tracker_init(struct io_tracker *tracker, const struct clock *clock,
                    const struct io_tracker_ops *ops, void *arg);
/* Adds items in the order of time. 0, -ENOMEM, or the result of request(). */
int io_tracker_put(struct io_tracker *tracker, const struct item *items, unsigned n);
int io_tracker_finish(struct io_tracker *tracker);
/* Calls FOUND for each open request, before io_tracker_finish(), with the points that it has passed. A request in two
 * layers is given once, with the points of both. */
void io_tracker_foreach_open(const struct io_tracker *tracker,
                             void (*found)(void *arg, const struct io_request *request), void *arg);
/* Gives the requests that are over and can have no more points at TIME, as later items do. Returns as
 * io_tracker_put(). */
int io_tracker_give(struct io_tracker *tracker, int64_t time);
/* When REQUEST began: its first point. */
int64_t io_request_begin(const struct io_request *request);
/* When it ended: its last point. */
int64_t io_request_end(const struct io_request *request);
/* Returns the earliest begin after AFTER of requests that are open or not given yet, or INT64_MAX. */
int64_t io_tracker_first(const struct io_tracker *tracker, int64_t after);
void io_tracker_done(struct io_tracker *tracker);

/* "kick": the name of the stage that POINT ends. */
const char *io_stage_name(enum io_point point);
/* "thread_pool_submit or thread_pool_submit_aio": the events of POINT. */
void io_point_put_events(enum io_point point, struct text *text);
const char *io_kind_name(enum io_kind kind);
/* Writes "254,0", or for a VMM the address of its device ("0x556c8f3788f0"), to BUF, and returns BUF. */
#define IO_DEVICE_SIZE 40
const char *io_device_text(char buf[IO_DEVICE_SIZE], enum layer layer, uint64_t device);
/* The stage of REQUEST that ends at POINT, an enum io_point. If the VMM of a request is unknown, it is with its device
 * after its issue. */
const char *io_request_stage(const struct io_request *request, unsigned point);
