/* SPDX-License-Identifier: MIT */
#include "libraries/libmicrohttpd.h"

#include "base/library.h"

struct libmicrohttpd libmicrohttpd;

static const struct library_symbol symbols[] = {
#define SYMBOL(name) {"MHD_" #name, offsetof(struct libmicrohttpd, name)},
    LIBMICROHTTPD_FUNCTIONS(SYMBOL)
#undef SYMBOL
        {NULL, 0},
};

static const struct library library = {
    .file = "libmicrohttpd.so.12",
    .package = "libmicrohttpd, Debian's package libmicrohttpd12 or libmicrohttpd12t64",
    .symbols = symbols,
};

void libmicrohttpd_drop_message(void *arg, const char *format, va_list args)
{
    (void)arg;
    (void)format;
    (void)args;
}

int libmicrohttpd_load(struct error *error)
{
    static void *handle;

    return handle ? 0 : library_load(&library, &libmicrohttpd, &handle, error);
}
