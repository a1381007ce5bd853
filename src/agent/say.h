/* SPDX-License-Identifier: MIT */
#pragma once

/* What the agent has to tell people. Its threads tell it here, and whoever runs them decides where it
 * goes. */

#include "base/fault.h"
#include "base/macro.h"

struct say {
    /* One line, without a newline. Called from several threads at once; must not block. */
    void (*line)(void *userdata, const char *text);
    void *userdata;
};

/* SAY may be NULL, or without a function: nothing is told. Lines are cut at 1 KiB. */
void say(const struct say *say, const char *format, ...) _printf_(2, 3);
void say_fault(const struct say *say, const struct fault *fault);
