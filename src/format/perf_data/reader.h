/* SPDX-License-Identifier: MIT */
#pragma once

/* An opened perf.data: what the files of this directory share. */

#include "base/bytes.h"
#include "base/input.h"
#include "base/text.h"
#include "event/cpu_ends.h"
#include "event/source.h"
#include "format/perf_data/feature.h"
#include "format/perf_data/order.h"
#include "format/perf_data/tasks.h"
#include "format/perf_data/unpack.h"
#include "schema/kernel/origin.h"

#define PERF_RUN_MAX 1024
/* Of tracing data; that of real files is some KB, or MB with symbols. */
#define PERF_TRACING_DATA_MAX ((size_t)64 * 1024 * 1024)
#define PERF_CPUS_MAX 65536

/* In `kind` of an item that is held: not lent, but carried out when its time has come. */
enum {
    ITEM_PERF_COMM = 16, /* the payload is the name of `pid` */
    ITEM_PERF_FORK,      /* the payload is the s32 number of the parent of `pid` */
};

/* Events that perf itself reports. */
enum perf_own_class { PERF_CLASS_THROTTLE, PERF_CLASS_UNTHROTTLE, PERF_CLASS_SWITCH };
#define PERF_CLASSES_OWN 3

struct perf_origin {
    struct kernel_origin kernel; /* must stand first */
    struct perf_data *reader;
};

/* What is known of a CPU; the first of the array is of those that are not known. */
struct perf_cpu {
    int64_t last;      /* time of its last record that was read, or TIME_UNKNOWN */
    bool is_damaged;   /* what followed could not be read */
    struct item *held; /* the event that is its last record, or NULL; gone once it was lent */
    uint64_t lost;     /* events, by records LOST */
    uint64_t counted;  /* by the counters of the events, which perf reads at its end */
};

struct perf_record {
    uint32_t type;
    uint16_t misc;
    const uint8_t *body;
    size_t size; /* of the body */
    uint64_t offset;
};

struct perf_data {
    struct source source;
    struct input in;
    char *path;
    struct catalogue *catalogue;
    bool swap, big_endian, is_stream, keep_going;
    bool is_unfinished;  /* perf did not complete its header */
    bool is_cut;         /* the file ends before what its header names */
    bool has_no_formats; /* of tracepoints, as it was cut */
    bool has_pending, at_end, no_times;
    bool lacks_end;       /* of a stream; known at its end */
    bool has_open_losses; /* perf writes how many there were in all at its end, and has not */
    bool ends_inside;     /* a record */
    int result;           /* at the end: what next() returns */
    unsigned n_cpus;

    struct perf_attrs attrs;
    struct perf_features features;
    struct kernel_events *events;
    struct perf_origin *origin;
    struct perf_origin *guest; /* of samples in guests: `origin` if all are, NULL if none can be */
    const struct event_class *own[PERF_CLASSES_OWN]; /* made when they are needed */

    uint64_t id_bytes_left; /* in the file, as far as they are read; while opening */
    uint64_t end;           /* of the records in the file; UINT64_MAX: the input's */
    struct perf_unpack *unpack;
    struct perf_record pending; /* read while opening, if has_pending */

    struct text made; /* the payload of an event that has its fields with it */
    struct order *order;
    unsigned n_unrecorded; /* CPUs */
    bool is_sampled;       /* between any two events of a CPU, others are missing */
    int64_t first_time;    /* of all samples so far; INT64_MAX: there was none */
    int64_t max_time;      /* of all records so far; TIME_UNKNOWN: none had one */
    int64_t limit;         /* items up to it can be lent */
    int64_t next_limit;    /* the same after the next FINISHED_ROUND */
    int64_t seek_time;     /* no item before it is needed, but the last one where none follows */
    struct perf_record
        skipped_last; /* of the samples before it, until one was not; its body is in `skipped_body` */
    struct text skipped_body;
    bool has_skipped_last;
    /* A sample whose time is far from the one before on its CPU, until another one tells whether it is damaged (timeline/stray.h); its
     * body is in `step_body`. */
    struct perf_record step;
    struct text step_body;
    bool has_step;
    bool has_idle;        /* there was a sample of an idle thread */
    uint64_t n_stray;     /* samples with damaged times */
    struct cpu_ends ends; /* if the last sample is such a step: of it and all others */
    struct perf_cpu *cpus;

    struct perf_tasks tasks;
    uint64_t n_unknown;     /* records of types that are not known */
    uint64_t n_unclear;     /* records that are too short, or of no event */
    uint64_t n_not_leaders; /* values of events that their group's leader sampled (:S) */
    uint64_t n_throttled;
    int64_t lent;    /* time of the youngest item lent */
    uint64_t n_late; /* items that are older than that when they are lent */
    uint64_t aux_bytes;
    uint64_t skipped; /* bytes that are in no loss yet */
    char hint[768];
    struct item items[PERF_RUN_MAX];
};

/* Reads the header, or that of a stream and its records up to the first of the kernel's (header.c). */
int perf_header_read(struct perf_data *perf, struct error *error);
/* Takes the kept sample, if there is one, as it is. -ENOMEM. */
int perf_settle_step(struct perf_data *perf);
/* Takes the kept sample as it is if it goes forward, and items up to LIMIT, its time or later, are going to be lent. -ENOMEM. */
int perf_settle_step_before(struct perf_data *perf, int64_t limit);
/* At the end of the file: a kept sample that steps back is damaged; one that goes forward is taken as it is, and doubted
 * (perf->ends). -ENOMEM. */
int perf_settle_last_step(struct perf_data *perf);
/* Takes in a record that says something of events or the machine. 1: it was one. -ENOMEM, -EBADMSG with *RET_WHAT. */
int perf_header_record(struct perf_data *perf, const struct perf_record *record,
                       const char **ret_what);

/* The next record, but for those that hold others (record.c). It is valid until the next call. 1; 0: no more;
 * -EBADMSG with *RET_WHAT, an errno of reading. */
int perf_record_next(struct perf_data *perf, struct perf_record *ret, const char **ret_what);
/* SIZE bytes, which follow a record. -EBADMSG: they are not all there. */
int perf_record_skip_data(struct perf_data *perf, uint64_t size, const char **ret_what);
/* The same into memory that the caller frees. -EFBIG: more than MAX. */
int perf_record_read_data(struct perf_data *perf, uint64_t size, size_t max, uint8_t **ret,
                          const char **ret_what);
/* Looks for the next place where records seem to be. 1: the input is there; 0: there is none. *RET_SKIPPED: bytes. */
int perf_record_resync(struct perf_data *perf, uint64_t *ret_skipped);

/* The class of the samples of ATTR that are not a tracepoint's, with the origin OF (class.c). NULL: out of memory. */
const struct event_class *perf_class_of_samples(struct perf_data *perf,
                                                const struct perf_attr *attr,
                                                const struct perf_origin *of);
/* The class of perf's own event NAME. */
const struct event_class *perf_class_own(struct perf_data *perf, enum perf_own_class which);

/* Adds what RECORD says to perf->order (sample.c). -ENOMEM, an errno of a format that cannot be read. */
int perf_handle_record(struct perf_data *perf, const struct perf_record *record);
/* What follows the records so far could not be read: SKIPPED bytes. -ENOMEM. */
int perf_handle_damage(struct perf_data *perf, uint64_t skipped);
/* Adds the losses that only the events' counters report, and those that have no end. */
int perf_handle_end(struct perf_data *perf);
