/* SPDX-License-Identifier: MIT */
#pragma once

/* What findings are of: which source, and whether a snapshot was saved for it. */

#include "report/findings.h"
#include "trace/trace.h"

/* Findings about rows that have the same keys name the source. What is about the condition that a snapshot of TRACE was
 * saved for comes first, whatever its share of the time. 0, -ENOMEM. */
int findings_refine(struct findings *findings, const struct trace *trace);
