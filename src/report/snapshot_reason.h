/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints why the snapshots in a trace were taken, from their manifests. */

#include "base/text.h"
#include "print/json_writer.h"
#include "trace/trace.h"

/* Puts a line for each snapshot: "Snapshot saved by the trigger 'exit != 0' at …: killed by signal 6", "Snapshot asked
 * for at …". False if the trace has none. */
bool snapshot_reasons_put(const struct trace *trace, struct text *text);

/* Writes the member "snapshots", a list of objects, if the trace has any (strata-summary(1)). 0, -ENOMEM. */
int snapshot_reasons_write(const struct trace *trace, struct json_writer *w);
