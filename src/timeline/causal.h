/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds causes and their effects in two sources, and gives what they say of the clocks to struct clock_bounds:
 *
 *   guest:block_rq_issue(sector) -> vmm:virtio_blk_handle_read, _write(sector)
 *   vmm:virtio_blk_req_complete(req) -> guest:block_rq_complete(sector)
 *   an event of a guest's CPU is not between kvm_exit and the next kvm_entry of its vCPU's thread, nor, where there are
 *   none of these, between the sched_switch from that thread and the next one to it
 *
 * Invariants:
 *  C1  A request is used if, within CAUSAL_WINDOW_NS around it, it is the only one of its sector, size and direction on
 *      both sides.
 *  C2  After an item that says that events were lost, nothing of before is used, and no request for CAUSAL_WINDOW_NS.
 *  C3  An event near an interval without its vCPU is used if the stated errors allow one side of the interval only.
 *  C4  Traces with several guests' kernels are not used: their requests cannot be distinguished.
 *  C5  Memory does not depend on the length of the trace.
 *
 * An effect before its cause by more than both stated errors is a violation: one of the clocks is not what the recording
 * says. Not thread-safe. */

#include "event/catalogue.h"
#include "timeline/clock_bounds.h"

#define CAUSAL_WINDOW_NS INT64_C(1000000000)
/* Fewer pairs say nothing. */
#define CAUSAL_PAIRS_MIN 16

/* How one clock stands with the causes and effects that its source has a part in. */
struct causal_clock {
    struct clock_bounds bounds;
    uint64_t pairs;
    uint64_t violations;
    int64_t worst_ns;  /* by how much more than its error the worst violates them */
    int64_t worst_at;  /* time of that effect */
    const char *worst; /* what it is, in words */
};

struct causal_class;
struct causal_slot;
struct causal_request;
struct causal_vcpu;

struct causal {
    struct causal_clock *clocks; /* by the source's number */
    unsigned n_clocks;
    unsigned (*source_of)(void *arg, const struct origin *origin);
    void *arg;
    struct causal_class *classes; /* by class->index */
    unsigned n_classes;
    struct causal_slot *slots;
    struct causal_request *requests;
    struct causal_vcpu *vcpus;
    unsigned n_vcpus;
    unsigned generation;        /* number of losses */
    int64_t quiet_until;        /* no request is used that begins before */
    const struct origin *guest; /* of the events of a guest's kernel */
    bool has_several_guests;
};

/* SOURCE_OF returns the number of an origin's source, below N. -ENOMEM. */
int causal_init(struct causal *causal, unsigned n,
                unsigned (*source_of)(void *arg, const struct origin *origin), void *arg);
/* The clock of source NUMBER is to be tightened; MAP outlives CAUSAL. -ENOMEM. */
int causal_set_map(struct causal *causal, unsigned number, const struct clock_map *map);
/* Items in the host's time, in ns, in order. -ENOMEM. */
int causal_put(struct causal *causal, const struct item *items, unsigned n);
void causal_finish(struct causal *causal);
void causal_done(struct causal *causal);
