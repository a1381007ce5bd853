/* SPDX-License-Identifier: MIT */
#pragma once

/* Tightens the clocks of a trace directory by causes and effects in its sources (analysis/causal.h): reads the trace
 * once for that, before the verb reads it. */

#include "cmd/walk.h"
#include "timeline/clock_map.h"

/* Of one source whose clock is related to the host's by a map. */
struct causal_row {
    char *source; /* its name in the trace directory */
    unsigned input;
    int64_t stated_ns; /* the largest error of its times, as recorded */
    int64_t error_ns;  /* tightened, or the same */
    uint64_t pairs, violations;
    int64_t worst_ns, worst_at;
    const char *worst;
    struct clock_map map; /* if `is_tightened` */
    bool is_tightened;
};

struct causal_report {
    struct causal_row *rows; /* those with pairs */
    unsigned n;
    unsigned n_inputs;
    bool is_part; /* causes and effects of a part of the time were read */
};

/* Reads what PATHS name, of the times that SELECT selects (NULL: all). A trace that cannot be tightened, or read twice,
 * has no rows; errors are left to the verb, which meets them, too. -ENOMEM. */
int causal_read(const struct open_options *options, char **paths, int n,
                const struct select_options *select, struct causal_report *ret_report);
void causal_report_done(struct causal_report *report);

/* The same for who reads TRACE for something else, too. *RET is NULL where TRACE cannot be tightened. -ENOMEM. */
struct causal_sink;
int causal_sink_new(const struct trace *trace, struct causal_sink **ret);
/* The items of TRACE. -ENOMEM. */
int causal_sink_put(struct causal_sink *sink, const struct item *items, unsigned n);
/* After the last one. -ENOMEM. */
int causal_sink_finish(struct causal_sink *sink, struct causal_report *ret_report);
/* Returns NULL. */
struct causal_sink *causal_sink_free(struct causal_sink *sink);

/* Whether causes and effects contradict what is stated of a clock: by how much times of several clocks are wrong is not
 * known, then. */
bool causal_is_refuted(const struct causal_report *report);
/* The row of a source; NULL: none. */
const struct causal_row *causal_find(const struct causal_report *report, const char *source);

/* True if TRACE may be tightened: it has the sources of one trace directory, and one guest's kernel. */
bool causal_may_tighten(const struct trace *trace);
/* Reads what TRACE was opened from, and gives TRACE, of which nothing was read, the tightened clocks. Prints violations.
 * -ENOMEM. */
int causal_tighten(const struct open_options *options, const struct select_options *select,
                   struct trace *trace, struct causal_report *ret_report);

/* The same for a verb that does so with --causal only: reads all of the trace, whatever is selected, so that its times are
 * the ones of the analyses; also prints that no clock was tightened. */
int causal_tighten_on_request(const struct open_options *options, struct trace *trace);

/* Whether a clock was tightened. */
bool causal_is_tightened(const struct causal_report *report);
/* By how much times of the tightened clocks may differ from those that causes and effects of another part of the trace
 * give, ns. */
int64_t causal_slack(const struct causal_report *report);

/* TRACE, the same as was read, has the tightened clocks from now on. -ENOMEM. */
int causal_apply(const struct causal_report *report, struct trace *trace);

/* "8 of 4115 causes and effects contradict the stated error of 174us, the worst by 2.1ms at 12.5: …". */
void causal_put_violations(struct text *text, const struct causal_row *row);
/* "the clock of guest is wrong: " and that. */
void causal_put_refutation(struct text *text, const struct causal_row *row);
/* "within 29us (stated 174us), by 1234 causes and effects". */
void causal_put_row(struct text *text, const struct causal_row *row);

/* Lines below the table of an analysis; nothing if there are no rows. */
void causal_put_lines(struct text *text, const struct causal_report *report);
/* The member `"clocks":[…]`; nothing if there are no rows. */
void causal_write_json(struct json_writer *w, const struct causal_report *report);

/* With three digits at the most, as duration_text() has them, and never less than it is. */
uint64_t causal_round_up(int64_t ns);
