/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what causes and effects tell about the clocks of a trace (trace/clocks.h), below the tables of analyses. */

#include "base/text.h"
#include "print/json_writer.h"
#include "trace/trace.h"

/* Puts "within 29us (stated 174us), by 1234 causes and effects". */
void causal_put_row(struct text *text, const struct trace_clock *clock);

/* Puts lines below the table of an analysis; nothing if there are no rows. */
void causal_put_lines(struct text *text, const struct trace_clocks *clocks);
/* Writes the member `"clocks":[…]`; nothing if there are no rows. */
void causal_write_json(struct json_writer *w, const struct trace_clocks *clocks);
