/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the event class of a record by its header, and which records tell the running vCPU. */

#include "event/catalogue.h"
#include "event/item.h"
#include "schema/xen/table.h"

/* What a record tells about the vCPU that runs on its CPU. */
enum xentrace_tracks {
    TRACKS_NOTHING,
    TRACKS_RUNNING,   /* the vCPU of the payload runs from here on */
    TRACKS_LEAVING,   /* the vCPU of the payload was running until here */
    TRACKS_SWITCH,    /* {domain, vcpu} before, {domain, vcpu} from here on */
    TRACKS_CONTINUES, /* {domain, vcpu} continues to run */
    TRACKS_CALL,      /* nothing; the first word of the payload determines its class */
};

struct xentrace_known {
    uint32_t key; /* the header's event and number of words, never 0 */
    enum xentrace_tracks tracks;
    const struct event_class *class;
};

/* The class of a hypercall with certain arguments. */
struct xentrace_known_call {
    uint32_t key; /* as above, never 0 */
    uint32_t word;
    const struct event_class *class;
};

#define XENTRACE_KNOWN 4096
#define XENTRACE_KNOWN_CALLS 256
#define XENTRACE_UNKNOWN_MAX 4096

struct xentrace_classes {
    struct catalogue *catalogue;
    struct origin *origin;
    const struct xen_table *table;
    struct xen_table built_in;
    xen_version version;
    enum xen_cpu cpu;
    struct xen_call *calls; /* the calls of the table, in the catalogue's arena */
    struct map by_call;     /* event << 32 | first word: its struct event_class */
    struct map by_name;     /* the first struct event_class of each name */
    /* struct xen_event, or ID of an unknown event: its struct event_class */
    struct map by_event;
    unsigned n_unknown;
    /* class of unknown events beyond XENTRACE_UNKNOWN_MAX */
    const struct event_class *unknown;
    struct xentrace_known known[XENTRACE_KNOWN];
    struct xentrace_known_call known_calls[XENTRACE_KNOWN_CALLS];
};

/* TABLE NULL: uses the built-in table. */
int xentrace_classes_open(struct xentrace_classes *classes, struct catalogue *catalogue,
                          const struct xen_table *table, xen_version version, enum xen_cpu cpu,
                          uint64_t cpu_hz, const char *path, struct error *error);
void xentrace_classes_done(struct xentrace_classes *classes);

const struct xentrace_known *xentrace_class_slow(struct xentrace_classes *classes, uint32_t header);

/* Returns NULL if the class was not used yet, or not recently. */
static inline const struct xentrace_known *
xentrace_class_known(const struct xentrace_classes *classes, uint32_t header)
{
    uint32_t key = header & 0x7fffffff;
    const struct xentrace_known *known = &classes->known[key * 0x9e3779b1u >> 20];

    return likely(known->key == key && key != 0) ? known : NULL;
}

/* Returns NULL if out of memory. */
static inline const struct xentrace_known *xentrace_class(struct xentrace_classes *classes,
                                                          uint32_t header)
{
    const struct xentrace_known *known = xentrace_class_known(classes, header);

    return likely(known != NULL) ? known : xentrace_class_slow(classes, header);
}

const struct event_class *xentrace_call_slow(struct xentrace_classes *classes,
                                             const struct xentrace_known *known, uint32_t word);

/* The class of a hypercall of KNOWN whose payload begins with WORD; NULL: out of memory. */
static inline const struct event_class *
xentrace_call(struct xentrace_classes *classes, const struct xentrace_known *known, uint32_t word)
{
    const struct xentrace_known_call *call =
        &classes->known_calls[(word ^ known->key) * 0x9e3779b1u >> 24];

    if (likely(call->word == word && call->key == known->key))
        return call->class;
    return xentrace_call_slow(classes, known, word);
}

/* The vCPU of a word domain << 16 | vcpu, or VCPU_UNKNOWN. */
static inline int32_t xentrace_vcpu(uint32_t word)
{
    return word <= INT32_MAX ? (int32_t)word : VCPU_UNKNOWN;
}

/* True if a record with this HEADER says which vCPU runs. */
bool xentrace_tells_vcpu(uint32_t header);

/* Updates *VCPU from the vCPU that ran before ITEM to the one that runs from ITEM on. */
void xentrace_track_vcpu(enum xentrace_tracks tracks, struct item *item, int32_t *vcpu);
