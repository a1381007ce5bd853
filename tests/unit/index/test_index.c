/* SPDX-License-Identifier: MIT */
/* Answers of an index against a plain list of what was put into it, at many resolutions; and damaged files. */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/wide.h"
#include "cmocka_all.h"
#include "index/build_internal.h"
#include "index/columns.h"
#include "index/internal.h"
#include "index_seal.h"
#include "random.h"

static uint64_t random_below(uint64_t n)
{
    return random_u64() % n;
}

#define SLICES_MAX 20000
#define NAMES 40

struct model {
    unsigned n;
    struct row_slice slices[SLICES_MAX];
};

static struct model model;

/* Gaps and durations of all orders: bursts of short ones, long ones alone, and many at one time. */
static void make_model(unsigned n, unsigned n_names)
{
    int64_t time = -(int64_t)random_below(1000000);
    uint64_t burst = 1;

    model.n = n;
    for (unsigned i = 0; i < n; i++) {
        struct row_slice *slice = &model.slices[i];

        if (random_below(100) == 0)
            burst = UINT64_C(1) << random_below(40);
        time += (int64_t)random_below(burst);
        slice->begin = time;
        time += random_below(50) ? (int64_t)random_below(burst) : 0;
        slice->end = time;
        slice->name = (uint32_t)(random_below(3) ? 0 : random_below(n_names));
        slice->flags = random_below(10) ? 0 : INDEX_CUT;
    }
}

struct made {
    FILE *file;
    struct index *index;
};

static void write_index(struct made *made, void (*fill)(struct builder *builder))
{
    struct builder *builder = calloc(1, sizeof *builder);

    assert_non_null(builder);
    made->file = tmpfile();
    assert_non_null(made->file);
    assert_int_equal(index_writer_init(&builder->writer, fileno(made->file)), 0);
    assert_int_equal(index_names_init(&builder->names), 0);
    fill(builder);
    assert_int_equal(build_tracks_finish(builder), 0);
    assert_int_equal(index_writer_finish(&builder->writer), 0);
    for (unsigned i = 0; i < builder->n_tracks; i++) {
        struct build_track *track = builder->tracks[i];

        for (unsigned depth = 0; depth < track->n_slices; depth++)
            slice_row_free(track->slices[depth]);
        free(track->slices);
        if (track->values)
            free(track->values->nodes);
        free(track->values);
        if (track->events)
            free(track->events->nodes);
        free(track->events);
    }
    free(builder->tracks);
    free(builder->arrows);
    index_names_done(&builder->names);
    index_writer_done(&builder->writer);
    arena_done(&builder->arena);
    free(builder);
}

static void make_index(struct made *made, void (*fill)(struct builder *builder))
{
    struct error error = {0};

    write_index(made, fill);
    assert_int_equal(index_open_fd(fileno(made->file), "made", &made->index, &error), 0);
}

static void made_done(struct made *made)
{
    made->index = index_free(made->index);
    fclose(made->file);
}

static struct group group = {.layer = LAYER_GUEST, .number = 3};

static struct build_track *add_track(struct builder *builder, enum index_track_kind kind,
                                     const char *name)
{
    const struct build_track like = {.group = &group, .kind = kind, .name = name};
    struct build_track *track = build_track_new(builder, &like);

    assert_non_null(track);
    return track;
}

static void put_names(struct builder *builder)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char name[16];
        uint32_t number;

        snprintf(name, sizeof name, "name %u", i);
        assert_int_equal(index_names_put(&builder->names, name, strlen(name), &number), 0);
        assert_int_equal(number, i);
    }
}

static void fill_slices(struct builder *builder)
{
    struct build_track *track = add_track(builder, INDEX_SLICES, "slices");
    struct slice_row *row = build_track_row(builder, track, 0);

    put_names(builder);
    assert_non_null(row);
    for (unsigned i = 0; i < model.n; i++)
        assert_int_equal(slice_row_put(row, &builder->writer, model.slices[i]), 0);
}

/* ---- slices ---- */

/* NAME is one of those of N slices, and the one that takes the time if one takes nearly all. */
static bool is_top(const struct row_slice *slices, unsigned n, uint32_t name)
{
    uint64_t times[NAMES] = {0};
    uint64_t total = 0;
    bool found = false;

    for (unsigned i = 0; i < n; i++) {
        uint64_t duration = (uint64_t)(slices[i].end - slices[i].begin);

        found = found || slices[i].name == name;
        times[slices[i].name] += duration;
        total += duration;
    }
    for (unsigned i = 0; i < NAMES; i++)
        if (i != name && (double)times[i] > 0.8 * (double)total)
            return false;
    return found;
}

/* SLICE stands for N of the model from AT on. */
static void check_many(const struct index_slice *slice, unsigned at, int64_t resolution)
{
    const struct row_slice *first = &model.slices[at];
    uint64_t covered = 0;
    uint8_t flags = 0;

    assert_true(at + slice->n <= model.n);
    for (unsigned i = 0; i < slice->n; i++) {
        assert_true(first[i].end - first[i].begin < resolution);
        covered += (uint64_t)(first[i].end - first[i].begin);
        flags |= first[i].flags;
    }
    assert_int_equal(slice->begin, first->begin);
    assert_int_equal(slice->end, first[slice->n - 1].end);
    assert_true((uint64_t)(slice->end - slice->begin) < 2 * (uint64_t)resolution);
    assert_int_equal(slice->flags, flags | INDEX_MANY);
    if (slice->end > slice->begin) {
        double share = (double)covered / (double)(slice->end - slice->begin) * 65535;

        assert_true(slice->covered >= share - 16 && slice->covered <= share + 16);
    }
    assert_true(is_top(first, slice->n, slice->name));
}

static void check_query(const struct index *index, int64_t from, int64_t to, int64_t resolution)
{
    struct index_slices slices = {0};
    unsigned at = 0;

    assert_int_equal(index_slices(index, 0, 0, from, to, resolution, &slices), 0);
    /* What is not there ends before FROM. */
    while (slices.n > 0 && at < model.n && model.slices[at].begin < slices.slices[0].begin) {
        assert_true(model.slices[at].end < from);
        at++;
    }
    /* The same begin may be that of several of no duration. */
    while (slices.n > 0 && at < model.n && model.slices[at].end < from &&
           !(slices.slices[0].flags & INDEX_MANY))
        at++;
    for (unsigned i = 0; i < slices.n; i++) {
        const struct index_slice *slice = &slices.slices[i];

        assert_true(slice->end >= from && slice->begin <= to);
        assert_true(i == 0 || slice->begin >= slice[-1].end);
        if (slice->flags & INDEX_MANY) {
            assert_true(slice->n > 1 && resolution > 0);
            check_many(slice, at, resolution);
        } else {
            assert_int_equal(slice->n, 1);
            assert_int_equal(slice->begin, model.slices[at].begin);
            assert_int_equal(slice->end, model.slices[at].end);
            assert_int_equal(slice->name, model.slices[at].name);
            assert_int_equal(slice->flags, model.slices[at].flags);
            assert_int_equal(slice->covered, 65535);
        }
        at += slice->n;
    }
    for (; at < model.n; at++)
        assert_true(model.slices[at].begin > to || (slices.n == 0 && model.slices[at].end < from));
    index_slices_done(&slices);
}

/* TRACK has something at the begin of each slice of the model. */
static void check_counts(const struct index *index, uint32_t track, int64_t from, int64_t to)
{
    uint64_t counts[1000];
    uint64_t expected[1000] = {0};
    unsigned n = 1 + (unsigned)random_below(random_below(2) ? 1000 : 10);

    assert_int_equal(index_counts(index, track, from, to, n, counts), 0);
    for (unsigned i = 0; i < model.n; i++) {
        int64_t begin = model.slices[i].begin;

        if (to > from && begin >= from && begin < to)
            expected[mul_div_u64((uint64_t)(begin - from), n, (uint64_t)(to - from))]++;
    }
    assert_memory_equal(counts, expected, n * sizeof *counts);
}

static void check_model(unsigned n, unsigned n_names)
{
    struct made made;
    int64_t begin;
    int64_t end;

    make_model(n, n_names);
    make_index(&made, fill_slices);
    assert_int_equal(index_track(made.index, 0)->n, n);
    begin = model.slices[0].begin;
    end = model.slices[n - 1].end;
    check_query(made.index, INT64_MIN, INT64_MAX, 0);
    check_query(made.index, INT64_MIN, INT64_MAX, INT64_MAX);
    for (unsigned i = 0; i < 40; i++) {
        uint64_t span = (uint64_t)(end - begin) >> random_below(40);
        int64_t from = begin - 10 + (int64_t)random_below((uint64_t)(end - begin) + 20);
        int64_t to = from + (int64_t)random_below(span + 2);
        int64_t resolution =
            (int64_t)random_below((uint64_t)(to - from) / 4 + 2) >> random_below(20);

        if (random_below(10) == 0) {
            from = begin - 10;
            to = end + 10;
        }
        check_query(made.index, from, to, resolution);
        check_counts(made.index, 0, from, to);
    }
    made_done(&made);
}

static void test_random_slices(void **unused)
{
    static const unsigned sizes[] = {1,   2,    63,   64,   65,   511,   512,  513,
                                     576, 4095, 4096, 4097, 4160, 16385, 20000};

    (void)unused;
    for (unsigned round = 0; round < 4; round++)
        for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
            check_model(sizes[i], round % 2 ? NAMES : 3);
}

/* The same slices are together wherever the view begins. */
static void test_stable(void **unused)
{
    struct index_slices all = {0};
    struct made made;

    (void)unused;
    make_model(SLICES_MAX, 5);
    make_index(&made, fill_slices);
    assert_int_equal(index_slices(made.index, 0, 0, INT64_MIN, INT64_MAX, 100000, &all), 0);
    for (unsigned i = 0; i + 20 < all.n; i += 1 + all.n / 300) {
        struct index_slices some = {0};

        assert_int_equal(index_slices(made.index, 0, 0, all.slices[i].end, all.slices[i + 20].begin,
                                      100000, &some),
                         0);
        assert_true(some.n >= 21 && some.n <= 23);
        for (unsigned at = 0; at < all.n; at++)
            if (all.slices[at].begin == some.slices[0].begin &&
                all.slices[at].end == some.slices[0].end) {
                assert_memory_equal(some.slices, &all.slices[at], some.n * sizeof *some.slices);
                break;
            }
        index_slices_done(&some);
    }
    index_slices_done(&all);
    made_done(&made);
}

/* ---- values and events ---- */

static void fill_series(struct builder *builder)
{
    struct build_track *events = add_track(builder, INDEX_EVENTS, "events");
    struct build_track *values = add_track(builder, INDEX_COUNTER, "values");

    values->unit = "bytes";
    events->events = calloc(1, sizeof *events->events);
    values->values = calloc(1, sizeof *values->values);
    assert_true(events->events && values->values);
    for (unsigned i = 0; i < model.n; i++) {
        assert_int_equal(event_row_put(events->events, &builder->writer, model.slices[i].begin), 0);
        assert_int_equal(value_row_put(values->values, &builder->writer, model.slices[i].begin,
                                       (int64_t)model.slices[i].name - 7),
                         0);
    }
}

static void check_values(const struct index *index, int64_t from, int64_t to, int64_t resolution)
{
    struct index_value *values;
    unsigned n;
    unsigned at = 0;

    assert_int_equal(index_values(index, 1, from, to, resolution, &values, &n), 0);
    while (at < model.n && model.slices[at].begin < from)
        at++;
    if (at > 0) {
        assert_true(n > 0);
        assert_int_equal(values[0].time, model.slices[at - 1].begin);
        assert_int_equal(values[0].last, (int64_t)model.slices[at - 1].name - 7);
    }
    for (unsigned i = at > 0; i < n; i++) {
        unsigned first = at;
        int64_t min = INT64_MAX;
        int64_t max = INT64_MIN;
        int64_t until = i + 1 < n ? values[i + 1].time : to;

        assert_int_equal(values[i].time, model.slices[at].begin);
        for (; at < model.n && model.slices[at].begin <= to &&
               (at == first || (resolution > 0 && (i + 1 == n || model.slices[at].begin < until)));
             at++) {
            min = MIN(min, (int64_t)model.slices[at].name - 7);
            max = MAX(max, (int64_t)model.slices[at].name - 7);
            if (resolution > 0)
                assert_true(model.slices[at].begin - values[i].time < resolution);
        }
        assert_int_equal(values[i].min, min);
        assert_int_equal(values[i].max, max);
        assert_int_equal(values[i].last, (int64_t)model.slices[at - 1].name - 7);
    }
    assert_true(at == model.n || model.slices[at].begin > to);
    free(values);
}

static void test_random_series(void **unused)
{
    static const unsigned sizes[] = {1, 127, 128, 129, 8191, 8192, 8193, 20000};

    (void)unused;
    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct made made;
        uint64_t counts[1];
        int64_t begin;
        uint64_t duration;

        make_model(sizes[i], NAMES);
        make_index(&made, fill_series);
        begin = model.slices[0].begin;
        duration = (uint64_t)(model.slices[model.n - 1].end - begin);
        assert_string_equal(index_track(made.index, 1)->unit, "bytes");
        for (unsigned track = 0; track < 2; track++) {
            assert_int_equal(index_counts(made.index, track, INT64_MIN, INT64_MAX, 1, counts), 0);
            assert_int_equal(counts[0], model.n);
        }
        check_values(made.index, INT64_MIN, INT64_MAX, 0);
        for (unsigned k = 0; k < 100; k++) {
            int64_t from = begin - 10 + (int64_t)random_below(duration + 20);
            int64_t to = from + (int64_t)random_below((duration >> random_below(30)) + 2);

            check_values(made.index, from, to, 0);
            check_values(made.index, from, to, 1 + (to - from) / 50);
            check_counts(made.index, 0, from, to);
            check_counts(made.index, 1, from, to);
            check_counts(made.index, 0, begin - 10, to);
            check_counts(made.index, 0, from, begin + (int64_t)duration + 10);
        }
        made_done(&made);
    }
}

/* Nothing is counted where a source lost events, as after each 300th here. */
#define LOSS_EVENTS 300u
#define LOSS_NS 1000000

static int64_t time_near_losses(unsigned i)
{
    return (int64_t)i * 1000 + (int64_t)(i / LOSS_EVENTS) * LOSS_NS;
}

static void fill_losses(struct builder *builder)
{
    struct build_track *events = add_track(builder, INDEX_EVENTS, "events");

    events->events = calloc(1, sizeof *events->events);
    assert_non_null(events->events);
    for (unsigned i = 0; i < 20000; i++)
        assert_int_equal(event_row_put(events->events, &builder->writer, time_near_losses(i)), 0);
}

static void test_losses(void **unused)
{
    struct made made;
    uint64_t counts[1000];

    (void)unused;
    make_index(&made, fill_losses);
    assert_int_equal(index_counts(made.index, 0, 0, INT64_MAX, 1, counts), 0);
    assert_int_equal(counts[0], 20000);
    for (unsigned i = LOSS_EVENTS; i < 20000; i += LOSS_EVENTS) {
        int64_t from = time_near_losses(i - 1) + 1;
        int64_t to = time_near_losses(i);

        assert_int_equal(index_counts(made.index, 0, from, to, 1000, counts), 0);
        for (unsigned k = 0; k < 1000; k++)
            assert_int_equal(counts[k], 0);
        assert_int_equal(index_counts(made.index, 0, to, to + 1, 1, counts), 0);
        assert_int_equal(counts[0], 1);
    }
    made_done(&made);
}

static void test_columns(void **unused)
{
    static uint8_t bytes[BLOCK_SLICES * 8 + COLUMN_SLACK];
    uint64_t values[BLOCK_SLICES];
    uint64_t got[BLOCK_SLICES];

    (void)unused;
    for (unsigned bits = 0; bits <= 64; bits++)
        for (unsigned n = 1; n <= BLOCK_SLICES; n += 7) {
            unsigned width = bits <= 56 ? bits : 64;
            const uint8_t *p = bytes;
            const uint8_t *end;

            for (unsigned i = 0; i < n; i++)
                values[i] = bits == 0 ? 0 : random_u64() >> (64 - bits);
            if (bits > 0)
                values[random_below(n)] |= UINT64_C(1) << (bits - 1);
            assert_int_equal(column_width(values, n), width);
            memset(bytes, 0xff, sizeof bytes);
            end = column_put(bytes, values, n, width);
            assert_int_equal(end - bytes, (width * n + 7) / 8);
            assert_true(column_get(&p, end + COLUMN_SLACK, width, n, got));
            assert_ptr_equal(p, end);
            assert_memory_equal(got, values, n * sizeof *values);
            p = bytes;
            assert_false(column_get(&p, end + COLUMN_SLACK - 1, width, n, got));
            assert_false(column_get(&p, end + COLUMN_SLACK, 57, n, got));
            assert_false(column_get(&p, end + COLUMN_SLACK, 65, n, got));
            assert_ptr_equal(p, bytes);
        }
}

static void check_ascending(const uint64_t *values, unsigned n)
{
    static uint8_t bytes[BLOCK_EVENTS * 8 + ASCENDING_HIGH_BYTES(BLOCK_EVENTS) + COLUMN_SLACK];
    uint64_t got[BLOCK_EVENTS];
    const uint8_t *p = bytes;
    const uint8_t *end;

    memset(bytes, 0xff, sizeof bytes);
    end = ascending_put(bytes, values, n);
    assert_true(end + COLUMN_SLACK <= bytes + sizeof bytes);
    assert_true(ascending_get(&p, end + COLUMN_SLACK, values[n - 1], n, got));
    assert_ptr_equal(p, end);
    assert_memory_equal(got, values, n * sizeof *values);
    p = bytes;
    assert_false(ascending_get(&p, end + COLUMN_SLACK - 1, values[n - 1], n, got));
    assert_ptr_equal(p, bytes);
}

static void test_ascending(void **unused)
{
    uint64_t values[BLOCK_EVENTS];

    (void)unused;
    for (unsigned bits = 0; bits <= 64; bits++)
        for (unsigned n = 1; n <= BLOCK_EVENTS; n++) {
            uint64_t value = 0;

            /* Even gaps; one large gap; the largest number at each width. */
            for (unsigned i = 0; i < n; i++) {
                values[i] = value;
                value += bits == 0 ? 0 : (random_u64() >> (64 - bits)) / n;
            }
            check_ascending(values, n);
            for (unsigned i = (unsigned)random_below(n); i < n; i++)
                values[i] = bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
            if (values[n - 1] >= values[n > 1 ? n - 2 : 0])
                check_ascending(values, n);
        }
}

/* ---- tracks, names, arrows ---- */

static void put_event(struct builder *builder, struct build_track *track, int64_t ns)
{
    if (!track->events)
        track->events = calloc(1, sizeof *track->events);
    assert_non_null(track->events);
    assert_int_equal(event_row_put(track->events, &builder->writer, ns), 0);
}

static void put_slice(struct builder *builder, struct build_track *track, int64_t begin,
                      int64_t end, uint32_t name)
{
    struct slice_row *row = build_track_row(builder, track, 0);

    assert_non_null(row);
    assert_int_equal(slice_row_put(row, &builder->writer, (struct row_slice){begin, end, name, 0}),
                     0);
}

static unsigned n_arrows;

static void fill_tree(struct builder *builder)
{
    struct build_track *top = add_track(builder, INDEX_GROUP, "group");
    struct build_track *slept =
        add_track(builder, INDEX_SLICES, "a thread\x1b[31m that \xff slept");
    struct build_track *states = add_track(builder, INDEX_STATES, "states");
    struct build_track *both = add_track(builder, INDEX_SLICES, "both");
    struct build_track *empty = add_track(builder, INDEX_SLICES, "empty");
    uint32_t number;

    builder->arrows = calloc(n_arrows, sizeof *builder->arrows);
    assert_non_null(builder->arrows);
    put_names(builder);
    assert_int_equal(index_names_put(&builder->names, "a\nb\xe2\x80\xa8", 6, &number), 0);
    assert_int_equal(number, NAMES);
    slept->parent = both->parent = empty->parent = top;
    states->parent = slept;
    slept->rank = 2;
    both->rank = 1;
    put_slice(builder, states, 10, 20, STATE_IDLE);
    put_slice(builder, states, 20, 30, STATE_RUNNING);
    put_slice(builder, both, 10, 20, 1);
    put_event(builder, both, 12);
    for (unsigned i = 0; i < n_arrows; i++)
        builder->arrows[builder->n_arrows++] = (struct build_arrow){
            both, states, (int64_t)i * 10 - (i % 100 ? 0 : 5000), (int64_t)i * 10 + 5, 0, 0};
}

static void check_track(const struct index *index, uint32_t number, uint32_t parent,
                        enum index_track_kind kind, const char *name, uint64_t n)
{
    const struct index_track *track = index_track(index, number);

    assert_non_null(track);
    assert_int_equal(track->parent, parent);
    assert_int_equal(track->kind, kind);
    assert_string_equal(track->name, name);
    assert_int_equal(track->n, n);
    assert_int_equal(track->source, 3);
    assert_int_equal(track->layer, LAYER_GUEST);
}

static void test_tree(void **unused)
{
    struct index_slices slices = {0};
    struct index_arrow *arrows;
    struct made made;
    unsigned n;
    uint64_t total;

    (void)unused;
    n_arrows = 1000;
    make_index(&made, fill_tree);
    assert_int_equal(index_summary(made.index)->n_tracks, 4);
    check_track(made.index, 0, INDEX_NO_TRACK, INDEX_GROUP, "group", 0);
    check_track(made.index, 1, 0, INDEX_SLICES, "both", 1);
    check_track(made.index, 2, 1, INDEX_EVENTS, "events", 1);
    check_track(made.index, 3, 0, INDEX_STATES, "a thread\xef\xbf\xbd[31m that \xef\xbf\xbd slept",
                2);
    assert_null(index_track(made.index, 4));
    assert_string_equal(index_name(made.index, 1), "name 1");
    assert_string_equal(index_name(made.index, NAMES), "a\xef\xbf\xbd"
                                                       "b\xef\xbf\xbd");
    assert_string_equal(index_name(made.index, NAMES + 1), "");
    assert_int_equal(index_slices(made.index, 3, 0, 0, 100, 0, &slices), 0);
    assert_int_equal(slices.n, 2);
    assert_int_equal(slices.slices[0].state, STATE_IDLE);
    assert_int_equal(slices.slices[0].flags, INDEX_IDLE);
    assert_int_equal(slices.slices[1].state, STATE_RUNNING);
    index_slices_done(&slices);

    assert_int_equal(index_arrows(made.index, 5000, 5003, 100, &arrows, &n, &total), 0);
    /* The one there, and those that begin every thousand up to 5,000 later. */
    assert_int_equal(total, 5);
    assert_int_equal(n, 5);
    assert_int_equal(arrows[0].from_track, 1);
    assert_int_equal(arrows[0].to_track, 3);
    free(arrows);
    assert_int_equal(index_arrows(made.index, INT64_MIN, INT64_MAX, 10, &arrows, &n, &total), 0);
    assert_int_equal(total, 1000);
    assert_int_equal(n, 10);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(arrows[i].end - arrows[i].begin, 5005);
    free(arrows);
    made_done(&made);
}

/* ---- damage ---- */

/* Asks all that can be asked. */
static void ask_all(const struct index *index)
{
    for (uint32_t i = 0; i < index_summary(index)->n_tracks; i++) {
        const struct index_track *track = index_track(index, i);
        struct index_value *values;
        uint64_t counts[10];
        unsigned n;

        assert_true(track->parent == INDEX_NO_TRACK || track->parent < i);
        for (unsigned depth = 0; depth < track->n_depths; depth++)
            for (unsigned k = 0; k < 3; k++) {
                static const int64_t resolutions[] = {0, 1000, INT64_MAX};
                struct index_slices slices = {0};

                if (index_slices(index, i, depth, INT64_MIN, INT64_MAX, resolutions[k], &slices) ==
                    0)
                    for (unsigned at = 0; at < slices.n; at++)
                        assert_non_null(index_name(index, slices.slices[at].name));
                index_slices_done(&slices);
            }
        index_counts(index, i, -1000000, 1000000, 10, counts);
        if (index_values(index, i, INT64_MIN, INT64_MAX, 100, &values, &n) == 0)
            free(values);
    }
    {
        struct index_arrow *arrows;
        unsigned n;
        uint64_t total;

        assert_int_equal(index_arrows(index, INT64_MIN, INT64_MAX, 10, &arrows, &n, &total), 0);
        for (unsigned i = 0; i < n; i++)
            assert_non_null(index_track(index, arrows[i].to_track));
        free(arrows);
    }
}

static void fill_all(struct builder *builder)
{
    fill_tree(builder);
    fill_series(builder);
    for (unsigned i = 0; i < model.n; i++)
        put_slice(builder, builder->tracks[3], model.slices[i].begin + 30, model.slices[i].end + 30,
                  model.slices[i].name);
}

/* Of just SIZE bytes, so that a sanitizer sees what is read beyond them. */
static void open_damaged(const uint8_t *bytes, size_t size, unsigned *ret_opened)
{
    struct error error = {0};
    struct index *index;
    int r = index_open_bytes(bytes, size, "damaged", &index, &error);

    if (r < 0) {
        assert_int_equal(r, -EINVAL);
        assert_true(error.what[0]);
        return;
    }
    ++*ret_opened;
    ask_all(index);
    index_free(index);
}

static void test_damaged(void **unused)
{
    uint8_t *bytes;
    uint8_t *copy;
    struct made made;
    unsigned opened = 0;
    size_t size;

    (void)unused;
    make_model(70, NAMES);
    n_arrows = 10;
    make_index(&made, fill_all);
    ask_all(made.index);
    size = made.index->size;
    bytes = malloc(size);
    copy = malloc(size);
    assert_true(bytes && copy);
    memcpy(bytes, made.index->map, size);
    memcpy(copy, bytes, size);
    made_done(&made);
    for (size_t i = 0; i < size; i++)
        for (unsigned k = 0; k < 2; k++) {
            unsigned n_before = opened;

            copy[i] ^= (uint8_t)(1 + random_below(255));
            if (k == 1)
                index_seal(copy, size);
            open_damaged(copy, size, &opened);
            /* Whatever changed: without the right checksum, nothing is shown. */
            if (k == 0)
                assert_int_equal(opened, n_before);
            copy[i] = bytes[i];
            memcpy(copy, bytes, sizeof(struct index_header));
        }
    assert_true(opened > size / 2);
    free(copy);
    for (size_t i = 0; i < size; i += 1 + i / 50) {
        copy = malloc(i + !i);
        assert_non_null(copy);
        memcpy(copy, bytes, i);
        opened = 0;
        open_damaged(copy, i, &opened);
        assert_int_equal(opened, 0);
        free(copy);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_slices), cmocka_unit_test(test_stable),
        cmocka_unit_test(test_random_series), cmocka_unit_test(test_losses),
        cmocka_unit_test(test_columns),       cmocka_unit_test(test_ascending),
        cmocka_unit_test(test_tree),          cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
