/* SPDX-License-Identifier: MIT */
#pragma once

/* What a recording's recorders report, as metrics. */

#include "metrics/metrics.h"
#include "record/recording.h"

struct record_collector;

/* Adds the families to METRICS, which is borrowed. -ENOMEM. */
int record_collector_new(struct metrics *metrics, struct record_collector **ret);
/* Brings them up to date with RECORDING. A counter never goes back, whatever the recorders say. */
void record_collector_run(struct record_collector *collector, const struct recording *recording);
void record_collector_free(struct record_collector *collector);
