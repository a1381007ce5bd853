/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/sink.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/clock.h"
#include "runtime/events.h"
#include "runtime/macro.h"
#include "runtime/process/file.h"
#include "runtime/process/proc_file.h"
#include "runtime/ring/ring_cursor.h"
#include "runtime/scratch_buffer.h"
#include "runtime/sinks/ctf_metadata.h"
#include "runtime/sinks/ctf_process.h"
#include "runtime/sinks/drain_pass.h"
#include "runtime/sinks/output.h"

/* The native trace: a directory with
 *
 *   metadata    what all is, in TSDL; replaced as a whole when classes are added
 *   stream-N    the packets of ring N, as they lay in memory; the last N, 4096, is of no ring: its packets
 *               have no events, but report those whose threads got no ring
 *
 * It can be read at any time: a class stands in the metadata before its first event is in a stream, and
 * a stream ends with a whole packet unless the process was killed in the middle of a write. */

#define PACKETS_AT_ONCE 16

struct stream {
    struct output output;
    bool was_opened; /* if it is not open any more, what is in it is torn: nothing can follow */
    uint64_t lost;   /* events that could not be written: its packets report them */
    uint64_t losses; /* all that its packets report */
};

struct ctf {
    char *path;
    dev_t device; /* of the directory */
    ino_t inode;
    struct ctf_metadata metadata;
    uint32_t n_classes;                    /* that the metadata describes */
    struct stream *streams[RINGS_MAX + 1]; /* the last stream is for RING_NONE */
};

/* Opens the trace's directory, if it is still the same. It is not kept open, because an open directory cannot be
 * unmounted, and leads out of a chroot. */
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

/* Removes an earlier trace from the directory. A directory that holds any other file is refused. */
static int make_empty(int directory)
{
    DIR *dir;
    struct dirent *entry;
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
        if (is_ours(entry->d_name) && unlinkat(directory, entry->d_name, 0) < 0)
            r = -errno;
    closedir(dir);
    return r;
}

/* Whether another process, whose number the metadata has, writes the trace in DIRECTORY: it lives, and began before. */
static bool is_written(int directory)
{
    static const char mark[] = "\n    vpid = ";
    int fd = openat(directory, "metadata", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    uint64_t began = 0, age = 0;
    char *text = scratch_buffer_get();
    ssize_t len = fd >= 0 && text ? read(fd, text, SCRATCH_SIZE - 1) : -1;
    struct stat st;

    if (len > 0 && fstat(fd, &st) == 0) {
        const char *pid;
        long number;

        text[len] = '\0';
        pid = strstr(text, mark);
        number = pid ? strtol(pid + sizeof(mark) - 1, NULL, 10) : 0;
        if (number > 0 && number != getpid())
            began = proc_start_of((pid_t)number);
        age = trace_clock_ns(CLOCK_REALTIME) -
              ((uint64_t)st.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)st.st_mtim.tv_nsec);
    }
    if (fd >= 0)
        close(fd);
    if (text)
        scratch_buffer_put(text);
    return began > 0 && began + age < trace_clock_ns(CLOCK_BOOTTIME);
}

static int begin(struct ctf *ctf, int directory)
{
    struct stat st;
    int r = is_written(directory) ? -EBUSY : make_empty(directory);

    if (r < 0)
        return r;
    if (fstat(directory, &st) < 0)
        return -errno;
    ctf->device = st.st_dev;
    ctf->inode = st.st_ino;
    ctf_metadata_of_process(&ctf->metadata);
    ctf->metadata.start = pass_clock_start();
    ctf->metadata.clock_hz = pass_clock_hz();
    pass_uuid(ctf->metadata.uuid);
    return put_metadata(ctf, directory, class_count());
}

static int ctf_open(struct trace_sink *sink)
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

static int make_stream(struct ctf *ctf, struct stream *stream, unsigned ring)
{
    int directory = open_again(ctf);
    char name[32];
    int r;

    if (directory < 0)
        return directory;
    snprintf(name, sizeof(name), "stream-%u", ring);
    r = output_make(&stream->output, directory, ctf->path, name);
    close(directory);
    return r;
}

/* Takes the descriptor of another stream, which opens its file again for its next packet. */
static bool park_another(struct ctf *ctf, const struct stream *stream)
{
    for (unsigned i = 0; i <= RING_NONE; i++)
        if (ctf->streams[i] && ctf->streams[i] != stream && output_park(&ctf->streams[i]->output))
            return true;
    return false;
}

static bool is_shortage(int r)
{
    return r == -EMFILE || r == -ENFILE;
}

/* The program may have no descriptors left. The descriptors of one stream are enough for all streams. */
static int open_stream(struct ctf *ctf, struct stream *stream, unsigned ring)
{
    int r;

    if (stream->was_opened)
        return 0;
    do
        r = make_stream(ctf, stream, ring);
    while (is_shortage(r) && park_another(ctf, stream));
    stream->was_opened = r >= 0;
    return r;
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
    return stream;
}

static int write_packets(struct trace_sink *sink, struct stream *stream,
                         const struct ring_packet *packets, unsigned n)
{
    struct ctf *ctf = sink->state;
    struct ring_packet_header headers[PACKETS_AT_ONCE];
    struct iovec pieces[2 * PACKETS_AT_ONCE];
    int r;

    for (unsigned i = 0; i < n; i++) {
        headers[i] = packets[i].header;
        memcpy(headers[i].uuid, ctf->metadata.uuid, sizeof(headers[i].uuid));
        headers[i].events_discarded += stream->lost;
        pieces[2 * i] = (struct iovec){&headers[i], sizeof(headers[i])};
        pieces[2 * i + 1] = (struct iovec){
            (void *)packets[i].content, (size_t)(headers[i].packet_size / 8) - sizeof(headers[i])};
    }
    do
        r = output_write(&stream->output, pieces, 2 * n);
    while (is_shortage(r) && park_another(ctf, stream));
    if (r < 0)
        return r;
    if (n > 0)
        stream->losses = headers[n - 1].events_discarded;
    return 0;
}

/* The stream of a ring, ready for packets. */
static int prepare(struct trace_sink *sink, unsigned ring, struct stream **ret)
{
    struct ctf *ctf = sink->state;
    uint32_t n_classes = class_count(); /* ids are given before they are in records */
    int r = 0;

    *ret = stream_of(ctf, ring);
    if (!*ret)
        return -ENOMEM;
    if (n_classes != ctf->n_classes) {
        do
            r = put_metadata_again(ctf, n_classes);
        while (is_shortage(r) && park_another(ctf, NULL));
    }
    return r < 0 ? r : open_stream(ctf, *ret, ring);
}

/* As many as there is space for: first many at once, then one by one. */
static unsigned ctf_packets(struct trace_sink *sink, unsigned ring,
                            const struct ring_packet *packets, unsigned n)
{
    struct stream *stream;
    unsigned done = 0, at_once = PACKETS_AT_ONCE;
    int r;

    r = prepare(sink, ring, &stream);
    while (r >= 0 && done < n) {
        unsigned some = MIN(n - done, at_once);

        r = write_packets(sink, stream, packets + done, some);
        if (r >= 0) {
            done += some;
        } else if (some > 1) {
            at_once = 1;
            r = 0;
        }
    }
    sink->error = r;
    return done;
}

static void ctf_packets_lost(struct trace_sink *sink, unsigned ring, uint64_t events)
{
    struct stream *stream = stream_of(sink->state, ring);

    if (stream)
        stream->lost += events;
}

static int ctf_losses(struct trace_sink *sink, unsigned ring, const struct ring_packet *packet)
{
    const struct ctf *ctf = sink->state;
    const struct stream *before = ctf->streams[ring];
    struct stream *stream;
    int r;

    if (packet->header.events_discarded + (before ? before->lost : 0) <=
        (before ? before->losses : 0))
        return 0;
    r = prepare(sink, ring, &stream);
    if (r >= 0)
        r = write_packets(sink, stream, packet, 1);
    if (r < 0)
        sink->error = r;
    return r < 0 ? r : 1;
}

static uint64_t ctf_reported(const struct trace_sink *sink, unsigned ring)
{
    const struct ctf *ctf = sink->state;

    return ctf->streams[ring] ? ctf->streams[ring]->losses : 0;
}

/* The longer the trace, the better the clock's rate is known. */
static uint64_t ctf_flush(struct trace_sink *sink)
{
    struct ctf *ctf = sink->state;
    uint64_t hz = pass_clock_hz();

    if (hz != ctf->metadata.clock_hz) {
        ctf->metadata.clock_hz = hz;
        (void)put_metadata_again(ctf, class_count()); /* else the old one stays, and is good */
    }
    return 0;
}

const char *sink_ctf_dir(const struct trace_sink *sink)
{
    const struct ctf *ctf = sink->state;

    return ctf->path;
}

static void ctf_close(struct trace_sink *sink)
{
    struct ctf *ctf = sink->state;

    if (!ctf)
        return;
    for (unsigned i = 0; i <= RING_NONE; i++) {
        if (ctf->streams[i])
            output_done(&ctf->streams[i]->output);
        free(ctf->streams[i]);
    }
    free(ctf->path);
    free(ctf);
    sink->state = NULL;
}

const struct trace_sink_ops sink_ctf = {
    .name = "ctf",
    .path = "strata-%p",
    .open = ctf_open,
    .packets = ctf_packets,
    .packets_lost = ctf_packets_lost,
    .losses = ctf_losses,
    .reported = ctf_reported,
    .flush = ctf_flush,
    .close = ctf_close,
};
