/* SPDX-License-Identifier: MIT */
#pragma once

/* Lines that programs such as Android's atrace and crosvm write into trace_marker for timelines. They are the text of
 * ftrace's event print:
 *
 *     B|PID|NAME          a slice begins on the thread
 *     E, E|PID            the innermost slice ends
 *     C|PID|NAME|VALUE    a counter has a value
 *     S|PID|NAME|COOKIE   a slice begins that may end on any thread,
 *     F|PID|NAME|COOKIE   at the line with the same PID, NAME and COOKIE
 *
 * Source: Android's system/core/libcutils/include/cutils/trace.h describes them; what crosvm writes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct marker {
    char kind; /* B, C, S or F: an end has nothing more */
    int32_t pid;
    const char *name; /* borrowed */
    size_t len;
    int64_t value; /* of a counter */
};

/* Parses TEXT, LEN bytes. Returns false if it is not such a line. */
bool marker_parse(const char *text, size_t len, struct marker *ret);
