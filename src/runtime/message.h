/* SPDX-License-Identifier: MIT */
#pragma once

#include "runtime/macro.h"
#include "strata/trace.h"

/* Prints a message for the user, by the program's function (strata_trace_set_message()) or to standard error after the
 * program's name. Do not call it under a lock that this function may need. */
void trace_message(const char *format, ...) _printf_(1, 2);

/* Sends the calling thread's messages to TO until the next call; NULL: to the user. */
void message_divert(strata_message_function to, void *with);

/* In a child of fork(). */
void message_forget(void);
