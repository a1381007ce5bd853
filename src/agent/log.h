/* SPDX-License-Identifier: MIT */
#pragma once

/* What the agent has to tell people. Its threads tell it here, and whoever runs them decides where it
 * goes. */

#include "base/error.h"
#include "base/macro.h"

struct agent_log {
    /* One line, without a newline. Called from several threads at once; must not block. */
    void (*line)(void *userdata, const char *text);
    void *userdata;
};

/* SAY may be NULL, or without a function: nothing is told. Lines are cut at 1 KiB. */
void agent_log(const struct agent_log *log, const char *format, ...) _printf_(2, 3);
void agent_log_error(const struct agent_log *log, const struct error *error);
