/* SPDX-License-Identifier: MIT */
#pragma once

/* Collects from guests: any number at once, each by a confined child of its own, into one trace directory.
 * Connections that are lost are made again. */

#include <poll.h>
#include <sys/types.h>

#include "record/agent/endpoint.h"
#include "record/agent/guest_child.h"
#include "record/agent/guest_kvm.h"
#include "record/agent/guest_store.h"
#include "record/agent/live_stream.h"
#include "record/agent/virtio_trace.h"
#include "tracedir/manifest.h"

/* A guest as the user named it, or the host's own kernel, which is taken as one. Strings are borrowed. */
struct guest_config {
    const char *name;
    const struct trace_config *wishes; /* borrowed */
    /* The directory with the ports of an agent that speaks the virtio-trace protocol; NULL: it speaks Strata's. */
    const char *old;
    const char *tree;     /* … a copy of its tracefs */
    const char *kvm_root; /* where KVM describes it; NULL: GUEST_KVM_ROOT */
    /* Where an end of record/agent/live_stream.h's is, by which what it sends is printed while it is recorded; it is taken
     * over, and -1 from then on. NULL: it is not. */
    int *live;
    struct guest_endpoint place; /* of ENDPOINT_FD: its descriptor is taken over */
    unsigned cpus;               /* of virtio-trace; 0: as many as there are */
    /* Whose virtual machine it is, for what KVM says of its clock; 0: whose socket its port is. */
    pid_t vmm;
    unsigned
        n_guests; /* in the recording, which share its limits; 0: those that are opened with this one */
    /* Its directory is called NAME, its layer host, and its clock has to be the host's own. */
    bool is_host;
};

/* The trace of one kernel. */
struct guest_boot {
    char agent[64], release[128], machine[64], boot_id[64], clock[32];
    uint64_t hz;
    struct guest_pair first, last, best; /* of the clock's pairs; best: with the least error */
    unsigned n_pairs;
    bool by_kvm; /* all of them are of KVM's files */
    struct manifest_moment began, ended;
    uint64_t lost_before; /* of the guest's lost events, those of earlier parts */
    uint64_t lost;
    char **problems;
    unsigned n_problems;
    unsigned n_reported; /* of them: what the guest had to report … */
    uint64_t unreported; /* … and how many more that would have been */
};

enum guest_connection {
    CONNECTION_AWAY,    /* to be made at retry_at */
    CONNECTION_PENDING, /* being made */
    CONNECTION_GIVEN,   /* the child has it */
};

struct guest {
    struct guest_config plan;
    struct trace_config wishes;
    struct guest_store store;
    struct virtio_trace_guest old; /* where the plan says so: then there is no child */
    pid_t pid;                     /* 0: its child has ended */
    int channel;                   /* -1: the same */
    enum guest_connection link;
    int proto_fd;      /* while pending */
    uint64_t retry_at; /* ns */
    unsigned retries;  /* since it was last connected */
    bool waiting_told; /* that nobody is there */
    bool was_traced;   /* on any connection */
    bool was_running, ended;
    bool measures_seen; /* by what its child is confined */
    int error;          /* of its end; 0: as it should */
    char what[400];
    struct guest_boot *parts;
    unsigned n_parts;
    struct guest_progress progress;
    struct live_stream live; /* of an old guest */
    pid_t peer;              /* at the other end of its port's socket; 0: not known */
    struct guest_clock {     /* record/agent/guests_clock.h */
        char *kvm;           /* the directory in which KVM tells of its TSC; NULL: it does not */
        struct guest_tsc tsc;
        struct guest_pair before; /* the latest pair by that */
        bool before_kept;
    } clock;
    /* Messages about it that are still to be printed; so one guest cannot flood a terminal. */
    unsigned messages_left;
    uint64_t messages_next; /* ns: when it is one more */
    uint64_t unprinted;     /* messages since the last one that was */
};

struct guests {
    int dir; /* borrowed; -1: nothing is kept */
    struct guest *guests;
    unsigned n;
    uint64_t max_size;
    bool stopping;
    bool written;     /* the manifest tells how things are */
    uint64_t stop_by; /* when those that are not connected are given up */
    uint64_t back_by; /* when the last sleep was to end at the latest */
    uint64_t sizes_next;
    /* Something that the user should know about a guest; may be NULL. */
    void (*tell)(void *userdata, const char *guest, const char *what);
    void *userdata;
};

/* Starts a child for each of N guests, which writes into directories of its own in DIR (borrowed; -1: nothing is kept).
 * PLANS are borrowed. MAX_SIZE: of one guest's files, 0: any. The caller has one thread, writes the manifest whenever
 * `written` is false, and then sets it. -EMFILE if this process may not open as many files as the guests need, or
 * another -errno, with ERROR. */
int guests_join(int dir, uint64_t max_size, const struct guest_config *plans, unsigned n,
                struct guests *ret_guests, struct error *error);
/* Events that are not in the trace of GUEST, as its kernel had no room for them or the trace has none. */
uint64_t guest_lost(const struct guest *guest);
/* Whether pages that GUEST sent are not in the trace; if so, BUF says why. */
bool guest_missing_pages(const struct guest_progress *progress, char *buf, size_t size);
/* Whether nothing ever came from GUEST, so that there is nothing to be shown of it. */
bool guest_is_silent(const struct guest *guest);
/* Removes the directories of those that are silent: of a part, when all have ended. */
void guests_remove_silent(struct guests *guests);
/* Ends what has not ended: all that is known of the guests is final. */
void guests_end(struct guests *guests);
/* The same, where that is for a reason that whoever reads the trace should know: what to say of one that was
 * traced, and of one from whose agent nothing came. */
void guests_end_because(struct guests *guests, const char *traced, const char *silent);
/* Ends what has not ended, and frees all. */
void guests_close(struct guests *guests);

/* How many descriptors guests_poll() needs room for, at most. */
unsigned guests_poll_size(const struct guests *guests);
/* Makes the connections that are due, fills FDS with what to poll, and returns how many that are. *RET_UNTIL: when the
 * poll has to end (CLOCK_MONOTONIC, ns; UINT64_MAX: never; 0: all guests have ended). */
unsigned guests_poll(struct guests *guests, struct pollfd *fds, uint64_t now, uint64_t *ret_until);
/* Handles what poll() found in all of FDS. 1: there is more to come; 0: all guests have ended. */
int guests_serve(struct guests *guests, const struct pollfd *fds, uint64_t now);
/* Whether one has a connection to its agent, or to what stands between. */
bool guests_are_connected(const struct guests *guests);
/* The tracing is to end; what is left is taken. */
void guests_stop(struct guests *guests);
