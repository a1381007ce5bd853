/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by the files of xen_table_parse(): its position in a line, and functions for the words of lines. */

#include <string.h>

#include "schema/xen/table.h"

/* Bits of a record's payload. */
#define XEN_PAYLOAD_BITS (7 * 32)

struct xen_parser {
    struct xen_table *table;
    const char *file;
    const char *name; /* of the file, for messages */
    uint32_t line;
    struct error *error;
    const char *p;
    const char *end;             /* end of the line */
    struct value_names *in_enum; /* the enum that indented lines belong to */
    const char **enum_names;     /* its ENUM_VALUE_MAX + 1 names */
    /* names of larger values, ascending; room for ENUM_MORE_MAX */
    struct value_name *enum_more;
};

/* Sets the error WHAT for this line, and returns -EINVAL. */
int xen_parse_error(const struct xen_parser *parser, const char *what);
int xen_no_memory(const struct xen_parser *parser);

static inline bool xen_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline void xen_skip_blanks(struct xen_parser *parser)
{
    while (parser->p < parser->end && xen_is_blank(*parser->p))
        parser->p++;
}

/* True if only a comment is left. */
static inline bool xen_at_end(const struct xen_parser *parser)
{
    return parser->p == parser->end || *parser->p == '#';
}

static inline bool xen_word_is(const char *p, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(p, word, len) == 0;
}

/* Length of a word: letters, digits, _ . : - and other characters that a name may contain. */
size_t xen_word_len(const struct xen_parser *parser);
/* Reads a decimal or 0x number of at most 32 bits. Returns the characters consumed; 0: none. */
size_t xen_read_number(const char *p, const char *end, uint32_t *ret);
/* Checks that LEN characters are a name. -EINVAL: they are not, and it was reported. */
int xen_check_name(const struct xen_parser *parser, const char *p, size_t len);

/* Parse the rest of a line after `enum` or `bits`; an indented line below it; the end of it. */
int xen_parse_enum(struct xen_parser *parser, bool bits);
int xen_parse_enum_value(struct xen_parser *parser);
int xen_close_enum(struct xen_parser *parser);
/* The enum whose name is at the position; NULL: there is none, and it was reported. */
const struct value_names *xen_find_enum(struct xen_parser *parser);
/* Parses the rest of a line after `call`. */
int xen_parse_call(struct xen_parser *parser);
