/* SPDX-License-Identifier: MIT */
#pragma once

/* What the guest's agent and the host say to each other goes in frames, over any stream of bytes:
 * virtio-serial, TCP, vsock. A frame is a header of 32 bytes and a body; all numbers are little-endian.
 *
 *   offset  bytes  header
 *   0       4      "SGL1"
 *   4       2      type: enum proto_type (proto/message.h)
 *   6       2      flags; bit 0: the body is one zstd frame; bit 1: the body has no checksum. Others are 0
 *   8       4      length of the body as it stands on the wire, at most PROTO_WIRE_MAX
 *   12      4      length of the body unpacked, at most PROTO_BODY_MAX; of a plain body the same
 *   16      8      number of the frame, from 0 per connection and direction
 *   24      4      checksum of the body as it stands on the wire (proto/check.h); 0 where it has none
 *   28      4      checksum of the bytes 0 to 27 of the header
 *
 * A reader that is not at a header (it came into the middle of a stream, or bytes were lost) looks for
 * the next one that is whole and right, and counts what it passed over. What the lost bytes said is not
 * known, so whoever sees `skipped` grow begins the session anew. A body that does not fit its checksum
 * is passed over the same way, without its header being believed.
 *
 * Everything here works on memory; nothing reads, writes or unpacks. Not thread-safe. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_HEADER_SIZE 32u
#define PROTO_BODY_MAX (UINT32_C(1) << 20)
#define PROTO_WIRE_MAX (PROTO_BODY_MAX + 4096u)

enum proto_flags {
    PROTO_ZSTD = 1,
    PROTO_UNCHECKED = 2, /* who sent it has not seen it. Only DATA, to who asked for it */
};

struct proto_frame {
    uint16_t type;
    uint16_t flags;
    uint32_t size;     /* of the body as it stands on the wire */
    uint32_t unpacked; /* … and unpacked */
    uint64_t sequence;
    const uint8_t *body;
};

/* Makes the header of a frame whose SIZE bytes of body stand behind it, at HEADER + PROTO_HEADER_SIZE; with
 * PROTO_UNCHECKED they need not. */
void proto_frame_seal(uint8_t *header, uint16_t type, uint16_t flags, uint32_t size,
                      uint32_t unpacked, uint64_t sequence);

/* What comes in, in one buffer of fixed size. */
struct proto_reader {
    uint8_t *buf;
    size_t capacity;
    size_t body_max;
    size_t next;      /* the first byte that belongs to no frame yet */
    size_t filled;    /* bytes in buf */
    uint64_t skipped; /* bytes that were no frame */
    uint64_t frames;  /* frames that were lent */
};

/* BODY_MAX: frames of longer bodies (on the wire) are not believed. -ENOMEM. */
int proto_reader_init(struct proto_reader *reader, size_t body_max);
void proto_reader_done(struct proto_reader *reader);
/* Forgets all that is buffered, and the counts: another connection begins. */
void proto_reader_reset(struct proto_reader *reader);

/* Where to read more to, at least one byte once proto_reader_next() has returned 0. Moves what is
 * buffered, so frames lent before are over. */
uint8_t *proto_reader_room(struct proto_reader *reader, size_t *ret_size);
/* SIZE bytes were put there. */
void proto_reader_filled(struct proto_reader *reader, size_t size);
/* 1: the next frame, whose body is good until proto_reader_room(). 0: more bytes are needed. */
int proto_reader_next(struct proto_reader *reader, struct proto_frame *ret_frame);

/* Whether a frame has begun whose end is not there yet. */
bool proto_reader_is_within(const struct proto_reader *reader);
/* Does not believe in the frame that has begun: to be called when its end does not come, as where a
 * writer died within it and the bytes of another follow. What is buffered is looked at again. */
void proto_reader_give_up(struct proto_reader *reader);
