/* SPDX-License-Identifier: MIT */
#pragma once

/* The inside of layout.c: what it knows while it makes the classes of a metadata, which class.c does one by one. */

#include "base/map.h"
#include "event/value.h"
#include "format/ctf/layout.h"
#include "format/ctf/references.h"

#define NAME_MAX_LEN 200
#define CHOICES_MAX 16 /* variants on the way through an event */

/* What the variants of an event are, in the order in which they are met: the number of a member of each. */
struct choices {
    uint32_t member[CHOICES_MAX];
    uint32_t n_members[CHOICES_MAX];
    unsigned n; /* that are set */
    unsigned n_met;
    bool whole; /* none is chosen */
};

struct maker {
    struct ctf_metadata *metadata;
    bool exported;
    struct catalogue *catalogue;
    struct error *error;
    const struct ctf_stream_class *stream; /* whose classes are made */
    const struct ctf_class *class;         /* that is made */
    struct map by_name; /* exported: the first class of each name, after its origin's address */
    struct ctf_scopes scopes;
    uint64_t n_event_ids; /* of all streams so far */
    uint32_t n_shapes;    /* likewise, beyond the first of each event */
    struct choices choices;
    /* The class at hand. */
    struct field fields[FIELDS_MAX];
    unsigned n_fields;
    bool after_variable; /* a field before has a variable length */
    uint32_t offset;     /* bytes up to there */
    char prefix[NAME_MAX_LEN + 1];
};

#define layout_wrong(m, at, ...) \
    error_on_line((m)->error, -EBADMSG, (m)->metadata->path, at, __VA_ARGS__)

/* Makes the classes of the event of CLASS, whose declaration is set, in m->stream. -EBADMSG with m->error, -ENOMEM. */
int layout_make_class(struct maker *m, struct ctf_class *class);
