/* SPDX-License-Identifier: MIT */
#pragma once

/* The fields of events as annotations of Perfetto's events: each by its name, typed; and what a value of FIELD is called,
 * as "strata.name.FIELD". They are put together in place, where there is room for perfetto_fields_size(). */

#include "event/value.h"
#include "export/timeline/perfetto_strings.h"

/* Tag, length, tag and number of the name, tag of the value. */
#define PERFETTO_HEAD_MAX 10

/* A field: what stands before its value in an annotation. */
struct field_plan {
    uint8_t head[PERFETTO_HEAD_MAX - 1];
    uint8_t head_len;
    unsigned called; /* number of "strata.name.FIELD", where values have names */
};

struct class_plan {
    struct field_plan *fields; /* NULL: not made yet */
    unsigned name;             /* numbers of its strings */
    unsigned category;
    unsigned name_value; /* as the value of an annotation */
    bool scalars;        /* has no field that is text or an array */
    bool named;          /* has a field whose values have names */
};

struct perfetto_fields {
    struct perfetto_strings *strings;
    struct class_plan *classes; /* by class->index */
    unsigned n_classes;
    struct text named; /* in memory: annotations of what values are called */
    struct arena arena;
};

struct class_plan *perfetto_class_make(struct perfetto_fields *fields,
                                       const struct event_class *class);

/* NULL when memory is out. */
static inline const struct class_plan *perfetto_class(struct perfetto_fields *fields,
                                                      const struct event_class *class)
{
    if (likely(class->index < fields->n_classes && fields->classes[class->index].fields))
        return &fields->classes[class->index];
    return perfetto_class_make(fields, class);
}

/* How many bytes the annotations of VALUES need at most, but for what perfetto_fields_name() makes. */
size_t perfetto_fields_size(const struct class_plan *plan, const struct event_class *class,
                            const struct value *values);
/* For an event that no packet could hold: in a damaged or hostile trace, fields may be the same memory again and
 * again. */
void perfetto_fields_leave_out_texts(const struct event_class *class, struct value *values);
/* Makes the annotations of what values are called: fields->named. */
void perfetto_fields_name(struct perfetto_fields *fields, const struct class_plan *plan,
                          const struct item *item, const struct value *values);
/* Puts the annotations at P; returns their end. */
char *perfetto_fields_put(struct perfetto_fields *fields, char *p, const struct class_plan *plan,
                          const struct event_class *class, const struct value *values);
void perfetto_fields_done(struct perfetto_fields *fields);
