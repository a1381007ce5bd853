/* SPDX-License-Identifier: MIT */
#pragma once

/* What a recording's recorders report, as metrics. */

#include "metrics/metrics.h"
#include "record/recording.h"

struct metrics_collector;

/* Adds the families to METRICS, which is borrowed. -ENOMEM. */
int metrics_collector_new(struct metrics *metrics, struct metrics_collector **ret);
/* Brings them up to date with RECORDING. A counter never goes back, whatever the recorders say. */
void metrics_collector_run(struct metrics_collector *collector, const struct recording *recording);
void metrics_collector_free(struct metrics_collector *collector);
