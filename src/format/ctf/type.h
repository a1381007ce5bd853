/* SPDX-License-Identifier: MIT */
#pragma once

/* The declarations in the metadata of a CTF trace: types, clocks, streams and events. All of them are in the arena that
 * was passed to the parser (tsdl.h). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/class.h"

enum ctf_kind {
    CTF_INTEGER,
    CTF_ENUM, /* an integer with names */
    CTF_FLOAT,
    CTF_STRING, /* ends at a NUL */
    CTF_STRUCT,
    CTF_VARIANT, /* one of its members, selected by an earlier number */
    CTF_ARRAY,
    CTF_SEQUENCE, /* an array whose length precedes it */
};

enum ctf_order {
    CTF_ORDER_NATIVE, /* the order of the trace; replaced while the metadata is parsed */
    CTF_ORDER_LE,
    CTF_ORDER_BE,
};

/* The meaning of members of headers and contexts. */
enum ctf_role {
    CTF_ROLE_NONE,
    CTF_ROLE_MAGIC,
    CTF_ROLE_UUID,
    CTF_ROLE_STREAM_ID,
    CTF_ROLE_BEGIN,
    CTF_ROLE_END,
    CTF_ROLE_CONTENT_SIZE,
    CTF_ROLE_PACKET_SIZE,
    CTF_ROLE_SEQUENCE,
    CTF_ROLE_DISCARDED,
    CTF_ROLE_CPU,
    CTF_ROLE_ID,
    CTF_ROLE_TIMESTAMP,
    CTF_ROLE_TID,
    CTF_ROLE_PID,
    CTF_ROLE_TASK_NAME,
    CTF_ROLE_VCPU, /* only in traces that strata exported */
    CTF_ROLES,
};

struct ctf_type;
struct origin;

struct ctf_member {
    const char *name;   /* without the '_' that distinguishes it from keywords */
    const char *c_type; /* from a comment of libstrata; NULL: none */
    struct ctf_type *type;
    uint32_t slot; /* slot of its value, from 1, for references to it; 0: no references */
    uint32_t line;
    uint8_t role; /* enum ctf_role, by the name */
    bool length;  /* only the length of the following sequence, as written by LTTng */
};

/* Where a location of CTF 2 begins. */
enum ctf_location_origin {
    CTF_ORIGIN_NONE, /* the innermost struct */
    CTF_ORIGIN_PACKET_HEADER,
    CTF_ORIGIN_PACKET_CONTEXT,
    CTF_ORIGIN_EVENT_HEADER,
    CTF_ORIGIN_EVENT_CONTEXT, /* of all events of a stream */
    CTF_ORIGIN_CONTEXT,       /* of an event */
    CTF_ORIGIN_FIELDS,
};

/* The value to which a sequence or variant of CTF 2 refers: nested member names; NULL: the enclosing struct. */
struct ctf_location {
    uint8_t origin; /* enum ctf_location_origin */
    uint32_t n;
    const char **names;
};

/* A label of an enum, for the values LOW to HIGH, which are signed if the enum is signed. */
struct ctf_range {
    const char *label;
    int64_t low, high;
};

/* For tags from LOW to HIGH, a variant is the member of number MEMBER. */
struct ctf_choice {
    int64_t low, high; /* signed if the tag is signed */
    uint32_t member;
};

struct ctf_clock {
    struct ctf_clock *next;
    const char *id; /* CTF 2: ID by which streams refer to it */
    const char *name;
    const char *uuid; /* NULL: unknown; LTTng has the boot id there */
    uint64_t hz;      /* never 0 */
    int64_t offset_s; /* when its value was 0, from the epoch: seconds, */
    int64_t offset;   /* and ticks */
    bool since_1970;  /* the epoch is 1970 */
};

struct ctf_type {
    enum ctf_kind kind;
    uint32_t line;  /* line of the declaration */
    uint32_t align; /* bits, a power of two; of a struct: including its members */
    uint32_t size;  /* bits, 1 to 64: integer, enum, float */
    enum ctf_order order;
    bool is_signed;
    bool whole; /* a number of 1, 2, 4 or 8 bytes without other properties than its order */
    bool text;  /* an integer that is a character */
    /* For CTF 2. */
    bool backwards;   /* the bits of the number have the other order */
    bool is_variable; /* a number in LEB128; `size` is 64 */
    bool is_bool;     /* an integer: false or true */
    bool is_flags;    /* enum: `ranges` are ranges of bits */
    bool is_blob;     /* array, sequence: bytes without a meaning */
    /* variant: its second member is empty, for all values without a choice */
    bool is_optional;
    uint8_t role;     /* enum ctf_role */
    uint8_t encoding; /* enum encoding: of a string, or of the characters of an array */
    uint8_t base;
    const struct ctf_clock *clock;  /* the integer is a value of this clock; NULL: none */
    struct ctf_member *members;     /* struct, variant */
    const struct ctf_range *ranges; /* enum */
    uint32_t n_members, n_ranges;
    const void *labels;                  /* enum: used by layout.c */
    struct ctf_type *element;            /* array, sequence */
    uint64_t length;                     /* array */
    const char *reference;               /* sequence: its length; variant: its tag. As written */
    const struct ctf_location *location; /* the same in CTF 2; NULL: only `reference` */
    const struct ctf_type *tag;          /* variant: the number that selects */
    /* variant: the first choice with the tag's value is used */
    const struct ctf_choice *choices;
    uint32_t n_choices;
    uint32_t slot;         /* slot of the referenced value */
    uint32_t depth;        /* nesting depth of structs, variants and arrays; limited */
    uint32_t weight;       /* total number of their members; limited */
    struct ctf_type *next; /* all types of a metadata */
};

struct ctf_event_decl {
    struct ctf_event_decl *next;
    struct ctf_event_decl *next_of_stream; /* format/ctf/layout.h */
    uint64_t id;
    uint64_t stream;
    const char *name;   /* as in the metadata, including the group */
    const char *group;  /* from a comment of strata-export; NULL: none */
    const char *format; /* from a comment of libstrata; NULL: none */
    struct ctf_type *context;
    struct ctf_type *fields; /* NULL: none */
    uint32_t line;
};

struct ctf_stream_decl {
    struct ctf_stream_decl *next;
    uint64_t id;
    struct ctf_type *packet_context; /* each may be NULL */
    struct ctf_type *event_header;
    struct ctf_type *event_context;
    struct origin *origin; /* origin of its events; set by trace.c */
    uint32_t line;
};

/* A source of a trace that strata exported: stream classes 2 * `number` and 2 * `number` + 1. */
struct ctf_source_decl {
    struct ctf_source_decl *next;
    uint64_t number;
    const char *layer;
    /* By the trace's clock: not all CPUs of the source were recorded before this time; 0: all were. */
    uint64_t complete_from;
    struct origin flags; /* only the flags of event/origin_flags.h are set */
};

struct ctf_metadata {
    const char *path;
    unsigned version; /* 2; 0: 1.8 */
    bool big_endian;
    bool has_uuid;
    uint8_t uuid[16];
    struct ctf_type *packet_header; /* NULL: packets have none */
    struct ctf_clock *clocks;
    struct ctf_stream_decl *streams;
    struct ctf_event_decl *events; /* in their order */
    struct ctf_type *types;        /* all */
    uint32_t n_slots;              /* slots are 1 to n_slots; set by references.c */

    /* From the environment; NULL or -1 if unknown. */
    const char *tracer;
    const char *process;
    const char *host;
    const char *domain;              /* of LTTng: "kernel", "ust" */
    struct ctf_source_decl *sources; /* in their order */
    struct ctf_source_decl *last_source;
    int64_t pid;
    bool in_ticks; /* exported by strata: the rate of the clock is unknown */
    /* Of libstrata: one moment in ticks of the clock and in ns of CLOCK_MONOTONIC. */
    bool has_moment;
    uint64_t ticks;
    int64_t monotonic;
};

/* The role of members of headers and contexts with this name, without its '_'. */
enum ctf_role ctf_role_of(const char *name);
