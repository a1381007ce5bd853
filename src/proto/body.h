/* SPDX-License-Identifier: MIT */
#pragma once

/* Reads and writes the bodies of frames, piece by piece. Numbers are little-endian and not aligned. A text is a u16
 * with its length and that many bytes, none of which is NUL. Nothing outside of the body is accessed. After a failure,
 * all further calls fail, so it is enough to check once, at the end. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* Bytes that belong to the body; not ended by a NUL. */
struct proto_text {
    const char *p;
    uint16_t len;
};

/* A C string as a text, cut after UINT16_MAX bytes. */
static inline struct proto_text proto_text(const char *s)
{
    return (struct proto_text){s, (uint16_t)strnlen(s, UINT16_MAX)};
}

static inline bool proto_text_is(const struct proto_text *text, const char *s)
{
    return strlen(s) == text->len && memcmp(text->p, s, text->len) == 0;
}

/* Reading. */
struct proto_body {
    const uint8_t *next;
    const uint8_t *end;
    bool bad; /* too short, or an invalid value */
};

static inline size_t proto_body_left(const struct proto_body *body)
{
    return (size_t)(body->end - body->next);
}

/* The next SIZE bytes. If there are fewer, NULL, and the body is bad. */
static inline const uint8_t *proto_get(struct proto_body *body, size_t size)
{
    const uint8_t *p = body->next;

    if (body->bad || proto_body_left(body) < size) {
        body->bad = true;
        return NULL;
    }
    body->next += size;
    return p;
}

static inline uint8_t proto_get_u8(struct proto_body *body)
{
    const uint8_t *p = proto_get(body, 1);

    return p ? *p : 0;
}

static inline uint16_t proto_get_u16(struct proto_body *body)
{
    const uint8_t *p = proto_get(body, 2);

    return p ? load_le16(p) : 0;
}

static inline uint32_t proto_get_u32(struct proto_body *body)
{
    const uint8_t *p = proto_get(body, 4);

    return p ? load_le32(p) : 0;
}

static inline uint64_t proto_get_u64(struct proto_body *body)
{
    const uint8_t *p = proto_get(body, 8);

    return p ? load_le64(p) : 0;
}

static inline bool proto_get_bool(struct proto_body *body)
{
    uint8_t v = proto_get_u8(body);

    if (v > 1)
        body->bad = true;
    return v == 1;
}

static inline void proto_get_bytes(struct proto_body *body, void *ret, size_t size)
{
    const uint8_t *p = proto_get(body, size);

    if (p)
        memcpy(ret, p, size);
}

static inline struct proto_text proto_get_text(struct proto_body *body)
{
    uint16_t len = proto_get_u16(body);
    const uint8_t *p = proto_get(body, len);

    if (!p || memchr(p, 0, len)) {
        body->bad = true;
        return (struct proto_text){"", 0};
    }
    return (struct proto_text){(const char *)p, len};
}

/* Writing, after room for a frame's header. */
struct proto_out {
    uint8_t *start; /* of the frame */
    size_t len;     /* with the header */
    size_t capacity;
    bool full; /* a piece did not fit, and is missing */
};

static inline void proto_put(struct proto_out *out, const void *p, size_t size)
{
    if (out->full || out->capacity - out->len < size) {
        out->full = true;
        return;
    }
    if (size > 0)
        memcpy(out->start + out->len, p, size);
    out->len += size;
}

static inline void proto_put_u8(struct proto_out *out, uint8_t v)
{
    proto_put(out, &v, 1);
}

static inline void proto_put_u16(struct proto_out *out, uint16_t v)
{
    uint8_t b[2];

    store_le16(b, v);
    proto_put(out, b, sizeof b);
}

static inline void proto_put_u32(struct proto_out *out, uint32_t v)
{
    uint8_t b[4];

    store_le32(b, v);
    proto_put(out, b, sizeof b);
}

static inline void proto_put_u64(struct proto_out *out, uint64_t v)
{
    uint8_t b[8];

    store_le64(b, v);
    proto_put(out, b, sizeof b);
}

static inline void proto_put_text(struct proto_out *out, struct proto_text text)
{
    proto_put_u16(out, text.len);
    proto_put(out, text.p, text.len);
}
