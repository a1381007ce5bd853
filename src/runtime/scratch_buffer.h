/* SPDX-License-Identifier: MIT */
#pragma once

/* Temporary memory for text. The stack is not used for it, because an event may be emitted on an alternate stack of a
 * few KB. Any thread, signal handlers too: uses neither locks nor malloc(). */

#define SCRATCH_SIZE 4096

/* SCRATCH_SIZE bytes with undefined content. NULL: out of memory. */
char *scratch_buffer_get(void);
void scratch_buffer_put(char *scratch);
