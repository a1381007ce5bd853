/* SPDX-License-Identifier: MIT */
#pragma once

/* The functions of PCRE2 that Strata calls, for strings of bytes: libpcre2.compile() is pcre2_compile_8(). */

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"

#define LIBPCRE2_FUNCTIONS(F) \
    F(code_free)              \
    F(compile)                \
    F(get_error_message)      \
    F(get_ovector_pointer)    \
    F(match)                  \
    F(match_context_create)   \
    F(match_context_free)     \
    F(match_data_create)      \
    F(match_data_free)        \
    F(pattern_info)           \
    F(set_heap_limit)         \
    F(set_match_limit)

struct libpcre2 {
#define MEMBER(name) __typeof__(pcre2_##name##_8) *(name);
    LIBPCRE2_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid after libpcre2_load(). */
extern struct libpcre2 libpcre2;

/* Loads PCRE2, once per process. -ELIBACC with ERROR: it is not installed. Do not call it from several threads at
 * once. */
int libpcre2_load(struct error *error);
