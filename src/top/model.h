/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata top` shows: numbers of the last windows of a trace. A window is a part of the timeline; windows follow one
 * another and do not overlap, so that each event is counted once.
 *
 *     top_model_begin(model, trace, from, until, …)    the trace is opened again for each window
 *     sink_put(&model->sink)                           items in the order of time, from shortly before FROM on
 *     top_model_end(model)
 *
 * What is known at the end of a window is carried over to the next: the state of a vCPU, an exit that is open. So a vCPU
 * that sleeps through a window is known to sleep, although it has no event there. A loss of its source ends that.
 *
 * Items before FROM are not counted. The engines get them: a request that began there and ends in the window is one of the
 * window. top_model_look_back() says how much is needed.
 *
 * Memory is bounded by TOP_SERIES_MAX, TOP_VCPUS_MAX, TOP_EXITS_MAX and TOP_CHANGES_MAX, whatever the trace has. Strings are
 * the model's own, as they are in the trace: what a terminal obeys may be in them. Not thread-safe. */

#include "analysis/requests/io_tracker.h"
#include "analysis/states/states.h"
#include "analysis/states/steal.h"
#include "event/sink.h"
#include "trace/trace.h"

#define TOP_WINDOWS 30u /* that are kept */
#define TOP_SOURCES_MAX 64u
#define TOP_SERIES_MAX 4096u
#define TOP_VCPUS_MAX 1024u
#define TOP_EXITS_MAX 512u
#define TOP_SLOWEST 10u            /* requests of a window */
#define TOP_CHANGES_MAX (1u << 18) /* of modes of a vCPU in a window */
#define TOP_NAME_MAX 63u           /* bytes of a name that are kept */

/* By windows: place I is the window number N with N % TOP_WINDOWS == I. */

struct top_source {
    char name[TOP_NAME_MAX + 1];
    enum layer layer;
    uint64_t events[TOP_WINDOWS];
    uint64_t lost[TOP_WINDOWS];  /* as far as they were counted */
    bool has_loss[TOP_WINDOWS];  /* … and whether anything was, or came too late */
    bool uncounted[TOP_WINDOWS]; /* … without a number */
    uint64_t error_ns;           /* of its times, at most; UINT64_MAX: not known */
    uint64_t window_error_ns;    /* … of those of this window that were converted */
    uint64_t recorder_lost;      /* events in the whole recording, as its recorder counted */
    bool recorder_uncounted;     /* … which may be too few */
    bool loss_goes_on;           /* after the window that was read last, and is counted later */
    bool is_here;                /* in the window that was read last */
    bool is_late;                /* … and more of it may come */
    bool is_left_out;            /* … but nothing relates its times to those of the others yet */
};

/* Events of one class. */
struct top_series {
    char name[TOP_NAME_MAX + 1];
    unsigned source;
    uint64_t counts[TOP_WINDOWS];
    uint64_t last; /* the number of the last window that counts any */
};

enum top_part {
    TOP_GUEST,      /* inside of the guest */
    TOP_HYPERVISOR, /* in the hypervisor: KVM, Xen */
    TOP_VMM,        /* in the virtual machine monitor */
    TOP_RUNS,       /* runs, and it is not known which of the three */
    TOP_WAIT,       /* could run, and waits for a CPU */
    TOP_BLOCKED,
    TOP_OFFLINE,
    TOP_PARTS, /* all else is unknown */
};

enum top_vcpu_kind {
    TOP_BY_THREAD, /* a thread of the host, by its kernel */
    TOP_BY_XEN,
    TOP_BY_GUEST, /* a CPU as its own kernel sees it: what is stolen from it counts as running */
};

/* Of what a vCPU waited in a window (analysis/states/steal.h), ticks. */
struct top_steal {
    int64_t stolen; /* while the guest's CPU was busy */
    int64_t idle;   /* while it was idle; in the rest, it is not known what it did */
    bool has_guest; /* something is known of the guest's CPU */
};

struct top_change; /* of mode: top_vcpus.c */

struct top_vcpu {
    enum top_vcpu_kind kind;
    unsigned source;
    int32_t id;                            /* thread, Xen's vCPU, CPU */
    int32_t vcpu;                          /* its number; VCPU_UNKNOWN */
    char name[TOP_NAME_MAX + 1];           /* of its machine, or of its thread; "": none */
    int64_t parts[TOP_WINDOWS][TOP_PARTS]; /* ticks */
    struct top_steal steal[TOP_WINDOWS];
    uint64_t last;   /* the number of the last window in which it had an event */
    bool has_states; /* there were intervals */
    bool has_modes;  /* … and events that tell the guest from the hypervisor */
    bool has_vmm;    /* … and from the VMM */
    /* Carried over. */
    uint8_t state; /* enum state, at the end of the last window; STATE_UNKNOWN */
    uint8_t mode;  /* the same of TOP_GUEST, TOP_HYPERVISOR, TOP_VMM; TOP_RUNS: not known */
    /* Of this window. */
    struct top_change *changes;
    unsigned n_changes, changes_room, at_change;
    const void *vm; /* its virtual machine, as origins know it; NULL: not known */
    bool has_interval, lost;
    uint8_t begin_state, begin_mode;
    struct state_interval last_interval;
    int64_t
        modes_from; /* its mode is unknown from here to its next change, after a time of which nothing is known; TIME_UNKNOWN */
};

struct top_exit {
    char reason[TOP_NAME_MAX + 1];
    uint64_t number; /* what distinguishes it */
    uint64_t n[TOP_WINDOWS], timed[TOP_WINDOWS];
    int64_t sum[TOP_WINDOWS], max[TOP_WINDOWS]; /* of those timed, ticks */
};

struct top_request {
    int64_t begin, end;
    bool is_open; /* END is not known: it lasts at least to there */
    uint32_t error_ns;
    unsigned source;
    enum io_kind kind;
    uint64_t device, sector;
    uint32_t sectors;
    bool is_vmm; /* DEVICE is an address of the VMM */
};

struct top_class;      /* what an event class is to the model: top_model.c */
struct top_exit_spans; /* exits.c */

struct top_model {
    struct sink sink;
    struct clock clock;
    uint64_t n; /* windows that were read */
    int64_t lengths[TOP_WINDOWS];
    int64_t until; /* the end of the last one; TIME_UNKNOWN */
    struct top_source sources[TOP_SOURCES_MAX];
    struct top_series *series;
    unsigned n_series, series_room;
    struct top_vcpu **vcpus;
    unsigned n_vcpus, vcpus_room;
    struct map vcpu_map;
    struct top_exit *exits;
    unsigned n_exits, exits_room;
    struct top_request requests[TOP_WINDOWS][TOP_SLOWEST];
    unsigned n_requests[TOP_WINDOWS];
    struct top_request open[TOP_SLOWEST]; /* oldest first */
    unsigned n_open, n_sources;
    bool has_gap[TOP_WINDOWS];         /* time between it and the window before was not read */
    struct top_exit_spans *exit_spans; /* NULL: not yet */
    bool has_kvm;                      /* exits of KVM: those that QEMU sees are among them */
    bool has_exit_ends; /* an exit counts when it ends, as in strata exits; else when it begins */
    bool is_too_much;   /* one of the bounds was reached */
    /* Of the window that is read. */
    struct trace *trace;
    int64_t from, to;
    unsigned input_sources[TOP_SOURCES_MAX * 4]; /* by input of the trace: its source */
    struct top_class *classes;
    unsigned n_classes, slot;
    struct states states;
    struct selection within; /* its time */
    struct steal steal;
    struct io_tracker io;
    int64_t last_time[TOP_SOURCES_MAX]; /* of an event */
    int64_t last_end[TOP_SOURCES_MAX];  /* of an interval */
    const struct origin *recent_origin;
    unsigned recent_source;
    bool is_open;
    bool no_memory; /* something is missing */
    /* Set before top_model_begin(): nothing follows this window. What is open there lasts until the last event of its source, as in
     * other verbs, and not until the end of the window. */
    bool is_final;
};

void top_model_init(struct top_model *model);
void top_model_done(struct top_model *model);

/* A window of TRACE, which stays open until top_model_end(). -ENOMEM. */
int top_model_begin(struct top_model *model, struct trace *trace, int64_t from, int64_t until);
/* Has SINK's error, or the result of reading, as ERROR: below 0, the window counts nothing of what needs all of it. */
int top_model_end(struct top_model *model, int error);
/* How much before the next window, in ticks, its items are to be read from: since the oldest open request began, MAX at
 * most. */
int64_t top_model_look_back(const struct top_model *model, int64_t max);

/* ---- Asking ---- */

/* How many windows there are, of MAX. */
static inline unsigned top_windows(const struct top_model *model, unsigned max)
{
    return (unsigned)MIN(model->n, (uint64_t)MIN(max, TOP_WINDOWS));
}
/* The place of the window that is I before the last one. */
static inline unsigned top_slot(const struct top_model *model, unsigned i)
{
    return (unsigned)((model->n + TOP_WINDOWS - 1 - i) % TOP_WINDOWS);
}
/* The ticks of the last N windows. */
int64_t top_model_length(const struct top_model *model, unsigned n);
/* What SOURCE lost in the windows that are kept. */
struct top_lost {
    uint64_t n;   /* as far as it was counted */
    bool is_more; /* than that */
    bool
        is_unplaced; /* … or may be: only its recorder knows of some, in any window or before these */
};
struct top_lost top_source_lost(const struct top_model *model, const struct top_source *source);
/* Whether SOURCE lost events in the last N windows. */
bool top_source_has_loss(const struct top_model *model, unsigned source, unsigned n);

/* ---- Between the files of the model ---- */

/* The source of ITEM's origin. */
unsigned top_model_source(struct top_model *model, const struct origin *origin);
void top_copy_name(char to[TOP_NAME_MAX + 1], const char *name);

/* top_vcpus.c */
extern const struct states_ops top_vcpus_states_ops;
struct exit_class;
void top_vcpus_begin(struct top_model *model);
/* ITEM, an event of CLASS in the window. 0, -ENOMEM. */
int top_vcpus_put(struct top_model *model, const struct exit_class *class, const struct item *item);
void top_vcpus_put_loss(struct top_model *model, unsigned source, int64_t since);
void top_vcpus_end(struct top_model *model);
void top_vcpus_done(struct top_model *model);
/* Finds or adds one. NULL: memory is out, or there are too many. */
struct top_vcpu *top_vcpu_get(struct top_model *model, enum top_vcpu_kind kind, unsigned source,
                              int32_t id);

/* exits.c: the items of a window, without those before it. 0, -ENOMEM. */
int top_exits_begin(struct top_model *model);
int top_exits_put(struct top_model *model, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
int top_exits_begin_loss(struct top_model *model, const struct item *item);
void top_exits_end(struct top_model *model);
void top_exits_done(struct top_model *model);

/* top_requests.c */
extern const struct io_tracker_ops top_requests_ops;
/* Before the tracker is finished: those that are open. */
void top_requests_put_open(struct top_model *model);
