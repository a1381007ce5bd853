/* SPDX-License-Identifier: MIT */
#pragma once

/* What the collector and its confined child (record/agent/guest_child.h) say to each other: packets over a
 * socket pair of type SOCK_SEQPACKET, with descriptors where one is handed over. The collector believes
 * the child no more than it believes the guest. */

#include "record/agent/guest_session.h"

enum guest_packet_kind {
    /* Of the child. */
    PACKET_FILE_BEGIN = 1, /* bytes: a path. No answer; what is wrong with it ends the child */
    PACKET_FILE_PUT,
    PACKET_FILE_END,
    PACKET_PAGES,        /* wants the file for the pages of `cpu`; the answer is PACKET_FILE */
    PACKET_BOOT,         /* another kernel: what follows goes into a new directory */
    PACKET_FACT,         /* bytes: name, NUL, value */
    PACKET_PAIR,         /* bytes: struct guest_pair */
    PACKET_PROGRESS,     /* bytes: struct guest_progress */
    PACKET_DISCONNECTED, /* the connection is gone, or no use any more */
    PACKET_END,          /* `error`; bytes: in words. The child ends */
    /* Of the collector. */
    PACKET_FILE,       /* `error`, or a descriptor */
    PACKET_CONNECTION, /* one descriptor, or two: to read from and to write to */
    PACKET_STOP,
};

#define GUEST_PACKET_MAX 32768u

/* What is said of a guest that was never heard of. */
#define GUEST_NO_AGENT                                                                   \
    "no agent has answered: start strata-agent in the guest, best when it boots (man 8 " \
    "strata-agent)"

struct guest_packet {
    uint32_t kind;
    int32_t error;
    uint32_t cpu;
    uint32_t size; /* of the bytes */
    uint8_t bytes[GUEST_PACKET_MAX];
};

struct guest_progress {
    uint32_t state;  /* enum guest_state */
    uint32_t n_cpus; /* that sent pages */
    uint32_t n_enabled;
    uint32_t measures; /* of record/agent/confine.h */
    uint64_t bytes, events, lost, unwritten, gaps, skipped;
    uint64_t first, last; /* of this kernel's events' times; 0: none */
    uint64_t waited_ns;   /* from START to the first page, or 0 */
    uint64_t stopped_ns;  /* from STOP to STOPPED, or 0 */
    uint64_t unshown;     /* bytes of pages that who shows them had no time for */
    bool full;
    bool ran;      /* it was traced on this connection, if only for a moment */
    bool said_bye; /* all came, as the agent ended by itself */
};

/* Sends PACKET with N descriptors (0 to 2). -EAGAIN where SOCKET does not block and is full; -errno. */
int guest_packet_send(int socket, const struct guest_packet *packet, const int *fds, unsigned n);
/* The collector's side: the same, to a child that has to read what it is sent. -EPIPE: it does not, and descriptors pile
 * up on their way to it. */
int guest_packet_send_to_child(int socket, const struct guest_packet *packet, const int *fds,
                               unsigned n);
/* 1: one came, with *ret_n descriptors; 0: the other end is gone; -EAGAIN; -EBADMSG: an invalid packet. RET_FDS NULL:
 * a packet with descriptors is invalid, and none of them is received. */
int guest_packet_receive(int socket, struct guest_packet *ret_packet, int ret_fds[2],
                         unsigned *ret_n);
