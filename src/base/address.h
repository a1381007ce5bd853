/* SPDX-License-Identifier: MIT */
#pragma once

/* Addresses of sockets as people write them. Which parts an address has, and what precedes it ("tcp:"), its caller
 * knows. */

#include <sys/un.h>

#include "base/macro.h"

/* Parts of the text, which they point into. */
struct host_port {
    const char *host;
    size_t host_len;  /* 0: none is given */
    const char *port; /* to the end of the text; NULL: none is given */
    size_t port_len;
};

/* "HOST", "HOST:PORT", ":PORT", "[HOST]" or "[HOST]:PORT", LEN bytes. An IPv6 address that has a port is in brackets.
 * -EINVAL: it is none of these. */
int host_port_parse(const char *text, size_t len, struct host_port *ret);

/* "A" or "A:B", numbers below UINT32_MAX: a port, or what a vsock address consists of. Returns how many there are;
 * -EINVAL. */
int number_pair_parse(const char *text, uint32_t ret_numbers[2]);

/* The address of the socket PATH. -EINVAL: the path is empty; -ENAMETOOLONG. */
int unix_address(const char *path, struct sockaddr_un *ret_address);
