/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int error_put(struct error *error, int err, const char *path, uint64_t offset, uint32_t line,
              const char *format, va_list args)
{
    if (!error || error->code)
        return err;

    error->code = err;
    error->offset = offset;
    error->line = line;
    snprintf(error->path, sizeof error->path, "%s", path ? path : "");
    vsnprintf(error->what, sizeof error->what, format, args);
    return err;
}

int error_at(struct error *error, int err, const char *path, uint64_t offset, const char *format,
             ...)
{
    va_list args;

    va_start(args, format);
    error_put(error, err, path, offset, 0, format, args);
    va_end(args);
    return err;
}

int error_on_line(struct error *error, int err, const char *path, uint32_t line, const char *format,
                  ...)
{
    va_list args;

    va_start(args, format);
    error_put(error, err, path, ERROR_NO_OFFSET, line, format, args);
    va_end(args);
    return err;
}

int error_set(struct error *error, int err, const char *path, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    error_put(error, err, path, ERROR_NO_OFFSET, 0, format, args);
    va_end(args);
    return err;
}

void error_print(const struct error *error, char *buf, size_t size)
{
    if (error->path[0] == '\0')
        snprintf(buf, size, "%s", error->what);
    else if (error->line != 0)
        snprintf(buf, size, "%s:%" PRIu32 ": %s", error->path, error->line, error->what);
    else if (error->offset != ERROR_NO_OFFSET)
        snprintf(buf, size, "%s: offset %" PRIu64 ": %s", error->path, error->offset, error->what);
    else
        snprintf(buf, size, "%s: %s", error->path, error->what);
}

const char *error_text(int error)
{
    return error == -ENOMEM ? "out of memory" : strerror(-error);
}

void error_clear(struct error *error)
{
    if (error)
        *error = (struct error){.offset = ERROR_NO_OFFSET};
}
