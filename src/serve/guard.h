/* SPDX-License-Identifier: MIT */
#pragma once

/* Decides who may read the trace: clients that know the secret. It is a random number, made at each start, and the
 * first part of each path. Further checks guard against pages of other sites in a browser that knows the secret:
 *
 *  - The header Host must name this server, which excludes names of other sites that resolve to our address ("DNS
 *    rebinding").
 *  - Requests from another site's page, as the browser states them (Sec-Fetch-Site, Origin), are refused, except if the
 *    user follows a link to the page.
 *
 * Answers have no CORS header, so browsers show them only to our own pages. Their policy forbids our page to load
 * anything from elsewhere. */

#include "base/error.h"

#define SECRET_LEN 32 /* hexadecimal digits: 128 bits */
#define GUARD_HOSTS_MAX 4

struct guard {
    char secret[SECRET_LEN + 1];
    /* "localhost:8080", in lower case. */
    char hosts[GUARD_HOSTS_MAX][300];
    unsigned n_hosts;
    /* Host may have any numeric address, because the server listens on all addresses of the machine */
    bool any_address;
    unsigned port;
};

/* Makes the secret. A negative errno. */
int guard_init(struct guard *guard, unsigned port);
/* Adds HOST, without a port, as a name of this server; an IPv6 address without brackets. */
void guard_add_host(struct guard *guard, const char *host);

bool guard_knows_secret(const struct guard *guard, const char *s);
/* True if HOST, the header, names this server. NULL: there is no header. */
bool guard_accepts_host(const struct guard *guard, const char *host);

/* What a browser states about the source of a request; NULL if there is no such header. */
struct guard_headers {
    const char *host, *origin, *site, *mode, *destination; /* Sec-Fetch-… */
};
/* Returns NULL if the request may be answered, otherwise the reason. IS_PAGE: it is for the page itself. */
const char *guard_refuses(const struct guard *guard, const struct guard_headers *headers,
                          bool is_page);
