/* SPDX-License-Identifier: MIT */
#pragma once

/* From what the metadata declares to what the reader works with: which value is the length of which
 * sequence, and event classes with their fields.
 *
 * The payload of an event is either the bytes of the stream themselves, where all its fields begin at
 * bytes, one after another (`direct`: all events of libstrata, most of LTTng's, and all of a trace whose numbers have whole
 * bytes, whatever their alignment below 8); or it is made: each
 * number as 8 bytes and each array of numbers as a u32 length in bytes and its elements, in this
 * machine's order, each text with a NUL, all without padding (ctf_made_…). An array of anything else is text, too: JSON.
 *
 * A variant is the field of its member that the tag chooses, under the variant's name. Members have fields of their own, so
 * an event has a class for each combination of choices, all of them variants of the first. */

#include "base/error.h"
#include "event/catalogue.h"
#include "format/ctf/header.h"
#include "format/ctf/type.h"

#define CTF_ID_MAX 65535
/* Combinations of choices that have a class each; beyond them variants are JSON. Of an event, and of all together. */
#define CTF_SHAPES_MAX 64
#define CTF_ALL_SHAPES_MAX 65536

/* The classes of an event with variants, one for each combination of what they are: where a variant is met, the shape goes
 * on to that of the member which is chosen; the last has the class. */
struct ctf_shape {
    struct event_class *class;
    struct ctf_shape **next; /* by the member's number */
};

struct ctf_class {
    struct event_class *class; /* the first; NULL: no event has this id */
    struct ctf_shape *shape;   /* NULL: it has no variants that classes differ by */
    bool whole_variants;       /* they are fields of JSON: it would have too many classes */
    const struct ctf_event_decl *decl;
    bool whole_fields; /* the payload is one field of JSON: it has too many */
    bool direct;
    bool strings;  /* direct: there are some */
    uint32_t size; /* direct: of all fields but the strings */
    int thread;    /* the number of the field with the event's thread; -1: none has it */
};

struct ctf_stream_class {
    const struct ctf_stream_decl *decl;
    struct ctf_event_decl *events, *last_event; /* by next_of_stream */
    struct ctf_class *classes;                  /* by id */
    uint32_t n_classes;
    struct ctf_header header; /* of its events */
    bool has_times;           /* its events have time stamps */
    bool vcpu_names;          /* vCPUs of its events are text */
};

struct ctf_layout {
    struct ctf_stream_class *streams;
    struct ctf_stream_class **by_id; /* the same, in the order of their ids */
    uint32_t n_streams;
    const struct ctf_clock *clock; /* of all events; NULL: unknown */
};

/* True if MEMBER, of a context or not, is in the payload that is made. The others are the thread, CPU or vCPU of the
 * event, or the length of the sequence after them. */
static inline bool ctf_in_payload(const struct ctf_member *member, bool context)
{
    if (member->length)
        return false;
    if (!context)
        return true;
    return !(member->role == CTF_ROLE_TID || member->role == CTF_ROLE_TASK_NAME ||
             member->role == CTF_ROLE_CPU || member->role == CTF_ROLE_VCPU);
}

/* Bytes of an element of an array in a payload that is made. */
static inline unsigned ctf_made_element(const struct ctf_type *element)
{
    return element->size <= 8 ? 1 : element->size <= 16 ? 2 : element->size <= 32 ? 4 : 8;
}

/* All classes go into CATALOGUE, with the origins of their streams. EXPORTED: strata did, so that `vcpu` in a context is
 * the event's vCPU, and events of one name are variants of one. -EBADMSG with ERROR: refers to what is not there, or has
 * what strata does not read, with its line; -ENOMEM. */
int ctf_layout_make(struct ctf_metadata *metadata, bool exported, struct catalogue *catalogue,
                    struct ctf_layout *ret, struct error *error);

/* The stream with this id; NULL: none. */
struct ctf_stream_class *ctf_layout_find(const struct ctf_layout *layout, uint64_t id);
