/* SPDX-License-Identifier: MIT */
#pragma once

/* Records the kernel of a guest or of this machine into subdirectories of a trace directory, one for each boot. A
 * confined child (record/kernel/guest_child.h) parses what the guest sends. A lost connection is made again. The
 * recorder that uses this is record/kernel/kernel_recorder.h. */

#include <sys/types.h>

#include "record/kernel/endpoint.h"
#include "record/kernel/guest_child.h"
#include "record/kernel/guest_kvm.h"
#include "record/kernel/guest_pause.h"
#include "record/kernel/guest_store.h"
#include "record/kernel/live_stream.h"
#include "record/kernel/virtio_trace.h"
#include "record/recorder.h"
#include "tracedir/manifest.h"

/* A guest as the user named it, or this machine's kernel, which is recorded in the same way. Strings are borrowed. */
struct guest_config {
    const char *name;
    const struct trace_config *trace;
    /* The directory with the ports of an agent that speaks the virtio-trace protocol. NULL: the agent speaks Strata's
     * protocol. */
    const char *virtio_trace;
    const char *tracefs_copy; /* with virtio_trace: a copy of the guest's tracefs */
    const char *kvm_root;     /* where KVM describes the guest; NULL: GUEST_KVM_ROOT */
    /* The sending end of a stream to the live view (record/kernel/live_stream.h). guest_open() takes it over and sets
     * it to -1. NULL: the guest is not shown. */
    int *live;
    struct guest_endpoint endpoint; /* guest_open() takes over a descriptor of ENDPOINT_FD */
    unsigned cpus;                  /* with virtio_trace: number of CPUs; 0: the number of ports */
    /* The process of the virtual machine, for KVM's values of the guest's clock; 0: the process that created the socket
     * of the port. */
    pid_t vmm;
    unsigned n_guests; /* guests in the recording, which share its limits; 0: only this guest */
    /* The kernel is this machine's: the directory is called NAME, the layer is "host", and the clock is "mono". */
    bool is_host;
    pid_t agent;     /* with is_host: the agent's process; 0: unknown */
    bool pid_filter; /* with is_host: traces only while the recorded threads run */
};

/* The trace of one boot of a kernel. */
struct guest_boot {
    char agent[64], release[128], machine[64], boot_id[64], clock[32];
    uint64_t hz;
    struct guest_pair first, last,
        best; /* samples of the clock; best: the sample with the least error */
    unsigned n_pairs;
    bool by_kvm;            /* all pairs are from KVM's values */
    bool lost_uncounted;    /* as in struct manifest_source */
    bool states_pid_filter; /* the agent has said whether it records only certain threads */
    /* The agent records only certain threads, now or before its tracing was set up again. */
    bool pid_filter;
    bool is_rewound; /* it begins with an earlier state that the guest was set back to */
    struct manifest_moment began, ended;
    struct manifest_moment came, left; /* as in struct manifest_source */
    uint64_t first_event,
        /* Times of the guest's clock, set at the end of the boot; 0: none. */
        last_event;
    uint64_t lost_before; /* lost events of the guest in earlier boots */
    uint64_t lost;
    char **problems;
    unsigned n_problems;
    unsigned n_reported; /* problems that the guest reported */
    uint64_t unreported; /* more problems that the guest reported, which are not kept */
};

enum guest_connection {
    CONNECTION_AWAY,    /* no connection; the next try is at retry_at */
    CONNECTION_PENDING, /* connect() has not completed */
    CONNECTION_GIVEN,   /* the child has it */
};

/* The kernel of a guest or of this machine (config.is_host) while it is recorded. */
struct guest {
    struct guest_config config;
    struct trace_config trace; /* `max_size` limits its files; 0: no limit */
    struct guest_store store;
    struct virtio_trace_guest virtio; /* used with config.virtio_trace, which needs no child */
    pid_t pid;                        /* 0: its child has ended */
    int channel;                      /* -1: the child has ended */
    enum guest_connection connection;
    int proto_fd;      /* while pending */
    uint64_t retry_at; /* ns */
    /* ns: when to report that no agent has answered yet; 0: not started, or reported. */
    uint64_t hint_at;
    int lost_error;        /* why the last connection was lost, negative; 0: the agent closed it */
    unsigned retries;      /* since the last connection */
    bool is_wait_reported; /* it was reported that the agent cannot be reached */
    bool is_taken;         /* when the guest was stopped, its port served another client */
    /* It was reported that the agent has exited, and it has not come back since. */
    bool is_exit_reported;
    bool was_traced; /* on any connection */
    bool is_rewound; /* its state went back, and tracing has not begun again */
    bool was_running, ended;
    bool stopping, written; /* written: the manifest is up to date */
    bool measures_seen;     /* it is known how the child is confined */
    /* ns: when the port reported that the agent had closed it; and since when the traced agent is missing without a
     * notice that it exits. 0: neither, or an agent is traced again. */
    uint64_t closed_at, lost_at;
    uint64_t flush_asked, flushed; /* numbers of the last requested and the last completed flush */
    int error;                     /* 0, or the error that ended it, explained in WHAT */
    char what[400];
    struct guest_boot *boots;
    unsigned n_boots;
    pid_t peer; /* the process at the other end of the port's socket; 0: unknown */
    struct guest_progress progress;
    struct live_stream live; /* used if the guest has no child */
    struct guest_pauses pauses;
    struct guest_clock { /* record/kernel/guest_clock.h */
        char *kvm;       /* the directory with KVM's values of the guest's TSC; NULL: none */
        struct guest_tsc tsc;
        struct guest_pair before; /* the latest pair made of KVM's values */
        bool before_kept;         /* an exchange has confirmed `before` */
        /* If `has_early`: the latest exchange that was not kept because it is older than KVM's values. */
        struct guest_pair early;
        bool has_early;
        bool is_unreadable; /* no values are valid for all vCPUs */
        uint64_t next;      /* ns: when the next pair is due */
    } clock;
    /* How many more messages about the guest may be printed, so that a guest cannot flood a terminal. */
    unsigned messages_left;
    uint64_t messages_next; /* ns: when messages_left grows by one */
    uint64_t unprinted;     /* messages that were not printed since the last printed message */
    uint64_t stop_by; /* ns: how long a stopped guest without a connection may take to come back */
    uint64_t wake_by; /* ns: the deadline of the last poll */
    uint64_t size_next; /* ns: when to check the size of its files again */
    /* Reads what the monitor of its machine has reported until now, because pauses must be known before the next pair
     * of clocks. NULL: there is no monitor. */
    void (*read_machine)(struct recorder *machine);
    struct recorder *machine;
    /* Prints a message about the guest. May be NULL. */
    void (*report)(void *userdata, const char *guest, const char *what);
    /* Called like report() if the agent has not answered for some seconds. */
    void (*hint)(void *userdata, const char *guest, const char *what);
    void *userdata;
};

/* Starts a child for the guest of CONFIG (borrowed). The child writes into subdirectories of DIR (borrowed; -1: nothing
 * is kept). MAX_SIZE limits the files; 0: no limit. GUEST must not be moved. The calling process must have one thread.
 * Whenever `written` is false, the caller writes the manifest and sets it. -EMFILE with ERROR: this process may not
 * open as many files as the guests of the recording need. Other -errno with ERROR. After an error, the guest has ended
 * and need not be closed. */
int guest_open(int dir, uint64_t max_size, const struct guest_config *config, struct guest *guest,
               struct error *error);
/* The number of events that are missing in the trace because the buffers of the guest's kernel, or the trace, had no
 * room. */
uint64_t guest_lost(const struct guest *guest);
/* True if pages that GUEST sent are missing in the trace. BUF then says why. */
bool guest_missing_pages(const struct guest_progress *progress, char *buf, size_t size);
/* True if GUEST was traced and its agent does not answer any more. */
bool guest_is_away(const struct guest *guest);
/* True if the traced agent of GUEST is missing and has not said that it exits. BUF then says this, and how long before
 * NOW the agent was lost. */
bool guest_loss_text(const struct guest *guest, uint64_t now, char *buf, size_t size);
/* True if GUEST has never sent anything. */
bool guest_is_silent(const struct guest *guest);
/* Ends GUEST, if it has not ended. Afterwards, its state is final. */
void guest_end_early(struct guest *guest);
/* The same. The error is TRACED if the guest was traced, and SILENT if it has sent nothing. */
void guest_end_because(struct guest *guest, const char *traced, const char *silent);
/* Ends GUEST, if it has not ended, and frees its memory. */
void guest_close(struct guest *guest);

/* Connects if that is due, and adds the descriptors and the time that GUEST waits for to WAIT: time 0 if it has
 * ended. */
void guest_poll(struct guest *guest, struct recorder_wait *wait, uint64_t now);
/* Handles the result of poll() in FDS, the descriptors that guest_poll() added. GUEST must not have ended. Returns 1,
 * or 0 if GUEST has ended. */
int guest_serve(struct guest *guest, const struct pollfd *fds, uint64_t now);
/* True if it has a connection: to its agent, or to QEMU's socket even if no agent is at the other end. */
bool guest_is_connected(const struct guest *guest);
/* Asks the agent to send everything that it has recorded. guest_serve() continues the flush. */
void guest_flush(struct guest *guest);
/* True if the flush is complete, or if the guest cannot complete it now: it is not connected or is paused, or its agent
 * is too old or speaks the virtio-trace protocol. */
bool guest_is_flushed(const struct guest *guest);
/* Stops the tracing. guest_serve() reads the rest from the agent. */
void guest_stop(struct guest *guest);
