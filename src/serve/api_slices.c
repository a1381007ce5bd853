/* SPDX-License-Identifier: MIT */
/* GET api/slices, api/counts, api/values, api/arrows: pieces of the timeline in the detail that pixels can show. Arrays
 * are flat, because a view has tens of thousands of slices. */

#include "serve/routes.h"

#define ARROWS_MAX 10000
#define ARROWS_DEFAULT 1000

/* What they share: the parameters from, to, pixels and tracks. */
struct piece {
    struct api_span span;
    unsigned pixels;
    int64_t resolution; /* ns per pixel */
    uint32_t tracks[EXCHANGE_TRACKS_MAX];
    int n_tracks;
};

static int piece_get(struct exchange *x, struct piece *ret)
{
    uint64_t duration;

    if (exchange_span(x, &ret->span) < 0 || exchange_pixels(x, &ret->pixels) < 0)
        return -EBADMSG;
    ret->n_tracks = exchange_tracks(x, ret->tracks);
    if (ret->n_tracks < 0)
        return -EBADMSG;
    duration = (uint64_t)ret->span.to - (uint64_t)ret->span.from;
    ret->resolution = (int64_t)(duration / ret->pixels);
    return 0;
}

/* Writes `{"from":…,"to":…,"resolution":…,"tracks":[` */
static void put_head(struct exchange *x, const struct piece *piece)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    exchange_put_time(x, "from", piece->span.from);
    exchange_put_time(x, "to", piece->span.to);
    json_write_key(w, "resolution");
    json_write_i64(w, piece->resolution);
    json_write_key(w, "tracks");
    json_write_array(w);
}

/* Writes `{"id":1,"KEY":[` */
static void put_track(struct exchange *x, uint32_t track, const char *key)
{
    struct json_writer *w = &x->answer.json;

    json_write_object(w);
    exchange_put_track(x, "id", track);
    json_write_key(w, key);
    json_write_array(w);
}

static int put_depth(struct exchange *x, const struct piece *piece, uint32_t track, unsigned depth)
{
    const struct index *index = x->generation->index;
    int64_t begin = index_summary(index)->begin;
    struct json_writer *w = &x->answer.json;
    struct index_slices slices = {0};
    int r = index_slices(index, track, depth, piece->span.from, piece->span.to, piece->resolution,
                         &slices);

    json_write_array(w);
    for (unsigned i = 0; r == 0 && i < slices.n; i++) {
        const struct index_slice *slice = &slices.slices[i];

        json_write_i64(w, slice->begin - begin);
        json_write_i64(w, slice->end - begin);
        json_write_u64(w, slice->name);
        json_write_u64(w, slice->flags);
        json_write_u64(w, slice->n);
        json_write_u64(w, slice->covered);
        json_write_u64(w, slice->state);
        if (i % 4096 == 0 && answer_is_full(&x->answer))
            r = -EBADMSG;
    }
    index_slices_done(&slices);
    if (r < 0)
        return answer_failure(&x->answer, r, NULL);
    json_write_end(w);
    return answer_is_full(&x->answer) ? -EBADMSG : 0;
}

void api_slices(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    struct piece piece;

    if (piece_get(x, &piece) < 0)
        return;
    put_head(x, &piece);
    for (int i = 0; i < piece.n_tracks; i++) {
        uint32_t number = piece.tracks[i];
        const struct index_track *track = index_track(x->generation->index, number);

        put_track(x, number, "depths");
        for (unsigned depth = 0; depth < track->n_depths; depth++)
            if (put_depth(x, &piece, number, depth) < 0)
                return;
        json_write_end(w);
        json_write_end(w);
    }
    json_write_finish(w);
}

void api_counts(struct exchange *x)
{
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ uint64_t *counts = NULL;
    struct piece piece;

    if (piece_get(x, &piece) < 0)
        return;
    counts = calloc(piece.pixels, sizeof *counts);
    if (!counts) {
        answer_failure(&x->answer, -ENOMEM, NULL);
        return;
    }
    put_head(x, &piece);
    for (int i = 0; i < piece.n_tracks; i++) {
        int r = index_counts(x->generation->index, piece.tracks[i], piece.span.from, piece.span.to,
                             piece.pixels, counts);

        if (r < 0) {
            answer_failure(&x->answer, r, NULL);
            return;
        }
        put_track(x, piece.tracks[i], "counts");
        for (unsigned j = 0; j < piece.pixels; j++)
            json_write_u64(w, counts[j]);
        json_write_end(w);
        json_write_end(w);
        if (answer_is_full(&x->answer))
            return;
    }
    json_write_finish(w);
}

static int put_values(struct exchange *x, const struct piece *piece, uint32_t track)
{
    const struct index *index = x->generation->index;
    int64_t begin = index_summary(index)->begin;
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ struct index_value *values = NULL;
    unsigned n = 0;
    int r = index_values(index, track, piece->span.from, piece->span.to, piece->resolution, &values,
                         &n);

    if (r < 0)
        return answer_failure(&x->answer, r, NULL);
    put_track(x, track, "values");
    for (unsigned i = 0; i < n; i++) {
        json_write_i64(w, values[i].time - begin);
        json_write_i64(w, values[i].min);
        json_write_i64(w, values[i].max);
        json_write_i64(w, values[i].last);
        if (i % 4096 == 0 && answer_is_full(&x->answer))
            return -EBADMSG;
    }
    json_write_end(w);
    json_write_end(w);
    return answer_is_full(&x->answer) ? -EBADMSG : 0;
}

void api_values(struct exchange *x)
{
    struct piece piece;

    if (piece_get(x, &piece) < 0)
        return;
    put_head(x, &piece);
    for (int i = 0; i < piece.n_tracks; i++)
        if (put_values(x, &piece, piece.tracks[i]) < 0)
            return;
    json_write_finish(&x->answer.json);
}

void api_arrows(struct exchange *x)
{
    const struct index *index = x->generation->index;
    int64_t begin = index_summary(index)->begin;
    int64_t max = ARROWS_DEFAULT;
    struct json_writer *w = &x->answer.json;
    _cleanup_free_ struct index_arrow *arrows = NULL;
    struct api_span span;
    uint64_t total = 0;
    unsigned n = 0;
    int r;

    if (exchange_span(x, &span) < 0 || exchange_number(x, "max", 0, ARROWS_MAX, &max) < 0)
        return;
    r = index_arrows(index, span.from, span.to, (unsigned)max, &arrows, &n, &total);
    if (r < 0) {
        answer_failure(&x->answer, r, NULL);
        return;
    }
    json_write_object(w);
    json_write_key(w, "total");
    json_write_u64(w, total);
    json_write_key(w, "arrows");
    json_write_array(w);
    for (unsigned i = 0; i < n; i++) {
        json_write_array(w);
        json_write_i64(w, arrows[i].begin - begin);
        exchange_put_track(x, NULL, arrows[i].from_track);
        json_write_u64(w, arrows[i].from_depth);
        json_write_i64(w, arrows[i].end - begin);
        exchange_put_track(x, NULL, arrows[i].to_track);
        json_write_u64(w, arrows[i].to_depth);
        json_write_end(w);
    }
    json_write_finish(w);
}
