/* SPDX-License-Identifier: MIT */
#pragma once

/* Connections that were accepted and wait to be served. A connection whose peer has not sent anything
 * stays in the queue and does not delay the others. */

#include "base/macro.h"

#define ACCEPT_QUEUE_MAX 8

struct accept_queue {
    struct {
        int fd;
        bool has_data;
    } list[ACCEPT_QUEUE_MAX]; /* in the order of arrival */
    unsigned n;
};

void accept_queue_done(struct accept_queue *queue);
/* Takes ownership of FD. If the queue is full, closes the oldest connection that has sent nothing, or
 * FD. */
void accept_queue_add(struct accept_queue *queue, int fd);
/* Checks which peers have sent data, and closes connections whose peer has disconnected. */
void accept_queue_look(struct accept_queue *queue);
/* Removes and returns the first connection that has sent data; the caller owns it. -1: none. */
int accept_queue_take(struct accept_queue *queue);
