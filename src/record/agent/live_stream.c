/* SPDX-License-Identifier: MIT */
#include "record/agent/live_stream.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "proto/message.h"

/* Asked for; the kernel gives who is not root less. */
#define SOCKET_BYTES (4 << 20)

struct live_message {
    struct live_message *next;
    struct live_head head;
    size_t size;
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

int live_stream_init(struct live_stream *out, int fd)
{
    *out = (struct live_stream){.fd = fd};
    if (fd < 0)
        return 0;
    out->offsets = calloc(PROTO_CPUS_MAX, sizeof *out->offsets);
    out->gaps = calloc(PROTO_CPUS_MAX, sizeof *out->gaps);
    return out->offsets && out->gaps ? 0 : -ENOMEM;
}

/* Takes the first message off the queue. */
static void drop_first(struct live_stream *out)
{
    struct live_message *message = out->first;

    out->first = message->next;
    if (!out->first)
        out->last = NULL;
    out->queued -= message->size;
    free(message);
}

/* Nothing that waits is going to be shown. */
static void drop_all(struct live_stream *out)
{
    while (out->first) {
        if (out->first->head.kind == LIVE_PAGES) {
            out->unshown += out->first->size;
            out->gaps[out->first->head.cpu] = true;
        }
        drop_first(out);
    }
}

static void hang_up(struct live_stream *out)
{
    drop_all(out);
    if (out->fd >= 0)
        close(out->fd);
    out->fd = -1;
}

void live_stream_done(struct live_stream *out)
{
    hang_up(out);
    free(TAKE_PTR(out->offsets));
    free(TAKE_PTR(out->gaps));
}

/* 1: it is sent; 0: the socket is full; -1: nobody is there. */
static int try_send(const struct live_stream *out, const struct live_head *head, const void *p,
                    size_t size)
{
    struct iovec iov[2] = {{(void *)(uintptr_t)head, sizeof *head}, {(void *)(uintptr_t)p, size}};
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = size ? 2 : 1};
    ssize_t n;

    do
        n = sendmsg(out->fd, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return 1;
    return errno == EAGAIN || errno == ENOBUFS ? 0 : -1;
}

void live_stream_pump(struct live_stream *out)
{
    while (live_stream_waits(out)) {
        int r = try_send(out, &out->first->head, out->first->bytes, out->first->size);

        if (r < 0)
            hang_up(out);
        if (r <= 0)
            return;
        drop_first(out);
    }
}

/* False: it has no room, or there is no memory for it. */
static bool queue(struct live_stream *out, const struct live_head *head, const void *p, size_t size)
{
    size_t most = head->kind == LIVE_PAGES ? LIVE_QUEUE_MAX : LIVE_FILES_QUEUE_MAX;
    struct live_message *message;

    if (out->queued + size > most)
        return false;
    message = malloc(sizeof *message + size);
    if (!message)
        return false;
    *message = (struct live_message){.head = *head, .size = size};
    if (size)
        memcpy(message->bytes, p, size);
    if (out->last)
        out->last->next = message;
    else
        out->first = message;
    out->last = message;
    out->queued += size;
    return true;
}

/* One message, behind those that wait. */
static void put(struct live_stream *out, const struct live_head *head, const void *p, size_t size)
{
    int r = 0;

    live_stream_pump(out);
    if (out->fd >= 0 && !out->first) {
        r = try_send(out, head, p, size);
        if (r < 0)
            hang_up(out);
    }
    if (out->fd < 0)
        return;
    if (r > 0 || queue(out, head, p, size)) {
        if (head->kind == LIVE_PAGES)
            out->gaps[head->cpu] = false;
        return;
    }
    if (head->kind == LIVE_PAGES) {
        out->unshown += size;
        out->gaps[head->cpu] = true;
    } else {
        hang_up(out); /* without it what follows would be shown wrongly */
    }
}

void live_stream_put(struct live_stream *out, enum live_kind kind, const void *p, size_t size)
{
    const uint8_t *bytes = p;

    if (out->fd < 0)
        return;
    do {
        struct live_head head = {.kind = kind};
        size_t n = MIN(size, (size_t)LIVE_BYTES_MAX);

        put(out, &head, bytes, n);
        if (n == size)
            break;
        bytes += n;
        size -= n;
    } while (out->fd >= 0);
}

void live_stream_pages(struct live_stream *out, uint32_t cpu, const void *p, size_t size)
{
    const uint8_t *bytes = p;

    for (size_t at = 0, n; out->fd >= 0 && at < size; at += n) {
        struct live_head head = {LIVE_PAGES, cpu, out->offsets[cpu]};

        n = MIN(size - at, (size_t)LIVE_BYTES_MAX);
        out->offsets[cpu] += n;
        put(out, &head, bytes + at, n);
    }
}

void live_stream_part(struct live_stream *out)
{
    if (out->fd < 0)
        return;
    memset(out->offsets, 0, PROTO_CPUS_MAX * sizeof *out->offsets);
    memset(out->gaps, 0, PROTO_CPUS_MAX * sizeof *out->gaps);
    live_stream_put(out, LIVE_BOOT, NULL, 0);
}

/* False: nothing could be sent for MS. */
static bool send_all(struct live_stream *out, unsigned ms)
{
    while (live_stream_waits(out)) {
        struct pollfd fd = {out->fd, POLLOUT, 0};
        struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

        if (ppoll(&fd, 1, &time, NULL) <= 0)
            return false;
        live_stream_pump(out);
    }
    return true;
}

void live_stream_drain(struct live_stream *out, unsigned ms)
{
    bool takes = send_all(out, ms);

    drop_all(out);
    for (uint32_t cpu = 0; out->fd >= 0 && cpu < PROTO_CPUS_MAX; cpu++)
        if (out->gaps[cpu])
            put(out, &(struct live_head){LIVE_PAGES, cpu, out->offsets[cpu]}, NULL, 0);
    /* The last that was sent may just have filled the socket. */
    (void)send_all(out, takes ? ms : 0);
    drop_all(out);
}
