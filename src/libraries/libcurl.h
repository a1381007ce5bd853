/* SPDX-License-Identifier: MIT */
#pragma once

/* The functions of libcurl that Strata calls. Their types are from libcurl's own header: libcurl.easy_init() is
 * curl_easy_init(). */

/* libcurl's macros of the same names would not find these functions. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/error.h"

#define LIBCURL_FUNCTIONS(F) \
    F(easy_cleanup)          \
    F(easy_escape)           \
    F(easy_getinfo)          \
    F(easy_init)             \
    F(easy_perform)          \
    F(easy_setopt)           \
    F(easy_strerror)         \
    F(free)                  \
    F(global_init)           \
    F(slist_append)          \
    F(slist_free_all)        \
    F(url)                   \
    F(url_cleanup)           \
    F(url_get)               \
    F(url_set)

struct libcurl {
#define MEMBER(name) __typeof__(curl_##name) *(name);
    LIBCURL_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid after libcurl_load(). */
extern struct libcurl libcurl;

/* Loads and initialises libcurl, once per process. -ELIBACC with ERROR: it is not installed. Do not call it from
 * several threads at once. */
int libcurl_load(struct error *error);
