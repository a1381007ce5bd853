/* SPDX-License-Identifier: MIT */
#pragma once

/* The agent's messages. Any thread may log; main.c decides where messages go. */

#include "base/error.h"
#include "base/macro.h"

struct agent_log {
    /* Prints one line, without a newline. Called from several threads at the same time; must not block. */
    void (*line)(void *userdata, const char *text);
    void *userdata;
};

/* Does nothing if LOG is NULL or has no function. Lines are cut at 1 KiB. */
void agent_log(const struct agent_log *log, const char *format, ...) _printf_(2, 3);
void agent_log_error(const struct agent_log *log, const struct error *error);
