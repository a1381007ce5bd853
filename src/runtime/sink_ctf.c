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
    int folder;
    char *path;
    struct ctf_metadata metadata;
    uint32_t n_classes; /* that the metadata describes */
    struct stream *streams[RINGS_MAX];
};

/* Writes the metadata beside the old one and puts it in its place. */
static int put_metadata(struct ctf *ctf, uint32_t n_classes)
{
    struct output output = OUTPUT_CLOSED;
    _cleanup_free_ char *fresh = NULL;
    _cleanup_free_ char *path = NULL;
    _cleanup_free_ char *text = NULL;
    struct iovec piece;
    size_t len;
    int r;

    if (asprintf(&path, "%s/metadata", ctf->path) < 0)
        return -ENOMEM;
    if (asprintf(&fresh, "%s/.metadata", ctf->path) < 0)
        return -ENOMEM;
    r = ctf_metadata_text(&ctf->metadata, n_classes, &text, &len);
    if (r < 0)
        return r;
    r = output_open(&output, fresh, OUTPUT_NEW);
    if (r < 0)
        return r;
    piece = (struct iovec){text, len};
    r = output_write(&output, &piece, 1);
    output_done(&output);
    if (r >= 0 && rename(fresh, path) < 0)
        r = -errno;
    if (r < 0) {
        unlink(fresh);
        return r;
    }
    ctf->n_classes = n_classes;
    return 0;
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

static int ctf_open(struct sink *sink)
{
    char *path = sink_path(sink);
    struct ctf *ctf = calloc(1, sizeof(*ctf));
    int r = -ENOMEM;

    if (!path || !ctf)
        goto fail;
    if (mkdir(path, 0777) < 0 && errno != EEXIST) {
        r = -errno;
        goto fail;
    }
    ctf->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ctf->folder < 0) {
        r = -errno;
        goto fail;
    }
    ctf->path = path;
    r = make_empty(ctf->folder);
    close(ctf->folder);
    if (r < 0)
        goto fail;
    ctf_metadata_of_process(&ctf->metadata);
    ctf->metadata.start = writer_clock_start();
    ctf->metadata.clock_hz = writer_clock_hz();
    writer_uuid(ctf->metadata.uuid);
    r = put_metadata(ctf, class_count());
    if (r < 0)
        goto fail;
    sink->state = ctf;
    return 0;

fail:
    free(path);
    free(ctf);
    return r;
}

static struct stream *stream_of(struct ctf *ctf, unsigned ring)
{
    struct stream *stream = ctf->streams[ring];
    _cleanup_free_ char *path = NULL;

    if (!stream) {
        stream = malloc(sizeof(*stream));
        if (!stream)
            return NULL;
        *stream = (struct stream){.output = OUTPUT_CLOSED};
        ctf->streams[ring] = stream;
    }
    if (!stream->was_opened) {
        if (asprintf(&path, "%s/stream-%u", ctf->path, ring) < 0) {
            path = NULL;
            return stream;
        }
        stream->was_opened = output_open(&stream->output, path, OUTPUT_NEW) >= 0;
    }
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

    bool described = n_classes == ctf->n_classes || put_metadata(ctf, n_classes) >= 0;

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
        (void)put_metadata(ctf, class_count()); /* else the old one stays, and is good */
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
