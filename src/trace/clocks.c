/* SPDX-License-Identifier: MIT */
#include "trace/clocks.h"

#include <inttypes.h>

#include "base/text.h"
#include "event/clock.h"

static const struct clock host_clock = {"monotonic", NANOSECONDS};

void trace_clock_put_violations(const struct trace_clock *clock, struct text *text)
{
    char a[32], b[32];

    text_printf(text,
                "%" PRIu64 " of %" PRIu64
                " causes and effects contradict the stated error of %s, the worst by %s at ",
                clock->violations, clock->pairs,
                duration_text(b, sizeof b, &host_clock, trace_clock_round_up(clock->stated_ns)),
                duration_text(a, sizeof a, &host_clock, (uint64_t)clock->worst_ns));
    clock_put_time(&host_clock, clock->worst_at, text);
    text_printf(text, ": %s", clock->worst);
}

void trace_clocks_put_refutation(const struct trace_clocks *clocks, struct text *text)
{
    const char *between = "";

    for (unsigned i = 0; i < clocks->n; i++) {
        if (clocks->rows[i].violations == 0)
            continue;
        text_printf(text, "%sthe clock of %s is wrong: ", between, clocks->rows[i].source);
        trace_clock_put_violations(&clocks->rows[i], text);
        between = "; ";
    }
}

uint64_t trace_clock_round_up(int64_t ns)
{
    uint64_t error = (uint64_t)ns;
    uint64_t step = 1;

    while (error / step > 999)
        step *= 10;
    return step > UINT64_MAX - error ? error : (error + step - 1) / step * step;
}
