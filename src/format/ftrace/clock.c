/* SPDX-License-Identifier: MIT */
#include "format/ftrace/clock.h"

#include <string.h>

#include "base/macro.h"

/* Source: Linux Documentation/trace/ftrace.rst, trace_clock. */
static const struct {
    const char *kernel;
    struct clock clock;
} clocks[] = {
    {"local", {"local", NANOSECONDS}},
    {"global", {"global", NANOSECONDS}},
    {"perf", {"perf", NANOSECONDS}},
    {"mono", {"monotonic", NANOSECONDS}},
    {"mono_raw", {"mono_raw", NANOSECONDS}},
    {"boot", {"boot", NANOSECONDS}},
    {"tai", {"tai", NANOSECONDS}},
    /* Jiffies, in the unit in which the kernel shows them to programs. */
    {"uptime", {"uptime", 100}},
    /* A number that each event raises by one. */
    {"counter", {"counter", 0}},
    {"x86-tsc", {"x86-tsc", 0}},
    {"ppc-tb", {"ppc-tb", 0}},
    {"s390-tod", {"s390-tod", 0}},
};

struct clock ftrace_clock(const char *text, size_t len)
{
    const char *end = text + len;
    const char *open = memchr(text, '[', len);
    const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;

    if (close) {
        text = open + 1;
        end = close;
    }
    while (end > text && (end[-1] == '\n' || end[-1] == ' ' || end[-1] == '\0'))
        end--;
    for (size_t i = 0; i < ARRAY_SIZE(clocks); i++)
        if (strlen(clocks[i].kernel) == (size_t)(end - text) &&
            memcmp(clocks[i].kernel, text, (size_t)(end - text)) == 0)
            return clocks[i].clock;
    return (struct clock){"unknown", NANOSECONDS};
}
