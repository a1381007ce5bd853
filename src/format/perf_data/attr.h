/* SPDX-License-Identifier: MIT */
#pragma once

/* The attributes of a perf.data: which events it has records of, and where the parts of a record are.
 *
 * A perf_event_attr, of 64 bytes or more by the version of perf:
 *   0 u32 type, 4 u32 its size, 8 u64 config, 16 u64 period or frequency, 24 u64 sample_type, 32 u64 read_format,
 *   40 64 flags, 92 s32 clock; others, which are not read here.
 * Flags are a C bit field: from the lowest bit of a little-endian machine's u64, from the highest of a big-endian one's. */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "format/perf_data/layout.h"

#define PERF_ATTR_SIZE_MIN 64
#define PERF_ATTR_CLOCKID_NONE INT32_MIN
/* A machine has thousands of tracepoints; one attribute stands for an event on all CPUs. */
#define PERF_ATTRS_MAX 65536
/* IDs are numbered one after the other: those of some events on some CPUs. */
#define PERF_IDS_RECENT 64

struct event_class;

/* The offset of a part that a record does not have. */
#define PERF_NOWHERE UINT16_MAX

struct perf_attr {
    uint32_t type;
    uint64_t config;
    uint64_t sample_type, read_format, flags;
    bool is_sampled;  /* a tracepoint of which not all events are in the file */
    int32_t clockid;  /* or PERF_ATTR_CLOCKID_NONE */
    const char *name; /* in the arena; NULL: the file has no name */
    /* Offsets in a sample, from the start of its body. */
    uint16_t ip, tid, time, addr, id, cpu, period;
    uint16_t fixed; /* bytes of the parts with a fixed size */
    /* Offsets in other records, from their end. */
    uint16_t end_tid, end_time, end_id, end_cpu;
    uint16_t end_size;                     /* 0: other records have none of these parts */
    const struct event_class *class;       /* set by the reader */
    bool is_open;                          /* kernel_class_is_open() of `class` */
    const struct event_class *guest_class; /* class of samples in guests */
};

struct perf_attrs {
    struct arena arena; /* attributes and names */
    struct perf_attr **list;
    unsigned n, capacity;
    struct map by_id;
    struct {
        uint64_t id;
        struct perf_attr *attr; /* NULL: none */
    } recent[PERF_IDS_RECENT];  /* of by_id, by the ID */
    struct map cpus;            /* by ID: CPU + 1, if known */
    bool has_any_cpu;           /* an ID belongs to a thread on any CPU */
    bool has_threads;           /* an ID belongs to a thread */
    /* Offset of the ID that identifies the attribute of a record; NOWHERE: all records belong to the first attribute. */
    uint16_t id, end_id;
    bool swap, big_endian;
};

void perf_attrs_done(struct perf_attrs *attrs);

/* Adds an attribute, SIZE bytes at P. -EBADMSG: too short, or its IDs are at other offsets than those of earlier
 * attributes; -ENOMEM. */
int perf_attrs_add(struct perf_attrs *attrs, const uint8_t *p, size_t size,
                   struct perf_attr **ret_attr);
/* Declares that records with ID belong to ATTR. -ENOMEM. */
int perf_attrs_add_id(struct perf_attrs *attrs, uint64_t id, struct perf_attr *attr);
/* The attribute of an ID; of ID 0: the first attribute; NULL: none. */
struct perf_attr *perf_attrs_find(struct perf_attrs *attrs, uint64_t id);

/* The attribute of a record, whose body is SIZE bytes at P; NULL: its ID is unknown, or it is too short. */
struct perf_attr *perf_attrs_of_sample(struct perf_attrs *attrs, const uint8_t *p, size_t size);
struct perf_attr *perf_attrs_of_other(struct perf_attrs *attrs, const uint8_t *p, size_t size);

/* Writes the event's name: its own name, or perf's name of its type and config. */
void perf_attr_name(const struct perf_attr *attr, char *buf, size_t size);
