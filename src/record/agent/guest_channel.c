/* SPDX-License-Identifier: MIT */
#include "record/agent/guest_channel.h"

#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"

#define HEAD offsetof(struct guest_packet, bytes)
/* What may be on its way to a child, as the kernel counts it: some ten packets without bytes. A child that works has read
 * all but a few. */
#define UNREAD_MAX 16384

union control {
    char bytes[CMSG_SPACE(2 * sizeof(int))];
    struct cmsghdr align;
};

int guest_packet_send(int socket, const struct guest_packet *packet, const int *fds, unsigned n)
{
    struct iovec iov = {(void *)(uintptr_t)packet, HEAD + packet->size};
    union control control = {0};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
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

int guest_packet_send_to_child(int socket, const struct guest_packet *packet, const int *fds,
                               unsigned n)
{
    int unread = 0;

    if (ioctl(socket, TIOCOUTQ, &unread) == 0 && unread > UNREAD_MAX)
        return -EPIPE;
    return guest_packet_send(socket, packet, fds, n);
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
        ret_packet->size != (size_t)size - HEAD) {
        while (n > 0)
            close(ret_fds[--n]);
        return -EBADMSG;
    }
    if (ret_fds)
        *ret_n = n;
    return 1;
}
