/* SPDX-License-Identifier: MIT */
#include "libraries/libcurl.h"

#include "base/library.h"

struct libcurl libcurl;

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"curl_" #name, offsetof(struct libcurl, name)},
    LIBCURL_FUNCTIONS(SYMBOL)
#undef SYMBOL
        {NULL, 0},
};

static const struct library library = {
    .file = "libcurl.so.4",
    .package = "libcurl, Debian's package libcurl4 or libcurl4t64",
    .symbols = symbols,
};

int libcurl_load(struct error *error)
{
    static void *handle;
    int r = handle ? 0 : library_load(&library, &libcurl, &handle, error);

    if (r == 0 && libcurl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        r = error_set(error, -ENOMEM, "", "libcurl cannot be initialised");
    return r;
}
