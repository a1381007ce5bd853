/* SPDX-License-Identifier: MIT */
#include "serve/tsp/tsp_uuid.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/number.h"
#include "base/sha256.h"

#define UUID_BYTES 16

/* What a UUID is made of, so that different things have different UUIDs. */
enum uuid_of {
    UUID_TRACE,
    UUID_EXPERIMENT,
};

/* Changes BYTES to be of VERSION in RFC 9562. */
static void put_uuid(uint8_t bytes[UUID_BYTES], unsigned version, char *p)
{
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | version << 4);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    for (unsigned i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *p++ = '-';
        p = number_hex_byte(p, bytes[i]);
    }
    *p = '\0';
}

/* Version 8, whose contents are defined here. */
static void put_hash(enum uuid_of of, const char *const *paths, unsigned n, char *p)
{
    uint8_t digest[SHA256_SIZE];
    struct sha256 sha;
    char kind = (char)of;

    sha256_init(&sha);
    sha256_put(&sha, &kind, 1);
    for (unsigned i = 0; i < n; i++)
        sha256_put(&sha, paths[i], strlen(paths[i]) + 1);
    sha256_end(&sha, digest);
    put_uuid(digest, 8, p);
}

void tsp_uuid_experiment(const struct server *server, char ret[TSP_UUID_SIZE])
{
    put_hash(UUID_EXPERIMENT, server->options.paths, server->options.n_paths, ret);
}

void tsp_uuid_trace(const char *path, char ret[TSP_UUID_SIZE])
{
    put_hash(UUID_TRACE, &path, 1, ret);
}

int tsp_uuid_random(char ret[TSP_UUID_SIZE])
{
    uint8_t bytes[UUID_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return errno ? -errno : -EIO;
    put_uuid(bytes, 4, ret);
    return 0;
}
