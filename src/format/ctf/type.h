/* SPDX-License-Identifier: MIT */
#pragma once

/* What the metadata of a trace in CTF declares: types, and the four kinds of things that have them. All of it is in the
 * arena that the parser (tsdl.h) was given. */

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
    CTF_VARIANT, /* one of its members, selected by a number before it */
    CTF_ARRAY,
    CTF_SEQUENCE, /* an array whose length stands before it */
};

enum ctf_order {
    CTF_ORDER_NATIVE, /* of the trace; none is left when the metadata is read */
    CTF_ORDER_LE,
    CTF_ORDER_BE,
};

/* What readers know members of headers and contexts by. */
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
    CTF_ROLE_VCPU, /* of what strata exported */
    CTF_ROLES,
};

struct ctf_type;
struct origin;

struct ctf_member {
    const char *name;   /* without the '_' that keeps it apart from words of the language */
    const char *c_type; /* in a comment of libstrata's; NULL: none */
    struct ctf_type *type;
    uint32_t slot; /* where its value is kept for what refers to it, from 1; 0: nothing does */
    uint32_t line;
    uint8_t role; /* enum ctf_role, by the name alone */
    bool length;  /* is only the length of the sequence after it, as LTTng writes it */
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

/* What a sequence or variant of CTF 2 refers to: members inside each other, NULL being the struct around. */
struct ctf_location {
    uint8_t origin; /* enum ctf_location_origin */
    uint32_t n;
    const char **names;
};

/* A label of an enum, for the values LOW to HIGH; signed ones where the enum is signed. */
struct ctf_range {
    const char *label;
    int64_t low, high;
};

/* For these values of its tag, a variant is its member of this number. */
struct ctf_choice {
    int64_t low, high; /* signed where the tag is */
    uint32_t member;
};

struct ctf_clock {
    struct ctf_clock *next;
    const char *id; /* CTF 2: by which streams have it */
    const char *name;
    const char *uuid; /* NULL: unknown; LTTng has the boot id there */
    uint64_t hz;      /* never 0 */
    int64_t offset_s; /* when its value was 0, from the epoch: seconds … */
    int64_t offset;   /* … and ticks */
    bool since_1970;  /* the offset is from there */
};

struct ctf_type {
    enum ctf_kind kind;
    uint32_t line;  /* where it stands */
    uint32_t align; /* bits, a power of two; of a struct with that of its members */
    uint32_t size;  /* bits, 1 to 64: integer, enum, float */
    enum ctf_order order;
    bool is_signed;
    bool whole; /* a number of 1, 2, 4 or 8 bytes, of no other kind than its order says */
    bool text;  /* an integer that is a character */
    /* Of CTF 2. */
    bool backwards;   /* a number whose bits have the other order */
    bool is_variable; /* a number in LEB128; `size` is 64 */
    bool is_bool;     /* an integer: false or true */
    bool is_flags;    /* an enum: `ranges` are of bits */
    bool is_blob;     /* an array, sequence: bytes of no meaning */
    bool is_optional; /* a variant: its second member is nothing, for all values without a choice */
    uint8_t role;     /* enum ctf_role */
    uint8_t encoding; /* enum encoding: of a string, or of the characters of an array */
    uint8_t base;
    const struct ctf_clock *clock;  /* that the integer is a value of; NULL: of none */
    struct ctf_member *members;     /* struct, variant */
    const struct ctf_range *ranges; /* enum */
    uint32_t n_members, n_ranges;
    const void *labels;                  /* enum: of layout.c */
    struct ctf_type *element;            /* array, sequence */
    uint64_t length;                     /* array */
    const char *reference;               /* sequence: its length; variant: its tag. As written */
    const struct ctf_location *location; /* the same of CTF 2; NULL: `reference` alone */
    const struct ctf_type *tag;          /* variant: the number that selects */
    const struct ctf_choice *choices;    /* variant: the first that has the tag's value is taken */
    uint32_t n_choices;
    uint32_t slot;         /* the slot of what the reference names */
    uint32_t depth;        /* of the structs, variants and arrays inside each other, and … */
    uint32_t weight;       /* … how many members they have together: both are bounded */
    struct ctf_type *next; /* all types of a metadata */
};

struct ctf_event_decl {
    struct ctf_event_decl *next;
    struct ctf_event_decl *next_of_stream; /* format/ctf/layout.h */
    uint64_t id;
    uint64_t stream;
    const char *name;   /* as in the metadata, with the group in front */
    const char *group;  /* in a comment of strata-export; NULL: none */
    const char *format; /* in a comment of libstrata's; NULL: none */
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
    struct origin *origin; /* of its events; set by trace.c */
    uint32_t line;
};

/* A source of what strata exported: of the stream classes 2 * `number` and 2 * `number` + 1. */
struct ctf_source_decl {
    struct ctf_source_decl *next;
    uint64_t number;
    const char *layer;
    /* By the trace's clock: before it, not all CPUs of the source were recorded. 0: they were. */
    uint64_t complete_from;
    struct origin flags; /* of which those of event/origin_flags.h are set */
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
    uint32_t n_slots;              /* slots are 1 to this; set by references.c */

    /* Of the environment; NULL, or -1, if it is unknown. */
    const char *tracer;
    const char *process;
    const char *host;
    const char *domain;              /* LTTng's: "kernel", "ust" */
    struct ctf_source_decl *sources; /* in their order */
    struct ctf_source_decl *last_source;
    int64_t pid;
    bool in_ticks; /* of what strata exported: the rate of the clock is not known */
    /* Of libstrata: one moment, in ticks of the clock and in ns of CLOCK_MONOTONIC. */
    bool has_moment;
    uint64_t ticks;
    int64_t monotonic;
};

/* What members of headers and contexts of this name, without its '_', are known as. */
enum ctf_role ctf_role_of(const char *name);
