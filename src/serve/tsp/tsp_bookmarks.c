/* SPDX-License-Identifier: MIT */
/* TSP: bookmarks of the experiment. */

#include <errno.h>
#include <string.h>

#include "serve/tsp/tsp.h"
#include "serve/tsp/tsp_uuid.h"

void tsp_bookmarks_init(struct tsp_bookmarks *bookmarks)
{
    *bookmarks = (struct tsp_bookmarks){0};
    pthread_mutex_init(&bookmarks->lock, NULL);
}

void tsp_bookmarks_done(struct tsp_bookmarks *bookmarks)
{
    for (unsigned i = 0; i < bookmarks->n; i++)
        free(bookmarks->bookmarks[i].name);
    free(bookmarks->bookmarks);
    pthread_mutex_destroy(&bookmarks->lock);
}

void tsp_bookmarks_between(struct exchange *x, int64_t start, int64_t end,
                           void (*put)(struct exchange *x, const struct tsp_bookmark *bookmark))
{
    struct tsp_bookmarks *bookmarks = &x->server->bookmarks;

    pthread_mutex_lock(&bookmarks->lock);
    for (unsigned i = 0; i < bookmarks->n; i++)
        if (bookmarks->bookmarks[i].start <= end && bookmarks->bookmarks[i].end >= start)
            put(x, &bookmarks->bookmarks[i]);
    pthread_mutex_unlock(&bookmarks->lock);
}

static void put_bookmark(struct exchange *x, const struct tsp_bookmark *bookmark)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    tsp_put(w, "uuid", bookmark->uuid);
    tsp_put(w, "UUID", bookmark->uuid); /* as tsp-typescript-client reads it */
    tsp_put(w, "name", bookmark->name);
    tsp_put_number(w, "start", bookmark->start);
    tsp_put_number(w, "end", bookmark->end);
    json_write_end(w);
}

/* Returns the bookmark that the path names, with the lock held. If there is none, returns NULL and answers that. */
static struct tsp_bookmark *find_bookmark(struct exchange *x)
{
    struct tsp_bookmarks *bookmarks = &x->server->bookmarks;

    for (unsigned i = 0; i < bookmarks->n; i++)
        if (strcmp(bookmarks->bookmarks[i].uuid, x->request.parts[6]) == 0)
            return &bookmarks->bookmarks[i];
    answer_error(&x->answer, HTTP_NOT_FOUND, "no such bookmark");
    return NULL;
}

/* Reads the bookmark in the body, without a UUID. The caller owns its name. */
static int read_bookmark(struct exchange *x, struct tsp_bookmark *ret)
{
    struct tsp_query query;
    const json_t *start;
    const json_t *end;
    const char *name;
    int r = 0;

    if (tsp_query_read(x, 0, &query) < 0)
        return -EBADMSG;
    name = json_string_value(json_object_get(query.parameters, "name"));
    start = json_object_get(query.parameters, "start");
    end = json_object_get(query.parameters, "end");
    if (!name || !json_is_integer(start) || !json_is_integer(end) ||
        json_integer_value(start) > json_integer_value(end)) {
        r = answer_error(&x->answer, HTTP_BAD_REQUEST,
                         "a bookmark requires name, start and end, integers in this order");
    } else if (strlen(name) > TSP_BOOKMARK_NAME_MAX) {
        r = answer_error(&x->answer, HTTP_BAD_REQUEST, "the name is longer than %d bytes",
                         TSP_BOOKMARK_NAME_MAX);
    } else {
        *ret = (struct tsp_bookmark){.name = strdup(name),
                                     .start = json_integer_value(start),
                                     .end = json_integer_value(end)};
        if (!ret->name)
            r = answer_failure(&x->answer, -ENOMEM, NULL);
    }
    tsp_query_done(&query);
    return r;
}

/* Appends BOOKMARK; the list owns its name. -ENOMEM, -E2BIG. */
static int append(struct tsp_bookmarks *bookmarks, const struct tsp_bookmark *bookmark)
{
    struct tsp_bookmark *bigger;

    if (bookmarks->n == TSP_BOOKMARKS_MAX)
        return -E2BIG;
    bigger = realloc(bookmarks->bookmarks, (bookmarks->n + 1) * sizeof *bigger);
    if (!bigger)
        return -ENOMEM;
    bookmarks->bookmarks = bigger;
    bigger[bookmarks->n++] = *bookmark;
    return 0;
}

void tsp_bookmarks(struct exchange *x)
{
    if (!tsp_check_experiment(x))
        return;
    json_write_array(&x->answer.json);
    tsp_bookmarks_between(x, INT64_MIN, INT64_MAX, put_bookmark);
    json_write_finish(&x->answer.json);
}

void tsp_add_bookmark(struct exchange *x)
{
    struct tsp_bookmarks *bookmarks = &x->server->bookmarks;
    struct tsp_bookmark bookmark;
    int r;

    if (!tsp_check_experiment(x) || read_bookmark(x, &bookmark) < 0)
        return;
    r = tsp_uuid_random(bookmark.uuid);
    if (r == 0) {
        pthread_mutex_lock(&bookmarks->lock);
        r = append(bookmarks, &bookmark);
        if (r == 0)
            put_bookmark(x, &bookmark);
        pthread_mutex_unlock(&bookmarks->lock);
    }
    if (r == 0)
        return;
    free(bookmark.name);
    if (r == -E2BIG)
        answer_error(&x->answer, HTTP_BAD_REQUEST, "there are %d bookmarks already",
                     TSP_BOOKMARKS_MAX);
    else
        answer_failure(&x->answer, r, NULL);
}

void tsp_bookmark(struct exchange *x)
{
    struct tsp_bookmarks *bookmarks = &x->server->bookmarks;
    const struct tsp_bookmark *bookmark;

    if (!tsp_check_experiment(x))
        return;
    pthread_mutex_lock(&bookmarks->lock);
    bookmark = find_bookmark(x);
    if (bookmark)
        put_bookmark(x, bookmark);
    pthread_mutex_unlock(&bookmarks->lock);
}

void tsp_change_bookmark(struct exchange *x)
{
    struct tsp_bookmarks *bookmarks = &x->server->bookmarks;
    struct tsp_bookmark *bookmark;
    struct tsp_bookmark changed;
    char *name;

    if (!tsp_check_experiment(x) || read_bookmark(x, &changed) < 0)
        return;
    name = changed.name;
    pthread_mutex_lock(&bookmarks->lock);
    bookmark = find_bookmark(x);
    if (bookmark) {
        name = bookmark->name;
        memcpy(changed.uuid, bookmark->uuid, sizeof changed.uuid);
        *bookmark = changed;
        put_bookmark(x, bookmark);
    }
    pthread_mutex_unlock(&bookmarks->lock);
    free(name);
}

void tsp_delete_bookmark(struct exchange *x)
{
    struct tsp_bookmarks *bookmarks = &x->server->bookmarks;
    struct tsp_bookmark *bookmark;

    if (!tsp_check_experiment(x))
        return;
    pthread_mutex_lock(&bookmarks->lock);
    bookmark = find_bookmark(x);
    if (bookmark) {
        const struct tsp_bookmark *end = bookmarks->bookmarks + bookmarks->n--;

        put_bookmark(x, bookmark);
        free(bookmark->name);
        memmove(bookmark, bookmark + 1, (size_t)(end - bookmark - 1) * sizeof *bookmark);
    }
    pthread_mutex_unlock(&bookmarks->lock);
}
