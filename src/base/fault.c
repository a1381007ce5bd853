/* SPDX-License-Identifier: MIT */
#include "base/fault.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int fill(struct fault *fault, int error, const char *path, uint64_t offset, uint32_t line,
                const char *format, va_list args)
{
    if (!fault || fault->error)
        return error;

    fault->error = error;
    fault->offset = offset;
    fault->line = line;
    snprintf(fault->path, sizeof fault->path, "%s", path ? path : "");
    vsnprintf(fault->what, sizeof fault->what, format, args);
    return error;
}

int fault_at(struct fault *fault, int error, const char *path, uint64_t offset, const char *format,
             ...)
{
    va_list args;

    va_start(args, format);
    fill(fault, error, path, offset, 0, format, args);
    va_end(args);
    return error;
}

int fault_line(struct fault *fault, int error, const char *path, uint32_t line, const char *format,
               ...)
{
    va_list args;

    va_start(args, format);
    fill(fault, error, path, FAULT_NO_OFFSET, line, format, args);
    va_end(args);
    return error;
}

int fault_plain(struct fault *fault, int error, const char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(fault, error, path, FAULT_NO_OFFSET, 0, format, args);
    va_end(args);
    return error;
}

void fault_print(const struct fault *fault, char *buf, size_t size)
{
    if (fault->path[0] == '\0')
        snprintf(buf, size, "%s", fault->what);
    else if (fault->line != 0)
        snprintf(buf, size, "%s:%" PRIu32 ": %s", fault->path, fault->line, fault->what);
    else if (fault->offset != FAULT_NO_OFFSET)
        snprintf(buf, size, "%s: offset %" PRIu64 ": %s", fault->path, fault->offset, fault->what);
    else
        snprintf(buf, size, "%s: %s", fault->path, fault->what);
}

const char *error_text(int error)
{
    return error == -ENOMEM ? "out of memory" : strerror(-error);
}

void fault_clear(struct fault *fault)
{
    *fault = (struct fault){.offset = FAULT_NO_OFFSET};
}
