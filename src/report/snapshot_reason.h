/* SPDX-License-Identifier: MIT */
#pragma once

/* Why the snapshots of a flight recording that a trace consists of were taken, as their manifests have it. */

#include "base/text.h"
#include "print/json_writer.h"
#include "trace/trace.h"

/* Puts a line for each: "Snapshot saved by the trigger 'exit != 0' at …: killed by signal 6", "Snapshot asked for at …".
 * False: the trace has none, and nothing is put. */
bool snapshot_reasons_put(const struct trace *trace, struct text *text);

/* Writes the member "snapshots", a list of objects, if the trace has any (strata-summary(1)). 0, -ENOMEM. */
int snapshot_reasons_write(const struct trace *trace, struct json_writer *w);
