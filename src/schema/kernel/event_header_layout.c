/* SPDX-License-Identifier: MIT */
/* The metadata of an event: its name and its fields. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "event/value.h"
#include "schema/kernel/event_header.h"

#define HAS_FORMAT 0x80
#define IS_SIZED_ARRAY 0x40
#define IS_FIXED_ARRAY 0x20
#define HAS_TAG 0x80
#define NAME_MAX_LEN 200
#define NESTING_MAX 8
/* The class of an event has fields of the header as well. */
#define NODES_MAX (FIELDS_MAX - EH_HEADER_FIELDS)

struct parser {
    struct arena *arena;
    const uint8_t *p, *end;
    bool swap;
    struct eh_node nodes[NODES_MAX];
    unsigned n_nodes;
    const char *what;
};

static int wrong(struct parser *parser, const char *what)
{
    parser->what = what;
    return -EBADMSG;
}

/* A name in the arena: up to its attributes, and in UTF-8. */
static int read_name(struct parser *parser, const char **ret)
{
    const uint8_t *nul = memchr(parser->p, 0, (size_t)(parser->end - parser->p));
    struct text text = TEXT_IN_MEMORY;
    const uint8_t *stop;

    if (!nul)
        return wrong(parser, "a name without an end");
    stop = memchr(parser->p, ';', (size_t)(nul - parser->p));
    utf8_put(&text, (const char *)parser->p, (size_t)((stop ? stop : nul) - parser->p));
    parser->p = nul + 1;
    if (text_len(&text) > NAME_MAX_LEN) {
        text_done(&text);
        return wrong(parser, "a name that is too long");
    }
    *ret = text.error ? NULL
                      : arena_strndup(parser->arena, text.start ? text.start : "", text_len(&text));
    text_done(&text);
    return *ret ? 0 : -ENOMEM;
}

static bool read_u8(struct parser *parser, uint8_t *ret)
{
    if (parser->p == parser->end)
        return false;
    *ret = *parser->p++;
    return true;
}

static bool read_u16(struct parser *parser, uint16_t *ret)
{
    if (parser->end - parser->p < 2)
        return false;
    *ret = load_u16_swap(parser->p, parser->swap);
    parser->p += 2;
    return true;
}

static int read_fields(struct parser *parser, unsigned n, unsigned depth);

static int read_field(struct parser *parser, unsigned depth)
{
    uint8_t encoding = 0, format = 0;
    struct eh_node node = {0};
    uint16_t tag;
    unsigned at = parser->n_nodes;
    int r = read_name(parser, &node.name);

    if (r < 0)
        return r;
    if (!read_u8(parser, &encoding) || (encoding & HAS_FORMAT && !read_u8(parser, &format)) ||
        (format & HAS_TAG && !read_u16(parser, &tag)) ||
        (encoding & IS_FIXED_ARRAY && !read_u16(parser, &node.length)))
        return wrong(parser, "a field that is cut off");
    node.encoding = encoding & 0x1f;
    node.format = format & 0x7f;
    node.is_array = encoding & (IS_SIZED_ARRAY | IS_FIXED_ARRAY);
    if (node.encoding == 0 || node.encoding >= EH_ENCODINGS)
        return wrong(parser, "a field of an unknown encoding");
    if ((encoding & IS_SIZED_ARRAY && encoding & IS_FIXED_ARRAY) ||
        (encoding & IS_FIXED_ARRAY && node.length == 0))
        return wrong(parser, "an array without a length");
    if (at == ARRAY_SIZE(parser->nodes))
        return wrong(parser, "too many fields");
    parser->n_nodes++;
    if (node.encoding == EH_STRUCT) {
        if (node.format == 0 || parser->p == parser->end)
            return wrong(parser, "a struct without fields");
        if (depth == NESTING_MAX)
            return wrong(parser, "structs in one another that are too deep");
        r = read_fields(parser, node.format, depth + 1);
    }
    node.end = (uint16_t)parser->n_nodes;
    parser->nodes[at] = node;
    return r;
}

/* N fields, or as many as there are. */
static int read_fields(struct parser *parser, unsigned n, unsigned depth)
{
    int r = 0;

    for (unsigned i = 0; i < n && parser->p < parser->end && r >= 0; i++)
        r = read_field(parser, depth);
    return r;
}

int eh_layout_parse(struct arena *arena, const uint8_t *p, size_t len, bool swap,
                    struct eh_layout *ret, const char **ret_what)
{
    struct parser parser = {.arena = arena, .p = p, .end = p + len, .swap = swap};
    struct eh_layout layout;
    int r = read_name(&parser, &layout.name);

    if (r >= 0)
        r = read_fields(&parser, UINT16_MAX, 0);
    if (r == -EBADMSG)
        *ret_what = parser.what;
    if (r < 0)
        return r;
    layout.n_nodes = parser.n_nodes;
    layout.nodes =
        arena_memdup(arena, parser.nodes, MAX(parser.n_nodes, 1u) * sizeof *parser.nodes);
    if (!layout.nodes)
        return -ENOMEM;
    *ret = layout;
    return 0;
}

unsigned eh_value_size(const struct eh_node *node)
{
    return node->encoding >= EH_VALUE8 && node->encoding <= EH_VALUE128
               ? 1u << (node->encoding - EH_VALUE8)
               : 0;
}

static enum eh_kind number_kind(unsigned size, enum eh_format format)
{
    switch (format) {
    case EH_SIGNED: return EH_KIND_INT;
    case EH_ERRNO:
    case EH_PID: return size == 4 ? EH_KIND_INT : EH_KIND_UINT;
    case EH_TIME: return size >= 4 ? EH_KIND_INT : EH_KIND_UINT;
    case EH_BOOLEAN: return size <= 4 ? EH_KIND_BOOL : EH_KIND_UINT;
    case EH_FLOAT: return size >= 4 ? EH_KIND_FLOAT : EH_KIND_UINT;
    case EH_HEX_BYTES: return EH_KIND_BYTES;
    case EH_STRING_LATIN_1: return size == 1 ? EH_KIND_TEXT : EH_KIND_UINT;
    case EH_STRING_UTF: return size == 2 || size == 4 ? EH_KIND_TEXT : EH_KIND_UINT;
    case EH_IP_ADDRESS:
    case EH_IP_ADDRESS_OLD: return size == 4 ? EH_KIND_TEXT : EH_KIND_UINT;
    default: return EH_KIND_UINT;
    }
}

/* True for formats that show a string of bytes as one value, if it has the right size. */
static bool is_of_value(uint8_t format)
{
    return (format >= EH_UNSIGNED && format <= EH_FLOAT) ||
           (format >= EH_UUID && format <= EH_IP_ADDRESS_OLD);
}

static enum eh_kind value_kind(const struct eh_node *node)
{
    unsigned size = eh_value_size(node);

    if (size == 16)
        return node->format >= EH_UUID && node->format <= EH_IP_ADDRESS_OLD &&
                       node->format != EH_PORT
                   ? EH_KIND_TEXT
                   : EH_KIND_BYTES;
    if (size > 0)
        return number_kind(size, node->format);
    if ((node->encoding == EH_STRING8 || node->encoding == EH_BINARY) && is_of_value(node->format))
        return EH_KIND_JSON;
    if (node->format == EH_HEX_BYTES)
        return EH_KIND_BYTES;
    if (node->encoding == EH_BINARY &&
        !(node->format >= EH_STRING_LATIN_1 && node->format <= EH_STRING_JSON))
        return EH_KIND_BYTES;
    return EH_KIND_TEXT;
}

enum eh_kind eh_kind_of(const struct eh_node *node)
{
    enum eh_kind kind;

    if (node->encoding == EH_STRUCT)
        return EH_KIND_JSON;
    kind = value_kind(node);
    if (node->is_array)
        return kind == EH_KIND_UINT || kind == EH_KIND_INT ? EH_KIND_NUMBERS : EH_KIND_JSON;
    return kind;
}
