/* SPDX-License-Identifier: MIT */
#include "serve/guard.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/address.h"
#include "base/number.h"

int guard_init(struct guard *guard, unsigned port)
{
    uint8_t random[SECRET_LEN / 2];
    char *p = guard->secret;

    *guard = (struct guard){.port = port};
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return errno ? -errno : -EIO;
    for (size_t i = 0; i < sizeof random; i++)
        p = number_hex_byte(p, random[i]);
    *p = '\0';
    return 0;
}

void guard_add_host(struct guard *guard, const char *host)
{
    bool brackets = strchr(host, ':');

    if (guard->n_hosts == GUARD_HOSTS_MAX)
        return;
    snprintf(guard->hosts[guard->n_hosts], sizeof guard->hosts[0], "%s%s%s:%u", brackets ? "[" : "",
             host, brackets ? "]" : "", guard->port);
    guard->n_hosts++;
}

/* Takes the same time for each S of this length. */
bool guard_knows_secret(const struct guard *guard, const char *s)
{
    unsigned differences = 0;

    if (strlen(s) != SECRET_LEN)
        return false;
    for (size_t i = 0; i < SECRET_LEN; i++)
        differences |= (unsigned char)s[i] ^ (unsigned char)guard->secret[i];
    return differences == 0;
}

/* True for "192.0.2.1:8080" and "[2001:db8::1]:8080". */
static bool is_address(const char *host, unsigned port)
{
    struct host_port parts;
    char expected[16];

    snprintf(expected, sizeof expected, "%u", port);
    return host_port_parse(host, strlen(host), &parts) == 0 && parts.port &&
           strcmp(parts.port, expected) == 0 && host_port_is_address(&parts);
}

bool guard_accepts_host(const struct guard *guard, const char *host)
{
    char with_port[sizeof guard->hosts[0]];

    if (!host)
        return false;
    /* The port that "http:" means is left out. */
    if (guard->port == 80 && (!strrchr(host, ':') || host[strlen(host) - 1] == ']')) {
        snprintf(with_port, sizeof with_port, "%s:80", host);
        host = with_port;
    }
    for (unsigned i = 0; i < guard->n_hosts; i++)
        if (strcasecmp(guard->hosts[i], host) == 0)
            return true;
    return guard->any_address && is_address(host, guard->port);
}

/* True if ORIGIN is "http://HOST" of our own page. */
static bool is_own_origin(const struct guard *guard, const char *origin)
{
    static const char scheme[] = "http://";

    return strncmp(origin, scheme, sizeof scheme - 1) == 0 &&
           guard_accepts_host(guard, origin + sizeof scheme - 1);
}

const char *guard_refuses(const struct guard *guard, const struct guard_headers *headers,
                          bool is_page)
{
    bool foreign;

    if (!guard_accepts_host(guard, headers->host))
        return "the header Host does not name this server; use the address that strata printed";
    /* A link that the user follows. It shows the page to the user, and nothing to the other site. */
    if (is_page && headers->mode && strcmp(headers->mode, "navigate") == 0 &&
        headers->destination && strcmp(headers->destination, "document") == 0)
        return NULL;
    /* "same-site": another port of this machine, which may be another user's. */
    foreign = headers->site && strcmp(headers->site, "same-origin") != 0 &&
              strcmp(headers->site, "none") != 0;
    if (foreign || (headers->origin && !is_own_origin(guard, headers->origin)))
        return "a page of another site has requested this; open the address that strata printed";
    return NULL;
}
