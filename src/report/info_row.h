/* SPDX-License-Identifier: MIT */
#pragma once

/* Fills the table row in which `strata info` shows a trace. */

#include "analysis/states/states.h"
#include "analysis/tally.h"
#include "print/table.h"
#include "trace/trace.h"

#define INFO_CPUS_MAX 4096

struct info {
    const struct trace *trace;
    const struct origin *origin;
    struct sink seen;                  /* fills the following members, except the tally */
    struct states states;              /* only its counts of switches are used */
    uint64_t cpus[INFO_CPUS_MAX / 64]; /* seen CPUs, a bit each */
    struct tally tally;
    const struct trace_clock *clock; /* NULL if nothing is known */
    bool has_no_rings; /* its recorder was killed, and no process has its rings any more */
    bool stopped;      /* reading ended before the end of the trace */
};

extern const struct table_form info_form;

/* -ENOMEM if the row is incomplete. */
int info_put_row(const struct info *info, struct table *table);

/* Gets the trace's times in the host's time. False if its clock is the host's, or unrelated to it. */
bool info_host_times(const struct info *info, struct trace_host_times *ret);
void info_put_host_times(struct text *cell, const struct trace_host_times *times);
