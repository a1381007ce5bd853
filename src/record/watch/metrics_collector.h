/* SPDX-License-Identifier: MIT */
#pragma once

/* Converts the statistics of a recording's recorders to metrics. */

#include "metrics/metrics.h"
#include "record/recording.h"

struct metrics_collector;

/* Adds the families to METRICS, which is borrowed. -ENOMEM. */
int metrics_collector_new(struct metrics *metrics, struct metrics_collector **ret);
/* Updates the metrics from RECORDING. A counter never decreases, whatever the recorders report. */
void metrics_collector_run(struct metrics_collector *collector, const struct recording *recording);
void metrics_collector_free(struct metrics_collector *collector);
