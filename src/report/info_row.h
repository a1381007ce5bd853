/* SPDX-License-Identifier: MIT */
#pragma once

/* What `strata info` shows of one trace: a row of a table. */

#include "analysis/states/states.h"
#include "analysis/tally.h"
#include "print/table.h"
#include "trace/trace.h"

#define INFO_CPUS_MAX 4096

struct info {
    const struct trace *trace;
    const struct origin *origin;
    struct sink seen;                  /* of what follows it, but for the tally */
    struct states states;              /* its counts of switches alone */
    uint64_t cpus[INFO_CPUS_MAX / 64]; /* seen, one bit each */
    struct tally tally;
    const struct trace_clock *clock; /* NULL: nothing is known */
    bool has_no_rings; /* its recorder was killed, and no process has its rings any more */
    bool stopped;      /* reading ended before the trace's end */
};

extern const struct table_form info_form;

/* -ENOMEM: the row lacks something. */
int info_put_row(const struct info *info, struct table *table);

/* The trace's times in the host's, where its clock is another that is related to the host's. */
bool info_host_times(const struct info *info, struct trace_host_times *ret);
void info_put_host_times(struct text *cell, const struct trace_host_times *times);
