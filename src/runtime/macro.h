/* SPDX-License-Identifier: MIT */
#pragma once

/* What the compiler offers and C11 does not name. The runtime stands alone: it is linked into other
 * people's programs and uses nothing of Strata's other layers. */

#include <stdlib.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _cold_ __attribute__((cold, noinline))

/* A constructor of the library: it runs before those of a program that is linked with the archive, which
 * register events and may emit some. Those of a shared library run before them anyway. What messages need
 * comes before all else, which may have messages. */
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
