/* SPDX-License-Identifier: MIT */
#include "libraries/libpcre2.h"

#include "base/library.h"

struct libpcre2 libpcre2;

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"pcre2_" #name "_8", offsetof(struct libpcre2, name)},
    LIBPCRE2_FUNCTIONS(SYMBOL)
#undef SYMBOL
        {NULL, 0},
};

static const struct library library = {
    .file = "libpcre2-8.so.0",
    .package = "PCRE2, Debian's package libpcre2-8-0",
    .symbols = symbols,
};

int libpcre2_load(struct error *error)
{
    static void *handle;

    return handle ? 0 : library_load(&library, &libpcre2, &handle, error);
}
