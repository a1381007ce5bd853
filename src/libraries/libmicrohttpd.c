/* SPDX-License-Identifier: MIT */
#include "libraries/libmicrohttpd.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* errno at this thread's last message. When MHD_start_daemon() returns, errno may be of what it has closed since. */
static _Thread_local int message_errno;

static void drop_message(void *arg, const char *format, va_list args)
{
    (void)arg;
    (void)format;
    (void)args;
    if (errno != 0)
        message_errno = errno;
}

int libmicrohttpd_start(unsigned flags, int *listener, MHD_AccessHandlerCallback handle,
                        void *userdata, const struct MHD_OptionItem *options,
                        struct MHD_Daemon **ret_daemon)
{
    const int fd = *listener;
    struct MHD_Daemon *daemon;
    struct stat before, after;
    int r;

    *listener = -1;
    if (fstat(fd, &before) < 0)
        return -errno;
    message_errno = 0;
    errno = 0;
    daemon = libmicrohttpd.start_daemon(flags | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, userdata,
                                        MHD_OPTION_EXTERNAL_LOGGER, drop_message, NULL,
                                        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_STRICT_FOR_CLIENT,
                                        1, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (daemon) {
        *ret_daemon = daemon;
        return 0;
    }
    r = message_errno ? -message_errno : errno ? -errno : -EIO;
    /* The library has closed it, unless it failed early. */
    if (fstat(fd, &after) == 0 && after.st_dev == before.st_dev && after.st_ino == before.st_ino)
        close(fd);
    return r;
}

int libmicrohttpd_load(struct error *error)
{
    static void *handle;

    return handle ? 0 : library_load(&library, &libmicrohttpd, &handle, error);
}
