/* SPDX-License-Identifier: MIT */
#pragma once

/* The numbers that `strata top` shows, of the last windows of a trace. Windows follow each other without overlap, so
 * each event is counted once.
 *
 *     top_model_begin(model, trace, from, until, …)    the trace is opened again for each window
 *     sink_put(&model->sink)                           items in the order of time, from shortly before FROM on
 *     top_model_end(model)
 *
 * The model carries over to the next window what is known at the end of a window: the state of a vCPU, an open exit. So
 * a vCPU that sleeps through a window without events is known to sleep. A loss of its source ends that.
 *
 * Items before FROM are not counted. The engines get them, because a request that began there and ends in the window
 * counts in the window. top_model_look_back() tells how much is needed.
 *
 * TOP_SERIES_MAX, TOP_VCPUS_MAX, TOP_EXITS_MAX and TOP_CHANGES_MAX bound the memory, whatever the trace has. The model
 * owns its strings. They are not escaped, and may contain control sequences. Not thread-safe. */

#include "analysis/requests/io_tracker.h"
#include "analysis/states/states.h"
#include "analysis/states/steal.h"
#include "event/sink.h"
#include "trace/trace.h"

#define TOP_WINDOWS 30u /* kept windows */
#define TOP_SOURCES_MAX 64u
#define TOP_SERIES_MAX 4096u
#define TOP_VCPUS_MAX 1024u
#define TOP_EXITS_MAX 512u
#define TOP_SLOWEST 10u            /* requests kept per window */
#define TOP_CHANGES_MAX (1u << 18) /* mode changes of a vCPU in a window */
#define TOP_NAME_MAX 63u           /* bytes kept of a name */

/* Arrays over windows: entry I belongs to the window number N with N % TOP_WINDOWS == I. */

struct top_source {
    char name[TOP_NAME_MAX + 1];
    enum layer layer;
    uint64_t events[TOP_WINDOWS];
    uint64_t lost[TOP_WINDOWS];  /* as far as they were counted */
    bool has_loss[TOP_WINDOWS];  /* … whether anything was lost, or came too late */
    bool uncounted[TOP_WINDOWS]; /* … whether a loss has no number */
    uint64_t error_ns;           /* largest error of its times; UINT64_MAX if unknown */
    uint64_t window_error_ns;    /* … of converted times in this window */
    uint64_t recorder_lost;      /* events lost in the whole recording, as its recorder counted */
    bool recorder_uncounted;     /* … the count may be too low */
    bool loss_goes_on;           /* a loss continues after the last window, and is counted later */
    bool is_here;                /* it is in the last window */
    bool is_late;                /* … and may have more items for it */
    bool is_left_out;            /* … but its times cannot be related to the other sources' yet */
};

/* Events of one class. */
struct top_series {
    char name[TOP_NAME_MAX + 1];
    unsigned source;
    uint64_t counts[TOP_WINDOWS];
    uint64_t last; /* number of the last window with events */
};

enum top_part {
    TOP_GUEST,      /* inside of the guest */
    TOP_HYPERVISOR, /* in the hypervisor: KVM, Xen */
    TOP_VMM,        /* in the virtual machine monitor */
    TOP_RUNS,       /* runs, but in which of the three is unknown */
    TOP_WAIT,       /* could run, but waits for a CPU */
    TOP_BLOCKED,
    TOP_OFFLINE,
    TOP_PARTS, /* other time is unknown */
};

enum top_vcpu_kind {
    TOP_BY_THREAD, /* a thread of the host, by its kernel */
    TOP_BY_XEN,
    TOP_BY_GUEST, /* a CPU as its own kernel sees it; stolen time counts as running */
};

/* Parts of a vCPU's waiting time in a window (analysis/states/steal.h), in ticks. */
struct top_steal {
    int64_t stolen; /* while the guest's CPU was busy */
    int64_t idle;   /* while it was idle; for the rest of the waiting time its state is unknown */
    bool has_guest; /* some of the guest's CPU is known */
};

struct top_change; /* of mode; see vcpus.c */

struct top_vcpu {
    enum top_vcpu_kind kind;
    unsigned source;
    int32_t id;                            /* of the thread, Xen's vCPU, or CPU */
    int32_t vcpu;                          /* its vCPU number, or VCPU_UNKNOWN */
    char name[TOP_NAME_MAX + 1];           /* of its machine or its thread; may be "" */
    int64_t parts[TOP_WINDOWS][TOP_PARTS]; /* in ticks */
    struct top_steal steal[TOP_WINDOWS];
    uint64_t last;   /* number of the last window with an event of it */
    bool has_states; /* there were intervals */
    bool has_modes;  /* … and events that tell the guest from the hypervisor */
    bool has_vmm;    /* … and events that tell the VMM from these */
    /* Carried over. */
    uint8_t state; /* enum state at the end of the last window, or STATE_UNKNOWN */
    uint8_t mode;  /* TOP_GUEST, TOP_HYPERVISOR or TOP_VMM at that time, or TOP_RUNS if unknown */
    /* For this window. */
    struct top_change *changes;
    unsigned n_changes, changes_room, at_change;
    const void *vm; /* its virtual machine, as origins have it, or NULL if unknown */
    bool has_interval, lost;
    uint8_t begin_state, begin_mode;
    struct state_interval last_interval;
    /* From here to its next change the mode is unknown, after an unknown state; or TIME_UNKNOWN. */
    int64_t modes_from;
};

struct top_exit {
    char reason[TOP_NAME_MAX + 1];
    uint64_t number; /* identifies the reason: code, ISA, nesting, tracer */
    uint64_t n[TOP_WINDOWS], timed[TOP_WINDOWS];
    int64_t sum[TOP_WINDOWS], max[TOP_WINDOWS]; /* durations of the `timed` exits, in ticks */
};

struct top_request {
    int64_t begin, end;
    bool is_open; /* it has not ended; it lasts at least until `end` */
    uint32_t error_ns;
    unsigned source;
    enum io_kind kind;
    uint64_t device, sector;
    uint32_t sectors;
    bool is_vmm; /* `device` is an address in the VMM */
};

struct top_class;      /* the meaning of an event class for the model; see model.c */
struct top_exit_spans; /* see exits.c */

struct top_model {
    struct sink sink;
    struct clock clock;
    uint64_t n; /* number of windows that were read */
    int64_t lengths[TOP_WINDOWS];
    int64_t until; /* end of the last window, or TIME_UNKNOWN */
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
    bool has_gap[TOP_WINDOWS]; /* the time between this window and the previous one was not read */
    struct top_exit_spans *exit_spans; /* NULL before the first window */
    bool has_kvm; /* KVM's exits are there; they include the exits that QEMU sees */
    /* Exits count when they end, as in strata exits; otherwise when they begin. */
    bool has_exit_ends;
    bool is_too_much; /* one of the limits was reached */
    /* For the current window. */
    struct trace *trace;
    int64_t from, to;
    unsigned input_sources[TOP_SOURCES_MAX * 4]; /* by input of the trace: its source */
    struct top_class *classes;
    unsigned n_classes, slot;
    struct states states;
    struct selection within; /* its time */
    struct steal steal;
    struct io_tracker io;
    int64_t last_time[TOP_SOURCES_MAX]; /* time of the last event */
    int64_t last_end[TOP_SOURCES_MAX];  /* end of the last interval */
    const struct origin *recent_origin;
    unsigned recent_source;
    bool is_open;
    bool no_memory; /* something is missing */
    /* Set before top_model_begin() if nothing follows this window. Then what is open lasts until the last event of its
     * source, as in other verbs, not until the end of the window. */
    bool is_final;
};

void top_model_init(struct top_model *model);
void top_model_done(struct top_model *model);

/* Begins a window of TRACE, which stays open until top_model_end(). -ENOMEM. */
int top_model_begin(struct top_model *model, struct trace *trace, int64_t from, int64_t until);
/* Ends the window. ERROR is the error of the sink, or the result of reading. If it is negative, numbers that need the
 * whole window are left out. */
int top_model_end(struct top_model *model, int error);
/* How many ticks before the next window its items must be read: from the begin of the oldest open request, at most
 * MAX. */
int64_t top_model_look_back(const struct top_model *model, int64_t max);

/* ---- Access ---- */

/* The number of windows, at most MAX. */
static inline unsigned top_windows(const struct top_model *model, unsigned max)
{
    return (unsigned)MIN(model->n, (uint64_t)MIN(max, TOP_WINDOWS));
}
/* The index of the window that is I windows before the last one. */
static inline unsigned top_slot(const struct top_model *model, unsigned i)
{
    return (unsigned)((model->n + TOP_WINDOWS - 1 - i) % TOP_WINDOWS);
}
/* The length of the last N windows in ticks. */
int64_t top_model_length(const struct top_model *model, unsigned n);
/* What SOURCE lost in the kept windows. */
struct top_lost {
    uint64_t n;   /* as far as it was counted */
    bool is_more; /* more than `n` was lost */
    /* Only the recorder knows of some of these losses: they may be in any window, or before them. */
    bool is_unplaced;
};
struct top_lost top_source_lost(const struct top_model *model, const struct top_source *source);
/* True if SOURCE lost events in the last N windows. */
bool top_source_has_loss(const struct top_model *model, unsigned source, unsigned n);

/* ---- Between the files of the model ---- */

/* Returns the index of the source of ORIGIN. */
unsigned top_model_source(struct top_model *model, const struct origin *origin);
void top_copy_name(char to[TOP_NAME_MAX + 1], const char *name);

/* vcpus.c */
extern const struct states_ops top_vcpus_states_ops;
struct exit_class;
void top_vcpus_begin(struct top_model *model);
/* ITEM is an event of CLASS in the window. 0, -ENOMEM. */
int top_vcpus_put(struct top_model *model, const struct exit_class *class, const struct item *item);
void top_vcpus_put_loss(struct top_model *model, unsigned source, int64_t since);
void top_vcpus_end(struct top_model *model);
void top_vcpus_done(struct top_model *model);
/* Finds or adds a vCPU. NULL if out of memory, or if there are too many. */
struct top_vcpu *top_vcpu_get(struct top_model *model, enum top_vcpu_kind kind, unsigned source,
                              int32_t id);

/* exits.c gets the items of a window, without earlier items. 0, -ENOMEM. */
int top_exits_begin(struct top_model *model);
int top_exits_put(struct top_model *model, const struct item *items, unsigned n);
/* As sink_begin_loss(). */
int top_exits_begin_loss(struct top_model *model, const struct item *item);
void top_exits_end(struct top_model *model);
void top_exits_done(struct top_model *model);

/* requests.c */
extern const struct io_tracker_ops top_requests_ops;
/* Call before the tracker is finished: adds the open requests. */
void top_requests_put_open(struct top_model *model);
