/* SPDX-License-Identifier: MIT */
#include "report/causal.h"

#include <inttypes.h>

static const struct clock host_clock = {"monotonic", NANOSECONDS};

void causal_put_row(struct text *text, const struct trace_clock *clock)
{
    char a[32], b[32];

    duration_text(b, sizeof b, &host_clock, trace_clock_round_up(clock->stated_ns));
    if (clock->violations > 0) {
        text_put_literal(text, "no: ");
        trace_clock_put_violations(clock, text);
        return;
    }
    text_printf(text, "%swithin %s (stated %s), by %" PRIu64 " causes and effects",
                clock->is_tightened ? "" : "no: ",
                duration_text(a, sizeof a, &host_clock, trace_clock_round_up(clock->error_ns)), b,
                clock->pairs);
}

void causal_put_lines(struct text *text, const struct trace_clocks *clocks)
{
    char a[32], b[32];

    for (unsigned i = 0; i < clocks->n; i++) {
        const struct trace_clock *clock = &clocks->rows[i];

        if (clock->violations > 0) {
            trace_clocks_put_refutation(&(const struct trace_clocks){&clocks->rows[i], 1}, text);
            text_put_char(text, '\n');
            continue;
        }
        duration_text(a, sizeof a, &host_clock, trace_clock_round_up(clock->error_ns));
        duration_text(b, sizeof b, &host_clock, trace_clock_round_up(clock->stated_ns));
        if (clock->is_tightened)
            text_printf(text,
                        "clock error of %s \xc2\xb1%s (stated \xc2\xb1%s), by %" PRIu64
                        " causes and effects\n",
                        clock->source, a, b, clock->pairs);
    }
}

void causal_write_json(struct json_writer *w, const struct trace_clocks *clocks)
{
    if (clocks->n == 0)
        return;
    json_write_key(w, "clocks");
    json_write_array(w);
    for (unsigned i = 0; i < clocks->n; i++) {
        const struct trace_clock *clock = &clocks->rows[i];

        json_write_object(w);
        json_write_key(w, "source");
        json_write_str(w, clock->source);
        json_write_key(w, "pairs");
        json_write_u64(w, clock->pairs);
        json_write_key(w, "error_ns");
        if (clock->violations > 0)
            json_write_raw(w, "null", 4);
        else
            json_write_i64(w, clock->error_ns);
        json_write_key(w, "stated_ns");
        json_write_i64(w, clock->stated_ns);
        json_write_key(w, "violations");
        json_write_u64(w, clock->violations);
        if (clock->violations > 0) {
            json_write_key(w, "worst_ns");
            json_write_i64(w, clock->worst_ns);
            json_write_key(w, "worst_at_ns");
            json_write_i64(w, clock->worst_at);
            json_write_key(w, "worst");
            json_write_str(w, clock->worst);
        }
        json_write_end(w);
    }
    json_write_end(w);
}
