/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes the fields of events as typed annotations of Perfetto's events, each by its name. The name of a value of FIELD
 * is written as "strata.name.FIELD". They are assembled in place, where perfetto_fields_size() bytes must be free. */

#include "event/value.h"
#include "export/timeline/perfetto_strings.h"

/* Tag, length, tag and number of the name, tag of the value. */
#define PERFETTO_HEAD_MAX 10

/* What precedes the value of a field in its annotation. */
struct field_plan {
    uint8_t head[PERFETTO_HEAD_MAX - 1];
    uint8_t head_len;
    unsigned called; /* number of "strata.name.FIELD", if values have names */
};

struct class_plan {
    struct field_plan *fields; /* NULL before it is made */
    unsigned name;             /* numbers of its strings */
    unsigned category;
    unsigned name_value; /* as the value of an annotation */
    bool scalars;        /* no field is text or an array */
    bool named;          /* values of some field have names */
};

struct perfetto_fields {
    struct perfetto_strings *strings;
    struct class_plan *classes; /* by class->index */
    unsigned n_classes;
    struct text named; /* in memory: annotations with names of values */
    struct arena arena;
};

struct class_plan *perfetto_class_make(struct perfetto_fields *fields,
                                       const struct event_class *class);

/* NULL if out of memory. */
static inline const struct class_plan *perfetto_class(struct perfetto_fields *fields,
                                                      const struct event_class *class)
{
    if (likely(class->index < fields->n_classes && fields->classes[class->index].fields))
        return &fields->classes[class->index];
    return perfetto_class_make(fields, class);
}

/* An upper limit of the size of VALUES' annotations, without those that perfetto_fields_name() makes. */
size_t perfetto_fields_size(const struct class_plan *plan, const struct event_class *class,
                            const struct value *values);
/* Removes texts of an event that does not fit into a packet. In a damaged or hostile trace, several fields may be the
 * same memory. */
void perfetto_fields_leave_out_texts(const struct event_class *class, struct value *values);
/* Makes annotations with the names of values, in fields->named. */
void perfetto_fields_name(struct perfetto_fields *fields, const struct class_plan *plan,
                          const struct item *item, const struct value *values);
/* Puts the annotations at P. Returns their end. */
char *perfetto_fields_put(struct perfetto_fields *fields, char *p, const struct class_plan *plan,
                          const struct event_class *class, const struct value *values);
void perfetto_fields_done(struct perfetto_fields *fields);
