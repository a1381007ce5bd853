/* SPDX-License-Identifier: MIT */
#pragma once

/* The frames of the protocol between the guest's agent and the host, over any stream of bytes (virtio-serial, TCP,
 * vsock). A frame is a header of 32 bytes and a body. All numbers are little-endian.
 *
 *   offset  bytes  header
 *   0       4      "SGL1"
 *   4       2      type: enum proto_type (proto/message.h)
 *   6       2      flags; bit 0: the body is one zstd frame; bit 1: the body has no checksum. Others are 0
 *   8       4      length of the body on the wire, at most PROTO_WIRE_MAX
 *   12      4      its length when decompressed, at most PROTO_BODY_MAX; of a plain body the same
 *   16      8      number of the frame, from 0 per connection and direction
 *   24      4      checksum of the body on the wire (proto/checksum.h); 0 if it has none
 *   28      4      checksum of the bytes 0 to 27 of the header
 *
 * A reader that is not at a header (it began in the middle of a stream, or bytes were lost) looks for the next valid frame, and
 * counts the bytes that it skips. The messages in these are lost, so the owner of the reader restarts the session when
 * `skipped` grows. A body with a wrong checksum is skipped in the same way, and the length in its header is not used.
 *
 * These functions work on memory only: none reads, writes or decompresses. Not thread-safe. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_HEADER_SIZE 32u
#define PROTO_BODY_MAX (UINT32_C(1) << 20)
#define PROTO_WIRE_MAX (PROTO_BODY_MAX + 4096u)

enum proto_flags {
    PROTO_ZSTD = 1,
    /* no checksum, because the sender has spliced the body; only for DATA, if the host accepts it */
    PROTO_UNCHECKED = 2,
};

struct proto_frame {
    uint16_t type;
    uint16_t flags;
    uint32_t size;     /* of the body on the wire */
    uint32_t unpacked; /* of the decompressed body */
    uint64_t sequence;
    const uint8_t *body;
};

/* Makes the header of a frame. Its SIZE bytes of body are at HEADER + PROTO_HEADER_SIZE, or elsewhere with
 * PROTO_UNCHECKED. */
void proto_frame_seal(uint8_t *header, uint16_t type, uint16_t flags, uint32_t size,
                      uint32_t unpacked, uint64_t sequence);

/* Finds frames in received bytes, with one buffer of fixed size. */
struct proto_reader {
    uint8_t *buf;
    size_t capacity;
    size_t body_max;
    size_t next;      /* the first byte that belongs to no frame yet */
    size_t filled;    /* bytes in buf */
    uint64_t skipped; /* bytes that belong to no valid frame */
    uint64_t frames;  /* returned by proto_reader_next() */
};

/* BODY_MAX: the longest valid body on the wire. -ENOMEM. */
int proto_reader_init(struct proto_reader *reader, size_t body_max);
void proto_reader_done(struct proto_reader *reader);
/* Call it when another connection begins. Empties the buffer, and resets the counts. */
void proto_reader_reset(struct proto_reader *reader);

/* Returns the buffer for more bytes, which has room for at least one once proto_reader_next() has returned 0. Moves the
 * buffer's content, so frames that were returned before are invalid. */
uint8_t *proto_reader_room(struct proto_reader *reader, size_t *ret_size);
/* Adds SIZE bytes that were read into that buffer. */
void proto_reader_filled(struct proto_reader *reader, size_t size);
/* Returns 1 with the next frame, whose body is valid until proto_reader_room(); 0: more bytes are needed. */
int proto_reader_next(struct proto_reader *reader, struct proto_frame *ret_frame);

/* True if the buffer has an incomplete frame. */
bool proto_reader_is_within(const struct proto_reader *reader);
/* Gives up an incomplete frame in the buffer, if the rest does not come: its writer may have been killed, and bytes of
 * another frame follow. Searches for a frame in the buffer again. */
void proto_reader_give_up(struct proto_reader *reader);
