/* SPDX-License-Identifier: MIT */
#pragma once

/* The outgoing half of a connection to a host: whole frames, one behind the other, by writes that never
 * block.
 *
 * One frame is under way at a time. The sender has frames of any kind; readers send their own pages while
 * pages flow and nothing is in their way; the receiver answers pings. A PONG goes out at once when no frame is half written,
 * else as soon as that one is out, before anything else; it is made, and its second time read, when its turn
 * has come.
 *
 *   W1  A frame that was begun is written to its end, unless the connection is lost.
 *   W2  Numbers of frames are given in the order of the bytes: both under `lock`.
 *   W3  `lock` is never held in poll(2).
 *   W4  Pages go out from where they lie in their queue, and are taken from it under `lock`, when the last of their
 *       frame is out: a connection that is lost before leaves them there for the next. */

#include <pthread.h>

#include "agent/guest_clock.h"
#include "agent/reader.h"
#include "proto/message.h"

#define FRAME_TX_PONGS 8

struct frame_tx_pong {
    struct proto_ping ping;
    uint64_t came;
};

struct frame_tx {
    pthread_mutex_t lock;
    int fd; /* -1: no connection */
    bool is_socket;
    uint64_t connection; /* counts connections, so that one can tell whether it is still the same */
    uint64_t sequence;
    const uint8_t *pending; /* what is left of the frame under way */
    size_t pending_size;
    struct reader *lent; /* whose pages are in it; NULL: none */
    uint32_t lent_pages;
    uint8_t *kept;        /* the frame under way, when its memory is given back before it is out */
    bool carries;         /* readers may send */
    bool suits;           /* pages may be spliced to `fd`, as far as it goes */
    _Atomic bool splices; /* … and the host takes them so, and readers may send */
    uint8_t small[128];
    struct frame_tx_pong pongs[FRAME_TX_PONGS]; /* not answered yet */
    unsigned n_pongs;
    pthread_mutex_t clock_lock; /* of its own: a ping's time is not to wait for a write */
    struct guest_clock clock;   /* for pongs */
};

void frame_tx_init(struct frame_tx *tx);
void frame_tx_done(struct frame_tx *tx);

/* A connection is there: FD, which stays the caller's. */
void frame_tx_connect(struct frame_tx *tx, int fd, bool is_socket);
/* It is lost, with what was under way. The caller closes the descriptor behind this. */
void frame_tx_disconnect(struct frame_tx *tx);
/* A new conversation on the same connection: nobody waits for the answers to pings of the last one. */
void frame_tx_forget_pings(struct frame_tx *tx);
/* The clock that PONG tells; its directory must be valid until another is set. */
void frame_tx_set_clock(struct frame_tx *tx, const struct guest_clock *clock);
uint64_t frame_tx_now(struct frame_tx *tx);

/* The sender: a frame of type TYPE in OUT, whose body is there (and UNPACKED bytes long before it was
 * compressed, with PROTO_ZSTD in FLAGS), to whoever is at connection CONNECTION. 1: it is out; 0: it is under way, and OUT must stay as it is until frame_tx_pump()
 * returns 1; -EAGAIN: another is under way, nothing was done; -ENOTCONN: that connection is
 * lost; other errors of writing. */
int frame_tx_send(struct frame_tx *tx, uint64_t connection, struct proto_out *out,
                  enum proto_type type, uint16_t flags, uint32_t unpacked);
/* Whether readers may send, uncompressed, on connection CONNECTION, and whether the host takes pages without a
 * checksum. They may not before STARTED is out. */
void frame_tx_carry(struct frame_tx *tx, uint64_t connection, bool carries, bool takes_unchecked);
/* Sends pages of READER, in up to FRAMES frames; from any thread. 1: some are out; 0: there are none; -EAGAIN: a
 * frame is under way, frame_tx_pump() goes on with it; errors as above. */
int frame_tx_send_pages(struct frame_tx *tx, uint64_t connection, struct reader *reader,
                        unsigned frames);
/* The same, from READER's own thread, as far as it may (reader_buffer.carry). True: its queue is empty. */
bool frame_tx_carry_pages(void *tx, struct reader *reader);
/* … and what is in its pipe (reader_buffer.splices and .pass). */
bool frame_tx_splices(void *tx, struct reader *reader);
bool frame_tx_pass_pages(void *tx, struct reader *reader, unsigned n_pages);
/* Queues are going to end: no reader sends any more, and what is under way is copied. */
void frame_tx_give_back(struct frame_tx *tx);

/* Writes what is under way, then pongs. 1: nothing is under way; 0: something is; errors as above. */
int frame_tx_pump(struct frame_tx *tx);
/* The receiver: answers PING, which came at CAME. True: it is not out yet, wake the sender, who pumps. */
bool frame_tx_pong(struct frame_tx *tx, const struct proto_ping *ping, uint64_t came);
