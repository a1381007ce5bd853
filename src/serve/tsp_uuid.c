/* SPDX-License-Identifier: MIT */
#include "serve/tsp_uuid.h"

#include <string.h>

#include "base/number.h"
#include "base/sha256.h"

/* Version 8 of RFC 9562: what it is made of is ours. */
void tsp_uuid(const struct server *server, enum tsp_uuid_of of, char ret[TSP_UUID_SIZE])
{
    const struct server_options *options = &server->options;
    uint8_t digest[SHA256_SIZE];
    struct sha256 sha;
    char kind = (char)of;
    char *p = ret;

    sha256_init(&sha);
    sha256_put(&sha, &kind, 1);
    for (unsigned i = 0; i < options->n_paths; i++)
        sha256_put(&sha, options->paths[i], strlen(options->paths[i]) + 1);
    sha256_end(&sha, digest);
    digest[6] = (uint8_t)((digest[6] & 0x0f) | 0x80);
    digest[8] = (uint8_t)((digest[8] & 0x3f) | 0x80);
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        p = number_hex_byte(p, digest[i]);
    }
    *p = '\0';
}
