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
 * A family has at most `max_samples` combinations of label values, because labels from recorded data must not exhaust
 * memory or the monitoring system. Further combinations are added to one more sample, whose label values are all
 * "other". Values of gauges cannot be added, so further ones are dropped. Updates beyond the limit are counted per
 * family, and printed as strata_metrics_over_limit_total. Not thread-safe. */

#include "base/text.h"

#define METRIC_LABELS_MAX 8u
#define METRIC_SAMPLES_DEFAULT 200u

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

enum metrics_format { METRICS_OPENMETRICS, METRICS_TEXT };

/* All pointers are borrowed for the life of the set. */
struct metric_desc {
    enum metric_type type;
    unsigned max_samples;      /* 0: METRIC_SAMPLES_DEFAULT */
    const char *name;          /* [a-zA-Z_:][a-zA-Z0-9_:]*; for a counter without "_total" */
    const char *unit;          /* the name ends with "_UNIT"; NULL: none */
    const char *help;          /* a sentence */
    const char *const *labels; /* names: [a-zA-Z_][a-zA-Z0-9_]*, not "le" */
    /* For a histogram: upper bounds of its buckets, in the unit, ascending, finite. */
    const double *bounds;
    unsigned n_labels; /* at most METRIC_LABELS_MAX */
    unsigned n_bounds;
};

struct metrics;
struct metric_family;
struct metric_sample;

/* -ENOMEM. */
int metrics_new(struct metrics **ret);
void metrics_free(struct metrics *metrics);

/* Adds a family, which lives as long as the set. Families are printed in the order in which they were added. -EINVAL:
 * DESC breaks one of the rules above; -EEXIST: this name exists; -ENOMEM. */
int metrics_add(struct metrics *metrics, const struct metric_desc *desc,
                struct metric_family **ret);

/* Returns the sample with these label values, in the order of the label names. The values are copied; a new sample is
 * 0. Beyond the limit, returns the sample "other", which is never printed for a gauge. The sample lives as long as the
 * set. -ENOMEM. */
int metric_sample(struct metric_family *family, const char *const *values,
                  struct metric_sample **ret);

/* For a counter. Ignores a negative V. */
void metric_add(struct metric_sample *sample, double v);
/* For a counter that follows another counter: adds the increase of TOTAL since *LAST, and updates *LAST. If TOTAL is
 * smaller, it has begun again at 0, and all of it is added: a counter never decreases. */
void metric_add_since(struct metric_sample *sample, double total, double *last);
void metric_set(struct metric_sample *gauge, double v);
/* For a histogram. Ignores NaN. */
void metric_observe(struct metric_sample *histogram, double v);
/* Removes the samples of a gauge, and invalidates their handles: samples that are not set again have no value any
 * more. */
void metric_clear(struct metric_family *gauge);

/* Writes all families that have samples. Bytes of labels that are not UTF-8 become U+FFFD. Errors: text->error. */
void metrics_put(const struct metrics *metrics, enum metrics_format format, struct text *text);
