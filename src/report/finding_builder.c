/* SPDX-License-Identifier: MIT */
#include "report/finding_builder.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/print_result.h"

/* ---- numbers of rows ---- */

double finding_number(const struct result *result, const struct result_row *row, const char *column)
{
    int i = result_find_column(result, column);

    return i >= 0 && result_has(row, (unsigned)i) ? result_number(result, row, (unsigned)i) : NAN;
}

double finding_number_or_0(const struct result *result, const struct result_row *row,
                           const char *column)
{
    double v = finding_number(result, row, column);

    return isnan(v) ? 0 : v;
}

bool finding_has_ns(const struct result *result)
{
    return result->clock.hz != 0;
}

const char *finding_key(const struct result *result, const struct result_row *row, const char *name)
{
    for (unsigned i = 0; i < result->n_keys; i++)
        if (strcmp(result->keys[i].name, name) == 0)
            return row->keys[i];
    return "-";
}

const struct result *finder_result(const struct finder *finder, enum summary_part part)
{
    return &finder->summary->results[part];
}

/* ---- sentences ---- */

void finding_put_time(const struct result *result, double v, struct text *text)
{
    const struct clock clock = {"", finding_has_ns(result) ? NANOSECONDS : 0};

    print_duration_with_unit(&clock, (int64_t)v, text);
}

void finding_put_column(const struct result *result, const struct result_row *row,
                        const char *column, struct text *text)
{
    finding_put_time(result, finding_number_or_0(result, row, column), text);
}

/* The share of ROW's time that is unknown; if rows do not state it, the share that its sources lost. */
static double get_unknown(const struct result *result, const struct result_row *row)
{
    double unknown = finding_number(result, row, "unknown_share");

    return isnan(unknown) ? row->lost_share : unknown;
}

void finding_put_error(const struct result *result, const struct result_row *row, double ns,
                       struct text *text)
{
    static const struct clock clock = {"", NANOSECONDS};
    double error = finding_number_or_0(result, row, "error");

    if (!print_shows_error((int64_t)error, ns))
        return;
    text_put_literal(text, " \xc2\xb1");
    print_duration(&clock, (int64_t)error, text);
}

void finder_add(struct finder *finder, const struct result *result, const struct result_row *row,
                const char *column, double weight, const char *command)
{
    struct findings *findings = finder->findings;
    int number = result ? result_find_column(result, column) : -1;
    double unknown = number >= 0 ? get_unknown(result, row) : 0;
    struct finding *finding;

    if (unknown >= FINDING_UNKNOWN_MIN)
        text_printf(&finder->text, "; %.1f%% of its time is unknown", unknown * 100);
    if (findings->n < FINDINGS_MAX) {
        finding = &findings->items[findings->n];
        *finding = (struct finding){
            .text = finder->text.error ? NULL
                                       : arena_strndup(&findings->arena, finder->text.start,
                                                       text_len(&finder->text)),
            .command = arena_strdup(&findings->arena, command),
            .result = number >= 0 ? result : NULL,
            .row = number >= 0 ? row : NULL,
            .column = number >= 0 ? (unsigned)number : 0,
            .unknown = unknown,
            .error_ns = number >= 0 ? finding_number_or_0(result, row, "error") : 0,
            .weight = weight,
            .is_of_trace = finder->is_of_trace,
            .is_of_all = finder->is_of_all,
        };
        if (finding->text && finding->command)
            findings->n++;
        else
            findings->error = -ENOMEM;
    }
    finder->text.next = finder->text.start;
    finder->is_of_trace = finder->is_of_all = false;
}
