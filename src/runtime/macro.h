/* SPDX-License-Identifier: MIT */
#pragma once

/* Compiler attributes and helpers that C11 lacks. The runtime is linked into other programs and uses nothing of
 * Strata's other layers. */

#include <stdlib.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _cold_ __attribute__((cold, noinline))

/* A constructor of the library. It runs before the constructors of a program that is linked with the archive, which
 * register events and may emit. Constructors of a shared library run before them anyway. The constructor for messages
 * runs before all others, because they may print messages. */
#define RUNS_FIRST __attribute__((constructor(102)))
#define RUNS_BEFORE_MESSAGES __attribute__((constructor(101)))

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static inline void freep(void *p)
{
    free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(freep)
