/* SPDX-License-Identifier: MIT */
/* Prints what the text of a result has below its table. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/lost_cpus.h"
#include "base/macro.h"
#include "base/shell_word.h"
#include "base/ticks.h"
#include "print/sparkline.h"
#include "print/wrap.h"
#include "report/causal.h"
#include "report/losses_text.h"
#include "report/print_result.h"

#define BAR_WIDTH 50

/* Periods per character. */
static unsigned periods_per_character(const struct result *result)
{
    return (result->n_periods + SPARKLINE_MAX - 1) / SPARKLINE_MAX;
}

unsigned print_sparkline_width(const struct result *result)
{
    unsigned per = MAX(periods_per_character(result), 1u);

    return (result->n_periods + per - 1) / per;
}

static uint64_t period_value(const struct result_period *period, bool of_p99)
{
    return of_p99 ? (uint64_t)MAX(period->p99, 0) : period->n;
}

/* The value of character I of WIDTH: the sum of counts, or the largest p99. */
static uint64_t sparkline_value(const struct result *result, const struct result_row *row,
                                bool of_p99, unsigned i)
{
    unsigned per = periods_per_character(result);
    uint64_t value = 0;

    for (unsigned j = i * per; j < MIN((i + 1) * per, result->n_periods); j++) {
        uint64_t v = period_value(result_row_period(row, j), of_p99);

        value = of_p99 ? MAX(value, v) : value + v;
    }
    return value;
}

void print_sparkline(const struct result *result, const struct result_row *row, bool of_p99,
                     struct text *out)
{
    int64_t step = (int64_t)periods_per_character(result) * result->every;
    unsigned width = print_sparkline_width(result);
    uint64_t values[SPARKLINE_MAX];
    bool lost[SPARKLINE_MAX];

    for (unsigned i = 0; i < width; i++) {
        int64_t begin = result->periods_begin + (int64_t)i * step;

        values[i] = sparkline_value(result, row, of_p99, i);
        lost[i] = coverage_has_loss(result->coverage, begin, begin + step - 1);
    }
    sparkline_put(out, values, lost, width);
}

static void put_every(const struct result *result, struct text *out)
{
    if (result->n_periods == 0)
        return;
    text_put_literal(out, "Each character over time is ");
    print_duration_with_unit(&result->clock, (int64_t)periods_per_character(result) * result->every,
                             out);
    text_put_literal(out, ", from ");
    clock_put_time(&result->clock, result->periods_begin, out);
    text_put_literal(out, " on; \u00b7: events were lost or not recorded\n");
}

static uint64_t count_negative(const struct result *result)
{
    int column = result_find_column(result, "negative");
    uint64_t n = 0;

    for (unsigned i = 0; column >= 0 && i < result->n_rows; i++)
        if (result_has(result->rows[i], (unsigned)column))
            n += (uint64_t)result->rows[i]->values[column].number;
    return n;
}

void print_events(const struct result *result, int width, struct text *out)
{
    const struct coverage *coverage = result->coverage;

    text_printf(out, "%*" PRIu64 " event%s", width, coverage->n_events,
                coverage->n_events == 1 ? "" : "s");
    if (clock_is_order(&result->clock)) {
        text_put_literal(out, CLOCK_ORDER_TEXT);
    } else if (coverage->first != TIME_UNKNOWN) {
        text_put_literal(out, " in ");
        print_duration(&result->clock, coverage_duration(coverage), out);
        if (result->clock.hz == 0)
            text_put_literal(out, CLOCK_TICKS_TEXT);
    }
}

static void put_unpaired(const struct result *result, struct text *out)
{
    static const struct {
        const char *one, *many;
    } texts[SPAN_FATES] = {
        [SPAN_NO_BEGIN] = {"end whose begin is not in the trace",
                           "ends whose begin is not in the trace"},
        [SPAN_OPEN] = {"span was open at the end of the trace",
                       "spans were open at the end of the trace"},
        [SPAN_LOST] = {"span may have ended where events were lost or not recorded",
                       "spans may have ended where events were lost or not recorded"},
        [SPAN_EARLY] = {"span may have ended before what was kept of every CPU begins",
                        "spans may have ended before what was kept of every CPU begins"},
        [SPAN_AGAIN] = {"span began again before it ended", "spans began again before they ended"},
        [SPAN_GONE] = {"span was open when its thread ended",
                       "spans were open when their thread ended"},
        [SPAN_CONTRADICTED] = {"span contradicts other events", "spans contradict other events"},
        [SPAN_UNKEYED] = {"event lacks a key, the place or the time of its span",
                          "events lack a key, the place or the time of their span"},
        [SPAN_GIVEN_UP] = {"span was given up: too many were open",
                           "spans were given up: too many were open"},
    };

    for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++) {
        uint64_t n = result->unpaired[fate];

        if (n > 0 && fate == SPAN_OPEN && result->ends_before)
            text_printf(out, "%10" PRIu64 " span%s open 10 s after --until: not counted\n", n,
                        n == 1 ? " was" : "s were");
        else if (n > 0)
            text_printf(out, "%10" PRIu64 " %s: not counted\n", n,
                        n == 1 ? texts[fate].one : texts[fate].many);
    }
}

void print_losses(const struct result *result, struct text *out)
{
    const struct coverage *coverage = result->coverage;
    int64_t duration = coverage_duration(coverage);
    int64_t lost = coverage_lost(coverage, NULL);

    losses_put(&coverage->losses, out);
    if (coverage->losses.n > 0 && lost > 0) {
        text_put_literal(out, "; ");
        print_duration(&result->clock, lost, out);
        text_put_literal(out, " of ");
        print_duration_with_unit(&result->clock, duration, out);
        text_put_literal(out, " are unknown");
    }
}

static void put_losses(const struct result *result, struct text *out)
{
    print_losses(result, out);
    if (losses_any(&result->coverage->losses))
        text_put_char(out, '\n');
}

static void put_contradictions(const struct result *result, struct text *out)
{
    const struct result_contradictions *contradictions = &result->contradictions;
    struct lost_cpus cpus = {0};

    if (contradictions->n == 0)
        return;
    text_printf(out, "%10" PRIu64 " %s", contradictions->n,
                contradictions->n == 1 ? "switch is followed by another thread than it names"
                                       : "switches are followed by other threads than they name");
    for (unsigned i = 0; i < contradictions->n_cpus; i++)
        lost_cpus_add(&cpus, (unsigned)contradictions->by_cpu[i].cpu, contradictions->by_cpu[i].n);
    if (contradictions->n_cpus > 0)
        text_put_literal(out, " (");
    lost_cpus_put(&cpus, out);
    text_put_str(out, contradictions->n_cpus > 0 ? ")\n" : "\n");
}

static void put_recorder(const struct result *result, struct text *out)
{
    const struct result_recorder *recorder = &result->recorder;

    if (recorder->own == 0)
        return;
    text_printf(out, "Strata's own threads ran for %.1f%% of these waits, ",
                (double)recorder->own * 100 / (double)recorder->waited);
    print_duration(&result->clock, recorder->own, out);
    text_put_literal(out, " of ");
    print_duration_with_unit(&result->clock, recorder->waited, out);
    text_put_literal(out, ": the cost of recording");
    if (recorder->unknown > 0) {
        text_put_literal(out, "; what ran for ");
        print_duration_with_unit(&result->clock, recorder->unknown, out);
        text_put_literal(out, " is unknown");
    }
    text_put_char(out, '\n');
}

static void put_why(const char *const *why, const char *indent, struct text *out)
{
    for (; why && *why; why++)
        text_printf(out, "%s%s\n", indent, *why);
}

/* Puts " ±3.79ms"; nothing if that is not visible in the digits of the time from BEGIN to END. */
static void put_error(const struct result *result, uint32_t error_ns, int64_t begin, int64_t end,
                      struct text *out)
{
    static const struct clock ns = {.hz = NANOSECONDS};
    int64_t ticks = ticks_between(begin, end);
    double duration = (double)(ticks < 0 ? -ticks : ticks);
    bool is_known = error_is_known(error_ns, result->is_error_refuted);

    if (result->clock.hz != 0)
        duration = duration * NANOSECONDS / (double)result->clock.hz;
    if (!print_shows_error(error_ns, is_known ? duration : 0))
        return;
    text_put_literal(out, " \xc2\xb1");
    if (is_known)
        print_duration(&ns, error_ns, out);
    else
        text_put_char(out, '?');
}

/* Puts the duration of a stage. If the stage has a layer, puts its begin before and the layer after it. */
static void put_stage_time(const struct result *result, const struct result_stage *stage,
                           struct text *out)
{
    int64_t ticks = ticks_between(stage->begin, stage->end);
    char buf[32];

    if (stage->layer) {
        clock_put_time(&result->clock, stage->begin, out);
        text_printf(
            out, " %9s",
            duration_text(buf, sizeof buf, &result->clock, (uint64_t)MAX(ticks, (int64_t)0)));
    } else {
        print_duration(&result->clock, ticks, out);
    }
    put_error(result, stage->error_ns, stage->begin, stage->end, out);
    if (stage->layer)
        text_printf(out, "  %-5s ", stage->layer);
}

static void put_slow(const struct result *result, const struct result_slow *slow, struct text *out)
{
    const char *task = origin_task_name(slow->origin, slow->pid);
    char buf[32];

    text_printf(out, "%9s",
                duration_text(buf, sizeof buf, &result->clock,
                              (uint64_t)MAX(ticks_between(slow->begin, slow->end), 0)));
    put_error(result, slow->error_ns, slow->begin, slow->end, out);
    text_put_str(out, slow->is_open ? " and not ended  " : "  ");
    clock_put_time(&result->clock, slow->begin, out);
    if (slow->name)
        text_printf(out, "  %s", slow->name);
    for (unsigned i = 0; slow->row && i < result->n_keys; i++)
        text_printf(out, "  %s", slow->row->keys[i]);
    if (slow->cpu != CPU_UNKNOWN)
        text_printf(out, "  CPU %d", slow->cpu);
    if (slow->pid != PID_UNKNOWN)
        text_printf(out, "  %s-%d", task ? task : "", slow->pid);
    text_put_char(out, '\n');
    for (unsigned i = 0; i < slow->n_stages; i++) {
        const struct result_stage *stage = &slow->stages[i];

        text_put_literal(out, "    ");
        put_stage_time(result, stage, out);
        text_printf(out, " %s%s\n", stage->name,
                    slow->is_open && i + 1 == slow->n_stages ? ", not ended" : "");
        put_why(stage->why, "      ", out);
    }
    put_why(slow->why, "    ", out);
}

void print_paths(const struct trace *trace, struct text *out)
{
    for (unsigned i = 0; i < trace->n_inputs; i++)
        if (i == 0 || strcmp(trace->inputs[i].path, trace->inputs[i - 1].path) != 0) {
            text_put_char(out, ' ');
            if (strcmp(trace->inputs[i].path, "-") == 0)
                text_put_literal(out, "TRACE");
            else
                shell_put_shown_word(out, trace->inputs[i].path);
        }
}

/* Puts the command that shows the events of SLOW. */
static void put_command(const struct result *result, const struct result_slow *slow,
                        const struct print_options *options, struct text *out)
{
    text_put_literal(out, "  strata report --from ");
    clock_put_time(&result->clock, MIN(slow->begin, slow->end), out);
    text_put_literal(out, " --until ");
    clock_put_time(&result->clock, MAX(slow->begin, slow->end), out);
    print_paths(options->trace, out);
    text_put_char(out, '\n');
}

/* Puts spans that have ended, then spans that have not. */
static void put_slowest(const struct result *result, const struct print_options *options,
                        struct text *out)
{
    for (unsigned i = 0; i < result->n_slowest; i++) {
        const struct result_slow *slow = &result->slowest[i];
        bool is_last = i + 1 == result->n_slowest || slow[1].is_open != slow->is_open;

        if (i == 0 || slow[-1].is_open != slow->is_open)
            text_put_str(out, slow->is_open ? "\nNot ended, each with the time when it began:\n"
                                            : "\nThe slowest, each with the time when it began:\n");
        put_slow(result, slow, out);
        if (is_last && options->trace && slow->is_open == result->slowest[0].is_open)
            put_command(result, &result->slowest[0], options, out);
    }
}

static void put_histogram(const struct result *result, const struct result_row *row,
                          struct text *out)
{
    uint64_t doublings[HISTOGRAM_DOUBLINGS] = {0};
    uint64_t most = 0;
    unsigned first = 64, last = 0;

    histogram_add_doublings(row->durations, doublings);
    for (unsigned i = 0; i < ARRAY_SIZE(doublings); i++) {
        if (doublings[i] == 0)
            continue;
        first = MIN(first, i);
        last = i;
        most = MAX(most, doublings[i]);
    }
    text_put_char(out, '\n');
    for (unsigned i = 0; i < result->n_keys; i++)
        text_printf(out, "%s%s", i > 0 ? " " : "", row->keys[i]);
    text_put_char(out, '\n');
    for (unsigned i = first; i <= last; i++) {
        unsigned width = (unsigned)((double)doublings[i] * BAR_WIDTH / (double)most + 0.999);
        char buf[32];

        text_printf(
            out, "%10s %10" PRIu64 " ",
            duration_text(buf, sizeof buf, &result->clock, i == 0 ? 0 : UINT64_C(1) << (i - 1)),
            doublings[i]);
        for (unsigned j = 0; j < width; j++)
            text_put_char(out, '#');
        text_put_char(out, '\n');
    }
}

static void put_footer(const struct result *result, const struct print_options *options,
                       struct text *out)
{
    uint64_t negative = count_negative(result);
    uint64_t n = options->top == 0 ? result->n_rows : MIN(options->top, (uint64_t)result->n_rows);

    if (!options->is_part) {
        print_events(result, 10, out);
        text_put_char(out, '\n');
    }
    if (negative > 0)
        text_printf(out, "%10" PRIu64 " %s shorter than 0, by the error of the clocks\n", negative,
                    negative == 1 ? "span is" : "spans are");
    if (options->clocks)
        causal_put_lines(out, options->clocks);
    put_unpaired(result, out);
    put_contradictions(result, out);
    put_recorder(result, out);
    if (!options->is_part)
        put_losses(result, out);
    put_every(result, out);
    for (unsigned i = 0; i < result->n_notes; i++)
        text_printf(out, "%s\n", result->notes[i]);
    put_slowest(result, options, out);
    for (unsigned i = 0; options->histogram && i < n; i++)
        if (result->rows[i]->durations)
            put_histogram(result, result->rows[i], out);
}

void print_result_footer(const struct result *result, const struct print_options *options,
                         struct text *out)
{
    _cleanup_(text_done) struct text lines = TEXT_IN_MEMORY;

    put_footer(result, options, &lines);
    wrap_lines(out, &lines, options->line_width);
}
