/* SPDX-License-Identifier: MIT */
#pragma once

#include "runtime/macro.h"
#include "strata/trace.h"

/* Says something to the user: by the program's function (strata_trace_set_message()), or on standard
 * error behind the program's name. Not under a lock that the function could want. */
void trace_message(const char *format, ...) _printf_(1, 2);

/* What the calling thread has to say goes to TO, until another is given; NULL: to the user. */
void message_divert(strata_message_function to, void *with);

/* In a child of fork(). */
void message_forget(void);
