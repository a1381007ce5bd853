/* SPDX-License-Identifier: MIT */
#pragma once

/* Bookmarks of the Trace Server Protocol: names of spans of time, which viewers share while the server runs. They are
 * only in its memory. */

#include <pthread.h>
#include <stdint.h>

#define TSP_BOOKMARKS_MAX 1000
#define TSP_BOOKMARK_NAME_MAX 1000 /* in bytes */
#define TSP_UUID_SIZE 37

struct tsp_bookmark {
    char uuid[TSP_UUID_SIZE];
    char *name;
    int64_t start, end; /* ns of the index */
};

/* In the order in which they were made. */
struct tsp_bookmarks {
    pthread_mutex_t lock;
    struct tsp_bookmark *bookmarks;
    unsigned n;
};

void tsp_bookmarks_init(struct tsp_bookmarks *bookmarks);
void tsp_bookmarks_done(struct tsp_bookmarks *bookmarks);

/* Calls PUT for each bookmark that touches START to END, with the lock held. */
struct exchange;
void tsp_bookmarks_between(struct exchange *x, int64_t start, int64_t end,
                           void (*put)(struct exchange *x, const struct tsp_bookmark *bookmark));
