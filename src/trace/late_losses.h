/* SPDX-License-Identifier: MIT */
#pragma once

/* Losses that a trace tells only after what is read of it. */

#include "event/open_losses.h"
#include "trace/trace.h"

/* Of what SELECTION reads only in part: LOSSES wait for the CPUs of sources that tell losses late. Not where what follows may not be
 * there yet. 0, -ENOMEM. */
int late_losses_find(const struct trace *trace, const struct selection *selection,
                     struct open_losses *losses);
/* After what is selected: reads on until each of these CPUs has said whether what comes before its next item was lost. 0, or as
 * trace_next(). */
int late_losses_read(struct trace *trace, const struct selection *selection,
                     struct open_losses *losses);
