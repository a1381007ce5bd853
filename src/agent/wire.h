/* SPDX-License-Identifier: MIT */
#pragma once

/* The outgoing half of a connection to a host: whole frames, one behind the other, by writes that never
 * block.
 *
 * Two threads send. The sender has frames of any size, one under way at a time; the receiver answers
 * pings. A PONG goes out at once when no frame is half written, else as soon as that one is out, before
 * anything else; it is made, and its second time read, when its turn has come.
 *
 *   W1  A frame that was begun is written to its end, unless the connection is lost.
 *   W2  Numbers of frames are given in the order of the bytes: both under `lock`.
 *   W3  `lock` is never held in poll(2). */

#include <pthread.h>

#include "agent/guest_clock.h"
#include "link/message.h"

#define WIRE_PONGS 8

struct wire_pong {
    struct link_ping ping;
    uint64_t came;
};

struct wire {
    pthread_mutex_t lock;
    int fd; /* -1: no connection */
    bool is_socket;
    uint64_t connection; /* counts connections, so that one can tell whether it is still the same */
    uint64_t sequence;
    const uint8_t *pending; /* what is left of the frame under way */
    size_t pending_size;
    uint8_t small[128];
    struct wire_pong pongs[WIRE_PONGS]; /* not answered yet */
    unsigned n_pongs;
    pthread_mutex_t clock_lock; /* of its own: a ping's time is not to wait for a write */
    struct guest_clock clock;   /* for pongs */
};

void wire_init(struct wire *wire);

/* A connection is there: FD, which stays the caller's. */
void wire_connect(struct wire *wire, int fd, bool is_socket);
/* It is lost, with what was under way. The caller closes the descriptor behind this. */
void wire_disconnect(struct wire *wire);
/* A new conversation on the same connection: nobody waits for the answers to pings of the last one. */
void wire_forget_pings(struct wire *wire);
/* The clock that PONG tells; its folder must be valid until another is set. */
void wire_set_clock(struct wire *wire, const struct guest_clock *clock);
uint64_t wire_now(struct wire *wire);

/* The sender: a frame of type TYPE in OUT, whose body is there (and UNPACKED bytes long before it was
 * compressed, with LINK_ZSTD in FLAGS), to whoever is at connection CONNECTION. 1: it is out; 0: it is under way, and OUT must stay as it is until wire_pump()
 * returns 1; -EAGAIN: another is under way, nothing was done; -ENOTCONN: that connection is
 * lost; other errors of writing. */
int wire_send(struct wire *wire, uint64_t connection, struct link_out *out, enum link_type type,
              uint16_t flags, uint32_t unpacked);
/* Writes what is under way, then pongs. 1: nothing is under way; 0: something is; errors as above. */
int wire_pump(struct wire *wire);
/* The receiver: answers PING, which came at CAME. True: it is not out yet, wake the sender, who pumps. */
bool wire_pong(struct wire *wire, const struct link_ping *ping, uint64_t came);
