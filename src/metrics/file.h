/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes metrics to a file for node_exporter's textfile collector. */

#include "base/error.h"
#include "metrics/metrics.h"

/* Replaces PATH atomically by the metrics in the older text format, readable by all: a process that reads it sees the
 * old version or the new one. The collector reads *.prom, so the temporary file beside it has another name. -errno with
 * ERROR: PATH is unchanged. */
int metrics_write_file(const struct metrics *metrics, const char *path, struct error *error);
