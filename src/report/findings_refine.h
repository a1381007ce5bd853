/* SPDX-License-Identifier: MIT */
#pragma once

/* Completes findings: names their sources, and relates them to the trigger of a snapshot. */

#include "report/findings.h"
#include "trace/trace.h"

/* Adds the source's name to findings about rows with equal keys. If TRACE is a snapshot, moves the finding about its
 * condition to the front, whatever its share of the time. 0, -ENOMEM. */
int findings_refine(struct findings *findings, const struct trace *trace);
