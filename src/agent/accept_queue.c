/* SPDX-License-Identifier: MIT */
#include "agent/accept_queue.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The caller owns the descriptor afterwards. */
static int remove_at(struct accept_queue *queue, unsigned i)
{
    int fd = queue->list[i].fd;

    queue->n--;
    memmove(&queue->list[i], &queue->list[i + 1], (queue->n - i) * sizeof queue->list[0]);
    return fd;
}

void accept_queue_done(struct accept_queue *queue)
{
    while (queue->n > 0)
        close(remove_at(queue, 0));
}

void accept_queue_add(struct accept_queue *queue, int fd)
{
    for (unsigned i = 0; queue->n == ACCEPT_QUEUE_MAX && i < queue->n; i++)
        if (!queue->list[i].has_data)
            close(remove_at(queue, i));
    if (queue->n == ACCEPT_QUEUE_MAX) {
        close(fd);
        return;
    }
    queue->list[queue->n].fd = fd;
    queue->list[queue->n++].has_data = false;
}

void accept_queue_look(struct accept_queue *queue)
{
    for (unsigned i = 0; i < queue->n;) {
        char c;
        ssize_t n = recv(queue->list[i].fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
            close(remove_at(queue, i));
            continue;
        }
        /* Where MSG_PEEK does not work (vsock of some hypervisors), serving the connection shows
         * whether it has data. */
        queue->list[i].has_data |= n > 0 || (errno != EAGAIN && errno != EINTR);
        i++;
    }
}

int accept_queue_take(struct accept_queue *queue)
{
    for (unsigned i = 0; i < queue->n; i++)
        if (queue->list[i].has_data)
            return remove_at(queue, i);
    return -1;
}
