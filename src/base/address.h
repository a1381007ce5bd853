/* SPDX-License-Identifier: MIT */
#pragma once

/* Parsing socket addresses. The caller knows which parts an address has and strips the prefix ("tcp:"). */

#include <sys/socket.h>
#include <sys/un.h>

#include "base/macro.h"

/* Point into the parsed text. */
struct host_port {
    const char *host;
    size_t host_len;  /* 0: no host given */
    const char *port; /* to the end of the text; NULL: no port given */
    size_t port_len;
};

/* Parses LEN bytes: "HOST", "HOST:PORT", ":PORT", "[HOST]" or "[HOST]:PORT". An IPv6 address with a
 * port must be in brackets. -EINVAL: none of these. */
int host_port_parse(const char *text, size_t len, struct host_port *ret);

/* True if the parsed HOST is an IP address in digits. */
bool host_port_is_address(const struct host_port *host_port);

/* True if only this machine reaches ADDRESS, of IPv4 or IPv6. */
bool address_is_loopback(const struct sockaddr *address);

/* Parses "A" or "A:B", numbers below UINT32_MAX: a port, or a vsock address. Returns the number of numbers; -EINVAL. */
int number_pair_parse(const char *text, uint32_t ret_numbers[2]);

/* Fills the address of the socket PATH. -EINVAL: PATH is empty; -ENAMETOOLONG. */
int unix_address(const char *path, struct sockaddr_un *ret_address);
