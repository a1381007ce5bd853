/* SPDX-License-Identifier: MIT */
#pragma once

/* The requests of a struct io_tracker that are not over or may still be joined: how they are found, and which requests
 * of two layers are the same. For io_tracker.c. */

#include "analysis/requests/io_tracker.h"
#include "base/macro.h"
#include "event/clock_error.h"

#define IO_BUCKETS 4096u /* of each index */
#define IO_BIOS 16384u
#define IO_BIO_WAYS 8u /* entries per set; an entry is in the set of its hash */

enum io_index {
    BY_BLOCK, /* origin, device, sector */
    BY_VMM,   /* origin, vdev, req */
    BY_POOL,  /* origin, pool, req */
    INDEXES,
};

enum io_list {
    LIST_NONE,
    LIST_PENDING, /* handled, but not submitted */
    LIST_OVER,    /* ended, but events of it may still follow */
    LIST_UNSURE,  /* over; other requests of its device will show if its begin is missing */
    LISTS,
};

struct io_slot {
    struct io_request request;
    uint64_t vmm_request, pool, pool_request;
    uint64_t next_sector;                    /* begin of the part that is not complete yet */
    uint32_t left;                           /* … and its length */
    uint32_t partner;                        /* the same request in the other layer; 0: none */
    uint32_t join;                           /* its number in the tracker's joins; 0: none */
    uint32_t error_ns;                       /* largest error in its own clock */
    uint8_t clock_part;                      /* clock part of all its points, or CLOCK_UNSTEADY */
    bool has_time;                           /* it has such a point */
    int64_t ended;                           /* TIME_UNKNOWN: it is open */
    uint32_t next[INDEXES], before[INDEXES]; /* neighbours in the bucket */
    uint32_t bucket[INDEXES];
    uint32_t list_next, list_before;
    uint8_t in_index; /* bits */
    uint8_t list;     /* enum io_list */
    bool is_used, is_vmm, was_requeued;
    bool may_lack_begin; /* R6 */
};

struct io_bio {
    const struct origin *origin;
    uint64_t device, sector;
    int64_t time;
    int32_t pid;   /* of the thread that queued it */
    uint32_t comm; /* … and its name then, as in items */
    uint32_t error_ns;
    uint8_t clock_part;
};

/* What is remembered of a CPU or a device. */
struct io_thread {
    const struct origin *origin;
    uint64_t number;
    int64_t time;   /* TIME_UNKNOWN: nothing is remembered */
    int32_t pid;    /* of the thread at that time */
    bool has_ended; /* device: requests have ended since it last notified the guest */
    bool may_lack;  /* device: its last event may be lost */
};

/* SLOT has a point whose time has an error of up to ERROR_NS, in CLOCK_PART of its clock. */
static inline void io_note_error(struct io_slot *slot, uint32_t error_ns, uint8_t clock_part)
{
    slot->error_ns = MAX(slot->error_ns, error_ns);
    slot->clock_part = slot->has_time ? clock_parts_join(slot->clock_part, clock_part) : clock_part;
    slot->has_time = true;
}

/* True if the data of SLOT's source would contain its end. */
static inline bool io_knows_open(const struct io_tracker *tracker, const struct io_slot *slot)
{
    return !slot->request.origin->pid_filter && !slot->request.origin->is_cut &&
           !io_begins_in_loss(&tracker->begins, slot->request.origin);
}

/* For io_begins_put(): reads, writes and discards of a device begin in the same way, flushes in another way. */
static inline unsigned io_begin_kind(enum io_kind kind)
{
    return kind == IO_WRITE || kind == IO_DISCARD ? IO_READ : kind;
}

static inline uint32_t io_hash(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = (a ^ a >> 31) * UINT64_C(0x9e3779b97f4a7c15) ^ b;

    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) ^ c;
    h = (h ^ h >> 32) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(h >> 32 ^ h >> 48);
}

uint32_t *io_bucket(const struct io_tracker *tracker, enum io_index index, uint32_t hash);
void io_index_add(struct io_tracker *tracker, enum io_index index, uint32_t hash, uint32_t n);
void io_index_remove(struct io_tracker *tracker, enum io_index index, uint32_t n);
/* Returns the number of a new open slot, in no index and no list. 0 if there are too many, or if out of memory. */
uint32_t io_slot_new(struct io_tracker *tracker);
void io_list_remove(struct io_tracker *tracker, uint32_t n);
void io_list_add(struct io_tracker *tracker, enum io_list list, uint32_t n);

/* Returns what is remembered of NUMBER of ORIGIN. NULL if there are too many, or if out of memory. */
struct io_thread *io_place(struct io_thread **places, unsigned *n, const struct origin *origin,
                           uint64_t number);

/* Finds the same request in the other layer (R2), and makes the slot findable for it. 0, -ENOMEM. */
int io_join(struct io_tracker *tracker, uint32_t n);
/* Ends the request at TIME. 0, or a negative errno of request(). */
int io_end(struct io_tracker *tracker, uint32_t n, int64_t time);
/* Counts REQUEST, which is incomplete, by FATE. */
void io_count_fate(struct io_tracker *tracker, const struct io_request *request,
                   enum span_fate fate);
/* Drops it as incomplete, by FATE. */
void io_drop(struct io_tracker *tracker, uint32_t n, enum span_fate fate);
/* Gives a request that is over, with its partner's points, and frees both. */
int io_give(struct io_tracker *tracker, uint32_t n);
/* It is now known whether requests of DEVICE that begin like KIND have a begin (R6): gives those that waited for this.
 * 0, or as io_give(). */
int io_give_unsure(struct io_tracker *tracker, const struct origin *origin, uint64_t device,
                   enum io_kind kind);
/* Gives the requests that are over and cannot be joined any more at NOW. */
int io_give_due(struct io_tracker *tracker, int64_t now);
