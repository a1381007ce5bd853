/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/session.h"

/* A host waits for each answer, so these are far more than needed. */
#define BYTES_MAX ((size_t)1 << 20)
#define MESSAGES_MAX 64u

void rx_queue_init(struct rx_queue *rx_queue)
{
    *rx_queue = (struct rx_queue){.first = NULL};
    pthread_mutex_init(&rx_queue->lock, NULL);
}

void rx_queue_done(struct rx_queue *rx_queue)
{
    struct rx_message *message;

    while ((message = rx_queue_take(rx_queue)))
        free(message);
}

int rx_queue_put(struct rx_queue *rx_queue, const struct proto_frame *frame, uint64_t connection)
{
    size_t size = sizeof(struct rx_message) + frame->size;
    struct rx_message *message;
    int r = 0;

    if (size > BYTES_MAX)
        return -ENOBUFS;
    message = malloc(size);
    if (!message)
        return -ENOMEM;
    message->next = NULL;
    message->connection = connection;
    message->frame = *frame;
    message->frame.body = message->body;
    memcpy(message->body, frame->body, frame->size);

    pthread_mutex_lock(&rx_queue->lock);
    if (rx_queue->bytes + size > BYTES_MAX || rx_queue->n >= MESSAGES_MAX) {
        r = -ENOBUFS;
    } else {
        if (rx_queue->last)
            rx_queue->last->next = message;
        else
            rx_queue->first = message;
        rx_queue->last = message;
        rx_queue->bytes += size;
        rx_queue->n++;
        rx_queue->n_hellos += frame->type == PROTO_HELLO;
    }
    pthread_mutex_unlock(&rx_queue->lock);
    if (r < 0)
        free(message);
    return r;
}

struct rx_message *rx_queue_take(struct rx_queue *rx_queue)
{
    struct rx_message *message;

    pthread_mutex_lock(&rx_queue->lock);
    message = rx_queue->first;
    if (message) {
        rx_queue->first = message->next;
        if (!rx_queue->first)
            rx_queue->last = NULL;
        rx_queue->n--;
        rx_queue->bytes -= sizeof *message + message->frame.size;
        rx_queue->n_hellos -= message->frame.type == PROTO_HELLO;
    }
    pthread_mutex_unlock(&rx_queue->lock);
    return message;
}

void rx_queue_leave(struct rx_queue *rx_queue)
{
    struct rx_message *message, *kept = NULL;

    pthread_mutex_lock(&rx_queue->lock);
    while ((message = rx_queue->first)) {
        bool is_bye = !kept && message->frame.type == PROTO_BYE;

        rx_queue->first = message->next;
        if (is_bye)
            kept = message;
        else
            free(message);
    }
    if (kept)
        kept->next = NULL;
    rx_queue->first = rx_queue->last = kept;
    rx_queue->n = kept ? 1 : 0;
    rx_queue->bytes = kept ? sizeof *kept + kept->frame.size : 0;
    rx_queue->n_hellos = 0;
    pthread_mutex_unlock(&rx_queue->lock);
}

bool rx_queue_has_hello(struct rx_queue *rx_queue)
{
    bool has;

    pthread_mutex_lock(&rx_queue->lock);
    has = rx_queue->n_hellos > 0;
    pthread_mutex_unlock(&rx_queue->lock);
    return has;
}
