/* SPDX-License-Identifier: MIT */
#pragma once

/* The packets between the confined child that talks to a guest's agent (record/kernel/guest_child.h), the collector, which
 * is its parent, and the live view (record/live/view.c), over socket pairs of type SOCK_SEQPACKET. The trace itself is the
 * same packets for the collector and for the view: packet_sink_…() make them of what a kernel_sink is given, and
 * guest_packet_deliver() gives them to one. Descriptors are passed from the collector to the child alone.
 *
 * The collector and the view trust the child no more than they trust the guest. */

#include "record/kernel/guest_session.h"
#include "record/kernel/kernel_sink.h"

enum guest_packet_kind {
    /* The trace: from the child to the collector and to the view. */
    PACKET_FILE_BEGIN = 1, /* bytes: a path. Not answered; an error of the file ends the child */
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
    PACKET_DISCONNECTED, /* the connection is lost, or was given up; error: why reading failed, if so */
    PACKET_END,          /* `error`; bytes: its message. The child exits */
    /* From the collector to the child. */
    PACKET_FILE,       /* `error`, or a descriptor */
    PACKET_CONNECTION, /* one descriptor, or two: to read from and to write to */
    PACKET_STOP,
    PACKET_PAUSE, /* the guest's machine stands still … */
    PACKET_CONTINUE,
    PACKET_AGENT_CLOSED, /* the agent has closed its end of the connection, which is not seen here */
    /* The trace, to the view alone: the child writes pages into their files itself. */
    PACKET_PAGES, /* of `cpu`, at `offset`. Without bytes: all before `offset` that did not come is missing */
    /* The trace: from the child to the collector and to the view. */
    PACKET_REWIND,
    PACKET_FLUSH,   /* from the collector to the child; `offset`: its number */
    PACKET_FLUSHED, /* … and back: what the guest had recorded is in the files, or cannot come */
};

#define GUEST_PACKET_MAX 32768u

/* The error of a guest from whose agent nothing came … */
#define GUEST_NO_AGENT                                                                   \
    "no agent has answered: start strata-agent in the guest, best when it boots (man 8 " \
    "strata-agent)"
/* The problem of a guest whose pages were dropped. */
#define GUEST_DISK_FULL "the disk was full: events were dropped until there was space"
/* … and of one whose agent has answered, and nothing more. */
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
    uint32_t n_cpus; /* that sent pages */
    uint32_t n_enabled;
    uint32_t measures; /* of base/sandbox.h */
    uint64_t bytes, events, lost, unwritten, gaps, skipped;
    uint64_t unstated;    /* of `unwritten`, what no page of the files says yet */
    uint64_t first, last; /* of this kernel's events' times; 0: none */
    uint64_t waited_ns;   /* from START to the first page, or 0 */
    uint64_t stopped_ns;  /* from STOP to STOPPED, or 0 */
    uint64_t unshown;     /* bytes of pages for which the stream to the live view had no room */
    bool full;
    bool ran;          /* it was traced on this connection, if only for a moment */
    bool said_bye;     /* all has come, and the agent has exited */
    bool is_silent;    /* it does not answer, though it should have by now */
    uint8_t unused[4]; /* 0, in the place of padding: two can be compared by their bytes */
};

/* Sends HEAD, its bytes at P, and N descriptors (0 to 2). -EAGAIN if SOCKET does not block and is full; -errno. */
int guest_packet_send(int socket, const struct guest_packet_head *head, const void *p,
                      const int *fds, unsigned n);
/* The same without bytes, from the collector to a child. -EPIPE: the child does not read what it is sent, so that
 * descriptors would pile up. */
int guest_packet_send_to_child(int socket, const struct guest_packet_head *head, const int *fds,
                               unsigned n);
/* 1: a packet came, with *ret_n descriptors; 0: the other end is closed; -EAGAIN; -EBADMSG: an invalid packet. RET_FDS
 * NULL: a packet with descriptors is invalid, and none of them is received. */
int guest_packet_receive(int socket, struct guest_packet *ret_packet, int ret_fds[2],
                         unsigned *ret_n);

/* Gives a packet of the trace to SINK, and returns what that returns. -EBADMSG: it is not a valid packet of the trace.
 * Changes a byte of the packet. */
int guest_packet_deliver(struct guest_packet *packet, struct kernel_sink *sink,
                         struct error *error);

/* A kernel_sink that makes packets. Its operations may be those below; boots, rewinds and pages have more to do. */
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
