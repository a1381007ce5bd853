/* SPDX-License-Identifier: MIT */
/* The ring of a thread: what is emitted is read, once, whole and in order; what does not fit is counted;
 * threads, signal handlers and forked children get along. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring_records.h"

/* These tests run in threads other than cmocka's, where its own would end the program without a word. */
#define expect(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)
#undef assert_true
#define assert_true(condition) expect(condition)
#undef assert_int_equal
#define assert_int_equal(a, b) expect((uint64_t)(a) == (uint64_t)(b))
#undef assert_string_equal
#define assert_string_equal(a, b) expect(strcmp(a, b) == 0)
#undef assert_null
#define assert_null(p) expect(!(p))
#undef assert_non_null
#define assert_non_null(p) expect(p)

#define RING (64U << 10)
#define SUBBUFFER (8U << 10)
#define MAP_LENGTH(map) ((map)->data_offset + (map)->size)

/* Each test is a thread of its own: it begins with no ring, and leaves the one it got. */
struct on_thread {
    void (*function)(void **state);
    void **state;
};

static void *thread_main(void *p)
{
    struct on_thread *test = p;

    test->function(test->state);
    return NULL;
}

static struct ring_map *my_map(void)
{
    uint32_t tid = (uint32_t)syscall(SYS_gettid);

    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i) && ring_at(i)->owner == tid)
            return ring_at(i);
    return NULL;
}

static struct ring_reader reader_of(struct ring_map *map)
{
    struct ring_reader reader;

    assert_int_equal(ring_reader_init(&reader, map, MAP_LENGTH(map)), 0);
    return reader;
}

/* Throws away what an earlier thread left in the ring. */
static void drain(struct ring_map *map)
{
    struct ring_reader reader = reader_of(map);
    struct ring_packet packet;

    while (ring_reader_next(&reader, RING_FLUSH, &packet) > 0)
        ring_reader_release(&reader, &packet);
}

/* Reads all that is there and expects records of CLASS_TWO with `a` rising by one from NEXT. Returns
 * what would be next. */
static uint64_t expect_rising(struct ring_reader *reader, enum ring_reading how, uint64_t next)
{
    uint64_t time = reader->time;
    struct ring_packet packet;

    while (ring_reader_next(reader, how, &packet) > 0) {
        struct record_walk walk = {.packet = &packet};
        struct record record;
        int r;

        assert_int_equal(packet.header.magic, CTF_MAGIC);
        assert_int_equal(packet.header.content_size, (96 + packet.content_size) * 8);
        assert_true(packet.header.packet_size >= packet.header.content_size);
        assert_int_equal(packet.header.packet_size % 64, 0);
        assert_true(packet.header.timestamp_begin >= time);
        while ((r = next_record(&walk, &record)) > 0) {
            assert_int_equal(record.class_id, CLASS_TWO);
            assert_int_equal(record.a, next++);
            assert_int_equal(record.b, ~record.a);
            assert_true(record.time >= time);
            time = record.time;
        }
        assert_int_equal(r, 0);
        assert_true(packet.header.timestamp_end >= time);
        time = packet.header.timestamp_end;
        ring_reader_release(reader, &packet);
    }
    return next;
}

static void test_emitted_is_read(void **state)
{
    struct ring_reader reader;
    struct ring_packet packet;
    struct record_walk walk = {.packet = &packet};
    struct record record;
    struct ring_map *map;

    assert_true(emit_none());
    map = my_map();
    assert_non_null(map);
    drain(map);
    reader = reader_of(map);
    assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 0);

    assert_true(emit_two(1, 2));
    assert_true(emit_text(3, "four"));
    assert_true(emit_text(5, ""));
    assert_true(emit_text(6, NULL));
    assert_true(emit_none());
    assert_true(emit_text(7, "1234567"));

    /* The packet is open. */
    assert_int_equal(ring_reader_next(&reader, RING_CLOSED, &packet), 0);
    assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 1);
    assert_int_equal(packet.header.tid, syscall(SYS_gettid));
    assert_int_equal(packet.header.pid, getpid());
    assert_int_equal(next_record(&walk, &record), 1);
    assert_int_equal(record.class_id, CLASS_TWO);
    assert_int_equal(record.a, 1);
    assert_int_equal(record.b, 2);
    assert_int_equal(next_record(&walk, &record), 1);
    assert_int_equal(record.a, 3);
    assert_string_equal(record.text, "four");
    assert_int_equal(next_record(&walk, &record), 1);
    assert_string_equal(record.text, "");
    assert_int_equal(next_record(&walk, &record), 1);
    assert_int_equal(record.a, 6);
    assert_string_equal(record.text, "");
    assert_int_equal(next_record(&walk, &record), 1);
    assert_int_equal(record.class_id, CLASS_NONE);
    assert_int_equal(next_record(&walk, &record), 1);
    assert_string_equal(record.text, "1234567");
    assert_int_equal(next_record(&walk, &record), 0);
    ring_reader_release(&reader, &packet);
    assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 0);

    /* What comes behind a part that was read is a packet by itself. */
    assert_true(emit_text(8, "more"));
    assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 1);
    walk = (struct record_walk){.packet = &packet};
    assert_int_equal(next_record(&walk, &record), 1);
    assert_string_equal(record.text, "more");
    assert_int_equal(next_record(&walk, &record), 0);
}

static void test_long_strings_are_cut(void **state)
{
    char text[2 * STRATA_STRING_MAX];
    struct ring_reader reader;
    struct ring_packet packet;
    struct record_walk walk = {.packet = &packet};
    struct record record;

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    assert_true(emit_none());
    drain(my_map());
    reader = reader_of(my_map());
    assert_true(emit_text(1, text));
    assert_true(emit_two(2, ~2ULL));
    assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 1);
    assert_int_equal(next_record(&walk, &record), 1);
    assert_int_equal(strlen(record.text), STRATA_STRING_MAX);
    assert_int_equal(next_record(&walk, &record), 1);
    assert_int_equal(record.a, 2);
}

/* Many times around, read at every moment that differs. */
static void test_around(void **state)
{
    struct ring_reader reader;
    uint64_t emitted = 0, read = 0;
    unsigned packets = 0;

    assert_true(emit_none());
    drain(my_map());
    reader = reader_of(my_map());
    for (unsigned i = 0; i < 20 * RING / 24; i++) {
        assert_true(emit_two(emitted, ~emitted));
        emitted++;
        if (i % 1000 == 999) {
            uint64_t next =
                expect_rising(&reader, i % 3000 == 2999 ? RING_FLUSH : RING_CLOSED, read);

            packets += next > read;
            read = next;
        }
    }
    read = expect_rising(&reader, RING_FLUSH, read);
    assert_int_equal(read, emitted);
    assert_true(packets > 10);
    assert_int_equal(my_map()->sequence, reader.sequence);
}

static void test_full_drops_and_counts(void **state)
{
    struct ring_reader reader;
    struct ring_map *map;
    struct ring_packet packet;
    uint64_t emitted = 0, dropped = 0, before, of_class, read, counted = 0;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    reader = reader_of(map);
    before = ring_discarded(map);
    of_class = ring_discarded_of(map, CLASS_TWO);
    for (unsigned i = 0; i < 2 * RING / 24; i++)
        if (emit_two(emitted, ~emitted))
            emitted++;
        else
            dropped++;
    assert_true(dropped > RING / 24 / 2);
    assert_true(emitted > (RING - SUBBUFFER) / 24 - 100);
    assert_int_equal(ring_discarded(map) - before, dropped);
    assert_int_equal(ring_discarded_of(map, CLASS_TWO) - of_class, dropped);
    assert_int_equal(ring_discarded_of(map, CLASS_TEXT), 0);
    read = expect_rising(&reader, RING_FLUSH, 0);
    assert_int_equal(read, emitted);

    /* It goes on as soon as there is room, and the next packet tells of the loss. */
    for (unsigned i = 0; i < 10; i++) {
        assert_true(emit_two(emitted, ~emitted));
        emitted++;
    }
    while (ring_reader_next(&reader, RING_FLUSH, &packet) > 0)
        counted = packet.header.events_discarded;
    assert_int_equal(counted - before, dropped);
}

/* A record that no packet can hold is counted, and the ring goes on. */
static void test_too_large(void **state)
{
    struct strata_slot slot;
    struct ring_reader reader;
    struct ring_map *map;
    uint64_t before;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    reader = reader_of(map);
    before = ring_discarded(map);
    assert_null(strata_ring_begin(&slot, CLASS_TEXT, SUBBUFFER));
    assert_null(strata_ring_begin(&slot, CLASS_TEXT, SUBBUFFER - 96));
    assert_int_equal(ring_discarded(map) - before, 2);
    assert_true(emit_two(0, ~0ULL));
    assert_int_equal(expect_rising(&reader, RING_FLUSH, 0), 1);
}

/* The clock stands still for 2^47 ticks and more: the next record is in a packet of its own, whose
 * header has the time in full. */
static void test_long_gap(void **state)
{
    struct ring_reader reader;
    struct ring_packet packet;
    struct ring_map *map;
    uint64_t now;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    reader = reader_of(map);
    assert_true(emit_two(0, ~0ULL));
    now = map->time;
    /* As if it had been long ago. */
    map->time -= STRATA_RING_GAP + 5;
    map->late = map->time;
    reader.time = 0;
    assert_true(emit_two(1, ~1ULL));
    assert_int_equal(ring_reader_next(&reader, RING_CLOSED, &packet), 1);
    assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 1);
    assert_true(packet.header.timestamp_begin >= now);
    assert_true(packet.header.timestamp_begin <= trace_clock_ticks());
    assert_int_equal(packet.content_size, 24);

    /* The clock steps back: time stands still in the ring until it has caught up. */
    ring_reader_release(&reader, &packet);
    map->time += 1000000000;
    now = map->time;
    assert_true(emit_two(2, ~2ULL));
    assert_true(emit_two(3, ~3ULL));
    assert_int_equal(map->time, now);
    reader.time = 0;
    assert_int_equal(expect_rising(&reader, RING_FLUSH, 2), 4);
}

/* ---- Threads ---- */

#define THREADS 4
#define PER_THREAD 200000

struct emitter {
    uint64_t emitted, dropped, read;
    uint32_t tid;
    pthread_t thread;
};

static void *emit_many(void *p)
{
    struct emitter *self = p;

    self->tid = (uint32_t)syscall(SYS_gettid);
    for (unsigned i = 0; i < PER_THREAD; i++)
        if (emit_two((uint64_t)self->tid << 32 | self->emitted, i))
            self->emitted++;
        else
            self->dropped++;
    return NULL;
}

/* Reads what all rings hold, as the writer thread does. */
static void collect(struct ring_reader *readers, unsigned n, enum ring_reading how,
                    struct emitter *emitters, unsigned n_emitters)
{
    for (unsigned i = 0; i < n; i++) {
        struct ring_packet packet;

        if (!readers[i].map && ring_at(i))
            readers[i] = reader_of(ring_at(i));
        while (readers[i].map && ring_reader_next(&readers[i], how, &packet) > 0) {
            struct record_walk walk = {.packet = &packet};
            struct record record;
            int r;

            while ((r = next_record(&walk, &record)) > 0)
                for (unsigned k = 0; k < n_emitters; k++)
                    if (emitters[k].tid == record.a >> 32) {
                        assert_int_equal(packet.header.tid, emitters[k].tid);
                        assert_int_equal(record.a & UINT32_MAX, emitters[k].read++);
                    }
            assert_int_equal(r, 0);
            ring_reader_release(&readers[i], &packet);
        }
    }
}

static void test_threads(void **state)
{
    struct emitter emitters[THREADS] = {};
    struct ring_reader readers[64] = {};
    uint64_t dropped = 0, before = 0, after = 0;

    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i)) {
            drain(ring_at(i));
            before += ring_discarded(ring_at(i));
        }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&emitters[i].thread, NULL, emit_many, &emitters[i]), 0);
    for (unsigned i = 0; i < 200; i++)
        collect(readers, 64, i % 4 == 3 ? RING_FLUSH : RING_CLOSED, emitters, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(emitters[i].thread, NULL);
    collect(readers, 64, RING_FLUSH, emitters, THREADS);
    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i))
            after += ring_discarded(ring_at(i));
    for (unsigned i = 0; i < THREADS; i++) {
        assert_true(emitters[i].emitted > 0);
        assert_int_equal(emitters[i].read, emitters[i].emitted);
        assert_int_equal(emitters[i].emitted + emitters[i].dropped, PER_THREAD);
        dropped += emitters[i].dropped;
    }
    assert_int_equal(after - before, dropped);
}

static void *emit_few(void *p)
{
    uint64_t *emitted = p;

    for (unsigned i = 0; i < 10; i++)
        *emitted += emit_two(i, ~(uint64_t)i);
    return NULL;
}

/* Threads come and go: their rings are used again, and nothing of what they said is lost. */
static void test_churn(void **state)
{
    unsigned before = ring_count();
    uint64_t emitted = 0, read = 0;

    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i))
            drain(ring_at(i));
    for (unsigned i = 0; i < 2000; i++) {
        pthread_t threads[2];
        uint64_t n[2] = {};

        for (unsigned k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, emit_few, &n[k]), 0);
        for (unsigned k = 0; k < 2; k++)
            pthread_join(threads[k], NULL);
        emitted += n[0] + n[1];
        if (i % 2 == 0)
            continue;
        for (unsigned k = 0; k < ring_count(); k++) {
            struct ring_reader reader;
            struct ring_packet packet;

            if (!ring_at(k))
                continue;
            reader = reader_of(ring_at(k));
            while (ring_reader_next(&reader, RING_CLOSED, &packet) > 0) {
                read += packet.content_size / 24;
                ring_reader_release(&reader, &packet);
            }
        }
    }
    assert_int_equal(emitted, 2000 * 2 * 10);
    assert_int_equal(read, emitted);
    assert_true(ring_count() <= before + 2);
}

static void on_thread(void **state)
{
    struct on_thread *test = *state;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, thread_main, test), 0);
    pthread_join(thread, NULL);
}

#define ON_THREAD(test)                                   \
    {                                                     \
#test, on_thread, NULL, NULL, &(struct on_thread) \
        {                                                 \
            test, NULL                                    \
        }                                                 \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_THREAD(test_emitted_is_read), ON_THREAD(test_long_strings_are_cut),
        ON_THREAD(test_around),          ON_THREAD(test_full_drops_and_counts),
        ON_THREAD(test_too_large),       ON_THREAD(test_long_gap),
        ON_THREAD(test_threads),         ON_THREAD(test_churn),
    };
    int r = ring_setup(&(struct ring_options){.size = RING, .subbuffer_size = SUBBUFFER});

    if (r < 0) {
        fprintf(stderr, "ring_setup: %s\n", strerror(-r));
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
