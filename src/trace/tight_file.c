/* SPDX-License-Identifier: MIT */
/* Keeps tightened clocks in the file CACHE/clocks/KEY. Numbers have the byte order of the machine that wrote them:
 *
 *     struct file_head
 *     for each row: struct file_row, its source's name, its pairs, each as three int64_t (host's ns, ticks, error)
 *     SHA-256 of all that
 *
 * A file gets its name when it is complete. Its modification time is the time of its last use. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/fd.h"
#include "base/macro.h"
#include "trace/tighten.h"

#define DIRECTORY "clocks"
#define SIZE_MAX_READ (64u << 20)
#define UNUSED_S_MAX (30 * 86400)

static const char magic[8] = "strclk2";

struct file_head {
    char magic[8];
    uint64_t n_rows, n_items;
};

struct file_row {
    int64_t stated_ns, error_ns, worst_ns, worst_at;
    int64_t extra_ns;
    double limit_least, limit_most;
    uint64_t pairs, violations, hz, n_source, n_pairs;
    char worst[TIGHT_TEXT_SIZE];
};

struct file_pair {
    int64_t host_ns, ticks, error_ns;
};

/* The bytes that are still to be read. */
struct rest {
    const char *p;
    size_t n;
};

static bool take(struct rest *rest, void *ret, size_t size)
{
    if (size > rest->n)
        return false;
    if (ret)
        memcpy(ret, rest->p, size);
    rest->p += size;
    rest->n -= size;
    return true;
}

/* ---- Reading ---- */

static int take_map(struct rest *rest, const struct file_row *row, struct clock_map *ret)
{
    struct clock_map_pair *pairs;
    struct error error = {0};
    int r = 0;

    if (row->n_pairs > rest->n / sizeof(struct file_pair))
        return -EINVAL;
    pairs = calloc(row->n_pairs, sizeof *pairs);
    if (!pairs)
        return -ENOMEM;
    for (uint64_t i = 0; i < row->n_pairs; i++) {
        struct file_pair pair = {0};

        (void)take(rest, &pair, sizeof pair);
        pairs[i] = (struct clock_map_pair){
            .host_ns = pair.host_ns, .ticks = pair.ticks, .error_ns = pair.error_ns};
    }
    r = clock_map_of_pairs(pairs, (unsigned)row->n_pairs, "cause and effect", row->hz, ret, &error);
    free(pairs);
    if (r == 0 && (r = clock_map_limit_rate(ret, row->limit_least, row->limit_most)) < 0)
        clock_map_done(ret);
    if (r == 0)
        ret->extra_ns = row->extra_ns;
    return r;
}

static int take_row(struct rest *rest, struct tight_clock *ret)
{
    struct file_row row = {0};

    if (!take(rest, &row, sizeof row) || row.n_source > rest->n)
        return -EINVAL;
    row.worst[sizeof row.worst - 1] = '\0';
    ret->source = strndup(rest->p, row.n_source);
    if (!ret->source || !take(rest, NULL, row.n_source))
        return -ENOMEM;
    ret->clock = (struct trace_clock){
        .stated_ns = row.stated_ns,
        .error_ns = row.error_ns,
        .pairs = row.pairs,
        .violations = row.violations,
        .worst_ns = row.worst_ns,
        .worst_at = row.worst_at,
    };
    memcpy(ret->worst, row.worst, sizeof ret->worst);
    if (row.n_pairs > 0 && take_map(rest, &row, &ret->map) < 0)
        return -EINVAL;
    ret->clock.is_tightened = row.n_pairs > 0;
    return 0;
}

static struct tight_clocks *parse(const char *bytes, size_t size)
{
    struct tight_clocks *clocks = calloc(1, sizeof *clocks);
    struct rest rest = {bytes, size - SHA256_SIZE};
    uint8_t digest[SHA256_SIZE];
    struct file_head head = {0};
    struct sha256 sha;
    int r = 0;

    sha256_init(&sha);
    sha256_put(&sha, bytes, rest.n);
    sha256_end(&sha, digest);
    if (!clocks || memcmp(digest, bytes + rest.n, sizeof digest) != 0 ||
        !take(&rest, &head, sizeof head) || memcmp(head.magic, magic, sizeof magic) != 0 ||
        head.n_rows > rest.n / sizeof(struct file_row))
        return tight_clocks_free(clocks);
    clocks->n_items = head.n_items;
    clocks->rows = calloc(MAX(head.n_rows, 1u), sizeof *clocks->rows);
    while (r == 0 && clocks->rows && clocks->n < head.n_rows)
        r = take_row(&rest, &clocks->rows[clocks->n++]);
    return r < 0 || !clocks->rows ? tight_clocks_free(clocks) : clocks;
}

struct tight_clocks *tight_clocks_load(const char *cache, const char *key)
{
    _cleanup_(closep) int directory = cache_dir_open(cache, DIRECTORY, false, NULL);
    _cleanup_(closep) int fd = -1;
    _cleanup_free_ char *bytes = NULL;
    struct tight_clocks *clocks = NULL;
    struct stat st;

    if (directory < 0)
        return NULL;
    fd = openat(directory, key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return NULL;
    if (st.st_size > SHA256_SIZE && st.st_size <= (off_t)SIZE_MAX_READ)
        bytes = malloc((size_t)st.st_size);
    if (bytes && pread(fd, bytes, (size_t)st.st_size, 0) == st.st_size)
        clocks = parse(bytes, (size_t)st.st_size);
    if (clocks)
        (void)futimens(fd, NULL);
    else /* it is damaged */
        unlinkat(directory, key, 0);
    return clocks;
}

/* ---- Writing ---- */

static void put_row(struct text *text, const struct tight_clock *tight)
{
    const struct trace_clock *clock = &tight->clock;
    const struct clock_map *map = clock->is_tightened ? &tight->map : NULL;
    struct file_row row = {
        .stated_ns = clock->stated_ns,
        .error_ns = clock->error_ns,
        .worst_ns = clock->worst_ns,
        .worst_at = clock->worst_at,
        .pairs = clock->pairs,
        .violations = clock->violations,
        .extra_ns = map ? map->extra_ns : 0,
        .limit_least = map ? map->limit_least : 0,
        .limit_most = map ? map->limit_most : 0,
        .hz = map ? map->given_hz : 0,
        .n_source = strlen(tight->source),
        .n_pairs = map ? map->n_given : 0,
    };

    memcpy(row.worst, tight->worst, sizeof row.worst);
    text_put(text, (const char *)&row, sizeof row);
    text_put_str(text, tight->source);
    for (unsigned i = 0; map && i < map->n_given; i++) {
        const struct file_pair pair = {map->given[i].host_ns, map->given[i].ticks,
                                       map->given[i].error_ns};

        text_put(text, (const char *)&pair, sizeof pair);
    }
}

static void put_clocks(struct text *text, const struct tight_clocks *clocks)
{
    struct file_head head = {.n_rows = clocks->n, .n_items = clocks->n_items};
    uint8_t digest[SHA256_SIZE];
    struct sha256 sha;

    memcpy(head.magic, magic, sizeof magic);
    text_put(text, (const char *)&head, sizeof head);
    for (unsigned i = 0; i < clocks->n; i++)
        put_row(text, &clocks->rows[i]);
    sha256_init(&sha);
    sha256_put(&sha, text->start, text_len(text));
    sha256_end(&sha, digest);
    text_put(text, (const char *)digest, sizeof digest);
}

static bool is_key(const char *name)
{
    return strlen(name) == CACHE_KEY_SIZE - 1 && strspn(name, "0123456789abcdef") == strlen(name);
}

/* Removes files that were not used for long. */
static void clean(int directory)
{
    const time_t now = time(NULL);
    struct dirent **entries;
    int n = scandirat(directory, ".", &entries, NULL, NULL);

    for (int i = 0; i < n; i++) {
        struct stat st;

        if (is_key(entries[i]->d_name) &&
            fstatat(directory, entries[i]->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && now - st.st_mtime > UNUSED_S_MAX)
            unlinkat(directory, entries[i]->d_name, 0);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

void tight_clocks_save(const char *cache, const char *key, const struct tight_clocks *clocks)
{
    _cleanup_(closep) int directory = cache_dir_open(cache, DIRECTORY, true, NULL);
    _cleanup_(text_done) struct text text = TEXT_IN_MEMORY;
    _cleanup_(closep) int fd = -1;
    char itself[32];

    if (directory < 0)
        return;
    put_clocks(&text, clocks);
    fd = openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (text.error || fd < 0 || write_all(fd, text.start, text_len(&text)) < 0)
        return;
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", fd);
    /* Another process may have kept the same. */
    if (linkat(AT_FDCWD, itself, directory, key, AT_SYMLINK_FOLLOW) == 0)
        clean(directory);
}

struct tight_clocks *tight_clocks_free(struct tight_clocks *clocks)
{
    for (unsigned i = 0; clocks && i < clocks->n; i++) {
        free(clocks->rows[i].source);
        if (clocks->rows[i].clock.is_tightened)
            clock_map_done(&clocks->rows[i].map);
    }
    if (clocks)
        free(clocks->rows);
    free(clocks);
    return NULL;
}
