/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints losses of a trace (analysis/coverage/losses.h) as a sentence and as JSON. */

#include "analysis/coverage/losses.h"
#include "base/text.h"
#include "print/json_writer.h"

/* Puts "12 events were lost (CPU 0: 3, CPU 1: 9)", without a newline; nothing if nothing was lost. */
void losses_put(const struct losses *losses, struct text *text);

/* Writes `{"events":N,"uncounted":N,"places":N,"skipped_bytes":N}`. */
void losses_write_counts(const struct losses *losses, struct json_writer *w);
/* Writes the member `"lost":{"events":N,"uncounted":N,"places":N,"skipped_bytes":N}`. */
void losses_write_json(const struct losses *losses, struct json_writer *w);
