/* SPDX-License-Identifier: MIT */
#pragma once

/* The functions of libmicrohttpd that Strata calls. Their types are from its own header: libmicrohttpd.run() is
 * MHD_run(). */

#include <microhttpd.h>

#include "base/error.h"

#define LIBMICROHTTPD_FUNCTIONS(F) \
    F(add_response_header)         \
    F(create_response_from_buffer) \
    F(create_response_from_fd64)   \
    F(destroy_response)            \
    F(get_connection_info)         \
    F(get_daemon_info)             \
    F(get_timeout)                 \
    F(lookup_connection_value)     \
    F(queue_response)              \
    F(run)                         \
    F(start_daemon)                \
    F(stop_daemon)

struct libmicrohttpd {
#define MEMBER(name) __typeof__(MHD_##name) *(name);
    LIBMICROHTTPD_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Valid after libmicrohttpd_load(). */
extern struct libmicrohttpd libmicrohttpd;

/* Loads libmicrohttpd, once per process. -ELIBACC with ERROR: it is not installed. Do not call it from several threads
 * at once. */
int libmicrohttpd_load(struct error *error);

/* Calls MHD_start_daemon() with FLAGS, HANDLE and its USERDATA, and OPTIONS, which end with MHD_OPTION_END. Takes over
 * *LISTENER and sets it to -1; if no daemon starts, it is closed. The library's messages are about clients, and are
 * dropped. Returns 0 or a negative errno. */
int libmicrohttpd_start(unsigned flags, int *listener, MHD_AccessHandlerCallback handle,
                        void *userdata, const struct MHD_OptionItem *options,
                        struct MHD_Daemon **ret_daemon);
