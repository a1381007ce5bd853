/* SPDX-License-Identifier: MIT */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

int host_port_parse(const char *text, size_t len, struct host_port *ret)
{
    const char *end = text + len;
    const char *colon = memchr(text, ':', len);
    struct host_port parts = {.host = text};

    if (len > 0 && text[0] == '[') {
        const char *bracket = memchr(text, ']', len);

        if (!bracket || (bracket + 1 < end && bracket[1] != ':'))
            return -EINVAL;
        parts.host = text + 1;
        parts.host_len = (size_t)(bracket - parts.host);
        colon = bracket + 1 < end ? bracket + 1 : NULL;
    } else if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
        parts.host_len = len; /* an IPv6 address without a port */
        colon = NULL;
    } else {
        parts.host_len = colon ? (size_t)(colon - text) : len;
    }
    if (colon) {
        parts.port = colon + 1;
        parts.port_len = (size_t)(end - parts.port);
    }
    if (colon ? parts.port_len == 0 : parts.host_len == 0)
        return -EINVAL;
    *ret = parts;
    return 0;
}

bool host_port_is_address(const struct host_port *host_port)
{
    unsigned char unused[sizeof(struct in6_addr)];
    char address[64];

    if (host_port->host_len >= sizeof address)
        return false;
    memcpy(address, host_port->host, host_port->host_len);
    address[host_port->host_len] = '\0';
    return inet_pton(AF_INET, address, unused) == 1 || inet_pton(AF_INET6, address, unused) == 1;
}

bool address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
           IN_LOOPBACKNET;
}

int number_pair_parse(const char *text, uint32_t ret_numbers[2])
{
    uint32_t numbers[2];
    int n = 0;

    do {
        uint64_t v = 0;

        if (n == 2 || *text < '0' || *text > '9')
            return -EINVAL;
        for (; *text >= '0' && *text <= '9'; text++)
            v = MIN(v * 10 + (unsigned)(*text - '0'), (uint64_t)UINT32_MAX);
        if (v == UINT32_MAX)
            return -EINVAL;
        numbers[n++] = (uint32_t)v;
    } while (*text++ == ':');
    if (text[-1] != '\0')
        return -EINVAL;
    memcpy(ret_numbers, numbers, (size_t)n * sizeof *numbers);
    return n;
}

int unix_address(const char *path, struct sockaddr_un *ret_address)
{
    size_t len = strlen(path);

    if (len == 0)
        return -EINVAL;
    if (len >= sizeof ret_address->sun_path)
        return -ENAMETOOLONG;
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret_address->sun_path, path, len + 1);
    return 0;
}
