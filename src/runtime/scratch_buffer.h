/* SPDX-License-Identifier: MIT */
#pragma once

/* Memory for text while it is made, as the stack that an event is emitted on may be an alternate stack of
 * a few KB. Any thread, signal handlers too: neither lock nor malloc(). */

#define SCRATCH_SIZE 4096

/* SCRATCH_SIZE bytes, of any content. NULL: no memory. */
char *scratch_buffer_get(void);
void scratch_buffer_put(char *scratch);
