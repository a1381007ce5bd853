/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_channel.h"

#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"

#define HEAD offsetof(struct guest_packet, bytes)
_Static_assert(HEAD == sizeof(struct guest_packet_head), "no padding before the bytes");
/* Of a fact's name, and of its value. */
#define FACT_TEXT_MAX 255u
/* Bytes that may wait for a child, as the kernel counts them: some ten packets without bytes. A child that works has read
 * all but a few. */
#define UNREAD_MAX 16384

union control {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
};

int guest_packet_send(int socket, const struct guest_packet_head *head, const void *p,
                      const int *fds, unsigned n)
{
    struct iovec iov[2] = {{(void *)(uintptr_t)head, HEAD}, {(void *)(uintptr_t)p, head->size}};
    union control control = {0};
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = head->size ? 2 : 1};
    ssize_t sent;

    if (n > 0) {
        struct cmsghdr *cmsg;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n * sizeof(int));
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(cmsg), fds, n * sizeof(int));
    }
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

int guest_packet_send_to_child(int socket, const struct guest_packet_head *head, const int *fds,
                               unsigned n)
{
    int unread = 0;

    if (ioctl(socket, TIOCOUTQ, &unread) == 0 && unread > UNREAD_MAX)
        return -EPIPE;
    return guest_packet_send(socket, head, NULL, fds, n);
}

static void take_fds(struct msghdr *message, int fds[2], unsigned *n)
{
    for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(message); cmsg; cmsg = CMSG_NXTHDR(message, cmsg)) {
        size_t count;

        if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
            continue;
        count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof fd, sizeof fd);
            if (*n < 2)
                fds[(*n)++] = fd;
            else
                close(fd);
        }
    }
}

int guest_packet_receive(int socket, struct guest_packet *ret_packet, int ret_fds[2],
                         unsigned *ret_n)
{
    struct iovec iov = {ret_packet, sizeof *ret_packet};
    union control control = {0};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = ret_fds ? control.bytes : NULL,
                             .msg_controllen = ret_fds ? sizeof control.bytes : 0};
    unsigned n = 0;
    ssize_t size;

    do
        size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return errno == ECONNRESET ? 0 : -errno;
    if (size == 0)
        return 0;
    if (ret_fds)
        take_fds(&message, ret_fds, &n);
    if ((size_t)size < HEAD || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
        ret_packet->head.size != (size_t)size - HEAD) {
        while (n > 0)
            close(ret_fds[--n]);
        return -EBADMSG;
    }
    if (ret_fds)
        *ret_n = n;
    return 1;
}

int guest_packet_deliver(struct guest_packet *packet, struct kernel_sink *sink, struct error *error)
{
    const struct guest_packet_head *head = &packet->head;
    const char *bytes = (const char *)packet->bytes;
    const char *value;
    struct guest_pair pair;

    switch (head->kind) {
    case PACKET_FILE_BEGIN: return kernel_sink_file_begin(sink, bytes, head->size, error);
    case PACKET_FILE_PUT: return kernel_sink_file_put(sink, bytes, head->size, error);
    case PACKET_FILE_END: return kernel_sink_file_end(sink, error);
    case PACKET_PAGES:
        return kernel_sink_pages(sink, head->cpu, head->offset, bytes, head->size, error);
    case PACKET_BOOT: return kernel_sink_boot(sink, error);
    case PACKET_REWIND: return kernel_sink_rewind(sink, error);
    case PACKET_FACT:
        value = memchr(bytes, 0, head->size);
        if (!value || head->size >= sizeof packet->bytes)
            return -EBADMSG;
        packet->bytes[head->size] = 0;
        return kernel_sink_fact(sink, bytes, value + 1, error);
    case PACKET_PAIR:
        if (head->size != sizeof pair)
            return -EBADMSG;
        memcpy(&pair, bytes, sizeof pair);
        return kernel_sink_pair(sink, &pair, error);
    default: return -EBADMSG;
    }
}

/* SIZE bytes, in as many packets as they need. */
static int put_bytes(struct kernel_sink *sink, enum guest_packet_kind kind, const void *p,
                     size_t size)
{
    struct packet_sink *self = container_of(sink, struct packet_sink, sink);
    const uint8_t *bytes = p;
    int r;

    do {
        struct guest_packet_head head = {.kind = kind,
                                         .size = (uint32_t)MIN(size, (size_t)GUEST_PACKET_MAX)};

        r = self->send(self, &head, bytes);
        bytes += head.size;
        size -= head.size;
    } while (r >= 0 && size > 0);
    return r;
}

int packet_sink_file_begin(struct kernel_sink *sink, const char *path, size_t len,
                           struct error *error)
{
    (void)error;
    return put_bytes(sink, PACKET_FILE_BEGIN, path, len);
}

int packet_sink_file_put(struct kernel_sink *sink, const void *p, size_t size, struct error *error)
{
    (void)error;
    return put_bytes(sink, PACKET_FILE_PUT, p, size);
}

int packet_sink_file_end(struct kernel_sink *sink, struct error *error)
{
    (void)error;
    return put_bytes(sink, PACKET_FILE_END, "", 0);
}

int packet_sink_fact(struct kernel_sink *sink, const char *name, const char *value,
                     struct error *error)
{
    char both[2 * FACT_TEXT_MAX + 1];
    size_t n = strnlen(name, FACT_TEXT_MAX), m = strnlen(value, FACT_TEXT_MAX);

    (void)error;
    memcpy(both, name, n);
    both[n] = '\0';
    memcpy(both + n + 1, value, m);
    return put_bytes(sink, PACKET_FACT, both, n + 1 + m);
}

int packet_sink_pair(struct kernel_sink *sink, const struct guest_pair *pair, struct error *error)
{
    (void)error;
    return put_bytes(sink, PACKET_PAIR, pair, sizeof *pair);
}

int packet_sink_boot(struct kernel_sink *sink, struct error *error)
{
    (void)error;
    return put_bytes(sink, PACKET_BOOT, "", 0);
}

int packet_sink_rewind(struct kernel_sink *sink, struct error *error)
{
    (void)error;
    return put_bytes(sink, PACKET_REWIND, "", 0);
}
