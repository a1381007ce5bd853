/* SPDX-License-Identifier: MIT */
/* The text formats of metrics. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "metrics/internal.h"

#define OVER_LIMIT "strata_metrics_over_limit"
/* The largest integers that a double holds exactly. */
#define EXACT_MAX 9007199254740992.0

/* The shortest decimal number that reads back as V. */
static void put_number(struct text *text, double v)
{
    char buf[40];

    if (isnan(v)) {
        text_put_literal(text, "NaN");
    } else if (isinf(v)) {
        text_put_str(text, v > 0 ? "+Inf" : "-Inf");
    } else if (fabs(v) < EXACT_MAX && v == floor(v)) {
        text_put_i64(text, (int64_t)v);
    } else {
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(buf, sizeof buf, "%.*g", digits, v);
            if (strtod(buf, NULL) == v)
                break;
        }
        for (char *p = buf; *p; p++) /* the locale's decimal point */
            if (!strchr("+-0123456789e", *p))
                *p = '.';
        text_put_str(text, buf);
    }
}

/* The value of "le": an integer has ".0", in both formats, so that a bucket is one series however it is scraped. */
static void put_bound(struct text *text, double v)
{
    put_number(text, v);
    if (fabs(v) < EXACT_MAX && v == floor(v))
        text_put_literal(text, ".0");
}

static void put_escaped(struct text *text, const char *s, bool is_quoted)
{
    const char *end = s + strlen(s);

    while (s < end) {
        uint32_t unused;
        size_t len = utf8_decode(s, (size_t)(end - s), &unused);

        if (len == 0) {
            text_put_literal(text, "\xef\xbf\xbd");
            len = 1;
        } else if (*s == '\\') {
            text_put_literal(text, "\\\\");
        } else if (*s == '\n') {
            text_put_literal(text, "\\n");
        } else if (*s == '"' && is_quoted) {
            text_put_literal(text, "\\\"");
        } else {
            text_put(text, s, len);
        }
        s += len;
    }
}

static void put_metadata(struct text *text, enum metrics_format format, const char *what,
                         const struct metric_desc *desc)
{
    text_put_literal(text, "# ");
    text_put_str(text, what);
    text_put_char(text, ' ');
    text_put_str(text, desc->name);
    if (format == METRICS_TEXT && desc->type == METRIC_COUNTER)
        text_put_literal(text, "_total");
    text_put_char(text, ' ');
}

static void put_head(struct text *text, enum metrics_format format, const struct metric_desc *desc)
{
    static const char *const types[] = {"counter\n", "gauge\n", "histogram\n"};

    put_metadata(text, format, "TYPE", desc);
    text_put_str(text, types[desc->type]);
    if (desc->unit && format == METRICS_OPENMETRICS) {
        put_metadata(text, format, "UNIT", desc);
        text_put_str(text, desc->unit);
        text_put_char(text, '\n');
    }
    put_metadata(text, format, "HELP", desc);
    put_escaped(text, desc->help, format == METRICS_OPENMETRICS);
    text_put_char(text, '\n');
}

static void put_label(struct text *text, const char *name, const char *value, bool *is_first)
{
    text_put_char(text, *is_first ? '{' : ',');
    text_put_str(text, name);
    text_put_literal(text, "=\"");
    put_escaped(text, value, true);
    text_put_char(text, '"');
    *is_first = false;
}

/* The name with SUFFIX, and labels; LE: also the bound of a bucket, infinite for the last one; NULL: none. */
static void put_name(struct text *text, const struct metric_sample *sample, const char *suffix,
                     const double *le)
{
    const struct metric_desc *desc = &sample->family->desc;
    bool is_first = true;

    text_put_str(text, desc->name);
    text_put_str(text, suffix);
    for (unsigned i = 0; i < desc->n_labels; i++)
        put_label(text, desc->labels[i], sample->values[i], &is_first);
    if (le) {
        text_put_str(text, is_first ? "{le=\"" : ",le=\"");
        put_bound(text, *le);
        text_put_char(text, '"');
        is_first = false;
    }
    text_put_str(text, is_first ? " " : "} ");
}

static void put_histogram(struct text *text, const struct metric_sample *sample)
{
    const struct metric_desc *desc = &sample->family->desc;
    uint64_t count = 0;

    for (unsigned i = 0; i <= desc->n_bounds; i++) {
        double le = i < desc->n_bounds ? desc->bounds[i] : (double)INFINITY;

        count += sample->buckets[i];
        put_name(text, sample, "_bucket", &le);
        text_put_u64(text, count);
        text_put_char(text, '\n');
    }
    put_name(text, sample, "_sum", NULL);
    put_number(text, sample->value);
    text_put_char(text, '\n');
    put_name(text, sample, "_count", NULL);
    text_put_u64(text, sample->count);
    text_put_char(text, '\n');
}

static void put_sample(struct text *text, const struct metric_sample *sample)
{
    if (sample->family->desc.type == METRIC_HISTOGRAM) {
        put_histogram(text, sample);
        return;
    }
    put_name(text, sample, sample->family->desc.type == METRIC_COUNTER ? "_total" : "", NULL);
    put_number(text, sample->value);
    text_put_char(text, '\n');
}

static void put_over_limit(const struct metrics *metrics, enum metrics_format format,
                           struct text *text)
{
    static const struct metric_desc desc = {
        .type = METRIC_COUNTER,
        .name = OVER_LIMIT,
        .help = "Updates of a family beyond its limit of samples, which went into the sample "
                "with the label value other",
    };
    bool has_head = false;

    for (unsigned i = 0; i < metrics->n; i++) {
        const struct metric_family *family = metrics->families[i];

        if (family->n_over_limit == 0)
            continue;
        if (!has_head)
            put_head(text, format, &desc);
        has_head = true;
        text_put_literal(text, OVER_LIMIT "_total{family=\"");
        text_put_str(text, family->desc.name);
        text_put_literal(text, "\"} ");
        text_put_u64(text, family->n_over_limit);
        text_put_char(text, '\n');
    }
}

void metrics_put(const struct metrics *metrics, enum metrics_format format, struct text *text)
{
    for (unsigned i = 0; i < metrics->n; i++) {
        const struct metric_family *family = metrics->families[i];

        if (family->n == 0)
            continue;
        put_head(text, format, &family->desc);
        for (unsigned j = 0; j < family->n; j++)
            put_sample(text, family->samples[j]);
        if (family->other && family->desc.type != METRIC_GAUGE)
            put_sample(text, family->other);
    }
    put_over_limit(metrics, format, text);
    if (format == METRICS_OPENMETRICS)
        text_put_literal(text, "# EOF\n");
}
