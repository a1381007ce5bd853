/* SPDX-License-Identifier: MIT */
#pragma once

/* Lines that programs write into trace_marker for timelines, as Android's atrace, crosvm and others do; they are the text of
 * ftrace's event print:
 *
 *     B|PID|NAME          a slice begins on the thread
 *     E, E|PID            the innermost one ends
 *     C|PID|NAME|VALUE    a counter has a value
 *     S|PID|NAME|COOKIE   a slice begins that ends anywhere,
 *     F|PID|NAME|COOKIE   by the same three
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
    int64_t value; /* of C */
};

/* False: the LEN bytes of TEXT are no such line. */
bool marker_parse(const char *text, size_t len, struct marker *ret);
