/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts the declarations of the metadata to what the reader needs: which value is the length of which sequence, and
 * event classes with their fields.
 *
 * The payload of an event is `direct` if it is the bytes of the stream themselves. This requires that all fields begin
 * at bytes, one after another, as in all events of libstrata, most events of LTTng, and all events of a trace whose
 * numbers have whole bytes, whatever their alignment below 8 bits. Otherwise, the payload is made: each number as 8
 * bytes; each array of numbers as a u32 length in bytes and its elements, in this machine's byte order; each text with
 * a NUL; all without padding (ctf_made_…). An array of anything else becomes text in JSON.
 *
 * A variant becomes the field of its chosen member, under the variant's name. Members have different fields, so an
 * event has a class for each combination of choices. These classes are all variants of the first one. */

#include "base/error.h"
#include "event/catalogue.h"
#include "format/ctf/header.h"
#include "format/ctf/type.h"

#define CTF_ID_MAX 65535
/* Limits of combinations of choices with a class of their own, per event and in total. Beyond them, variants become
 * JSON. */
#define CTF_SHAPES_MAX 64
#define CTF_ALL_SHAPES_MAX 65536

/* The classes of an event with variants, one for each combination of choices. At each variant, the shape continues to
 * the shape of the chosen member. The last shape has the class. */
struct ctf_shape {
    struct event_class *class;
    struct ctf_shape **next; /* by the member's number */
};

struct ctf_class {
    struct event_class *class; /* the first class; NULL: no event has this ID */
    struct ctf_shape *shape;   /* NULL: no variants that need different classes */
    /* variants are fields of JSON, because there would be too many classes */
    bool whole_variants;
    const struct ctf_event_decl *decl;
    bool whole_fields; /* the payload is one field of JSON, because it has too many fields */
    bool direct;
    bool strings;  /* direct: the payload has strings */
    uint32_t size; /* direct: size of all fields except strings */
    int thread;    /* the number of the field with the event's thread; -1: none */
};

struct ctf_stream_class {
    const struct ctf_stream_decl *decl;
    struct ctf_event_decl *events, *last_event; /* by next_of_stream */
    struct ctf_class *classes;                  /* by id */
    uint32_t n_classes;
    struct ctf_header header; /* header of its events */
    bool has_times;           /* its events have time stamps */
    bool vcpu_names;          /* the vCPU of its events is text */
};

struct ctf_layout {
    struct ctf_stream_class *streams;
    struct ctf_stream_class **by_id; /* the same, in the order of their IDs */
    uint32_t n_streams;
    const struct ctf_clock *clock; /* clock of all events; NULL: unknown */
};

/* True if MEMBER, of a CONTEXT or not, is in the made payload. The other members are the thread, CPU or vCPU of the
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

/* Bytes of an array element in a made payload. */
static inline unsigned ctf_made_element(const struct ctf_type *element)
{
    return element->size <= 8 ? 1 : element->size <= 16 ? 2 : element->size <= 32 ? 4 : 8;
}

/* Adds all classes and the origins of their streams to CATALOGUE. EXPORTED: the trace was exported by strata, so `vcpu`
 * in a context is the event's vCPU, and events with the same name are variants of one event. -EBADMSG with ERROR and
 * its line: a reference to something missing, or an unsupported feature; -ENOMEM. */
int ctf_layout_make(struct ctf_metadata *metadata, bool exported, struct catalogue *catalogue,
                    struct ctf_layout *ret, struct error *error);

/* The stream with this ID, or NULL. */
struct ctf_stream_class *ctf_layout_find(const struct ctf_layout *layout, uint64_t id);
