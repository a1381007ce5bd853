/* SPDX-License-Identifier: MIT */
/* strata merge: what was found, for people. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/wide.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/merge.h"
#include "event/program.h"

#define OUT_SIZE ((size_t)16 * 1024)
/* Events that lie around their line by more than this part of their time deserve a warning. */
#define WIDE_PART 50

struct lines {
    struct text *out;
    int width; /* of the names */
};

static const char *ns_text(char *buf, size_t size, int64_t ns)
{
    static const struct clock clock = {"", NANOSECONDS};

    return duration_text(buf, size, &clock, (uint64_t)ns);
}

static void begin_line(const struct lines *lines, const char *name)
{
    text_printf_safe(lines->out, "%-*s  ", lines->width, name);
}

#define put_line(lines, ...) \
    (text_printf_safe((lines)->out, __VA_ARGS__), text_put_char((lines)->out, '\n'))

/* By how much the reference is ahead of the source, at the first of what relates them; and how they drift. */
static void put_offset(const struct lines *lines, const struct merge_domain *domain)
{
    const struct clock_fit *sync = &domain->sync;
    int64_t error;
    int64_t at = clock_map_convert(&domain->map, sync->from, &error);

    if (domain->hz) {
        struct clock clock = {"", domain->hz};
        wide off = (wide)at - clock_to_ns(&clock, sync->from);

        text_put_literal(lines->out, "offset ");
        text_put_char(lines->out, off < 0 ? '-' : '+');
        clock_put_time(&(struct clock){"", NANOSECONDS}, (int64_t)(off < 0 ? -off : off),
                       lines->out);
        text_put_literal(lines->out, " s, ");
        if (sync->rate_measured && sync->drift_error_ppm > 0)
            text_printf(lines->out, "drift %+.3f ppm, give or take %.3f", sync->drift_ppm,
                        sync->drift_error_ppm);
        else if (sync->rate_measured)
            text_printf(lines->out, "drift %+.3f ppm", sync->drift_ppm);
        else if (sync->n_marks > 1)
            text_printf(lines->out, "drift within %d ppm: they are too close together to tell it",
                        CLOCK_MAP_DRIFT_PPM);
        else
            text_printf(lines->out, "drift not known: taken to be within %d ppm",
                        CLOCK_MAP_DRIFT_PPM);
    } else {
        text_printf(lines->out, "%.6f ticks a second, tick %" PRId64 " at ",
                    1e9 / sync->ns_per_tick, sync->from);
        clock_put_time(&(struct clock){"", NANOSECONDS}, at, lines->out);
    }
    text_put_char(lines->out, '\n');
}

static void put_error(const struct lines *lines, const struct clock_fit *sync)
{
    char least[32], most[32];

    ns_text(least, sizeof least, sync->least_ns);
    ns_text(most, sizeof most, sync->most_ns);
    switch (sync->kind) {
    case CLOCK_FIT_ERROR_UNKNOWN:
        text_printf(lines->out,
                    "error not known: %s, and how long word of them took cannot be seen",
                    sync->n_marks == 1 ? "there is one event" : "any two events lie on a line");
        break;
    case CLOCK_FIT_ERROR_SPREAD:
        text_printf(lines->out,
                    "error: the events lie within %s of a line; a delay that all of them have in "
                    "common cannot be seen",
                    most);
        break;
    case CLOCK_FIT_ERROR_ONE_WAY:
        text_printf(lines->out,
                    "error: the events lie within %s of the fastest, which is taken to have taken "
                    "no time: how long it took cannot be seen",
                    most);
        break;
    case CLOCK_FIT_ERROR_BOUND:
        text_printf(lines->out, "error at most %s to %s, by events in both orders", least, most);
        break;
    default: break;
    }
    /* Ways differ by that much where they are slow, but so do things that are not the same. */
    if ((sync->kind == CLOCK_FIT_ERROR_SPREAD || sync->kind == CLOCK_FIT_ERROR_ONE_WAY) &&
        (double)sync->most_ns * WIDE_PART > (double)(sync->to - sync->from) * sync->ns_per_tick)
        text_put_literal(lines->out, ", a large part of the time between the first and the last: "
                                     "check that they belong together");
    if (sync->n_outside) {
        text_printf(lines->out, "; %zu of %zu lie farther off and were left out, by up to ",
                    sync->n_outside, sync->n_marks);
        text_put_str(lines->out, ns_text(most, sizeof most, sync->outside_ns));
    }
    text_put_char(lines->out, '\n');
}

/* How the clock of SOURCE relates to its host's, and within what. */
static void put_own(const struct lines *lines, const struct merge_source *source)
{
    char least_text[32], most_text[32];
    const struct clock_map *own = &source->own;
    int64_t least = INT64_MAX;
    int64_t most = clock_map_bound(own, own->pairs[0].ticks, own->pairs[own->n - 1].ticks);

    for (unsigned i = 0; i < own->n; i++)
        least = MIN(least, own->pairs[i].error_ns);
    text_printf(lines->out, "related to its host's clock by %u %s, within %s to %s\n", own->n,
                own->n == 1 ? "pair" : "pairs", ns_text(least_text, sizeof least_text, least),
                ns_text(most_text, sizeof most_text, most));
}

static void put_span(const struct merge *merge, const struct lines *lines,
                     const struct merge_source *source)
{
    static const struct clock clock = {"", NANOSECONDS};
    int64_t error;

    begin_line(lines, "");
    text_printf(lines->out, "%s, %s: %" PRIu64 " events", layer_name(source->layer), source->format,
                source->n_events);
    if (source->first != TIME_UNKNOWN) {
        text_put_literal(lines->out, ", ");
        clock_put_time(&clock, merge_time(merge, source, source->first, &error), lines->out);
        text_put_literal(lines->out, " to ");
        clock_put_time(&clock, merge_time(merge, source, source->last, &error), lines->out);
    }
    text_put_char(lines->out, '\n');
}

static void put_source(const struct merge *merge, const struct lines *lines, unsigned i)
{
    const struct merge_source *source = &merge->sources[i];
    const struct merge_domain *domain = &merge->domains[source->domain];
    const struct merge_source *reference = &merge->sources[merge->reference];
    bool first = true;

    begin_line(lines, source->name);
    if (i == merge->reference) {
        if (domain->is_host)
            text_put_literal(lines->out,
                             "the reference: the timeline is its host's monotonic clock\n");
        else
            put_line(lines, "the reference: the timeline is its clock, %s", domain->clock);
    } else if (source->domain == reference->domain) {
        put_line(lines, "%s as %s", domain->is_host ? "of the same host" : "by the same clock",
                 reference->name);
    } else {
        for (unsigned j = 0; j < i && first; j++)
            if (merge->sources[j].domain == source->domain) {
                put_line(lines, "%s as %s",
                         domain->is_host ? "of the same host" : "by the same clock",
                         merge->sources[j].name);
                first = false;
            }
        if (first) {
            text_put_literal(lines->out, "by ");
            text_put_safe_str(lines->out, domain->how);
            text_put_char(lines->out, '\n');
            begin_line(lines, "");
            put_offset(lines, domain);
            begin_line(lines, "");
            put_error(lines, &domain->sync);
        }
    }
    if (source->own.n) {
        begin_line(lines, "");
        put_own(lines, source);
    }
    put_span(merge, lines, source);
}

int merge_tell(const struct merge *merge)
{
    struct text out;
    struct lines lines = {&out, 0};
    int r;

    if (output_open(&out, OUTPUT_TEXT, OUT_SIZE) < 0) {
        cli_error("out of memory");
        return -ENOMEM;
    }
    for (unsigned i = 0; i < merge->n_sources; i++)
        lines.width = MAX(lines.width, (int)strlen(merge->sources[i].name));
    for (unsigned i = 0; i < merge->n_sources; i++)
        put_source(merge, &lines, i);
    text_put(&out, merge->checks.start, text_len(&merge->checks));
    r = text_flush(&out);
    text_done(&out);
    return r;
}
