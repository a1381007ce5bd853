/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by layout.c and class.c: the state while the classes of a metadata are made. class.c makes one class. */

#include "base/map.h"
#include "event/value.h"
#include "format/ctf/layout.h"
#include "format/ctf/references.h"

#define NAME_MAX_LEN 200
#define CHOICES_MAX 16 /* limit of variants in one event */

/* The choices of an event's variants, in the order in which they are met: the number of a member for each variant. */
struct choices {
    uint32_t member[CHOICES_MAX];
    uint32_t n_members[CHOICES_MAX];
    unsigned n; /* number of choices that are set */
    unsigned n_met;
    bool whole; /* no choices: variants are JSON */
};

struct maker {
    struct ctf_metadata *metadata;
    bool exported;
    struct catalogue *catalogue;
    struct error *error;
    const struct ctf_stream_class *stream; /* the stream whose classes are being made */
    const struct ctf_class *class;         /* the class that is being made */
    /* exported: the first class of each name; keys are the origin's address and the name */
    struct map by_name;
    struct ctf_scopes scopes;
    uint64_t n_event_ids; /* event IDs of all streams so far */
    uint32_t n_shapes;    /* shapes of all streams so far, without the first of each event */
    struct choices choices;
    /* The fields of the class that is being made. */
    struct field fields[FIELDS_MAX];
    unsigned n_fields;
    bool after_variable; /* an earlier field has a variable length */
    uint32_t offset;     /* bytes up to the next field */
    char prefix[NAME_MAX_LEN + 1];
};

#define layout_wrong(m, at, ...) \
    error_on_line((m)->error, -EBADMSG, (m)->metadata->path, at, __VA_ARGS__)

/* Makes the classes of the event of CLASS, whose declaration is set, in m->stream. -EBADMSG with m->error, -ENOMEM. */
int layout_make_class(struct maker *m, struct ctf_class *class);
