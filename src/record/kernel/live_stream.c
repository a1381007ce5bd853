/* SPDX-License-Identifier: MIT */
#include "record/kernel/live_stream.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "proto/message.h"

/* Requested; the kernel gives less to a process that is not root's. */
#define SOCKET_BYTES (4 << 20)

struct live_packet {
    struct live_packet *next;
    struct guest_packet_head head;
    uint8_t bytes[];
};

int live_pair(int ret_ends[2])
{
    const int bytes = SOCKET_BYTES;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_ends) < 0)
        return -errno;
    if (setsockopt(ret_ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) < 0)
        (void)setsockopt(ret_ends[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return 0;
}

static void drop_first(struct live_stream *stream)
{
    struct live_packet *packet = stream->first;

    stream->first = packet->next;
    if (!stream->first)
        stream->last = NULL;
    stream->queued -= packet->head.size;
    free(packet);
}

static void count_dropped(struct live_stream *stream, const struct guest_packet_head *head)
{
    stream->unshown += head->size;
    stream->gaps[head->cpu] = true;
}

static void drop_all(struct live_stream *stream)
{
    while (stream->first) {
        if (stream->first->head.kind == PACKET_PAGES)
            count_dropped(stream, &stream->first->head);
        drop_first(stream);
    }
}

static void hang_up(struct live_stream *stream)
{
    drop_all(stream);
    if (stream->fd >= 0)
        close(stream->fd);
    stream->fd = -1;
}

/* 1: it was sent; 0: the socket is full; -1: the view has ended. */
static int try_send(const struct live_stream *stream, const struct guest_packet_head *head,
                    const void *p)
{
    int r = guest_packet_send(stream->fd, head, p, NULL, 0);

    if (r == 0)
        return 1;
    return r == -EAGAIN || r == -ENOBUFS ? 0 : -1;
}

void live_stream_flush(struct live_stream *stream)
{
    while (live_stream_has_queued(stream)) {
        int r = try_send(stream, &stream->first->head, stream->first->bytes);

        if (r < 0)
            hang_up(stream);
        if (r <= 0)
            return;
        drop_first(stream);
    }
}

/* False: the queue has no room, or memory is out. */
static bool queue(struct live_stream *stream, const struct guest_packet_head *head, const void *p)
{
    size_t most = head->kind == PACKET_PAGES ? LIVE_QUEUE_MAX : LIVE_FILES_QUEUE_MAX;
    struct live_packet *packet;

    if (stream->queued + head->size > most)
        return false;
    packet = malloc(sizeof *packet + head->size);
    if (!packet)
        return false;
    *packet = (struct live_packet){.head = *head};
    if (head->size)
        memcpy(packet->bytes, p, head->size);
    if (stream->last)
        stream->last->next = packet;
    else
        stream->first = packet;
    stream->last = packet;
    stream->queued += head->size;
    return true;
}

/* Sends one packet, after those that are queued. The view's end is not an error. */
static int send_packet(struct packet_sink *sink, const struct guest_packet_head *head,
                       const void *p)
{
    struct live_stream *stream = container_of(sink, struct live_stream, packets);
    int r = 0;

    live_stream_flush(stream);
    if (stream->fd >= 0 && !stream->first) {
        r = try_send(stream, head, p);
        if (r < 0)
            hang_up(stream);
    }
    if (stream->fd < 0)
        return 0;
    if (r > 0 || queue(stream, head, p)) {
        if (head->kind == PACKET_PAGES)
            stream->gaps[head->cpu] = false;
    } else if (head->kind == PACKET_PAGES) {
        count_dropped(stream, head);
    } else {
        hang_up(stream); /* without it what follows would be shown wrongly */
    }
    return 0;
}

static int pages(struct kernel_sink *sink, uint32_t cpu, uint64_t offset, const void *p,
                 size_t size, struct error *error)
{
    struct live_stream *stream = container_of(sink, struct live_stream, packets.sink);
    const uint8_t *bytes = p;

    (void)error;
    for (size_t at = 0; stream->fd >= 0 && at < size;) {
        struct guest_packet_head head = {
            .kind = PACKET_PAGES,
            .cpu = cpu,
            .size = (uint32_t)MIN(size - at, (size_t)GUEST_PACKET_MAX),
            .offset = offset + at,
        };

        at += head.size;
        stream->offsets[cpu] = offset + at;
        (void)send_packet(&stream->packets, &head, bytes + at - head.size);
    }
    return 0;
}

static int boot(struct kernel_sink *sink, struct error *error)
{
    struct live_stream *stream = container_of(sink, struct live_stream, packets.sink);

    if (stream->fd < 0)
        return 0;
    memset(stream->offsets, 0, PROTO_CPUS_MAX * sizeof *stream->offsets);
    memset(stream->gaps, 0, PROTO_CPUS_MAX * sizeof *stream->gaps);
    return packet_sink_boot(sink, error);
}

static const struct kernel_sink_ops ops = {
    .file_begin = packet_sink_file_begin,
    .file_put = packet_sink_file_put,
    .file_end = packet_sink_file_end,
    .pages = pages,
    .fact = packet_sink_fact,
    .pair = packet_sink_pair,
    .boot = boot,
    .rewind = packet_sink_rewind,
};

int live_stream_init(struct live_stream *stream, int fd)
{
    *stream =
        (struct live_stream){.packets = {.sink = {.ops = &ops}, .send = send_packet}, .fd = fd};
    if (fd < 0)
        return 0;
    stream->offsets = calloc(PROTO_CPUS_MAX, sizeof *stream->offsets);
    stream->gaps = calloc(PROTO_CPUS_MAX, sizeof *stream->gaps);
    return stream->offsets && stream->gaps ? 0 : -ENOMEM;
}

void live_stream_done(struct live_stream *stream)
{
    hang_up(stream);
    free(TAKE_PTR(stream->offsets));
    free(TAKE_PTR(stream->gaps));
}

/* False: nothing could be sent for MS. */
static bool send_all(struct live_stream *stream, unsigned ms)
{
    while (live_stream_has_queued(stream)) {
        struct pollfd fd = {stream->fd, POLLOUT, 0};
        struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

        if (ppoll(&fd, 1, &time, NULL) <= 0)
            return false;
        live_stream_flush(stream);
    }
    return true;
}

void live_stream_drain(struct live_stream *stream, unsigned ms)
{
    bool is_read = send_all(stream, ms);

    drop_all(stream);
    for (uint32_t cpu = 0; stream->fd >= 0 && cpu < PROTO_CPUS_MAX; cpu++)
        if (stream->gaps[cpu]) {
            struct guest_packet_head head = {
                .kind = PACKET_PAGES, .cpu = cpu, .offset = stream->offsets[cpu]};

            (void)send_packet(&stream->packets, &head, "");
        }
    /* The last packet may just have filled the socket. */
    (void)send_all(stream, is_read ? ms : 0);
    drop_all(stream);
}
