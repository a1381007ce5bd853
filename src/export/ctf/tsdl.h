/* SPDX-License-Identifier: MIT */
#pragma once

/* The metadata (TSDL) of what export/ctf/ctf.c writes. */

#include "base/text.h"
#include "event/class.h"

/* How an export is known by its metadata, and how its other files are called. */
#define TSDL_EXPORTED "tracer_name = \"strata-export\";"
#define CTF_STREAM_CHARACTERS "0123456789-" /* "0", "0-3" */

/* Whether the context of an origin's events holds their threads. */
static inline bool ctf_has_thread(const struct origin *origin)
{
    return !origin->put_vcpu || origin->task_name;
}

/* Bytes of a scalar in the stream. */
static inline unsigned ctf_scalar_size(const struct field *field)
{
    return field->size <= 1 ? 1 : field->size <= 2 ? 2 : field->size <= 4 ? 4 : 8;
}

/* Bytes of an element of an array. */
static inline unsigned ctf_element_size(const struct field *field)
{
    return field->element > 1 ? field->element : 1;
}

/* Writes the begin of the metadata: trace and clock. OFFSET_S: the second that times count from. */
void tsdl_put_start(struct text *text, const struct clock *clock, int64_t offset_s);
/* `source_N_…` of the environment. COMPLETE_FROM, by the clock: from when on all CPUs are there; 0: from the begin. */
void tsdl_put_source(struct text *text, unsigned number, const struct origin *origin,
                     uint64_t complete_from);
void tsdl_put_stream(struct text *text, unsigned id, const struct origin *origin, bool cpus);
/* With the first N_FIELDS of its fields; VCPU: with a vCPU in its context. */
void tsdl_put_class(struct text *text, unsigned id, unsigned stream,
                    const struct event_class *class, unsigned n_fields, bool vcpu);
