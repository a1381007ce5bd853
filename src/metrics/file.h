/* SPDX-License-Identifier: MIT */
#pragma once

/* Metrics in a file, for node_exporter's textfile collector. */

#include "base/error.h"
#include "metrics/metrics.h"

/* Replaces PATH atomically by the metrics in the older text format, readable by all: a process that reads it sees
 * the old version or the new one. The temporary file beside it has a name that the collector, which reads *.prom, does not
 * read. -errno with ERROR: PATH is as it was. */
int metrics_write_file(const struct metrics *metrics, const char *path, struct error *error);
