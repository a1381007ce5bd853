/* SPDX-License-Identifier: MIT */
#include "agent/log.h"

#include <stdarg.h>
#include <stdio.h>

void agent_log(const struct agent_log *log, const char *format, ...)
{
    char text[1024];
    va_list args;

    if (!log || !log->line)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log->line(log->userdata, text);
}

void agent_log_fault(const struct agent_log *log, const struct fault *fault)
{
    char text[sizeof fault->path + sizeof fault->what + 64];

    fault_print(fault, text, sizeof text);
    agent_log(log, "%s", text);
}
