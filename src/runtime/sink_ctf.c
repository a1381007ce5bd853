/* SPDX-License-Identifier: MIT */
#include "runtime/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/ctf_metadata.h"
#include "runtime/ctf_process.h"
#include "runtime/events.h"
#include "runtime/file.h"
#include "runtime/macro.h"
#include "runtime/output.h"
#include "runtime/walk.h"
#include "runtime/writer.h"

/* The native trace: a folder with
 *
 *   metadata    what all is, in TSDL; put in place whole, and anew when classes come
 *   stream-N    the packets of ring N, as they lay in memory
 *
 * It can be read at any time: a class stands in the metadata before its first event is in a stream, and
 * a stream ends with a whole packet unless the process was killed in the middle of a write. */

#define PACKETS_AT_ONCE 16

struct stream {
    struct output output;
    bool was_opened; /* if it is not open any more, what is in it is torn: nothing can follow */
    uint64_t lost;   /* events that could not be written: its packets tell */
};

struct ctf {
    char *path;
    dev_t device; /* of the directory */
    ino_t inode;
    struct ctf_metadata metadata;
    uint32_t n_classes; /* that the metadata describes */
    struct stream *streams[RINGS_MAX];
};

/* The trace's directory, if it is still the one that was made. It is not kept open: an open directory
 * cannot be unmounted, and leads out of a chroot. */
static int open_again(const struct ctf *ctf)
{
    int fd = directory_open(ctf->path);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) == 0 && st.st_dev == ctf->device && st.st_ino == ctf->inode)
        return fd;
    close(fd);
    return -ENOENT;
}

/* Writes the metadata beside the old one and puts it in its place. */
static int put_metadata(struct ctf *ctf, int directory, uint32_t n_classes)
{
    struct output output = OUTPUT_CLOSED;
    _cleanup_free_ char *text = NULL;
    struct iovec piece;
    size_t len;
    int r;

    r = ctf_metadata_text(&ctf->metadata, n_classes, &text, &len);
    if (r < 0)
        return r;
    (void)unlinkat(directory, ".metadata", 0); /* of a process that was killed meanwhile */
    r = output_make(&output, directory, ctf->path, ".metadata");
    if (r < 0)
        return r;
    piece = (struct iovec){text, len};
    r = output_write(&output, &piece, 1);
    output_done(&output);
    if (r >= 0 && renameat(directory, ".metadata", directory, "metadata") < 0)
        r = -errno;
    if (r < 0) {
        unlinkat(directory, ".metadata", 0);
        return r;
    }
    ctf->n_classes = n_classes;
    return 0;
}

static int put_metadata_again(struct ctf *ctf, uint32_t n_classes)
{
    int directory = open_again(ctf);
    int r;

    if (directory < 0)
        return directory;
    r = put_metadata(ctf, directory, n_classes);
    close(directory);
    return r;
}

static bool is_ours(const char *name)
{
    return strcmp(name, "metadata") == 0 || strcmp(name, ".metadata") == 0 ||
           strncmp(name, "stream-", 7) == 0;
}

/* A trace that was here before goes; anything else in the folder is somebody's, and then it is not
 * used. */
static int make_empty(int folder)
{
    DIR *dir;
    struct dirent *entry;
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    if (copy < 0)
        return -errno;
    dir = fdopendir(copy);
    if (!dir) {
        close(copy);
        return -ENOMEM;
    }
    while (r == 0 &&
           (entry = readdir(dir))) /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !is_ours(entry->d_name))
            r = -ENOTEMPTY;
    rewinddir(dir);
    while (r == 0 && (entry = readdir(dir)))
        if (is_ours(entry->d_name) && unlinkat(folder, entry->d_name, 0) < 0)
            r = -errno;
    closedir(dir);
    return r;
}

static int begin(struct ctf *ctf, int directory)
{
    struct stat st;
    int r = make_empty(directory);

    if (r < 0)
        return r;
    if (fstat(directory, &st) < 0)
        return -errno;
    ctf->device = st.st_dev;
    ctf->inode = st.st_ino;
    ctf_metadata_of_process(&ctf->metadata);
    ctf->metadata.start = writer_clock_start();
    ctf->metadata.clock_hz = writer_clock_hz();
    writer_uuid(ctf->metadata.uuid);
    return put_metadata(ctf, directory, class_count());
}

static int ctf_open(struct sink *sink)
{
    char *path = sink_path(sink);
    struct ctf *ctf = calloc(1, sizeof(*ctf));
    int directory, r = -ENOMEM;

    if (!path || !ctf)
        goto fail;
    ctf->path = path;
    directory = directory_make(path);
    r = directory < 0 ? directory : begin(ctf, directory);
    if (directory >= 0)
        close(directory);
    if (r < 0)
        goto fail;
    sink->state = ctf;
    return 0;

fail:
    free(path);
    free(ctf);
    return r;
}

static bool make_stream(struct ctf *ctf, struct stream *stream, unsigned ring)
{
    int directory = open_again(ctf);
    char name[32];
    int r;

    if (directory < 0)
        return false;
    snprintf(name, sizeof(name), "stream-%u", ring);
    r = output_make(&stream->output, directory, ctf->path, name);
    close(directory);
    return r >= 0;
}

static struct stream *stream_of(struct ctf *ctf, unsigned ring)
{
    struct stream *stream = ctf->streams[ring];

    if (!stream) {
        stream = malloc(sizeof(*stream));
        if (!stream)
            return NULL;
        *stream = (struct stream){.output = OUTPUT_CLOSED};
        ctf->streams[ring] = stream;
    }
    if (!stream->was_opened)
        stream->was_opened = make_stream(ctf, stream, ring);
    return stream;
}

static uint64_t events_in(const struct ring_packet *packets, unsigned n)
{
    uint64_t events = 0;

    for (unsigned i = 0; i < n; i++)
        events += packet_count_records(&packets[i]);
    return events;
}

static int write_packets(struct ctf *ctf, struct stream *stream, const struct ring_packet *packets,
                         unsigned n)
{
    struct ring_packet_header headers[PACKETS_AT_ONCE];
    struct iovec pieces[2 * PACKETS_AT_ONCE];

    for (unsigned i = 0; i < n; i++) {
        headers[i] = packets[i].header;
        memcpy(headers[i].uuid, ctf->metadata.uuid, sizeof(headers[i].uuid));
        headers[i].events_discarded += stream->lost;
        pieces[2 * i] = (struct iovec){&headers[i], sizeof(headers[i])};
        pieces[2 * i + 1] = (struct iovec){(void *)packets[i].content,
                                           headers[i].packet_size / 8 - sizeof(headers[i])};
    }
    return output_write(&stream->output, pieces, 2 * n);
}

static uint64_t ctf_packets(struct sink *sink, unsigned ring, const struct ring_packet *packets,
                            unsigned n)
{
    struct ctf *ctf = sink->state;
    struct stream *stream = stream_of(ctf, ring);
    uint32_t n_classes = class_count(); /* ids are given before they are in records */
    uint64_t lost = 0;

    bool described = n_classes == ctf->n_classes || put_metadata_again(ctf, n_classes) >= 0;

    if (!stream)
        return events_in(packets, n);
    while (n) {
        unsigned some = MIN(n, (unsigned)PACKETS_AT_ONCE);

        if (!described || write_packets(ctf, stream, packets, some) < 0) {
            uint64_t events = events_in(packets, some);

            stream->lost += events;
            lost += events;
        }
        packets += some;
        n -= some;
    }
    return lost;
}

/* The longer the trace, the better the clock's rate is known. */
static uint64_t ctf_flush(struct sink *sink)
{
    struct ctf *ctf = sink->state;
    uint64_t hz = writer_clock_hz();

    if (hz != ctf->metadata.clock_hz) {
        ctf->metadata.clock_hz = hz;
        (void)put_metadata_again(ctf, class_count()); /* else the old one stays, and is good */
    }
    return 0;
}

const char *sink_ctf_folder(const struct sink *sink)
{
    const struct ctf *ctf = sink->state;

    return ctf->path;
}

static void ctf_close(struct sink *sink)
{
    struct ctf *ctf = sink->state;

    if (!ctf)
        return;
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        if (ctf->streams[i])
            output_done(&ctf->streams[i]->output);
        free(ctf->streams[i]);
    }
    free(ctf->path);
    free(ctf);
    sink->state = NULL;
}

const struct sink_ops sink_ctf = {
    .name = "ctf",
    .path = "strata-%p",
    .open = ctf_open,
    .packets = ctf_packets,
    .flush = ctf_flush,
    .close = ctf_close,
};
