/* SPDX-License-Identifier: MIT */
/* Prints the result of strata merge as text. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/wide.h"
#include "event/program.h"
#include "report/merge_report.h"

/* Warns if events are farther from their line than this part of their time. */
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

/* Puts by how much the reference is ahead of the source, at the first event that relates them, and their drift. */
static void put_offset(const struct lines *lines, const struct merge_domain *domain)
{
    const struct clock_fit *fit = &domain->fit;
    int64_t error;
    int64_t at = clock_map_convert(&domain->map, fit->from, &error);

    if (domain->hz) {
        struct clock clock = {"", domain->hz};
        int64_t off = narrow(wide_difference(at, clock_to_ns(&clock, fit->from)));

        text_put_literal(lines->out, "offset ");
        text_put_char(lines->out, off < 0 ? '-' : '+');
        clock_put_time(&(struct clock){"", NANOSECONDS}, off < 0 ? -off : off, lines->out);
        text_put_literal(lines->out, " s, ");
        if (fit->rate_measured && fit->drift_error_ppm > 0)
            text_printf(lines->out, "drift %+.3f ppm, give or take %.3f", fit->drift_ppm,
                        fit->drift_error_ppm);
        else if (fit->rate_measured)
            text_printf(lines->out, "drift %+.3f ppm", fit->drift_ppm);
        else if (fit->n_marks > 1)
            text_printf(lines->out,
                        "drift at most %d ppm (the events are too close together to measure it)",
                        CLOCK_MAP_DRIFT_PPM);
        else
            text_printf(lines->out, "drift unknown, assumed to be at most %d ppm",
                        CLOCK_MAP_DRIFT_PPM);
    } else {
        text_printf(lines->out, "%.6f ticks a second, tick %" PRId64 " at ", 1e9 / fit->ns_per_tick,
                    fit->from);
        clock_put_time(&(struct clock){"", NANOSECONDS}, at, lines->out);
    }
    text_put_char(lines->out, '\n');
}

static void put_error(const struct lines *lines, const struct clock_fit *fit)
{
    char least[32], most[32];

    ns_text(least, sizeof least, fit->least_ns);
    ns_text(most, sizeof most, fit->most_ns);
    switch (fit->kind) {
    case CLOCK_FIT_ERROR_UNKNOWN:
        text_printf(lines->out,
                    "error unknown: %s, and the delay between the two sides cannot be measured",
                    fit->n_marks == 1 ? "there is one event" : "any two events lie on a line");
        break;
    case CLOCK_FIT_ERROR_SPREAD:
        text_printf(lines->out,
                    "error: the events lie within %s of a line; a delay that all of them have in "
                    "common cannot be measured",
                    most);
        break;
    case CLOCK_FIT_ERROR_ONE_WAY:
        text_printf(lines->out,
                    "error: the events lie within %s of the fastest, whose delay is assumed to be "
                    "zero and cannot be measured",
                    most);
        break;
    case CLOCK_FIT_ERROR_BOUND:
        text_printf(lines->out, "error at most %s to %s, by events in both orders", least, most);
        break;
    default: break;
    }
    /* Slow delays vary by that much, but so do events that do not belong together. */
    if ((fit->kind == CLOCK_FIT_ERROR_SPREAD || fit->kind == CLOCK_FIT_ERROR_ONE_WAY) &&
        (double)fit->most_ns * WIDE_PART > (double)(fit->to - fit->from) * fit->ns_per_tick)
        text_put_literal(lines->out, ", a large part of the time between the first and the last; "
                                     "check that they belong together");
    if (fit->n_outside) {
        text_printf(lines->out, "; %zu of %zu outliers were left out, which are off by up to ",
                    fit->n_outside, fit->n_marks);
        text_put_str(lines->out, ns_text(most, sizeof most, fit->outside_ns));
    }
    text_put_char(lines->out, '\n');
}

/* Puts how the clock of SOURCE relates to its host's, and the error. */
static void put_host_map(const struct lines *lines, const struct merge_source *source)
{
    char least_text[32], most_text[32];
    const struct clock_map *map = &source->host_map;
    int64_t least = INT64_MAX;
    int64_t most = clock_map_bound(map, map->pairs[0].ticks, map->pairs[map->n - 1].ticks);

    for (unsigned i = 0; i < map->n; i++)
        least = MIN(least, map->pairs[i].error_ns);
    text_printf(lines->out, "related to its host's clock by %u %s, within %s to %s\n", map->n,
                map->n == 1 ? "pair" : "pairs", ns_text(least_text, sizeof least_text, least),
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
            text_put_safe_str(lines->out, domain->evidence);
            text_put_char(lines->out, '\n');
            begin_line(lines, "");
            put_offset(lines, domain);
            begin_line(lines, "");
            put_error(lines, &domain->fit);
        }
    }
    if (source->host_map.n) {
        begin_line(lines, "");
        put_host_map(lines, source);
    }
    put_span(merge, lines, source);
}

void merge_report(const struct merge *merge, struct text *out)
{
    struct lines lines = {out, 0};

    for (unsigned i = 0; i < merge->n_sources; i++)
        lines.width = MAX(lines.width, (int)strlen(merge->sources[i].name));
    for (unsigned i = 0; i < merge->n_sources; i++)
        put_source(merge, &lines, i);
    text_put(out, merge->checks.start, text_len(&merge->checks));
}
