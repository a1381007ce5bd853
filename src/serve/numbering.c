/* SPDX-License-Identifier: MIT */
#include "serve/numbering.h"

struct numbering *numbering_new(void)
{
    struct numbering *numbering = calloc(1, sizeof *numbering);

    if (!numbering)
        return NULL;
    numbering->time = INT64_MIN;
    pthread_mutex_init(&numbering->lock, NULL);
    return numbering;
}

struct numbering *numbering_free(struct numbering *numbering)
{
    if (!numbering)
        return NULL;
    if (numbering->open)
        events_close(&numbering->events);
    free(numbering->places);
    pthread_mutex_destroy(&numbering->lock);
    free(numbering);
    return NULL;
}

static int add_place(struct numbering *numbering, int64_t time, uint32_t skip)
{
    if (numbering->n == numbering->room) {
        unsigned room = numbering->room ? numbering->room * 2 : 256;
        struct numbering_place *places = realloc(numbering->places, room * sizeof *places);

        if (!places)
            return -ENOMEM;
        numbering->places = places;
        numbering->room = room;
    }
    numbering->places[numbering->n++] = (struct numbering_place){time, skip};
    return 0;
}

/* True if enough was read. */
static bool has(const struct numbering *numbering, uint64_t number, int64_t time)
{
    return numbering->n_events > number && numbering->time >= time;
}

/* The next request begins from the start. */
static void forget(struct numbering *numbering)
{
    if (numbering->open)
        events_close(&numbering->events);
    numbering->open = false;
    numbering->n = 0;
    numbering->n_events = 0;
    numbering->same = 0;
    numbering->time = INT64_MIN;
}

static int read_events(struct numbering *numbering, struct exchange *x, uint64_t number,
                       int64_t time, struct error *error)
{
    int r;

    x->reads_trace = true;
    if (!numbering->open) {
        r = events_open(x, INT64_MIN, &numbering->events, error);
        if (r < 0)
            return r;
        numbering->open = true;
    }
    numbering->events.n_read = 0;
    while (!numbering->complete && !has(numbering, number, time)) {
        const struct item *item;
        int64_t t;

        r = events_next(&numbering->events, &item, &t, error);
        if (r == -ECANCELED)
            return -EAGAIN;
        if (r < 0)
            return r;
        if (r == 0) {
            numbering->complete = true;
            events_close(&numbering->events);
            numbering->open = false;
            break;
        }
        if (item->kind != ITEM_EVENT)
            continue;
        numbering->same = t == numbering->time ? numbering->same + 1 : 0;
        numbering->time = t;
        if (numbering->n_events % NUMBERING_STEP == 0 &&
            add_place(numbering, t, numbering->same) < 0)
            return -ENOMEM;
        numbering->n_events++;
    }
    return 0;
}

/* Reads until event NUMBER, and an event at or after TIME, were read. 0; -EAGAIN; another negative errno with ERROR. */
static int read_on(struct numbering *numbering, struct exchange *x, uint64_t number, int64_t time,
                   struct error *error)
{
    int r = read_events(numbering, x, number, time, error);

    if (r < 0 && r != -EAGAIN)
        forget(numbering);
    return r;
}

int numbering_find(struct numbering *numbering, struct exchange *x, uint64_t number,
                   struct numbering_place *ret_place, uint64_t *ret_first, struct error *error)
{
    int r = 0;

    pthread_mutex_lock(&numbering->lock);
    if (!numbering->complete && !has(numbering, number, INT64_MIN))
        r = read_on(numbering, x, number, INT64_MIN, error);
    if (r == 0 && numbering->n_events > number) {
        *ret_place = numbering->places[number / NUMBERING_STEP];
        *ret_first = number / NUMBERING_STEP * NUMBERING_STEP;
        r = 1;
    }
    pthread_mutex_unlock(&numbering->lock);
    return r;
}

int numbering_find_time(struct numbering *numbering, struct exchange *x, int64_t time,
                        struct numbering_place *ret_place, uint64_t *ret_first, struct error *error)
{
    int r = 0;

    pthread_mutex_lock(&numbering->lock);
    if (!numbering->complete && !has(numbering, 0, time))
        r = read_on(numbering, x, 0, time, error);
    if (r == 0 && numbering->n > 0) {
        unsigned low = 0, high = numbering->n;

        /* The last place before TIME: events at TIME may be before a place that is at it. */
        while (high - low > 1) {
            unsigned middle = low + (high - low) / 2;

            if (numbering->places[middle].time < time)
                low = middle;
            else
                high = middle;
        }
        *ret_place = numbering->places[low];
        *ret_first = (uint64_t)low * NUMBERING_STEP;
        r = 1;
    }
    pthread_mutex_unlock(&numbering->lock);
    return r;
}
