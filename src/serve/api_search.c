/* SPDX-License-Identifier: MIT */
/* GET api/search: the next slices whose names contain a text, on all tracks, in the order of time. */

#include <string.h>

#include "serve/routes.h"
#include "serve/scan.h"

#define LIMIT_MAX 1000
#define LIMIT_DEFAULT 100
/* Slices that one request examines: about a second. */
#define SLICES_MAX 10000000u
/* The first piece of time is this part of the trace. Each further piece is twice as long. */
#define FIRST_SHARE 256

struct found {
    uint32_t track;
    unsigned depth;
    struct index_slice slice;
};

struct search {
    const struct index *index;
    const char *text;
    uint8_t *names; /* a bit for each name that contains the text */
    bool any;
    struct found *found;
    unsigned n, room;
    uint64_t n_slices;
};

static int find_names(struct search *search)
{
    uint32_t n = index_summary(search->index)->n_names;

    search->names = calloc((size_t)n / 8 + 1, 1);
    if (!search->names)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        if (strcasestr(index_name(search->index, i), search->text)) {
            search->names[i / 8] |= (uint8_t)(1u << i % 8);
            search->any = true;
        }
    }
    return 0;
}

static bool has_name(const struct search *search, uint32_t name)
{
    return name < index_summary(search->index)->n_names && search->names[name / 8] >> name % 8 & 1;
}

static int add(struct search *search, uint32_t track, unsigned depth,
               const struct index_slice *slice)
{
    if (search->n == search->room) {
        unsigned room = search->room ? search->room * 2 : 256;
        struct found *found = realloc(search->found, room * sizeof *found);

        if (!found)
            return -ENOMEM;
        search->found = found;
        search->room = room;
    }
    search->found[search->n++] = (struct found){track, depth, *slice};
    return 0;
}

/* Searches slices that begin from FROM to TO, both included. -E2BIG after SLICES_MAX. */
static int search_depth(struct search *search, uint32_t track, unsigned depth, int64_t from,
                        int64_t to)
{
    const struct index_slice *slices;
    struct scan scan;
    unsigned n;
    int r;

    scan_init(&scan, search->index, track, depth, from, to, SLICES_MAX - search->n_slices);
    while ((r = scan_next(&scan, &slices, &n)) > 0)
        for (unsigned i = 0; i < n && r >= 0; i++)
            if (slices[i].begin >= from && has_name(search, slices[i].name))
                r = add(search, track, depth, &slices[i]);
    search->n_slices += scan.n;
    scan_done(&scan);
    return r;
}

static int search_period(struct search *search, int64_t from, int64_t to)
{
    uint32_t n_tracks = index_summary(search->index)->n_tracks;

    for (uint32_t i = 0; i < n_tracks; i++) {
        const struct index_track *track = index_track(search->index, i);

        if (track->kind != INDEX_SLICES && track->kind != INDEX_STATES)
            continue;
        for (unsigned depth = 0; depth < track->n_depths; depth++) {
            int r = search_depth(search, i, depth, from, to);

            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->slice.begin != y->slice.begin)
        return x->slice.begin < y->slice.begin ? -1 : 1;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (int)x->depth - (int)y->depth;
}

/* Fills search->found with LIMIT slices or more, if there are so many. *RET_NEXT: where the next request begins;
 * INT64_MAX at the end. */
static int run(struct exchange *x, struct search *search, int64_t from, unsigned limit,
               int64_t *ret_next)
{
    const struct index_summary *summary = index_summary(search->index);
    int64_t period = (summary->end - summary->begin) / FIRST_SHARE + 1;
    bool advanced = false;

    while (search->any && from <= summary->end && search->n < limit) {
        int64_t to = summary->end - from < period ? summary->end : from + period - 1;
        unsigned before = search->n;
        int r = search_period(search, from, to);

        if (atomic_load(&x->server->stops))
            return -ECANCELED;
        if (r == -E2BIG) {
            search->n = before;
            if (advanced)
                break;
            if (from == to)
                return r;
            search->n_slices = 0;
            period = (to - from + 1) / 2;
            continue;
        }
        if (r < 0)
            return r;
        advanced = true;
        from = to + 1;
        if (period <= INT64_MAX / 2)
            period *= 2;
    }
    *ret_next = search->any && from <= summary->end ? from : INT64_MAX;
    return 0;
}

static void put_found(struct exchange *x, const struct search *search, unsigned limit, int64_t next)
{
    struct json_writer *w = &x->answer.json;
    unsigned n = MIN(search->n, limit);

    /* The next request begins with a time, and what begins at one is not divided. */
    if (search->n > limit) {
        next = search->found[limit].slice.begin;
        while (n > 0 && search->found[n - 1].slice.begin == next)
            n--;
        if (n == 0)
            for (n = limit; n < search->n && search->found[n].slice.begin == next; n++)
                ;
        next = n < search->n ? search->found[n].slice.begin : next + 1;
    }
    json_write_object(w);
    json_write_key(w, "found");
    json_write_lines(w);
    for (unsigned i = 0; i < n; i++) {
        const struct found *found = &search->found[i];

        json_write_object(w);
        exchange_put_track(x, "track", found->track);
        json_write_key(w, "depth");
        json_write_u64(w, found->depth);
        exchange_put_time(x, "begin", found->slice.begin);
        exchange_put_time(x, "end", found->slice.end);
        json_write_key(w, "name");
        json_write_u64(w, found->slice.name);
        json_write_end(w);
    }
    json_write_end(w);
    if (next == INT64_MAX) {
        json_write_key(w, "next");
        json_write_raw(w, "null", 4);
    } else {
        exchange_put_time(x, "next", next);
    }
    json_write_finish(w);
}

void api_search(struct exchange *x)
{
    struct search search = {.index = x->generation->index,
                            .text = request_value(&x->request, "text")};
    int64_t limit = LIMIT_DEFAULT, next = INT64_MAX;
    struct api_span span;
    int r;

    if (exchange_span(x, &span) < 0 || exchange_number(x, "limit", 1, LIMIT_MAX, &limit) < 0)
        return;
    if (!search.text || !*search.text) {
        answer_error(&x->answer, HTTP_BAD_REQUEST, "'text' is required");
        return;
    }
    r = find_names(&search);
    if (r == 0)
        r = run(x, &search, MAX(span.from, index_summary(search.index)->begin), (unsigned)limit,
                &next);
    if (r < 0) {
        answer_failure(&x->answer, r, NULL);
    } else {
        if (search.n > 1)
            qsort(search.found, search.n, sizeof *search.found, by_begin);
        put_found(x, &search, (unsigned)limit, next);
    }
    free(search.names);
    free(search.found);
}
