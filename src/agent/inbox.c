/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "agent/session.h"

/* A host asks one thing after the other; this is far more. */
#define BYTES_MAX ((size_t)1 << 20)

void inbox_init(struct inbox *inbox)
{
    *inbox = (struct inbox){.first = NULL};
    pthread_mutex_init(&inbox->lock, NULL);
}

void inbox_done(struct inbox *inbox)
{
    struct letter *letter;

    while ((letter = inbox_take(inbox)))
        free(letter);
}

int inbox_put(struct inbox *inbox, const struct link_frame *frame, uint64_t connection)
{
    size_t size = sizeof(struct letter) + frame->size;
    struct letter *letter;
    int r = 0;

    if (size > BYTES_MAX)
        return -ENOBUFS;
    letter = malloc(size);
    if (!letter)
        return -ENOMEM;
    letter->next = NULL;
    letter->connection = connection;
    letter->frame = *frame;
    letter->frame.body = letter->body;
    memcpy(letter->body, frame->body, frame->size);

    pthread_mutex_lock(&inbox->lock);
    if (inbox->bytes + size > BYTES_MAX) {
        r = -ENOBUFS;
    } else {
        if (inbox->last)
            inbox->last->next = letter;
        else
            inbox->first = letter;
        inbox->last = letter;
        inbox->bytes += size;
        inbox->n_hellos += frame->type == LINK_HELLO;
    }
    pthread_mutex_unlock(&inbox->lock);
    if (r < 0)
        free(letter);
    return r;
}

struct letter *inbox_take(struct inbox *inbox)
{
    struct letter *letter;

    pthread_mutex_lock(&inbox->lock);
    letter = inbox->first;
    if (letter) {
        inbox->first = letter->next;
        if (!inbox->first)
            inbox->last = NULL;
        inbox->bytes -= sizeof *letter + letter->frame.size;
        inbox->n_hellos -= letter->frame.type == LINK_HELLO;
    }
    pthread_mutex_unlock(&inbox->lock);
    return letter;
}

bool inbox_has_hello(struct inbox *inbox)
{
    bool has;

    pthread_mutex_lock(&inbox->lock);
    has = inbox->n_hellos > 0;
    pthread_mutex_unlock(&inbox->lock);
    return has;
}
