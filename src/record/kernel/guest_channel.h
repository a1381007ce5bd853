/* SPDX-License-Identifier: MIT */
#pragma once

/* The packets between three processes: the confined child that talks to a guest's agent (record/kernel/guest_child.h),
 * its parent, the collector, and the live view (record/live/live_child.c). They are sent over socket pairs of type
 * SOCK_SEQPACKET. The collector and the view get the same packets of the trace: packet_sink_…() convert calls of a
 * kernel_sink to packets, and guest_packet_deliver() converts packets to calls of a kernel_sink. Only the collector
 * passes descriptors, to the child.
 *
 * The collector and the view trust the child no more than they trust the guest. */

#include "record/kernel/guest_session.h"
#include "record/kernel/kernel_sink.h"

enum guest_packet_kind {
    /* The trace: from the child to the collector and to the view. */
    PACKET_FILE_BEGIN = 1, /* bytes: a path. Has no answer; an error of the file ends the child */
    PACKET_FILE_PUT,
    PACKET_FILE_END,
    /* From the child to the collector. */
    PACKET_OPEN_PAGES, /* requests the file for the pages of `cpu`; the answer is PACKET_FILE */
    /* The trace. */
    PACKET_BOOT,
    PACKET_FACT, /* bytes: name, NUL, value */
    PACKET_PAIR, /* bytes: struct guest_pair */
    /* From the child to the collector. */
    PACKET_PROGRESS,     /* bytes: struct guest_progress */
    PACKET_DISCONNECTED, /* the connection was lost or given up; `error`: why reading failed, or 0 */
    PACKET_END,          /* `error`, with its message in the bytes. The child exits */
    /* From the collector to the child. */
    PACKET_FILE,       /* `error`, or a descriptor */
    PACKET_CONNECTION, /* one descriptor, or two: one to read from and one to write to */
    PACKET_STOP,
    PACKET_PAUSE, /* the guest's machine has stopped */
    PACKET_CONTINUE,
    PACKET_AGENT_CLOSED, /* the agent has closed its end of the connection, which the child cannot see */
    /* The trace, only to the view: the child itself writes pages to their files. */
    PACKET_PAGES, /* of `cpu`, at `offset`. Without bytes: everything before `offset` that has not come is missing */
    /* The trace: from the child to the collector and to the view. */
    PACKET_REWIND,
    PACKET_FLUSH, /* from the collector to the child; `offset`: its number */
    PACKET_FLUSHED, /* from the child: the recorded data is in the files, or cannot come; `offset` as above */
};

#define GUEST_PACKET_MAX 32768u

/* The error of a guest whose agent has sent nothing. */
#define GUEST_NO_AGENT                                                                   \
    "no agent has answered: start strata-agent in the guest, best when it boots (man 8 " \
    "strata-agent)"
/* The problem of a guest whose pages were dropped. */
#define GUEST_DISK_FULL "the disk was full: events were dropped until there was space"
/* The error of a guest whose agent has answered but has not traced. */
#define GUEST_NOT_TRACED "was stopped before its agent traced"

struct guest_packet_head {
    uint32_t kind;
    int32_t error;
    uint32_t cpu;
    uint32_t size; /* of the bytes */
    uint64_t offset;
};

struct guest_packet {
    struct guest_packet_head head;
    uint8_t bytes[GUEST_PACKET_MAX];
};

struct guest_progress {
    uint32_t state;  /* enum guest_state */
    uint32_t n_cpus; /* CPUs that sent pages */
    uint32_t n_enabled;
    uint32_t measures; /* of base/sandbox.h */
    uint64_t bytes, events, lost, unwritten, gaps, skipped;
    uint64_t unstated;    /* events of `unwritten` that no page in the files reports yet */
    uint64_t first, last; /* times of the first and last event of this kernel; 0: none */
    uint64_t waited_ns;   /* from START to the first page, or 0 */
    uint64_t stopped_ns;  /* from STOP to STOPPED, or 0 */
    uint64_t unshown;     /* bytes of pages for which the stream to the live view had no room */
    bool full;
    bool ran;          /* it was traced on this connection, even if only for a moment */
    bool said_bye;     /* everything has come, and the agent has exited */
    bool is_silent;    /* it should have answered by now */
    uint8_t unused[4]; /* 0; replaces padding, so that structures can be compared by memcmp() */
};

/* Sends HEAD, its bytes at P, and N descriptors (0 to 2). -EAGAIN: SOCKET is non-blocking and full. Other -errno. */
int guest_packet_send(int socket, const struct guest_packet_head *head, const void *p,
                      const int *fds, unsigned n);
/* The same without bytes, from the collector to a child. -EPIPE: the child does not read its packets, so that
 * descriptors would pile up. */
int guest_packet_send_to_child(int socket, const struct guest_packet_head *head, const int *fds,
                               unsigned n);
/* Returns 1: a packet came, with *ret_n descriptors; 0: the other end is closed; -EAGAIN; -EBADMSG: an invalid packet.
 * RET_FDS NULL: a packet with descriptors is invalid, and no descriptor is received. */
int guest_packet_receive(int socket, struct guest_packet *ret_packet, int ret_fds[2],
                         unsigned *ret_n);

/* Passes a packet of the trace to SINK, and returns the result. -EBADMSG: not a valid packet of the trace. Changes a
 * byte of the packet. */
int guest_packet_deliver(struct guest_packet *packet, struct kernel_sink *sink,
                         struct error *error);

/* A kernel_sink that sends packets. Its operations may be the functions below. Boots, rewinds and pages need more
 * work. */
struct packet_sink {
    struct kernel_sink sink;
    int (*send)(struct packet_sink *sink, const struct guest_packet_head *head, const void *p);
};

int packet_sink_file_begin(struct kernel_sink *sink, const char *path, size_t len,
                           struct error *error);
int packet_sink_file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error);
int packet_sink_file_end(struct kernel_sink *sink, struct error *error);
int packet_sink_fact(struct kernel_sink *sink, const char *name, const char *value,
                     struct error *error);
int packet_sink_pair(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error);
int packet_sink_boot(struct kernel_sink *sink, struct error *error);
int packet_sink_rewind(struct kernel_sink *sink, struct error *error);
