/* SPDX-License-Identifier: MIT */
#pragma once

/* Compiler attributes and helpers that C11 lacks. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _pure_ __attribute__((pure))
#define _hot_ __attribute__((hot))
#define _cold_ __attribute__((cold, noinline))

/* Marks an array of characters that intentionally has no NUL: newer gcc versions warn otherwise. */
#if defined(__has_attribute) && __has_attribute(nonstring)
#define _nonstring_ __attribute__((nonstring))
#else
#define _nonstring_
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* The structure of TYPE whose member MEMBER is at PTR. */
#define container_of(ptr, type, member) ((type *)(((char *)(ptr)) - offsetof(type, member)))
#define const_container_of(ptr, type, member) \
    ((const type *)(((const char *)(ptr)) - offsetof(type, member)))

/* For _cleanup_: frees what the variable points to. */
static inline void freep(void *p)
{
    free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(freep)

/* Moves the pointer out of a variable, so that its _cleanup_ does nothing. */
#define TAKE_PTR(p)                 \
    ({                              \
        __typeof__(p) taken_ = (p); \
        (p) = NULL;                 \
        taken_;                     \
    })
