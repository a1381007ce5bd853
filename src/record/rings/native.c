/* SPDX-License-Identifier: MIT */
#include "record/rings/native.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/input.h"
#include "base/saturate.h"
#include "base/sparse.h"
#include "base/wide.h"
#include "runtime/sinks/iovec_advance.h"
#include "runtime/uuid.h"

#define METADATA_MAX (256U << 20)
#define UUID_KEY "    uuid = \""
#define EVENT_KEY "\nevent {\n    id = "

static int fail(struct error *error, int err, const char *path)
{
    return error_set(error, err, path, "%s", strerror(-err));
}

/* ---- The metadata ---- */

static void note_described(struct native *native, uint32_t id)
{
    if (id <= CLASS_ID_MAX)
        native->described[id / 8] |= (uint8_t)(1U << id % 8);
}

static bool is_described(const struct native *native, uint32_t id)
{
    return native->described[id / 8] >> id % 8 & 1;
}

/* Writes the text beside the old one and puts it in its place. */
static int put_metadata(struct native *native, struct error *error)
{
    int fd = openat(native->dir, ".metadata", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                    0666);
    int r;

    if (fd < 0)
        return fail(error, -errno, native->path);
    r = write_all(fd, native->text, native->text_len);
    if (r == 0 && fsync(fd) < 0 && errno != EINVAL)
        r = -errno;
    close(fd);
    if (r == 0 && renameat(native->dir, ".metadata", native->dir, "metadata") < 0)
        r = -errno;
    if (r < 0) {
        unlinkat(native->dir, ".metadata", 0);
        return fail(error, r, native->path);
    }
    native->fresh = false;
    return 0;
}

/* The text that is there, and what it says. */
static int read_metadata(struct native *native, struct error *error)
{
    int fd = openat(native->dir, "metadata", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    const char *uuid;
    struct stat st;
    unsigned n = 0;
    int r;

    if (fd < 0)
        return fail(error, -errno, native->path);
    /* -ESTALE is for a trace that is not ours: who hears that gives up what belongs into it. */
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size >= METADATA_MAX)
        r = error_set(error, -ESTALE, native->path, "its metadata cannot be read");
    else
        r = input_read_file(fd, (size_t)st.st_size, native->path, &native->text, &native->text_len,
                            error);
    close(fd);
    if (r < 0)
        return r;
    native->text[native->text_len] = '\0';

    uuid = strstr(native->text, UUID_KEY);
    for (const char *p = uuid ? uuid + strlen(UUID_KEY) : ""; *p && *p != '"' && n < 32; p++) {
        char digit[2] = {*p, 0};

        if (*p == '-')
            continue;
        native->uuid[n / 2] =
            (uint8_t)(native->uuid[n / 2] << 4 | (uint8_t)strtoul(digit, NULL, 16));
        n++;
    }
    if (n != 32 || !strstr(native->text, "tracer_name = \"strata\""))
        return error_set(error, -ESTALE, native->path, "is not a trace that libstrata wrote");
    for (const char *p = native->text; (p = strstr(p, EVENT_KEY)); p++)
        note_described(native, (uint32_t)strtoul(p + strlen(EVENT_KEY), NULL, 10));
    return 0;
}

/* Appends to the text in memory. */
static int append(struct native *native, const char *text, size_t len)
{
    char *all = realloc(native->text, native->text_len + len + 1);

    if (!all)
        return -ENOMEM;
    memcpy(all + native->text_len, text, len);
    native->text = all;
    native->text_len += len;
    all[native->text_len] = '\0';
    return 0;
}

int native_describe(struct native *native, const struct classes *classes, struct error *error)
{
    char *more = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&more, &len);
    bool any = false;
    int r;

    if (!f)
        return fail(error, -ENOMEM, native->path);
    for (unsigned i = 0; i < classes->n; i++)
        if (!is_described(native, classes->in_order[i]->id)) {
            ctf_metadata_put_class(f, classes->in_order[i]);
            any = true;
        }
    /* Where memory is out, glibc leaves no text, and returns 0. */
    r = fclose(f) == 0 && more ? 0 : -ENOMEM;
    if (r == 0 && any)
        r = append(native, more, len);
    free(more);
    if (r < 0)
        return fail(error, r, native->path);
    if (!any && !native->fresh)
        return 0;
    native->fresh = true; /* until it is there: the caller may try again */
    for (unsigned i = 0; i < classes->n; i++)
        note_described(native, classes->in_order[i]->id);
    return put_metadata(native, error);
}

/* Makes the start of METADATA the first event, with the time that readers compute for it. */
static void start_at_first(const struct native *native, struct ctf_metadata *metadata)
{
    struct clock_pair *start = &metadata->start;
    struct clock_pair first = {.ticks = native->first_ticks};
    wide ns;

    if (!native->has_first)
        return;
    ns = wide_sub(wide_of_u64(first.ticks), wide_of_u64(start->ticks));
    ns = wide_div(wide_mul(ns, wide_of(NSEC_PER_SEC)), wide_of_u64(metadata->clock_hz));
    /* A process may state any times. */
    if (wide_fits(wide_add(ns, wide_of(start->monotonic)), &first.monotonic) &&
        wide_fits(wide_add(ns, wide_of(start->realtime)), &first.realtime))
        *start = first;
}

int native_refine(struct native *native, uint64_t clock_hz, struct error *error)
{
    struct ctf_metadata refined = native->metadata;
    char *text = NULL;
    size_t len = 0, start_len;
    FILE *f;

    if (!native->start_len || clock_hz == native->metadata.clock_hz)
        return 0;
    f = open_memstream(&text, &len);
    if (!f)
        return fail(error, -ENOMEM, native->path);
    start_at_first(native, &refined);
    refined.clock_hz = clock_hz;
    ctf_metadata_put_start(f, &refined);
    start_len = (size_t)ftell(f);
    fwrite(native->text + native->start_len, 1, native->text_len - native->start_len, f);
    if (fclose(f) != 0 || !text) {
        free(text);
        return fail(error, -ENOMEM, native->path);
    }
    free(native->text);
    native->text = text;
    native->text_len = len;
    native->start_len = start_len;
    native->metadata = refined;
    return put_metadata(native, error);
}

/* ---- The directory ---- */

/* But for what is left of a trace that was killed while it was made. */
static int is_empty(int directory)
{
    DIR *dir = open_dir_at(directory, ".");
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return -errno;
    while (r == 0 &&
           (entry = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, ".metadata") != 0)
            r = -ENOTEMPTY;
    closedir(dir);
    return r;
}

static int open_dir(const char *path, struct native **ret, struct error *error)
{
    struct native *native = calloc(1, sizeof(*native));

    if (!native)
        return fail(error, -ENOMEM, path);
    native->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    native->path = native->dir >= 0 ? realpath(path, NULL) : NULL;
    if (!native->path) {
        int r = fail(error, -errno, path);

        native_free(native);
        return r;
    }
    *ret = native;
    return 0;
}

int native_create(const char *path, const struct ctf_metadata *metadata, struct native **ret,
                  struct error *error)
{
    static const uint8_t none[16];
    struct ctf_metadata mine = *metadata;
    struct native *native = NULL;
    FILE *f;
    int r;

    if (mkdir(path, 0777) < 0 && errno != EEXIST)
        return fail(error, -errno, path);
    r = open_dir(path, &native, error);
    if (r < 0 || !native)
        return r;
    r = is_empty(native->dir);
    if (r == -ENOTEMPTY)
        r = error_set(error, r, path, "directory is not empty; name another or a new one");
    else if (r < 0)
        r = fail(error, r, path);
    if (r >= 0) {
        if (memcmp(mine.uuid, none, sizeof(none)) == 0)
            uuid_make(mine.uuid);
        memcpy(native->uuid, mine.uuid, sizeof(native->uuid));
        native->fresh = true;
        f = open_memstream(&native->text, &native->text_len);
        if (f) {
            ctf_metadata_put_start(f, &mine);
            r = fclose(f) == 0 && native->text ? 0 : -ENOMEM;
        }
        if (!f || r < 0)
            r = fail(error, -ENOMEM, path);
        native->start_len = native->text_len;
        native->metadata = mine;
    }
    if (r < 0) {
        native_free(native);
        return r;
    }
    *ret = native;
    return 0;
}

int native_open(const char *path, struct native **ret, struct error *error)
{
    struct native *native = NULL;
    int r = open_dir(path, &native, error);

    if (r < 0 || !native)
        return r;
    r = read_metadata(native, error);
    if (r < 0) {
        native_free(native);
        return r;
    }
    *ret = native;
    return 0;
}

int native_complete(const char *path, const uint8_t uuid[16], struct native **ret,
                    struct error *error)
{
    struct native *native = NULL;
    int r = native_open(path, &native, error);

    if (r < 0 || !native)
        return r;
    if (memcmp(native->uuid, uuid, 16) != 0) {
        native_free(native);
        return error_set(error, -ESTALE, path, "holds another trace now");
    }
    *ret = native;
    return 0;
}

void native_free(struct native *native)
{
    if (!native)
        return;
    if (native->dir >= 0)
        close(native->dir);
    free(native->path);
    free(native->text);
    free(native);
}

int native_sync(struct native *native, struct error *error)
{
    /* Some file systems have no such thing for directories. */
    if (fsync(native->dir) < 0 && errno != EINVAL)
        return fail(error, -errno, native->path);
    return 0;
}

/* ---- Streams ---- */

/* Where the packets before SEQUENCE end. The oldest may have been released (record/retention.h). */
static int scan(struct native_stream *stream, uint64_t size, uint64_t sequence, const char *path,
                struct error *error)
{
    uint64_t at = MIN(sparse_begin(stream->fd), size);

    while (size - at >= sizeof(struct ring_packet_header)) {
        struct ring_packet_header header;
        ssize_t n = pread(stream->fd, &header, sizeof(header), (off_t)at);

        if (n != (ssize_t)sizeof(header))
            return error_set(error, n < 0 ? -errno : -EIO, path, "cannot be read");
        if (header.magic != CTF_MAGIC ||
            memcmp(header.uuid, stream->native->uuid, sizeof(header.uuid)) != 0 ||
            header.packet_size % 64 != 0 || header.packet_size / 8 < sizeof(header))
            return error_at(error, -EBADMSG, path, at,
                            "not a packet of the trace; the file is not changed. Use -o to recover "
                            "into another "
                            "directory");
        if (header.packet_size / 8 > size - at || header.packet_seq_num >= sequence)
            break;
        stream->discarded = header.events_discarded;
        stream->time = header.timestamp_end;
        at += header.packet_size / 8;
    }
    stream->length = at;
    return 0;
}

int native_stream_open(struct native *native, unsigned number, uint64_t sequence,
                       struct native_stream *ret, struct error *error)
{
    struct native_stream stream = {.native = native, .number = number, .fd = -1};
    char name[32], path[4096];
    struct stat st;
    int r = 0;

    snprintf(name, sizeof(name), "stream-%u", number);
    snprintf(path, sizeof(path), "%s/%s", native->path, name);
    stream.fd = openat(native->dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (stream.fd < 0) {
        if (errno != ENOENT)
            return fail(error, -errno, path);
        *ret = stream;
        return 0;
    }
    if (fstat(stream.fd, &st) < 0)
        r = fail(error, -errno, path);
    else if (!S_ISREG(st.st_mode))
        r = error_set(error, -EBADMSG, path, "not a regular file");
    else
        r = scan(&stream, (uint64_t)st.st_size, sequence, path, error);
    if (r >= 0 && (uint64_t)st.st_size > stream.length &&
        ftruncate(stream.fd, (off_t)stream.length) < 0)
        r = fail(error, -errno, path);
    if (r < 0) {
        close(stream.fd);
        return r;
    }
    *ret = stream;
    return 0;
}

void native_stream_done(struct native_stream *stream)
{
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

static int write_pieces(int fd, struct iovec *pieces, unsigned n, uint64_t offset)
{
    while (n) {
        ssize_t some = pwritev(fd, pieces, (int)n, (off_t)offset);

        if (some < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        offset += (uint64_t)some;
        n = iovec_advance(&pieces, n, (size_t)some);
    }
    return 0;
}

int native_stream_write(struct native_stream *stream, const struct ring_packet *packet,
                        uint64_t lost)
{
    struct ring_packet_header header = packet->header;
    static const uint8_t zeros[8];
    struct iovec pieces[3];
    size_t padding = (8 - packet->content_size % 8) % 8;
    struct native *native = stream->native;
    size_t size = sizeof(header) + packet->content_size + padding;
    char name[32];
    int r;

    /* A packet that has nothing but a loss is always written. */
    if (native->max_size && packet->content_size > 0) {
        native->full |= native->size + size > native->max_size;
        if (native->full)
            return -EFBIG;
    }
    if (stream->fd < 0) {
        snprintf(name, sizeof(name), "stream-%u", stream->number);
        stream->fd = openat(stream->native->dir, name,
                            O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (stream->fd < 0)
            return -errno;
    }
    memcpy(header.uuid, stream->native->uuid, sizeof(header.uuid));
    header.content_size = (sizeof(header) + packet->content_size) * 8;
    header.packet_size = header.content_size + padding * 8;
    header.events_discarded = MAX(header.events_discarded + lost, stream->discarded);
    header.timestamp_begin = MAX(header.timestamp_begin, stream->time);
    header.timestamp_end = MAX(header.timestamp_end, header.timestamp_begin);
    pieces[0] = (struct iovec){&header, sizeof(header)};
    pieces[1] = (struct iovec){(void *)packet->content, packet->content_size};
    pieces[2] = (struct iovec){(void *)zeros, padding};
    r = write_pieces(stream->fd, pieces, 3, stream->length);
    if (r < 0) {
        /* Nothing torn stays, if it can be helped; the next write goes to the same place anyway. */
        if (ftruncate(stream->fd, (off_t)stream->length) < 0)
            (void)0;
        return r;
    }
    stream->length += size;
    native->size += size;
    if (packet->content_size > 0) {
        native->first_ticks = native->has_first ? MIN(native->first_ticks, header.timestamp_begin)
                                                : header.timestamp_begin;
        native->has_first = true;
    }
    stream->discarded = header.events_discarded;
    stream->time = header.timestamp_end;
    return 0;
}

int native_put_no_ring(struct native *native, uint64_t lost, bool add, uint64_t ticks, uint32_t pid,
                       struct error *error)
{
    struct ring_packet packet = {
        .header = {.magic = CTF_MAGIC,
                   .timestamp_begin = ticks,
                   .timestamp_end = ticks,
                   .content_size = sizeof(struct ring_packet_header) * 8,
                   .packet_size = sizeof(struct ring_packet_header) * 8,
                   .pid = pid},
        .content = (const uint8_t *)"",
    };
    struct native_stream stream = {.native = native, .fd = -1};
    int r = native_stream_open(native, RINGS_MAX, UINT64_MAX, &stream, error);

    if (r < 0)
        return r;
    packet.header.packet_seq_num = stream.length / sizeof(struct ring_packet_header);
    packet.header.events_discarded = add ? add_saturated(lost, stream.discarded) : lost;
    if (packet.header.events_discarded > stream.discarded)
        r = native_stream_write(&stream, &packet, 0);
    native_stream_done(&stream);
    return r < 0 ? fail(error, r, native->path) : 0;
}
