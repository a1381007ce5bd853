/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds losses that begin in the selection and that the trace states only after its end. */

#include "event/open_losses.h"
#include "trace/trace.h"

/* Makes LOSSES wait for the CPUs of all sources that state losses late, if SELECTION ends before the trace does. Does
 * nothing if the rest of the trace may not be written yet. 0, -ENOMEM. */
int late_losses_find(const struct trace *trace, const struct selection *selection,
                     struct open_losses *losses);
/* After the selection: reads on until each of these CPUs has an item that tells whether events before it were lost. 0,
 * or as trace_next(). */
int late_losses_read(struct trace *trace, const struct selection *selection,
                     struct open_losses *losses);
