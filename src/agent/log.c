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

void agent_log_error(const struct agent_log *log, const struct error *error)
{
    char text[sizeof error->path + sizeof error->what + 64];

    error_print(error, text, sizeof text);
    agent_log(log, "%s", text);
}
