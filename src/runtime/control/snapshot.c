/* SPDX-License-Identifier: MIT */
#include "runtime/control/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/events.h"
#include "runtime/format.h"
#include "runtime/macro.h"
#include "runtime/process/file.h"
#include "runtime/ring/ring_copy.h"
#include "runtime/sinks/ctf_process.h"
#include "runtime/sinks/output.h"
#include "runtime/uuid.h"
#include "strata/trace.h"

/* Numbers tried for a path with %n in it, should others have left snapshots of such names. */
#define NUMBERS_MAX 10000

/* A snapshot while it is made: beside its place, under a name that begins with a dot. */
struct making {
    char path[PATH_MAX]; /* its place */
    char beside[PATH_MAX];
    int directory; /* the latter, open */
    struct ctf_metadata metadata;
    struct snapshot counts;
};

/* ---- Names ---- */

static bool has_number(const char *dir)
{
    for (const char *p = dir; (p = strchr(p, '%')); p++)
        if (p[1] == 'n')
            return true;
    return false;
}

/* The place of snapshot NUMBER. */
static int place(const char *dir, unsigned number, char ret[PATH_MAX])
{
    char text[PATH_MAX];
    struct line line = {text, text + sizeof(text) - 1, false};
    _cleanup_free_ char *full = NULL;
    size_t len;

    for (const char *p = dir; *p; p++)
        if (p[0] == '%' && p[1] == 'n') {
            line_put_decimal(&line, number);
            p++;
        } else {
            line_put(&line, p, 1);
        }
    *line.at = '\0';
    full = output_path(text);
    if (!full)
        return -ENOMEM;
    len = strlen(full);
    while (len > 1 && full[len - 1] == '/')
        full[--len] = '\0';
    if (line.cut || len + 1 >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(ret, full, len + 1);
    return 0;
}

/* A place that is free. */
static int find_place(const char *dir, char ret[PATH_MAX])
{
    static atomic_uint n_taken;
    unsigned tries = has_number(dir) ? NUMBERS_MAX : 1;
    struct stat st;
    int r;

    while (tries--) {
        r = place(dir, atomic_fetch_add(&n_taken, 1) + 1, ret);
        if (r < 0)
            return r;
        if (lstat(ret, &st) < 0)
            return errno == ENOENT ? 0 : -errno;
    }
    return -EEXIST;
}

static int make_beside(struct making *making)
{
    static atomic_uint n_made;
    const char *name = strrchr(making->path, '/') + 1;
    int n = snprintf(making->beside, sizeof(making->beside), "%.*s.%s.%ld-%u",
                     (int)(name - making->path), making->path, name, (long)getpid(),
                     atomic_fetch_add(&n_made, 1));

    if (n < 0 || (size_t)n + sizeof("/stream-4096") > sizeof(making->beside))
        return -ENAMETOOLONG;
    making->directory = directory_make(making->beside);
    return making->directory < 0 ? making->directory : 0;
}

/* ---- Content ---- */

static int write_file(struct making *making, const char *name, const struct iovec *pieces,
                      unsigned n, struct output *output)
{
    int r = 0;

    if (!output_is_open(output))
        r = output_make(output, making->directory, making->beside, name);
    if (r >= 0)
        r = output_write(output, pieces, n);
    for (unsigned i = 0; i < n && r >= 0; i++)
        making->counts.bytes += pieces[i].iov_len;
    return r;
}

static int write_ring(struct making *making, unsigned number, struct ring_copy *copy)
{
    struct output output = OUTPUT_CLOSED;
    struct ring_reader reader;
    struct ring_packet packet;
    char name[32];
    int r;

    r = ring_reader_init(&reader, copy->memory, copy->length);
    snprintf(name, sizeof(name), "stream-%u", number);
    while (r >= 0 && ring_reader_next(&reader, RING_FLUSH, &packet) > 0) {
        const struct iovec pieces[] = {
            {&packet.header, sizeof(packet.header)},
            {(void *)packet.content,
             (size_t)(packet.header.packet_size / 8) - sizeof(packet.header)},
        };

        memcpy(packet.header.uuid, making->metadata.uuid, sizeof(packet.header.uuid));
        r = write_file(making, name, pieces, 2, &output);
        making->counts.packets += r >= 0;
    }
    making->counts.rings += output_is_open(&output);
    output_done(&output);
    return r;
}

static int write_rings(struct making *making)
{
    unsigned n = ring_count();
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++) {
        struct ring_map *map = ring_at(i);
        struct ring_copy copy;

        if (!map) /* is being made */
            continue;
        r = ring_copy_take(&copy, map, ring_length(i));
        if (r <= 0)
            continue;
        r = write_ring(making, i, &copy);
        ring_copy_done(&copy);
    }
    return r;
}

/* The clock's rate as well as it is known: since the first ring was made, when that is long ago. */
static void describe(struct ctf_metadata *metadata)
{
    const struct ring_map *first = ring_at(0);

    uuid_make(metadata->uuid);
    ctf_metadata_of_process(metadata);
    metadata->start = trace_clock_pair(NULL);
    metadata->clock_hz = 0;
    if (first && metadata->start.monotonic - first->clock_pair.monotonic >= 1000000000)
        metadata->clock_hz = clock_rate(&first->clock_pair, &metadata->start);
    if (metadata->clock_hz == 0)
        metadata->clock_hz = trace_clock_hz();
}

/* Last, so that it describes all that is in the streams: ids are given before they are in records. */
static int write_metadata(struct making *making)
{
    struct output output = OUTPUT_CLOSED;
    _cleanup_free_ char *text = NULL;
    struct iovec piece;
    size_t len;
    int r;

    r = ctf_metadata_text(&making->metadata, class_count(), &text, &len);
    if (r < 0)
        return r;
    piece = (struct iovec){text, len};
    r = write_file(making, "metadata", &piece, 1, &output);
    output_done(&output);
    return r;
}

static void remove_beside(const struct making *making)
{
    char name[sizeof("stream-4294967295")];
    unsigned n = ring_count();

    for (unsigned i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "stream-%u", i);
        unlinkat(making->directory, name, 0);
    }
    unlinkat(making->directory, "metadata", 0);
    rmdir(making->beside);
}

/* ---- The whole ---- */

static int put_in_place(struct making *making, const char *dir)
{
    int r;

    do {
        r = file_rename_new(AT_FDCWD, making->beside, AT_FDCWD, making->path) < 0 ? -errno : 0;
        /* A file system that cannot: rename() replaces an empty directory at most. */
        if (r == -EINVAL || r == -ENOSYS)
            r = rename(making->beside, making->path) < 0 ? -errno : 0;
        if (r == -ENOTEMPTY || r == -ENOTDIR)
            r = -EEXIST;
        /* Another process used the number meanwhile. */
    } while (r == -EEXIST && has_number(dir) && (r = find_place(dir, making->path)) >= 0);
    return r;
}

static int take(struct making *making, const char *dir)
{
    int r;

    r = find_place(dir, making->path);
    if (r < 0)
        return r;
    r = make_beside(making);
    if (r < 0)
        return r;
    describe(&making->metadata);
    r = write_rings(making);
    if (r >= 0)
        r = write_metadata(making);
    if (r >= 0)
        r = put_in_place(making, dir);
    if (r >= 0 && !(making->counts.path = strdup(making->path)))
        r = -ENOMEM;
    if (r < 0)
        remove_beside(making);
    close(making->directory);
    return r;
}

int snapshot_take(const char *dir, struct snapshot *ret)
{
    int saved_errno = errno;
    struct making *making; /* too large for a small stack */
    int r;

    if (!dir || !*dir)
        return -EINVAL;
    making = calloc(1, sizeof(*making));
    if (!making)
        return -ENOMEM;
    r = take(making, dir);
    if (r >= 0)
        *ret = making->counts;
    free(making);
    errno = saved_errno;
    return r < 0 ? r : 0;
}

void snapshot_done(struct snapshot *snapshot)
{
    free(snapshot->path);
    *snapshot = (struct snapshot){0};
}

int strata_trace_snapshot(const char *dir)
{
    struct snapshot snapshot;
    int r = snapshot_take(dir, &snapshot);

    if (r >= 0)
        snapshot_done(&snapshot);
    return r;
}
