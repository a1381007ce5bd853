/* SPDX-License-Identifier: MIT */
#include "proto/frame.h"

#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "proto/checksum.h"

static const uint8_t magic[4] = {'S', 'G', 'L', '1'};

/* What is read at once is at least this, so that small frames do not come one by one. */
#define ROOM_MIN ((size_t)64 * 1024)

void proto_frame_seal(uint8_t *header, uint16_t type, uint16_t flags, uint32_t size,
                      uint32_t unpacked, uint64_t sequence)
{
    memcpy(header, magic, sizeof magic);
    store_le16(header + 4, type);
    store_le16(header + 6, flags);
    store_le32(header + 8, size);
    store_le32(header + 12, unpacked);
    store_le64(header + 16, sequence);
    store_le32(header + 24,
               flags & PROTO_UNCHECKED ? 0 : proto_check(header + PROTO_HEADER_SIZE, size));
    store_le32(header + 28, proto_check(header, 28));
}

int proto_reader_init(struct proto_reader *reader, size_t body_max)
{
    size_t capacity = PROTO_HEADER_SIZE + body_max + ROOM_MIN;
    uint8_t *buf = malloc(capacity);

    if (!buf)
        return -ENOMEM;
    *reader = (struct proto_reader){.buf = buf, .capacity = capacity, .body_max = body_max};
    return 0;
}

void proto_reader_done(struct proto_reader *reader)
{
    free(reader->buf);
    *reader = (struct proto_reader){0};
}

void proto_reader_reset(struct proto_reader *reader)
{
    reader->next = reader->filled = 0;
    reader->skipped = reader->frames = 0;
}

uint8_t *proto_reader_room(struct proto_reader *reader, size_t *ret_size)
{
    if (reader->next == reader->filled) {
        reader->next = reader->filled = 0;
    } else if (reader->capacity - reader->filled < ROOM_MIN) {
        memmove(reader->buf, reader->buf + reader->next, reader->filled - reader->next);
        reader->filled -= reader->next;
        reader->next = 0;
    }
    *ret_size = reader->capacity - reader->filled;
    return reader->buf + reader->filled;
}

void proto_reader_filled(struct proto_reader *reader, size_t size)
{
    reader->filled += size;
}

/* Passes over N bytes or more, up to where a header may begin: its first bytes are there, as many as
 * there are. */
static void skip(struct proto_reader *reader, size_t n)
{
    const uint8_t *start = reader->buf + reader->next;
    const uint8_t *end = reader->buf + reader->filled;
    const uint8_t *p = start + MIN(n, (size_t)(end - start));

    while (p < end) {
        p = memchr(p, magic[0], (size_t)(end - p));
        if (!p) {
            p = end;
            break;
        }
        if (memcmp(p, magic, MIN(sizeof magic, (size_t)(end - p))) == 0)
            break;
        p++;
    }
    reader->skipped += (uint64_t)(p - start);
    reader->next += (size_t)(p - start);
}

static bool header_is_right(const struct proto_reader *reader, const uint8_t *p)
{
    uint16_t flags = load_le16(p + 6);
    uint32_t size = load_le32(p + 8);
    uint32_t unpacked = load_le32(p + 12);

    return memcmp(p, magic, sizeof magic) == 0 && load_le32(p + 28) == proto_check(p, 28) &&
           size <= PROTO_WIRE_MAX && size <= reader->body_max && unpacked <= PROTO_BODY_MAX &&
           (flags == PROTO_ZSTD || ((flags == 0 || flags == PROTO_UNCHECKED) && size == unpacked));
}

int proto_reader_next(struct proto_reader *reader, struct proto_frame *ret_frame)
{
    for (;;) {
        const uint8_t *p = reader->buf + reader->next;
        size_t left = reader->filled - reader->next;
        uint32_t size;

        if (left == 0)
            return 0;
        if (memcmp(p, magic, MIN(sizeof magic, left)) != 0) {
            skip(reader, 1);
            continue;
        }
        if (left < PROTO_HEADER_SIZE)
            return 0;
        if (!header_is_right(reader, p)) {
            skip(reader, 1);
            continue;
        }
        size = load_le32(p + 8);
        if (left - PROTO_HEADER_SIZE < size)
            return 0;
        if (!(load_le16(p + 6) & PROTO_UNCHECKED) &&
            load_le32(p + 24) != proto_check(p + PROTO_HEADER_SIZE, size)) {
            skip(reader, sizeof magic);
            continue;
        }
        *ret_frame = (struct proto_frame){
            .type = load_le16(p + 4),
            .flags = load_le16(p + 6),
            .size = size,
            .unpacked = load_le32(p + 12),
            .sequence = load_le64(p + 16),
            .body = p + PROTO_HEADER_SIZE,
        };
        reader->next += PROTO_HEADER_SIZE + size;
        reader->frames++;
        return 1;
    }
}

bool proto_reader_is_within(const struct proto_reader *reader)
{
    return reader->next < reader->filled;
}

void proto_reader_give_up(struct proto_reader *reader)
{
    if (proto_reader_is_within(reader))
        skip(reader, sizeof magic);
}
