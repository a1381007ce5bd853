/* SPDX-License-Identifier: MIT */
#pragma once

/* Who may read the trace: those who know the secret. It is a random number that is made at each start, and the first
 * part of each path. The rest of this guards against pages of other sites in a browser that knows it:
 *
 *  - The header Host must name this server, so that a name of another site that resolves to our address ("DNS
 *    rebinding") is not ours.
 *  - What the browser says another site's page has requested (Sec-Fetch-Site, Origin) is refused, but for a link that
 *    the user follows to the page.
 *
 * Answers have no CORS header, so that browsers show them to our own pages only, and a policy by which our page loads
 * nothing from elsewhere. */

#include "base/error.h"

#define SECRET_LEN 32 /* hexadecimal digits: 128 bits */
#define GUARD_HOSTS_MAX 4

struct guard {
    char secret[SECRET_LEN + 1];
    /* "localhost:8080", in lower case. */
    char hosts[GUARD_HOSTS_MAX][300];
    unsigned n_hosts;
    bool any_address; /* any address in digits may be in Host: it listens on all of the machine's */
    unsigned port;
};

/* Makes the secret. -errno. */
int guard_init(struct guard *guard, unsigned port);
/* HOST, without a port, is ours; an IPv6 address without brackets. */
void guard_add_host(struct guard *guard, const char *host);

bool guard_knows_secret(const struct guard *guard, const char *s);
/* Whether HOST, the header, is ours; NULL: there is none. */
bool guard_accepts_host(const struct guard *guard, const char *host);

/* What a browser says of where a request is from; NULL: there is no such header. */
struct guard_headers {
    const char *host, *origin, *site, *mode, *destination; /* Sec-Fetch-… */
};
/* NULL: the request may be answered; otherwise, the reason why not. IS_PAGE: for the page itself. */
const char *guard_refuses(const struct guard *guard, const struct guard_headers *headers,
                          bool is_page);
