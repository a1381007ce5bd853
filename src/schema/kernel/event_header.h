/* SPDX-License-Identifier: MIT */
#pragma once

/* Decodes events of EventHeader, the convention by which programs emit many events with different fields through one
 * tracepoint of user_events. The tracepoint's format file declares only the header; each event includes its own name
 * and fields.
 *
 *   tracepoint  PROVIDER_L<level>K<keyword>[<options>], both numbers in hexadecimal
 *
 *   offset from the first field of the tracepoint, `eventheader_flags`
 *    0  u8   flags: 1: pointers have 64 bits; 2: little-endian; 4: extensions follow
 *    1  u8   version
 *    2  u16  id
 *    4  u16  tag
 *    6  u8   opcode
 *    7  u8   level
 *    8       extensions, one after the other: u16 size, u16 kind (0x8000: another one follows), `size` bytes
 *            the values, one after the other; what follows the last one is padding
 *
 *   kind 1: the metadata: "NAME[;attribute=value…]" and a NUL, then for each field
 *            "NAME[;attribute=value…]" and a NUL
 *            u8   encoding: 0x80: `format` follows; 0x40: an array, whose u16 length is with its values; 0x20: an array of
 *                 `length`; the rest: enum eh_encoding
 *            u8   format: 0x80: `tag` follows; the rest: enum eh_format; of a struct how many of the fields after it it has
 *            u16  tag
 *            u16  length
 *   kind 2: 16 bytes: the activity; 16 more: that which it belongs to
 *
 * Numbers are in the byte order of the flags. Each metadata block of a tracepoint gets a class, which is found again by
 * the block's bytes. Structs become fields "outer.inner"; arrays of anything but integers become JSON.
 *
 * A malformed or incomplete event is not decoded: it stays an event of the tracepoint with its raw bytes.
 *
 * Source: LinuxTracepoints 1.4, eventheader.h and EventEnumerator.cpp. */

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "event/catalogue.h"

/* How a value is stored. */
enum eh_encoding {
    EH_STRUCT = 1,
    EH_VALUE8,
    EH_VALUE16,
    EH_VALUE32,
    EH_VALUE64,
    EH_VALUE128,
    EH_ZSTRING8, /* up to a NUL */
    EH_ZSTRING16,
    EH_ZSTRING32,
    EH_STRING8, /* after a u16 length, in characters */
    EH_STRING16,
    EH_STRING32,
    EH_BINARY, /* after a u16 length */
    EH_ENCODINGS
};

/* How it is shown. */
enum eh_format {
    EH_DEFAULT,
    EH_UNSIGNED,
    EH_SIGNED,
    EH_HEX,
    EH_ERRNO,
    EH_PID,
    EH_TIME,
    EH_BOOLEAN,
    EH_FLOAT,
    EH_HEX_BYTES,
    EH_STRING_LATIN_1,
    EH_STRING_UTF,
    EH_STRING_UTF_BOM,
    EH_STRING_XML,
    EH_STRING_JSON,
    EH_UUID,
    EH_PORT,
    EH_IP_ADDRESS,
    EH_IP_ADDRESS_OLD,
};

/* Limit of the fields that a class has for the header and the extensions. */
#define EH_HEADER_FIELDS 8

/* A field of the metadata. The members of a struct follow it. */
struct eh_node {
    const char *name; /* UTF-8, without its attributes */
    uint8_t encoding; /* enum eh_encoding */
    uint8_t format;   /* enum eh_format; unused for a struct */
    bool is_array;
    uint16_t length; /* of an array; 0: the length is stored with the values */
    uint16_t end;    /* index of the node after this one and its members */
};

/* The metadata, parsed. */
struct eh_layout {
    const char *name;
    unsigned n_nodes;
    const struct eh_node *nodes;
};

/* The kind of field that a value of NODE, or an element of it, becomes. */
enum eh_kind {
    EH_KIND_UINT,
    EH_KIND_INT,
    EH_KIND_BOOL,
    EH_KIND_FLOAT,
    EH_KIND_TEXT,
    EH_KIND_BYTES,
    EH_KIND_NUMBERS, /* an array */
    EH_KIND_JSON,
};

/* Parses LEN bytes of metadata into ARENA. -EBADMSG: *RET_WHAT says what is wrong; -ENOMEM. */
int eh_layout_parse(struct arena *arena, const uint8_t *p, size_t len, bool swap,
                    struct eh_layout *ret, const char **ret_what);
enum eh_kind eh_kind_of(const struct eh_node *node);
/* The size of a value; 0: variable, or a struct. */
unsigned eh_value_size(const struct eh_node *node);
/* Converts the values at P, LEN bytes, to the fields of the class: scalars of 8 bytes; values of variable size after
 * their length in 4 bytes. -EBADMSG: they end early, or are too large. */
int eh_values_put(const struct eh_layout *layout, const uint8_t *p, size_t len, bool swap,
                  struct text *made);

/* A tracepoint of EventHeader. */
struct eh_point {
    const char *provider;
    uint64_t keyword;
    uint32_t offset; /* of the header in the record */
    uint16_t id;
    uint8_t level;
};

/* The EventHeader events of one kernel. */
struct eh_events {
    /* By tracepoint, byte order, present parts, and metadata. The class of the tracepoint means that the metadata
     * cannot be parsed. */
    struct map classes;
    struct map by_name;  /* the first class of each event */
    struct arena arena;  /* keys */
    size_t n_kept;       /* bytes of keys */
    struct text key;     /* scratch */
    uint64_t n_bad;      /* events that could not be decoded */
    char bad_name[64];   /* tracepoint of the first undecoded event */
    const char *bad_why; /* what is wrong with that event */
};

void eh_events_init(struct eh_events *events);
void eh_events_done(struct eh_events *events);

/* Checks if CLASS, of the tracepoint ID, is an EventHeader tracepoint. Returns 1 with *RET, whose provider is in ARENA;
 * 0: it is not; -ENOMEM. */
int eh_point_find(struct arena *arena, const struct event_class *class, uint16_t id,
                  struct eh_point *ret);
/* Decodes a record of POINT: the class of the event, and its payload, which begins with the first COMMON bytes of the
 * record. Returns 1; 0: not decoded, and counted; -ENOMEM. */
int eh_event_decode(struct eh_events *events, struct catalogue *catalogue,
                    const struct eh_point *point, const struct event_class *tracepoint,
                    const uint8_t *record, size_t size, unsigned common, struct text *made,
                    const struct event_class **ret_class);
