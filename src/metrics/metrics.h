/* SPDX-License-Identifier: MIT */
#pragma once

/* Metrics for a monitoring system: families of counters, gauges and histograms, with labels, and their two text
 * formats, as Prometheus reads them:
 *
 *     METRICS_OPENMETRICS   OpenMetrics 1.0: a counter's metadata has the name without "_total", there is a line UNIT,
 *                           and the text ends with "# EOF"
 *     METRICS_TEXT          the older text format 0.0.4, which node_exporter's textfile collector reads: metadata has the
 *                           name of the samples, and there is no unit
 *
 * Source: https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md and
 * https://prometheus.io/docs/instrumenting/exposition_formats/.
 *
 * A family has at most `max_samples` combinations of label values, so that the labels of what is recorded bound neither
 * memory nor the monitoring system. What comes beyond goes into one more sample, whose label values are all "other"; and
 * of gauges, whose values cannot be added, nowhere. The updates beyond the limit are counted per family, and printed as
 * strata_metrics_over_limit_total. Not thread-safe. */

#include "base/text.h"

#define METRIC_LABELS_MAX 8u
#define METRIC_SAMPLES_DEFAULT 200u

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

enum metrics_format { METRICS_OPENMETRICS, METRICS_TEXT };

/* All borrowed, for as long as the set is there. */
struct metric_desc {
    enum metric_type type;
    unsigned max_samples;      /* 0: METRIC_SAMPLES_DEFAULT */
    const char *name;          /* [a-zA-Z_:][a-zA-Z0-9_:]*, of a counter without "_total" */
    const char *unit;          /* the name ends with "_UNIT"; NULL: none */
    const char *help;          /* a sentence */
    const char *const *labels; /* names: [a-zA-Z_][a-zA-Z0-9_]*, not "le" */
    const double
        *bounds; /* of a histogram: upper bounds of its buckets, in the unit, ascending, finite */
    unsigned n_labels; /* at most METRIC_LABELS_MAX */
    unsigned n_bounds;
};

struct metrics;
struct metric_family;
struct metric_sample;

/* -ENOMEM. */
int metrics_new(struct metrics **ret);
void metrics_free(struct metrics *metrics);

/* The family lives as long as the set; families are printed in the order in which they were added. -EINVAL: DESC breaks
 * one of the rules above; -EEXIST: there is one of that name; -ENOMEM. */
int metrics_add(struct metrics *metrics, const struct metric_desc *desc,
                struct metric_family **ret);

/* The sample of these label values, in the order of the label names, copied; new ones are 0. Beyond the limit that of
 * "other", which of a gauge is never printed. It lives as long as the set. -ENOMEM. */
int metric_sample(struct metric_family *family, const char *const *values,
                  struct metric_sample **ret);

/* Of a counter: V is 0 or more, or it is ignored. */
void metric_add(struct metric_sample *sample, double v);
/* Of a counter that another counter is the source of: adds what TOTAL is more than *LAST, which it updates. A total
 * that is less has begun again at 0, and all of it is added: a counter never goes back. */
void metric_add_since(struct metric_sample *sample, double total, double *last);
void metric_set(struct metric_sample *gauge, double v);
/* Of a histogram; NaN is ignored. */
void metric_observe(struct metric_sample *histogram, double v);
/* Forgets the samples of a gauge, whose handles are invalid from then on: those that are not set again have no value
 * any more. */
void metric_clear(struct metric_family *gauge);

/* Puts all families that have samples. Bytes of labels that are not UTF-8 become U+FFFD. Errors: text->error. */
void metrics_put(const struct metrics *metrics, enum metrics_format format, struct text *text);
