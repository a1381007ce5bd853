/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "format/qemu_log/line.h"
#include "format/qemu_log/qemu_log.h"

/* A name as QEMU's events have them: lower case, in several words. */
static bool looks_like_event(const char *p, const char *end)
{
    size_t len = log_head_name(p, end);

    return len > 0 && *p >= 'a' && *p <= 'z' && memchr(p, '_', len);
}

int qemu_log_probe(const void *head, size_t n)
{
    const char *p = head;
    const char *end = p + n;
    unsigned lines = 0, alike = 0;

    while (p < end && lines < 200) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = newline ? newline : end;
        struct log_head_memory memory = {0};
        struct log_head h;
        const char *rest;

        if (!newline && lines > 0)
            break; /* cut by the end of HEAD */
        if (memchr(p, '\0', (size_t)(line_end - p)))
            break;
        if (line_end > p && line_end[-1] == '\r')
            line_end--;

        log_head_read(&memory, p, line_end, &h);
        rest = h.rest;
        if (h.prefix == LOG_PREFIX_PID && log_head_name(rest, line_end))
            return 2;
        alike += looks_like_event(rest, line_end);
        lines++;
        if (!newline)
            break;
        p = newline + 1;
    }
    return lines > 0 && alike * 4 >= lines * 3;
}
