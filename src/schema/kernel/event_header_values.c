/* SPDX-License-Identifier: MIT */
/* The values of an event, as its metadata has them. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/encoding.h"
#include "base/json_string.h"
#include "base/macro.h"
#include "base/number.h"
#include "schema/kernel/event_header.h"
#include "schema/kernel/net.h"

/* Names are repeated with each element of a list. */
#define JSON_MAX ((size_t)1 << 20)

struct reader {
    const struct eh_node *nodes;
    const uint8_t *p, *end;
    bool swap;
};

/* A value in the record. */
struct piece {
    const uint8_t *p;
    size_t len;
};

static size_t left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->p);
}

static int take(struct reader *reader, size_t len, struct piece *ret)
{
    if (len > left(reader))
        return -EBADMSG;
    *ret = (struct piece){reader->p, len};
    reader->p += len;
    return 0;
}

static int take_length(struct reader *reader, uint16_t *ret)
{
    struct piece piece;
    int r = take(reader, sizeof *ret, &piece);

    if (r >= 0)
        *ret = load_u16_swap(piece.p, reader->swap);
    return r;
}

static unsigned unit_of(const struct eh_node *node)
{
    switch (node->encoding) {
    case EH_VALUE16:
    case EH_ZSTRING16:
    case EH_STRING16: return 2;
    case EH_VALUE32:
    case EH_ZSTRING32:
    case EH_STRING32: return 4;
    default: return 1;
    }
}

static int take_value(struct reader *reader, const struct eh_node *node, struct piece *ret)
{
    static const uint8_t nul[4];
    unsigned size = eh_value_size(node), unit = unit_of(node);
    size_t len = 0;
    uint16_t n;
    int r;

    if (size > 0)
        return take(reader, size, ret);
    if (node->encoding >= EH_STRING8) {
        r = take_length(reader, &n);
        return r < 0 ? r : take(reader, (size_t)n * unit, ret);
    }
    while (left(reader) - len >= unit && memcmp(reader->p + len, nul, unit) != 0)
        len += unit;
    if (left(reader) - len < unit)
        return -EBADMSG;
    *ret = (struct piece){reader->p, len};
    reader->p += len + unit;
    return 0;
}

/* ---- One value ---- */

static uint64_t number_of(const struct eh_node *node, struct piece piece, bool swap)
{
    /* A port is in the network's order. */
    bool is_port = node->format == EH_PORT && piece.len == 2;
    uint64_t v = load_uint(piece.p, (unsigned)piece.len,
                           is_port ? __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ : swap);

    if (eh_kind_of(node) == EH_KIND_FLOAT && piece.len == 4) {
        uint32_t bits = (uint32_t)v;
        double number;
        float single;

        memcpy(&single, &bits, sizeof single);
        number = (double)single;
        memcpy(&v, &number, sizeof v);
    }
    return v;
}

static bool has_mark(struct piece piece, const char *mark, size_t len)
{
    return piece.len >= len && memcmp(piece.p, mark, len) == 0;
}

/* How the characters of PIECE are stored. What marks their order at its begin is taken off. */
static enum encoding encoding_of(const struct eh_node *node, bool swap, struct piece *piece)
{
    static const struct {
        const char *mark;
        size_t len;
        enum encoding encoding;
    } marks[] = {
        {"\xff\xfe\0\0", 4, ENCODING_UTF_32_LE}, {"\0\0\xfe\xff", 4, ENCODING_UTF_32_BE},
        {"\xef\xbb\xbf", 3, ENCODING_UTF_8},     {"\xff\xfe", 2, ENCODING_UTF_16_LE},
        {"\xfe\xff", 2, ENCODING_UTF_16_BE},
    };
    bool big = swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

    for (size_t i = 0; node->format >= EH_STRING_UTF_BOM && node->format <= EH_STRING_JSON &&
                       i < ARRAY_SIZE(marks);
         i++)
        if (has_mark(*piece, marks[i].mark, marks[i].len)) {
            piece->p += marks[i].len;
            piece->len -= marks[i].len;
            return marks[i].encoding;
        }
    switch (unit_of(node)) {
    case 2: return big ? ENCODING_UTF_16_BE : ENCODING_UTF_16_LE;
    case 4: return big ? ENCODING_UTF_32_BE : ENCODING_UTF_32_LE;
    default: return node->format == EH_STRING_LATIN_1 ? ENCODING_LATIN_1 : ENCODING_UTF_8;
    }
}

static void put_text(const struct eh_node *node, struct piece piece, bool swap, struct text *text)
{
    enum encoding encoding;

    if (node->format == EH_UUID && piece.len == 16) {
        kernel_put_uuid(piece.p, false, false, text);
    } else if (node->format == EH_IP_ADDRESS || node->format == EH_IP_ADDRESS_OLD) {
        if (piece.len == 4)
            kernel_put_ipv4(piece.p, false, false, text);
        else
            kernel_put_ipv6_short(piece.p, text);
    } else {
        encoding = encoding_of(node, swap, &piece);
        encoded_put(encoding, (const char *)piece.p, piece.len, text);
    }
}

/* ---- JSON ---- */

static void json_put_blob(struct piece piece, struct text *text)
{
    text_put_char(text, '"');
    for (size_t i = 0; i < piece.len; i++)
        text->next = number_hex_byte(text_room(text, 2), piece.p[i]);
    text_put_char(text, '"');
}

static void json_put_text(const struct eh_node *node, struct piece piece, bool swap,
                          struct text *text)
{
    struct text plain = TEXT_IN_MEMORY;

    put_text(node, piece, swap, &plain);
    json_put_string(text, plain.start ? plain.start : "", text_len(&plain));
    text->error = plain.error ? plain.error : text->error;
    text_done(&plain);
}

static void json_put_value(const struct eh_node *node, struct piece piece, bool swap,
                           struct text *text)
{
    uint64_t v;

    switch (eh_kind_of(node)) {
    case EH_KIND_UINT: text_put_u64(text, number_of(node, piece, swap)); break;
    case EH_KIND_INT:
        v = number_of(node, piece, swap);
        text_put_i64(text, sign_extend(v, (unsigned)piece.len));
        break;
    case EH_KIND_BOOL: text_put_str(text, number_of(node, piece, swap) ? "true" : "false"); break;
    case EH_KIND_FLOAT: json_put_double(text, number_of(node, piece, swap)); break;
    case EH_KIND_TEXT: json_put_text(node, piece, swap, text); break;
    case EH_KIND_BYTES:
    case EH_KIND_NUMBERS:
    case EH_KIND_JSON: json_put_blob(piece, text); break;
    }
}

/* Whether a value of FORMAT may have LEN bytes. */
static bool is_size_of(uint8_t format, size_t len)
{
    switch (format) {
    case EH_UNSIGNED:
    case EH_SIGNED:
    case EH_HEX: return len == 1 || len == 2 || len == 4 || len == 8;
    case EH_ERRNO:
    case EH_PID: return len == 4;
    case EH_TIME:
    case EH_FLOAT: return len == 4 || len == 8;
    case EH_BOOLEAN: return len == 1 || len == 2 || len == 4;
    case EH_UUID: return len == 16;
    case EH_PORT: return len == 2;
    case EH_IP_ADDRESS:
    case EH_IP_ADDRESS_OLD: return len == 4 || len == 16;
    default: return false;
    }
}

/* Writes a string of bytes whose format may show it as one value. If its size is wrong for the format, it is shown as
 * if it had no format. */
static void json_put_nullable(const struct eh_node *node, struct piece piece, bool swap,
                              struct text *text)
{
    struct eh_node value = {.encoding = node->encoding};

    if (piece.len == 0) {
        text_put_literal(text, "null");
        return;
    }
    if (is_size_of(node->format, piece.len)) {
        value.encoding = (uint8_t)(EH_VALUE8 + (unsigned)__builtin_ctz((unsigned)piece.len));
        value.format = node->format;
    }
    json_put_value(&value, piece, swap, text);
}

static int json_put_node(struct reader *reader, unsigned at, struct text *text);

static int json_put_members(struct reader *reader, unsigned at, struct text *text)
{
    unsigned end = reader->nodes[at].end;
    char mark = '{';
    int r = 0;

    for (unsigned i = at + 1; i < end && r >= 0; i = reader->nodes[i].end) {
        text_put_char(text, mark);
        mark = ',';
        json_put_str(text, reader->nodes[i].name);
        text_put_char(text, ':');
        r = json_put_node(reader, i, text);
    }
    text_put_char(text, '}');
    return r;
}

/* One value, or one element. */
static int json_put_one(struct reader *reader, unsigned at, struct text *text)
{
    struct eh_node one = reader->nodes[at];
    struct piece piece;
    int r;

    if (text_len(text) > JSON_MAX)
        return -EBADMSG;
    if (one.encoding == EH_STRUCT)
        return json_put_members(reader, at, text);
    one.is_array = false;
    r = take_value(reader, &one, &piece);
    if (r < 0)
        return r;
    if (eh_kind_of(&one) == EH_KIND_JSON)
        json_put_nullable(&one, piece, reader->swap, text);
    else
        json_put_value(&one, piece, reader->swap, text);
    return 0;
}

static int json_put_node(struct reader *reader, unsigned at, struct text *text)
{
    const struct eh_node *node = &reader->nodes[at];
    uint16_t n = node->length;
    int r = 0;

    if (!node->is_array)
        return json_put_one(reader, at, text);
    if (n == 0)
        r = take_length(reader, &n);
    text_put_char(text, '[');
    for (uint16_t i = 0; i < n && r >= 0; i++) {
        if (i)
            text_put_char(text, ',');
        r = json_put_one(reader, at, text);
    }
    text_put_char(text, ']');
    return r;
}

/* ---- Fields ---- */

/* Room for a length, which end_counted() writes. */
static size_t begin_counted(struct text *made)
{
    text_put(made, "\0\0\0\0", 4);
    return text_len(made);
}

static int end_counted(struct text *made, size_t begin)
{
    if (made->error)
        return made->error;
    store_u32(made->start + begin - 4, (uint32_t)(text_len(made) - begin));
    return 0;
}

static void put_u64(struct text *made, uint64_t v)
{
    text_put(made, (const char *)&v, sizeof v);
}

static int put_numbers(struct reader *reader, const struct eh_node *node, struct text *made)
{
    struct eh_node one = *node;
    uint16_t n = node->length;
    size_t begin = begin_counted(made);
    struct piece piece;
    int r = n == 0 ? take_length(reader, &n) : 0;

    one.is_array = false;
    for (uint16_t i = 0; i < n && r >= 0; i++) {
        r = take_value(reader, &one, &piece);
        if (r >= 0) {
            uint64_t v = number_of(&one, piece, reader->swap);

            if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
                v <<= 64 - 8 * piece.len;
            text_put(made, (const char *)&v, piece.len);
        }
    }
    return r < 0 ? r : end_counted(made, begin);
}

/* A field of the class, whose text is JSON: it is made apart, as its length is bounded. */
static int put_json(struct reader *reader, unsigned at, struct text *made)
{
    struct text json = TEXT_IN_MEMORY;
    size_t begin = begin_counted(made);
    int r = json_put_node(reader, at, &json);

    if (r >= 0)
        text_put(made, json.start ? json.start : "", text_len(&json));
    if (r >= 0)
        r = json.error ? json.error : end_counted(made, begin);
    text_done(&json);
    return r;
}

static int put_leaf(struct reader *reader, unsigned at, struct text *made)
{
    const struct eh_node *node = &reader->nodes[at];
    enum eh_kind kind = eh_kind_of(node);
    struct piece piece;
    size_t begin;
    uint64_t v;
    int r;

    if (kind == EH_KIND_JSON)
        return put_json(reader, at, made);
    if (kind == EH_KIND_NUMBERS)
        return put_numbers(reader, node, made);
    r = take_value(reader, node, &piece);
    if (r < 0)
        return r;
    if (kind == EH_KIND_TEXT || kind == EH_KIND_BYTES) {
        begin = begin_counted(made);
        if (kind == EH_KIND_TEXT)
            put_text(node, piece, reader->swap, made);
        else
            text_put(made, (const char *)piece.p, piece.len);
        return end_counted(made, begin);
    }
    v = number_of(node, piece, reader->swap);
    put_u64(made, kind == EH_KIND_INT ? (uint64_t)sign_extend(v, (unsigned)piece.len) : v);
    return made->error;
}

int eh_values_put(const struct eh_layout *layout, const uint8_t *p, size_t len, bool swap,
                  struct text *made)
{
    struct reader reader = {.nodes = layout->nodes, .p = p, .end = p + len, .swap = swap};
    int r = 0;

    for (unsigned i = 0; i < layout->n_nodes && r >= 0;) {
        const struct eh_node *node = &layout->nodes[i];

        /* The members of a struct are fields of the class. */
        if (node->encoding == EH_STRUCT && !node->is_array) {
            i++;
            continue;
        }
        r = put_leaf(&reader, i, made);
        i = node->end;
    }
    return r;
}
