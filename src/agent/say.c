/* SPDX-License-Identifier: MIT */
#include "agent/say.h"

#include <stdarg.h>
#include <stdio.h>

void say(const struct say *say, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (!say || !say->line)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    say->line(say->userdata, text);
}

void say_fault(const struct say *say_to, const struct fault *fault)
{
    char text[sizeof fault->path + sizeof fault->what + 64];

    fault_print(fault, text, sizeof text);
    say(say_to, "%s", text);
}
