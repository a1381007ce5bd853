/* SPDX-License-Identifier: MIT */
#pragma once

/* The sources and event classes of a trace in the form of strata/read.h. Each is made when it is first requested, and
 * stays at its address until the tables are freed. */

#include "event/catalogue.h"
#include "strata/read.h"

struct reader_table {
    void **items; /* NULL: not requested yet */
    unsigned n;
};

struct reader_tables {
    struct arena arena;
    struct reader_table sources; /* struct strata_reader_source, by position in the catalogue */
    struct reader_table classes; /* struct strata_reader_class, by class->index */
    const struct origin *last_origin;         /* the last requested origin, */
    struct strata_reader_source *last_source; /* and its source */
};

void reader_tables_done(struct reader_tables *tables);

/* NULL if out of memory. */
const struct strata_reader_source *reader_tables_source(struct reader_tables *tables,
                                                        const struct catalogue *catalogue,
                                                        const struct origin *origin);
const struct strata_reader_class *reader_tables_class(struct reader_tables *tables,
                                                      const struct catalogue *catalogue,
                                                      const struct event_class *class);

/* The type of FIELD's values, if present. */
enum strata_value_type reader_value_type(const struct field *field);
