/* SPDX-License-Identifier: MIT */
/* GET api/latency: how long slices take. */

#include <string.h>

#include "serve/distribution.h"
#include "serve/routes.h"

#define COLUMNS_DEFAULT 128
#define SLOWEST_DEFAULT 100
#define NAMES_MAX 200
#define PERMILLES 4

static const struct {
    const char *key;
    unsigned permille;
} percentiles[PERMILLES] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p999", 999}};

/* True if NAME contains TEXT, or begins with the text after a '^', ignoring case. */
static bool matches(const char *name, const char *text)
{
    if (*text == '^')
        return strncasecmp(name, text + 1, strlen(text + 1)) == 0;
    return strcasestr(name, text) != NULL;
}

static int read_names(struct exchange *x, uint8_t **ret)
{
    const struct index *index = x->generation->index;
    const char *text = request_value(&x->request, "text");
    uint32_t n_names = index_summary(index)->n_names;
    uint32_t ids[NAMES_MAX];
    int n = request_numbers(&x->request, "names", ids, NAMES_MAX);
    uint8_t *names;

    if (n < 0)
        return answer_error(&x->answer, HTTP_BAD_REQUEST,
                            "invalid names; use up to %d numbers with commas between", NAMES_MAX);
    if (n == 0 && !(text && *text))
        return 0;
    names = calloc((size_t)n_names / 8 + 1, 1);
    if (!names)
        return answer_failure(&x->answer, -ENOMEM, NULL);
    for (int i = 0; i < n; i++)
        if (ids[i] < n_names)
            names[ids[i] / 8] |= (uint8_t)(1u << ids[i] % 8);
    for (uint32_t i = 0; text && *text && i < n_names; i++)
        if (matches(index_name(index, i), text))
            names[i / 8] |= (uint8_t)(1u << i % 8);
    *ret = names;
    return 0;
}

static int read_query(struct exchange *x, struct distribution_query *ret)
{
    int64_t columns = COLUMNS_DEFAULT, slowest = SLOWEST_DEFAULT;
    int64_t begin = index_summary(x->generation->index)->begin;
    struct api_span begins = {INT64_MIN, INT64_MAX};

    ret->longest = INT64_MAX;
    if (exchange_span(x, &ret->span) < 0 ||
        exchange_number(x, "min", 0, INT64_MAX, &ret->shortest) < 0 ||
        exchange_number(x, "max", 0, INT64_MAX, &ret->longest) < 0 ||
        exchange_number(x, "begin_from", -EXCHANGE_TIME_MAX, EXCHANGE_TIME_MAX, &begins.from) < 0 ||
        exchange_number(x, "begin_to", -EXCHANGE_TIME_MAX, EXCHANGE_TIME_MAX, &begins.to) < 0 ||
        exchange_number(x, "columns", 1, DISTRIBUTION_COLUMNS_MAX, &columns) < 0 ||
        exchange_number(x, "limit", 0, DISTRIBUTION_SLOWEST_MAX, &slowest) < 0)
        return -EBADMSG;
    if ((begins.from != INT64_MIN && __builtin_add_overflow(begins.from, begin, &begins.from)) ||
        (begins.to != INT64_MAX && __builtin_add_overflow(begins.to, begin, &begins.to)))
        return answer_error(&x->answer, HTTP_BAD_REQUEST,
                            "'begin_from' or 'begin_to' is out of range");
    ret->begins = begins;
    ret->columns = (unsigned)columns;
    ret->n_slowest = (unsigned)slowest;
    return 0;
}

/* Returns a bit for each requested track: the tracks in TRACKS, and for groups, the tracks with slices below them.
 * Without TRACKS, all tracks with slices. */
static uint8_t *select_tracks(const struct index *index, const uint32_t *tracks, int n)
{
    uint32_t n_tracks = index_summary(index)->n_tracks;
    uint8_t *selected = calloc(n_tracks + (size_t)1, 1);
    /* Whether the track is in a group that was asked for: parents come first. */
    uint8_t *below = calloc(n_tracks + (size_t)1, 1);

    for (int i = 0; selected && below && i < n; i++) {
        if (index_track(index, tracks[i])->kind == INDEX_GROUP)
            below[tracks[i]] = 1;
        else
            selected[tracks[i]] = 1;
    }
    for (uint32_t i = 0; selected && below && i < n_tracks; i++) {
        const struct index_track *track = index_track(index, i);

        if (n == 0 || (track->parent != INDEX_NO_TRACK && below[track->parent]))
            below[i] = 1;
        if (below[i] && track->kind == INDEX_SLICES)
            selected[i] = 1;
    }
    if (!below) {
        free(selected);
        selected = NULL;
    }
    free(below);
    return selected;
}

static void put_number(struct json_writer *w, const char *key, uint64_t value)
{
    json_write_key(w, key);
    json_write_u64(w, value);
}

/* Writes number, sum, percentiles and maximum. */
static void put_durations(struct json_writer *w, const struct histogram *durations, uint64_t sum)
{
    put_number(w, "n", durations->n);
    put_number(w, "sum", sum);
    for (unsigned i = 0; i < PERMILLES; i++)
        put_number(w, percentiles[i].key, histogram_quantile(durations, percentiles[i].permille));
    put_number(w, "max", durations->max);
}

/* The first duration after BUCKET, which is BY buckets wide. */
static uint64_t bucket_end(unsigned bucket, unsigned by)
{
    return bucket + by < HISTOGRAM_BUCKETS ? histogram_bucket_start(bucket + by) : UINT64_MAX;
}

static void put_buckets(struct json_writer *w, const struct histogram *durations)
{
    json_write_key(w, "buckets");
    json_write_array(w);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t n = histogram_count(durations, i);

        if (n == 0)
            continue;
        json_write_u64(w, histogram_bucket_start(i));
        json_write_u64(w, bucket_end(i, 1));
        json_write_u64(w, n);
    }
    json_write_end(w);
}

static void put_cells(struct json_writer *w, const struct distribution *distribution)
{
    put_number(w, "columns", distribution->query.columns);
    json_write_key(w, "cells");
    json_write_array(w);
    for (unsigned column = 0; column < distribution->query.columns; column++) {
        const uint32_t *cells = distribution->cells + (size_t)column * DISTRIBUTION_ROWS;

        for (unsigned row = 0; row < DISTRIBUTION_ROWS; row++) {
            unsigned bucket = row * DISTRIBUTION_ROW_BUCKETS;

            if (cells[row] == 0)
                continue;
            json_write_u64(w, column);
            json_write_u64(w, histogram_bucket_start(bucket));
            json_write_u64(w, bucket_end(bucket, DISTRIBUTION_ROW_BUCKETS));
            json_write_u64(w, cells[row]);
        }
    }
    json_write_end(w);
}

static void put_names(struct json_writer *w, const struct distribution *distribution)
{
    put_number(w, "unnamed", distribution->n_unnamed);
    json_write_key(w, "names");
    json_write_lines(w);
    for (unsigned i = 0; i < distribution->n_names; i++) {
        const struct distribution_name *name = &distribution->names[i];

        json_write_object(w);
        put_number(w, "name", name->name);
        put_durations(w, &name->durations, name->sum);
        json_write_end(w);
    }
    json_write_end(w);
}

static void put_slowest(struct exchange *x, const struct distribution *distribution)
{
    struct json_writer *w = &x->answer.json;

    json_write_key(w, "slowest");
    json_write_lines(w);
    for (unsigned i = 0; i < distribution->n_slowest; i++) {
        const struct distribution_slice *one = &distribution->slowest[i];

        json_write_object(w);
        exchange_put_track(x, "track", one->track);
        put_number(w, "depth", one->depth);
        exchange_put_time(x, "begin", one->slice.begin);
        exchange_put_time(x, "end", one->slice.end);
        put_number(w, "name", one->slice.name);
        json_write_end(w);
    }
    json_write_end(w);
}

static void put_all(struct exchange *x, const struct distribution *distribution)
{
    const struct histogram *durations = &distribution->durations;
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    exchange_put_time(x, "from", distribution->query.span.from);
    exchange_put_time(x, "to", distribution->query.span.to);
    put_durations(w, durations, distribution->sum);
    put_number(w, "min", durations->n ? distribution->min : 0);
    put_number(w, "cut", distribution->n_cut);
    put_number(w, "partly", distribution->n_partly);
    put_buckets(w, durations);
    put_cells(w, distribution);
    put_names(w, distribution);
    put_slowest(x, distribution);
    json_write_finish(w);
}

/* Refuses too many slices before they are read. 0, -E2BIG, another negative errno. */
static int check_number(const struct index *index, const struct distribution_query *query,
                        const uint8_t *selected)
{
    int64_t end = query->span.to < INT64_MAX ? query->span.to + 1 : query->span.to;
    uint64_t total = 0;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < index_summary(index)->n_tracks; i++) {
        uint64_t n = 0;

        if (selected[i])
            r = index_counts(index, i, query->span.from, end, 1, &n);
        total += n;
        if (r == 0 && total > DISTRIBUTION_SLICES_MAX)
            r = -E2BIG;
    }
    return r;
}

void api_latency(struct exchange *x)
{
    const struct index *index = x->generation->index;
    struct distribution distribution = {0};
    struct distribution_query query = {0};
    _cleanup_free_ uint8_t *selected = NULL;
    _cleanup_free_ uint8_t *names = NULL;
    uint32_t tracks[EXCHANGE_TRACKS_MAX];
    int n;
    int r;

    if (read_query(x, &query) < 0 || (n = exchange_tracks(x, tracks)) < 0 ||
        read_names(x, &names) < 0)
        return;
    query.names = names;
    selected = select_tracks(index, tracks, n);
    r = selected ? check_number(index, &query, selected) : -ENOMEM;
    if (r == 0)
        r = distribution_init(&distribution, &query);
    for (uint32_t i = 0; r >= 0 && i < index_summary(index)->n_tracks; i++)
        if (selected[i])
            r = distribution_add(&distribution, x, i);
    if (r == -E2BIG) {
        answer_error(&x->answer, HTTP_TOO_LARGE,
                     "more than %u slices; select less time or fewer tracks",
                     DISTRIBUTION_SLICES_MAX);
    } else if (r < 0) {
        answer_failure(&x->answer, r, NULL);
    } else {
        distribution_sort(&distribution);
        put_all(x, &distribution);
    }
    distribution_done(&distribution);
}
