/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes the metadata (TSDL) of a trace that export/ctf/ctf.c writes. */

#include "base/text.h"
#include "event/class.h"

/* The line of metadata that identifies an export, and the characters in names of its other files. */
#define TSDL_EXPORTED "tracer_name = \"strata-export\";"
#define CTF_STREAM_CHARACTERS "0123456789-" /* "0", "0-3" */

/* True if the context of an origin's events has their threads. */
static inline bool ctf_has_thread(const struct origin *origin)
{
    return !origin->put_vcpu || origin->task_name;
}

/* The size of a scalar in the stream, in bytes. */
static inline unsigned ctf_scalar_size(const struct field *field)
{
    return field->size <= 1 ? 1 : field->size <= 2 ? 2 : field->size <= 4 ? 4 : 8;
}

/* The size of an array's element, in bytes. */
static inline unsigned ctf_element_size(const struct field *field)
{
    return field->element > 1 ? field->element : 1;
}

/* Puts a quoted string. Escapes what a TSDL string cannot contain, and what would end a comment around it. */
void tsdl_put_quoted(struct text *text, const char *s);
/* The type of a scalar, which is not a float. */
void tsdl_put_integer(struct text *text, const struct field *field);
/* True if values of FIELD of CLASS may have names. A type of its own is declared for it (names.h). */
bool tsdl_has_names(const struct event_class *class, unsigned field);
/* The name of this type. */
void tsdl_put_names_type(struct text *text, const struct event_class *class, unsigned field);
/* Puts the beginning of the metadata: trace and clock. OFFSET_S: the second from which times count. */
void tsdl_put_start(struct text *text, const struct clock *clock, int64_t offset_s);
/* Puts `source_N_…` for the environment. COMPLETE_FROM: when the data of all CPUs begin, by the clock; 0: from the
 * beginning. */
void tsdl_put_source(struct text *text, unsigned number, const struct origin *origin,
                     uint64_t complete_from);
void tsdl_put_stream(struct text *text, unsigned id, const struct origin *origin, bool cpus);
/* Puts a class with the first N_FIELDS of its fields; VCPU: with a vCPU in its context. */
void tsdl_put_class(struct text *text, unsigned id, unsigned stream,
                    const struct event_class *class, unsigned n_fields, bool vcpu);
