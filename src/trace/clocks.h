/* SPDX-License-Identifier: MIT */
#pragma once

/* What causes and effects in the sources of a recorded directory (timeline/causal.h) say of their clocks.
 *
 * trace_open() reads a directory once more for that, all of it, whatever is selected or read of it later: so an event has the
 * same time and the same error for all that open it. Only where a guest's kernel and another layer have clocks of their own,
 * and not while it is being recorded, as then an event would get another time with each opening.
 *
 * What was found is kept for the next opening (struct trace_options). */

#include <stdbool.h>
#include <stdint.h>

struct text;

/* Of one source whose clock is related to the host's by a map, and that has a part in causes and effects. */
struct trace_clock {
    unsigned input;     /* of the trace */
    const char *source; /* its name in the directory */
    int64_t stated_ns;  /* the largest error of its times, as recorded */
    int64_t error_ns;   /* tightened, or the same */
    bool is_tightened;  /* the input's clock map is a tighter one than was recorded */
    uint64_t pairs;     /* of causes and effects */
    uint64_t
        violations; /* that contradict `stated_ns`: by how much times are wrong is not known, and nothing is tightened */
    int64_t worst_ns;  /* by how much the worst does */
    int64_t worst_at;  /* time of that effect */
    const char *worst; /* what it is, in words */
};

struct trace_clocks {
    struct trace_clock *rows;
    unsigned n;
};

/* "8 of 4115 causes and effects contradict the stated error of 174us, the worst by 2.1ms at 12.5: …". */
void trace_clock_put_violations(const struct trace_clock *clock, struct text *text);
/* "the clock of guest is wrong: " and that, of each that is; nothing if none is. */
void trace_clocks_put_refutation(const struct trace_clocks *clocks, struct text *text);

/* NS with three digits at the most, as duration_text() has them, and never less than it is. */
uint64_t trace_clock_round_up(int64_t ns);
