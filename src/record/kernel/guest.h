/* SPDX-License-Identifier: MIT */
#pragma once

/* Records the kernel of a guest, or of this machine, by a confined child (record/kernel/guest_child.h), into directories of a
 * trace directory, one for each boot. A connection that is lost is made again. Its recorder is record/kernel/kernel_recorder.h. */

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
    /* The directory with the ports of an agent that speaks the virtio-trace protocol; NULL: it speaks Strata's. */
    const char *virtio_trace;
    const char *tracefs_copy; /* … a copy of its tracefs */
    const char *kvm_root;     /* where KVM describes it; NULL: GUEST_KVM_ROOT */
    /* The sending end of a stream to the live view (record/kernel/live_stream.h). It is taken over, and then -1. NULL: the
     * guest is not shown. */
    int *live;
    struct guest_endpoint endpoint; /* the descriptor of ENDPOINT_FD is taken over */
    unsigned cpus;                  /* of virtio-trace; 0: as many as there are ports */
    /* The process of the virtual machine, for KVM's values of its clock; 0: the one that made the socket of its port. */
    pid_t vmm;
    unsigned n_guests; /* in the recording, which share its limits; 0: this one alone */
    /* This machine's kernel: the directory is called NAME, the layer is "host", and the clock is "mono". */
    bool is_host;
    pid_t agent;     /* … whose agent is this process; 0: not known */
    bool pid_filter; /* … and only while the threads of what is recorded run */
};

/* The trace of a kernel from one boot on. */
struct guest_boot {
    char agent[64], release[128], machine[64], boot_id[64], clock[32];
    uint64_t hz;
    struct guest_pair first, last, best; /* of the clock's samples; best: the least error */
    unsigned n_pairs;
    bool by_kvm;            /* all of them are KVM's */
    bool lost_uncounted;    /* as in struct manifest_source */
    bool states_pid_filter; /* the agent has said whether it records only certain threads: */
    bool pid_filter;        /* it does; once it did, if it began again */
    bool is_rewound;        /* it begins as the guest was set back to an earlier state */
    struct manifest_moment began, ended;
    struct manifest_moment came, left; /* as in struct manifest_source */
    uint64_t first_event, last_event;  /* times of the guest's clock, when it has ended; 0: none */
    uint64_t lost_before;              /* of the guest's lost events, those of earlier boots */
    uint64_t lost;
    char **problems;
    unsigned n_problems;
    unsigned n_reported; /* of them: reported by the guest */
    uint64_t unreported; /* by the guest as well, and not kept */
};

enum guest_connection {
    CONNECTION_AWAY,    /* none; the next try is at retry_at */
    CONNECTION_PENDING, /* connect() has not completed */
    CONNECTION_GIVEN,   /* the child has it */
};

/* A kernel while it is recorded: of a guest, or of this machine (config.is_host). */
struct guest {
    struct guest_config config;
    struct trace_config trace; /* with `max_size` of its files, 0: any */
    struct guest_store store;
    struct virtio_trace_guest virtio; /* of config.virtio_trace, which has no child */
    pid_t pid;                        /* 0: its child has ended */
    int channel;                      /* -1: the same */
    enum guest_connection connection;
    int proto_fd;      /* while pending */
    uint64_t retry_at; /* ns */
    uint64_t
        hint_at; /* ns: when it is said that no agent has answered yet; 0: not started, or said */
    int lost_error;        /* why the last connection was lost, negative; 0: the agent closed it */
    unsigned retries;      /* since it was last connected */
    bool is_wait_reported; /* that the agent cannot be reached */
    bool is_taken;         /* its port served another client when it was stopped */
    bool is_exit_reported; /* that the agent has exited; it has not come back since */
    bool was_traced;       /* on any connection */
    bool is_rewound;       /* its state went back, and it is not traced again yet */
    bool was_running, ended;
    bool stopping, written; /* written: the manifest is up to date */
    bool measures_seen;     /* how its child is confined is known */
    /* ns: when its port reported that the agent had closed it, and since when the traced agent is missing without having said that
     * it exits; 0: not, or an agent is traced again. */
    uint64_t closed_at, lost_at;
    uint64_t flush_asked,
        flushed; /* the numbers of the last flush that was asked for, and that is done */
    int error;   /* 0, or why it ended, with WHAT */
    char what[400];
    struct guest_boot *boots;
    unsigned n_boots;
    pid_t peer; /* at the other end of its port's socket; 0: not known */
    struct guest_progress progress;
    struct live_stream live; /* of a guest without a child */
    struct guest_pauses pauses;
    struct guest_clock { /* record/kernel/guest_clock.h */
        char *kvm;       /* the directory with KVM's values of its TSC; NULL: none */
        struct guest_tsc tsc;
        struct guest_pair before; /* the latest pair made of them */
        bool before_kept;         /* and an exchange has confirmed it */
        struct guest_pair early;  /* the latest exchange from before them, if `has_early` */
        bool has_early;
        bool is_unreadable; /* no values hold for all vCPUs */
        uint64_t next;      /* ns: when the next pair is due */
    } clock;
    /* How many messages about it may still be printed: one guest cannot flood a terminal. */
    unsigned messages_left;
    uint64_t messages_next; /* ns: when it is one more */
    uint64_t unprinted;     /* messages since the last one that was printed */
    uint64_t
        stop_by; /* ns: until then a guest that is not connected may come back, when it is stopped */
    uint64_t wake_by;   /* ns: when the last poll was to end at the latest */
    uint64_t size_next; /* ns: when the size of its files is looked at again */
    /* Reads what the monitor of its machine has reported until now: pauses before a pair of clocks are to be known when that comes.
     * NULL: there is no monitor. */
    void (*read_machine)(struct recorder *machine);
    struct recorder *machine;
    /* Prints a message about it. May be NULL. */
    void (*report)(void *userdata, const char *guest, const char *what);
    /* The same if its agent has not answered for some seconds. */
    void (*hint)(void *userdata, const char *guest, const char *what);
    void *userdata;
};

/* Starts a child for the guest of CONFIG (borrowed), which writes into directories of its own in DIR (borrowed; -1: nothing is
 * kept). MAX_SIZE: of its files, 0: any. GUEST may not be moved. The caller has one thread, writes the manifest whenever `written` is
 * false, and then sets it. -EMFILE if this process may not open as many files as the guests of the recording need, or another -errno,
 * with ERROR; the guest then has ended, and need not be closed. */
int guest_open(int dir, uint64_t max_size, const struct guest_config *config, struct guest *guest,
               struct error *error);
/* Events that are not in the trace of GUEST because its kernel's buffers or the trace had no room. */
uint64_t guest_lost(const struct guest *guest);
/* Whether pages that GUEST sent are not in the trace; if so, BUF says why. */
bool guest_missing_pages(const struct guest_progress *progress, char *buf, size_t size);
/* Whether GUEST was traced, and no agent of it answers any more. */
bool guest_is_away(const struct guest *guest);
/* Whether the traced agent of GUEST is missing without having said that it exits; if so, BUF says so, and how long before NOW it
 * was lost. */
bool guest_loss_text(const struct guest *guest, uint64_t now, char *buf, size_t size);
/* Whether nothing ever came from GUEST. */
bool guest_is_silent(const struct guest *guest);
/* Ends GUEST, if it has not ended. All that is known of it is final. */
void guest_end_early(struct guest *guest);
/* The same, with the error of a guest that was traced, and of one from which nothing came. */
void guest_end_because(struct guest *guest, const char *traced, const char *silent);
/* Ends GUEST, if it has not ended, and frees all. */
void guest_close(struct guest *guest);

/* Makes the connection if it is due, and adds what GUEST waits for to WAIT: time 0 if it has ended. */
void guest_poll(struct guest *guest, struct recorder_wait *wait, uint64_t now);
/* Handles what poll() found in FDS, which are what guest_poll() added; GUEST has not ended. 1: there is more to come; 0: it has
 * ended. */
int guest_serve(struct guest *guest, const struct pollfd *fds, uint64_t now);
/* Whether it has a connection: to its agent, or to QEMU's socket, whether or not an agent is at its other end. */
bool guest_is_connected(const struct guest *guest);
/* Has the agent send what was recorded until now. guest_serve() goes on with it. */
void guest_flush(struct guest *guest);
/* Whether it is in the files, if the guest can send it now: it is connected, not paused, and its agent is not too old. An agent of
 * the virtio-trace protocol cannot be asked. */
bool guest_is_flushed(const struct guest *guest);
/* Stops the tracing. What the agent still has is read. */
void guest_stop(struct guest *guest);
