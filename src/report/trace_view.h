/* SPDX-License-Identifier: MIT */
#pragma once

/* Sets how the events of a trace are shown, line by line. */

#include "print/view.h"
#include "trace/trace.h"

/* Returns the options of a view that depend on TRACE: numbers and names of its inputs, error bounds, layers. They live
 * as long as TRACE. */
struct view_options trace_view_options(struct trace *trace);
/* trace_input_of() for the struct trace ARG, as a callback. */
unsigned trace_view_input_of(void *arg, const struct origin *origin);
