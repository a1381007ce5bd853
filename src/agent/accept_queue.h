/* SPDX-License-Identifier: MIT */
#pragma once

/* Connections that were accepted and are not served yet. One whose peer has sent nothing only waits here: it holds up
 * none of the others. */

#include "base/macro.h"

#define ACCEPT_QUEUE_MAX 8

struct accept_queue {
    struct {
        int fd;
        bool has_data;
    } list[ACCEPT_QUEUE_MAX]; /* in the order in which they came */
    unsigned n;
};

void accept_queue_done(struct accept_queue *queue);
/* Takes FD over. Where there is no room, it or an older one that has sent nothing is closed. */
void accept_queue_add(struct accept_queue *queue, int fd);
/* Sees which have sent something, and closes those whose peer is gone. */
void accept_queue_look(struct accept_queue *queue);
/* The first that has sent something, which is the caller's now; -1: there is none. */
int accept_queue_take(struct accept_queue *queue);
