/* SPDX-License-Identifier: MIT */
#pragma once

/* Refuses texts of ftrace, trace-cmd and perf whose options leave out facts that an event needs. */

#include <stdbool.h>
#include <stddef.h>

/* Says what is wrong with a text that begins with the N bytes at HEAD, and what to use instead. The result may be in
 * MESSAGE. NULL: nothing is wrong. */
const char *kernel_form_refused(const char *head, size_t n, char *message, size_t size);
#define KERNEL_FORM_MESSAGE_SIZE 192

/* True if LEN bytes of TEXT are trace-cmd output other than events: results that it has computed, and its own
 * messages. */
bool kernel_form_is_no_event(const char *text, size_t len);
