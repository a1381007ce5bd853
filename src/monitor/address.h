/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses a monitor's address, "unix:PATH", "tcp:[HOST]:PORT" or "stdio", and opens its sockets. */

#include <stdbool.h>
#include <sys/types.h>

enum address_kind {
    ADDRESS_STDIO,
    ADDRESS_UNIX,
    ADDRESS_TCP,
};

struct address {
    enum address_kind kind;
    char *path; /* unix */
    char *host; /* tcp; NULL: the loopback address */
    char *port;
};

/* -EINVAL: TEXT is not an address; -ENOMEM. */
int address_parse(const char *text, struct address *ret);
void address_done(struct address *address);

#define ADDRESS_SOCKETS_MAX 8 /* a host may have several addresses */

/* Opens listening sockets, close-on-exec and non-blocking. Returns how many, or a negative errno as
 * strata_monitor_listen() documents. */
int address_listen(const struct address *address, int ret_sockets[ADDRESS_SOCKETS_MAX]);
