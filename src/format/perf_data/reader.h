/* SPDX-License-Identifier: MIT */
#pragma once

/* An opened perf.data. Shared by the files of this directory. */

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
/* Limit of tracing data. Real files have some KB, or MB with symbols. */
#define PERF_TRACING_DATA_MAX ((size_t)64 * 1024 * 1024)
#define PERF_CPUS_MAX 65536

/* Further values of `kind` of a held item. Such items are not returned; they take effect when their time has come. */
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

/* What is known of a CPU. The first entry of the array is for unknown CPUs. */
struct perf_cpu {
    int64_t last;      /* time of the last record read, or TIME_UNKNOWN */
    bool is_damaged;   /* the records after it could not be read */
    struct item *held; /* the event in its last record; NULL after it was returned */
    uint64_t lost;     /* lost events by records LOST */
    uint64_t counted;  /* lost events by the counters that perf reads at its end */
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
    bool is_cut;         /* the file ends before a section of its header */
    bool has_no_formats; /* no formats of tracepoints, because the file is cut */
    bool has_pending, at_end, no_times;
    bool lacks_end; /* for a stream; known at its end */
    /* perf writes the total number of losses at its end, and has not done so */
    bool has_open_losses;
    bool ends_inside; /* the file ends inside a record */
    int result;       /* at the end: what next() returns */
    unsigned n_cpus;

    struct perf_attrs attrs;
    struct perf_features features;
    struct kernel_events *events;
    struct perf_origin *origin;
    /* for samples in guests: `origin` if all samples are in guests, NULL if none can be */
    struct perf_origin *guest;
    const struct event_class *own[PERF_CLASSES_OWN]; /* created when needed */

    /* while opening: bytes of IDs in the file that may still be read */
    uint64_t id_bytes_left;
    uint64_t end; /* end of the records in the file; UINT64_MAX: end of the input */
    struct perf_unpack *unpack;
    struct perf_record pending; /* if has_pending: a record that was read while opening */

    struct text made; /* payload of an event with fields of its own */
    struct order *order;
    unsigned n_unrecorded; /* number of CPUs that were not recorded */
    bool is_sampled;       /* events may be missing between any two events of a CPU */
    int64_t first_time;    /* of all samples so far; INT64_MAX: none */
    int64_t max_time;      /* of all records so far; TIME_UNKNOWN: none */
    int64_t limit;         /* items up to this time can be returned */
    int64_t next_limit;    /* `limit` after the next FINISHED_ROUND */
    /* items before this time are not needed, except the last one if none follows */
    int64_t seek_time;
    /* The last sample before seek_time, until a later sample comes; its body is in `skipped_body`. */
    struct perf_record skipped_last;
    struct text skipped_body;
    bool has_skipped_last;
    /* A sample whose time is far from the previous sample on its CPU. It is kept until another sample shows whether it
     * is damaged (timeline/stray.h). Its body is in `step_body`. */
    struct perf_record step;
    struct text step_body;
    bool has_step;
    bool has_idle;        /* a sample was of an idle thread */
    uint64_t n_stray;     /* samples with damaged times */
    struct cpu_ends ends; /* ends of the CPUs, for judging such a step of the last sample */
    struct perf_cpu *cpus;

    struct perf_tasks tasks;
    uint64_t n_unknown;     /* records of unknown types */
    uint64_t n_unclear;     /* records that are too short or have no event */
    uint64_t n_not_leaders; /* values of group members sampled by their leader (:S) */
    uint64_t n_throttled;
    int64_t lent;    /* time of the latest item returned */
    uint64_t n_late; /* items that were earlier than `lent` when they were returned */
    uint64_t aux_bytes;
    uint64_t skipped; /* skipped bytes that are not reported as a loss yet */
    char hint[768];
    struct item items[PERF_RUN_MAX];
};

/* Reads the header; of a stream also its records up to the first record of the kernel (header.c). */
int perf_header_read(struct perf_data *perf, struct error *error);
/* Accepts the kept sample, if any, unchanged. -ENOMEM. */
int perf_settle_step(struct perf_data *perf);
/* Accepts the kept sample unchanged if it goes forward and items up to LIMIT, which is not before its time, will be
 * returned. -ENOMEM. */
int perf_settle_step_before(struct perf_data *perf, int64_t limit);
/* Call it at the end of the file. A kept sample that steps back is damaged. A kept sample that goes forward is accepted
 * unchanged, and doubted (perf->ends). -ENOMEM. */
int perf_settle_last_step(struct perf_data *perf);
/* Handles a record about events or the machine. Returns 1 if it was such a record. -ENOMEM; -EBADMSG with *RET_WHAT. */
int perf_header_record(struct perf_data *perf, const struct perf_record *record,
                       const char **ret_what);

/* Reads the next record, which is valid until the next call; records that contain records are unpacked (record.c).
 * Returns 1; 0: no more; -EBADMSG with *RET_WHAT; or an errno of reading. */
int perf_record_next(struct perf_data *perf, struct perf_record *ret, const char **ret_what);
/* Skips SIZE bytes that follow a record. -EBADMSG: incomplete. */
int perf_record_skip_data(struct perf_data *perf, uint64_t size, const char **ret_what);
/* Reads them into memory that the caller frees. -EFBIG: more than MAX. */
int perf_record_read_data(struct perf_data *perf, uint64_t size, size_t max, uint8_t **ret,
                          const char **ret_what);
/* Searches for the next place where records seem to begin. Returns 1 with the input there; 0: none. *RET_SKIPPED:
 * bytes. */
int perf_record_resync(struct perf_data *perf, uint64_t *ret_skipped);

/* The class of the samples of ATTR, which is not a tracepoint, with the origin OF (class.c). NULL: out of memory. */
const struct event_class *perf_class_of_samples(struct perf_data *perf,
                                                const struct perf_attr *attr,
                                                const struct perf_origin *of);
/* The class of perf's own event WHICH. */
const struct event_class *perf_class_own(struct perf_data *perf, enum perf_own_class which);

/* Adds the items of RECORD to perf->order (sample.c). -ENOMEM, or an errno of a format that cannot be read. */
int perf_handle_record(struct perf_data *perf, const struct perf_record *record);
/* Notes that SKIPPED bytes after the records so far could not be read. -ENOMEM. */
int perf_handle_damage(struct perf_data *perf, uint64_t skipped);
/* Adds losses that only the events' counters report, and losses without an end. */
int perf_handle_end(struct perf_data *perf);
