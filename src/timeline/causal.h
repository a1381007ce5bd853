/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds causes and their effects in two sources. Their times limit the errors of the clocks (struct clock_bounds):
 *
 *   guest:block_rq_issue(sector) -> vmm:virtio_blk_handle_read, _write(sector)
 *   vmm:virtio_blk_req_complete(req) -> guest:block_rq_complete(sector)
 *   an event of a guest's CPU is not between kvm_exit and the next kvm_entry of its vCPU's thread, or, if there are no
 *   such events, between the sched_switch from that thread and the next one to it
 *
 * Invariants:
 *  C1  A request is used if it is the only request with its sector, size and direction on both sides within
 *      CAUSAL_WINDOW_NS around it.
 *  C2  After a loss of events, nothing from before the loss is used, and no request for CAUSAL_WINDOW_NS.
 *  C3  An event near an interval without its vCPU is used only if the stated errors allow just one side of the
 *      interval.
 *  C4  Traces with several guests' kernels are not used, because their requests cannot be distinguished.
 *  C5  Memory does not depend on the length of the trace.
 *
 * An effect that is before its cause by more than both stated errors is a violation: one of the clocks is not as the
 * recording states. Not thread-safe. */

#include "event/catalogue.h"
#include "timeline/clock_tighten.h"

#define CAUSAL_WINDOW_NS INT64_C(1000000000)
/* Minimal number of pairs for a result. */
#define CAUSAL_PAIRS_MIN 16

/* The result for one clock from the causes and effects of its source. */
struct causal_clock {
    struct clock_bounds bounds;
    uint64_t pairs;
    uint64_t violations;
    int64_t worst_ns;  /* by how much the worst violation exceeds the stated error */
    int64_t worst_at;  /* time of that effect */
    const char *worst; /* the worst violation in words */
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
    int64_t quiet_until;        /* requests that begin before are not used */
    const struct origin *guest; /* origin of the events of a guest's kernel */
    bool has_several_guests;
};

/* SOURCE_OF returns the number of an origin's source, below N. -ENOMEM. */
int causal_init(struct causal *causal, unsigned n,
                unsigned (*source_of)(void *arg, const struct origin *origin), void *arg);
/* Tightens the clock of source NUMBER. MAP must outlive CAUSAL. -ENOMEM. */
int causal_set_map(struct causal *causal, unsigned number, const struct clock_map *map);
/* Adds items in the order of time, which is the host's, in ns. -ENOMEM. */
int causal_put(struct causal *causal, const struct item *items, unsigned n);
void causal_finish(struct causal *causal);
void causal_done(struct causal *causal);
