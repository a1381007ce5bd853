/* SPDX-License-Identifier: MIT */
#pragma once

/* The sending half of a connection to a host: whole frames in sequence, written without blocking.
 *
 * One frame is in progress at a time. The sender thread sends frames of any type. Readers send their own pages while
 * tracing flows and no other frame is in progress. The receiver thread answers pings: a PONG is sent at once if no
 * frame is half written, otherwise right after that frame. A PONG and its second time stamp are made when it is about
 * to be sent.
 *
 *   W1  A started frame is written to its end, unless the connection is lost.
 *   W2  Sequence numbers follow the order of the bytes: both change under `lock`.
 *   W3  `lock` is never held in poll(2).
 *   W4  Pages are sent directly from their queue, and removed from it under `lock` when the last byte of their frame is
 *       written. If the connection is lost before that, they stay queued for the next connection.
 *   W5  A host sends a PING after it has read the previous PONG, unless that takes two seconds. So a PING shows that
 *       the host has read what was spliced before that PONG. As long as little was spliced since, pages are spliced in
 *       large pieces. Otherwise they are spliced in small pieces, which limits the memory that the kernel uses for a
 *       host that does not read. */

#include <pthread.h>

#include "agent/reader.h"
#include "agent/trace_clock.h"
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
    uint64_t connection; /* number of the connection, to detect a new one */
    uint64_t sequence;
    const uint8_t *pending; /* the unwritten rest of the frame in progress */
    size_t pending_size;
    struct reader *reader; /* its pages are in the frame in progress; NULL: no reader's */
    uint32_t reader_pages;
    /* copy of the frame in progress, once its original memory is released */
    uint8_t *copy;
    bool readers_may_send; /* readers may send uncompressed pages themselves */
    bool can_splice;       /* `fd` supports splicing */
    bool
        may_splice; /* `can_splice`, readers may send, and the host accepts pages without a checksum */
    _Atomic size_t splice_size; /* present limit of a piece in bytes; 0: no splicing */
    /* bytes on this connection: in total; before the last PONG; certainly read by the host (W5) */
    uint64_t spliced, spliced_before_pong, spliced_and_read;
    bool pong_is_sent;     /* a PONG was sent, and no PING has come since */
    struct page_sink sink; /* what readers call */
    uint8_t small[128];
    struct frame_tx_pong pongs[FRAME_TX_PONGS];
    unsigned n_pongs;
    /* separate, so that a PING's time stamp does not wait for a write */
    pthread_mutex_t clock_lock;
    struct guest_clock clock; /* for pongs */
};

void frame_tx_init(struct frame_tx *tx);
void frame_tx_done(struct frame_tx *tx);

/* Starts sending on FD, which remains the caller's. */
void frame_tx_connect(struct frame_tx *tx, int fd, bool is_socket);
/* Drops the connection and the frame in progress. The caller closes the descriptor afterwards. */
void frame_tx_disconnect(struct frame_tx *tx);
/* Call it for a new HELLO on the same connection. Drops the answers to pings that were received before it. */
void frame_tx_forget_pings(struct frame_tx *tx);
/* Sets the clock that PONGs report. Its directory must stay open until another clock is set. */
void frame_tx_set_clock(struct frame_tx *tx, const struct guest_clock *clock);
uint64_t frame_tx_now(struct frame_tx *tx);

/* Sends OUT as a frame of TYPE on connection CONNECTION. UNPACKED is the size of the body before
 * compression (PROTO_ZSTD in FLAGS). For the sender thread. Returns 1: sent; 0: in progress, OUT must
 * not change until frame_tx_pump() returns 1; -EAGAIN: another frame is in progress, nothing was done;
 * -ENOTCONN: the connection is lost; or an error of write(2). */
int frame_tx_send(struct frame_tx *tx, uint64_t connection, struct proto_out *out,
                  enum proto_type type, uint16_t flags, uint32_t unpacked);
/* Allows readers to send uncompressed pages on connection CONNECTION; TAKES_UNCHECKED: the host accepts
 * pages without a checksum. Must stay off until STARTED is sent. */
void frame_tx_allow_readers(struct frame_tx *tx, uint64_t connection, bool readers_may_send,
                            bool takes_unchecked);
/* Sends pages of READER in up to FRAMES frames. Any thread. Returns 1: some were sent; 0: the queue is
 * empty; -EAGAIN: a frame is in progress, call frame_tx_pump(); other errors as frame_tx_send(). */
int frame_tx_send_pages(struct frame_tx *tx, uint64_t connection, struct reader *reader,
                        unsigned frames);
/* Call it before queues are freed. Stops readers from sending, and copies the rest of the frame in progress. */
void frame_tx_detach_readers(struct frame_tx *tx);

/* Writes the rest of the frame in progress, then pongs. Returns 1: all is written; 0: not yet; other
 * errors as frame_tx_send(). */
int frame_tx_pump(struct frame_tx *tx);
/* For the receiver thread: answers PING, which arrived at CAME. Returns true if the answer is not
 * written yet and the sender thread must be woken to pump. */
bool frame_tx_pong(struct frame_tx *tx, const struct proto_ping *ping, uint64_t came);
