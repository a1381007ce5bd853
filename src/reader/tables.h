/* SPDX-License-Identifier: MIT */
#pragma once

/* Sources and event classes of a trace as strata/read.h shows them, made when they are first asked for.
 * Each stays where it is until the tables are freed. */

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
    const struct origin *last_origin;         /* the last one asked for, */
    struct strata_reader_source *last_source; /* and what was returned */
};

void reader_tables_done(struct reader_tables *tables);

/* NULL: out of memory. */
const struct strata_reader_source *reader_tables_source(struct reader_tables *tables,
                                                        const struct catalogue *catalogue,
                                                        const struct origin *origin);
const struct strata_reader_class *reader_tables_class(struct reader_tables *tables,
                                                      const struct catalogue *catalogue,
                                                      const struct event_class *class);

/* The type of FIELD's values where they are present. */
enum strata_value_type reader_value_type(const struct field *field);
