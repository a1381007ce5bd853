/* SPDX-License-Identifier: MIT */
#pragma once

/* How exact the clocks in a recorded directory are, as tightened by causes and effects between its sources
 * (timeline/causal.h).
 *
 * trace_open() reads such a directory completely once more, whatever is selected or read later. So an event has the
 * same time and the same error in every opening. Clocks are tightened only if a guest's kernel and another layer have
 * clocks of their own, and only after the recording has ended. Otherwise the time of an event would change with each
 * opening.
 *
 * The results are kept for the next opening (struct trace_options). */

#include <stdbool.h>
#include <stdint.h>

struct text;

/* One source that has causes or effects, and whose clock is related to the host's by a map. */
struct trace_clock {
    unsigned input;     /* of the trace */
    const char *source; /* its name in the directory */
    int64_t stated_ns;  /* largest error of its times, as recorded */
    int64_t error_ns;   /* largest error after tightening; `stated_ns` if nothing was tightened */
    bool is_tightened;  /* the input's clock map is tighter than the recorded map */
    uint64_t pairs;     /* of causes and effects */
    /* Pairs that contradict `stated_ns`; then the error of times is unknown, and nothing is tightened. */
    uint64_t violations;
    int64_t worst_ns;  /* by how much the worst pair contradicts it */
    int64_t worst_at;  /* time of the worst pair's effect */
    const char *worst; /* the worst pair in words */
};

struct trace_clocks {
    struct trace_clock *rows;
    unsigned n;
};

/* "8 of 4115 causes and effects contradict the stated error of 174us, the worst by 2.1ms at 12.5: …". */
void trace_clock_put_violations(const struct trace_clock *clock, struct text *text);
/* Writes "the clock of guest is wrong: " and the violations for each clock with violations. */
void trace_clocks_put_refutation(const struct trace_clocks *clocks, struct text *text);

/* Rounds NS up to at most three significant digits, as duration_text() prints them. */
uint64_t trace_clock_round_up(int64_t ns);
