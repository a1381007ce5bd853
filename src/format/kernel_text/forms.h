/* SPDX-License-Identifier: MIT */
#pragma once

/* Texts of ftrace, trace-cmd and perf whose options leave out what an event needs: no reader can know it. */

#include <stdbool.h>
#include <stddef.h>

/* What is wrong with a text that begins with the N bytes HEAD, and what to use instead, maybe in MESSAGE; NULL: nothing. */
const char *kernel_form_refused(const char *head, size_t n, char *message, size_t size);
#define KERNEL_FORM_MESSAGE_SIZE 192

/* Whether LEN bytes of TEXT are what trace-cmd prints beside events: what it has computed from them, and its own lines. */
bool kernel_form_is_no_event(const char *text, size_t len);
