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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "qemu_user.h"
#include "ring_records.h"
#include "runtime/ring/reserve_memory.h"

/* Most of this runs in threads of its own. */
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

/* How many pages of the ring there are. */
static unsigned pages_of(const struct ring_map *map)
{
    size_t n = (map->data_offset + map->size) / 4096;
    unsigned char present[64 + RING / 4096];
    unsigned count = 0;

    assert_true(n <= sizeof(present));
    assert_int_equal(mincore((void *)map, n * 4096, present), 0);
    for (size_t i = 0; i < n; i++)
        count += present[i] & 1;
    return count;
}

/* A thread with a few events has the pages of one sub-buffer; one with many, all of them. */
static void test_pages(void **state)
{
    struct ring_reader reader;
    struct ring_map *map;
    uint64_t next = 0;
    unsigned few;

    if (runs_by_qemu_user()) {
        printf("SKIPPED in part: qemu-user says that all pages of a mapping are present\n");
        return;
    }
    assert_true(emit_two(0, ~0ULL));
    map = my_map();
    few = (unsigned)((map->data_offset + map->subbuffer_size) / 4096);
    assert_int_equal(map->ready, map->subbuffer_size);
    assert_int_equal(pages_of(map), few);

    reader = reader_of(map);
    for (uint64_t i = 1; i < 3 * RING / 24; i++) {
        assert_true(emit_two(i, ~i));
        if (i % 100 == 0)
            next = expect_rising(&reader, RING_FLUSH, next);
        assert_true(pages_of(map) >= few);
    }
    next = expect_rising(&reader, RING_FLUSH, next);
    assert_int_equal(next, 3 * RING / 24);
    assert_int_equal(map->ready, UINT64_MAX);
    assert_int_equal(pages_of(map), (map->data_offset + map->size) / 4096);
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
    assert_string_equal(record.text, "(null)");
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

/* Strings of every length, that end at every place before a page that cannot be read, through all of several packets: what
 * does not fit in one is moved to the next. */
static void test_strings(void **state)
{
    const size_t most = STRATA_STRING_MAX + 20;
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t emitted = 0, read = 0;
    struct ring_reader reader;
    struct ring_packet packet;
    unsigned packets = 0;

    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + 4096, 4096, PROT_NONE), 0);
    for (size_t i = 0; i < 4096; i++)
        pages[i] = (char)('a' + i % 25);
    assert_true(emit_none());
    drain(my_map());
    reader = reader_of(my_map());
    for (size_t length = 0; length < most; length++)
        for (size_t gap = 0; gap < 20; gap++) {
            char *end = pages + 4095 - gap, *text = end - length;
            size_t kept = length < STRATA_STRING_MAX ? length : STRATA_STRING_MAX;

            memset(end, 'Z', gap + 1);
            *end = 0;
            assert_true(emit_text(emitted++, text));
            while (ring_reader_next(&reader, RING_FLUSH, &packet) > 0) {
                struct record_walk walk = {.packet = &packet};
                struct record record;
                int r;

                packets += packet.content_size != 0;
                while ((r = next_record(&walk, &record)) > 0) {
                    assert_int_equal(record.a, read++);
                    assert_int_equal(strlen(record.text), kept);
                    assert_int_equal(memcmp(record.text, text, kept), 0);
                    /* What comes after it in memory is not in the padding. */
                    for (size_t i = kept + 1; gap >= 3 && (uintptr_t)(record.text + i) % 8 < 6; i++)
                        assert_true(memcmp(record.text + i, "ZZZ", 3) != 0);
                }
                assert_int_equal(r, 0);
                ring_reader_release(&reader, &packet);
            }
            memset(end, 'x', gap + 1);
        }
    assert_int_equal(read, emitted);
    assert_true(packets > 100);
    assert_int_equal(ring_discarded(my_map()), 0);
    munmap(pages, 8192);
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
    assert_int_equal(reader_of(my_map()).sequence, reader.sequence);
}

/* A consumer that was killed at any moment of releasing leaves what the one before it left. */
static void test_release_is_whole(void **state)
{
    struct ring_reader reader, next;
    struct ring_packet packet;
    struct ring_map *map;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    reader = reader_of(map);
    for (unsigned i = 0; i < 5; i++) {
        struct ring_release killed = {~0ULL, ~0ULL, ~0ULL, ~0ULL};

        assert_true(emit_two(i, ~(uint64_t)i));
        assert_int_equal(ring_reader_next(&reader, RING_FLUSH, &packet), 1);
        reader.lost = 10 * i;
        ring_reader_release(&reader, &packet);
        for (unsigned k = 0; k < 2; k++)
            if (map->releases[k].end != map->consumed)
                map->releases[k] = killed;
        next = reader_of(map);
        assert_int_equal(next.position, packet.end);
        assert_int_equal(next.sequence, packet.header.packet_seq_num + 1);
        assert_int_equal(next.time, packet.header.timestamp_end);
        assert_int_equal(next.lost, 10 * i);
    }
}

/* A map in a ring pool: processes of other users can write there, and must not lead the owner's stores elsewhere. */
static void test_owner_believes_no_header(void **state)
{
    struct ring_map *map, before;
    unsigned dropped = 0;
    uint64_t of_class;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    before = *map;
    of_class = ring_drops_of(CLASS_TWO);
    map->classes_offset = UINT64_C(1) << 46;
    map->data_offset = map->size = map->subbuffer_size = UINT64_C(1) << 46;
    map->n_classes = UINT32_MAX;
    for (unsigned i = 0; i < 2 * RING / 24; i++)
        dropped += !emit_two(i, i);
    assert_true(dropped > RING / 24 / 2);
    assert_int_equal(ring_drops_of(CLASS_TWO) - of_class, dropped);
    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i) == map)
            assert_int_equal(ring_length(i), before.data_offset + before.size);
    map->classes_offset = before.classes_offset;
    map->data_offset = before.data_offset;
    map->size = before.size;
    map->subbuffer_size = before.subbuffer_size;
    map->n_classes = before.n_classes;
    drain(map);
}

static void test_full_drops_and_counts(void **state)
{
    struct ring_reader reader;
    struct ring_map *map;
    struct ring_packet packet;
    uint64_t emitted = 0, dropped = 0, before, of_class, of_other, read, counted = 0;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    reader = reader_of(map);
    before = ring_discarded(map);
    of_class = ring_drops_of(CLASS_TWO);
    of_other = ring_drops_of(CLASS_TEXT);
    for (unsigned i = 0; i < 2 * RING / 24; i++)
        if (emit_two(emitted, ~emitted))
            emitted++;
        else
            dropped++;
    assert_true(dropped > RING / 24 / 2);
    assert_true(emitted > (RING - SUBBUFFER) / 24 - 100);
    assert_int_equal(ring_discarded(map) - before, dropped);
    assert_int_equal(ring_drops_of(CLASS_TWO) - of_class, dropped);
    assert_int_equal(ring_drops_of(CLASS_TEXT), of_other);
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
    assert_null(ring_open(&slot, CLASS_TEXT, SUBBUFFER));
    assert_null(ring_open(&slot, CLASS_TEXT, SUBBUFFER - 96));
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

    __atomic_store_n(&self->tid, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
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
                    if (__atomic_load_n(&emitters[k].tid, __ATOMIC_RELAXED) == record.a >> 32) {
                        assert_int_equal(packet.header.tid, record.a >> 32);
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
    struct ring_reader readers[64] = {0};
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

/* ---- Overwrite ---- */

/* Reads what a flight recorder holds: records with `a` rising by one. Returns the last, and the first. */
static uint64_t expect_recorded(struct ring_map *map, enum ring_reading how, uint64_t *ret_first)
{
    static _Thread_local uint64_t buffer[SUBBUFFER / 8];
    struct ring_reader reader = reader_of(map);
    uint64_t time = 0, next = 0, sequence = 0;
    struct ring_packet packet;
    bool first = true;

    while (ring_reader_copy(&reader, how, (uint8_t *)buffer, &packet) > 0) {
        struct record_walk walk = {.packet = &packet};
        struct record record;
        bool lost = first || packet.header.packet_seq_num != sequence;
        int r;

        assert_true(packet.header.packet_seq_num >= sequence);
        sequence = packet.header.packet_seq_num + 1;
        while ((r = next_record(&walk, &record)) > 0) {
            assert_int_equal(record.class_id, CLASS_TWO);
            assert_int_equal(record.b, ~record.a);
            assert_true(record.time >= time);
            time = record.time;
            if (lost)
                assert_true(first || record.a > next);
            else
                assert_int_equal(record.a, next);
            if (first)
                *ret_first = record.a;
            first = lost = false;
            next = record.a + 1;
        }
        assert_int_equal(r, 0);
    }
    return next;
}

struct recorder {
    uint64_t emitted;
    bool stop;
    struct ring_map *map;
};

static void *emit_always(void *p)
{
    struct recorder *self = p;
    uint64_t n = 0;

    while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
        assert_true(emit_two(n, ~n));
        n++;
        if (n == 1)
            __atomic_store_n(&self->map, my_map(), __ATOMIC_RELEASE);
        __atomic_store_n(&self->emitted, n, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void test_overwrite(void **state)
{
    struct recorder recorder = {};
    uint64_t first, last, before = 0;
    pthread_t thread;
    unsigned whole = 0;

    assert_int_equal(
        ring_setup(&(struct ring_options){
            .unnamed = true, .size = RING, .subbuffer_size = SUBBUFFER, .overwrite = true}),
        0);

    /* At rest: the last of them are there, as many as fit but for a sub-buffer. */
    for (uint64_t i = 0; i < 5 * RING / 24; i++)
        assert_true(emit_two(i, ~i));
    assert_int_equal(ring_discarded(my_map()), 0);
    last = expect_recorded(my_map(), RING_FLUSH, &first);
    assert_int_equal(last, 5 * RING / 24);
    assert_true(last - first > (RING - 2 * SUBBUFFER) / 24 && last - first <= RING / 24);

    /* While it goes on at full speed. */
    assert_int_equal(pthread_create(&thread, NULL, emit_always, &recorder), 0);
    while (!__atomic_load_n(&recorder.map, __ATOMIC_ACQUIRE))
        ;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t sure = __atomic_load_n(&recorder.emitted, __ATOMIC_ACQUIRE);

        last = expect_recorded(recorder.map, RING_FLUSH, &first);
        assert_true(last >= before);
        whole += last >= sure;
        before = last;
    }
    __atomic_store_n(&recorder.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    assert_true(whole > 0);
    assert_int_equal(expect_recorded(recorder.map, RING_FLUSH, &first), recorder.emitted);

    assert_int_equal(ring_setup(&(struct ring_options){
                         .size = RING, .unnamed = true, .subbuffer_size = SUBBUFFER}),
                     0);
}

/* ---- Fork ---- */

static void *emit_in_child(void *p)
{
    uint64_t *n = p;

    *n = emit_two(10, ~10ULL);
    return NULL;
}

/* Of the child: rings of its own, and nothing of its parent's. */
static void child(struct ring_map *parents)
{
    struct ring_reader reader;
    pthread_t thread;
    uint64_t n = 0;

    assert_int_equal(ring_count(), 0);
    assert_true(emit_two(0, ~0ULL));
    assert_int_equal(ring_count(), 1);
    assert_true(my_map() != parents);
    assert_int_equal(my_map()->pid, getpid());
    reader = reader_of(my_map());
    assert_int_equal(expect_rising(&reader, RING_FLUSH, 0), 1);
    assert_int_equal(pthread_create(&thread, NULL, emit_in_child, &n), 0);
    pthread_join(thread, NULL);
    assert_int_equal(n, 1);
    assert_int_equal(ring_count(), 2);
}

static pid_t bare_fork(void)
{
#ifdef SYS_fork
    return (pid_t)syscall(SYS_fork);
#else
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
#endif
}

static void test_fork(void **state)
{
    struct ring_reader reader;
    struct ring_map *map;
    uint64_t n = 0;

    assert_true(emit_none());
    map = my_map();
    drain(map);
    reader = reader_of(map);
    for (unsigned i = 0; i < 20; i++) {
        bool bare = i % 2; /* past the C library and its handlers */
        int status;
        pid_t pid;

        assert_true(emit_two(n, ~n));
        n++;
        pid = bare ? bare_fork() : fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            assert_true(!bare || my_map() == NULL);
            child(map);
            if (i % 4 == 0) { /* and of its child */
                pid = fork();
                assert_true(pid >= 0);
                if (pid == 0) {
                    child(map);
                    _exit(0);
                }
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
            }
            _exit(0);
        }
        assert_true(emit_two(n, ~n));
        n++;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_int_equal(expect_rising(&reader, RING_FLUSH, 0), n);
}

/* ---- Many threads at once ---- */

static uint64_t bytes_of_rings(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < ring_count(); i++)
        n += ring_at(i) ? ring_at(i)->size : 0;
    return n;
}

#define MANY 1000

static pthread_barrier_t all_are_there;

static void *emit_and_wait(void *p)
{
    uint64_t *n = p;

    *n += emit_two(0, ~0ULL);
    pthread_barrier_wait(&all_are_there);
    *n += emit_two(1, ~1ULL);
    return NULL;
}

static void test_thousand_threads(void **state)
{
    static uint64_t emitted[MANY];
    static pthread_t threads[MANY];
    unsigned read = 0;
    pthread_attr_t attr;

    for (unsigned i = 0; i < ring_count(); i++)
        if (ring_at(i))
            drain(ring_at(i));
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 << 10);
    pthread_barrier_init(&all_are_there, NULL, MANY);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(pthread_create(&threads[i], &attr, emit_and_wait, &emitted[i]), 0);
    for (unsigned i = 0; i < MANY; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(emitted[i], 2);
    }
    assert_true(ring_count() >= MANY);
    for (unsigned i = 0; i < ring_count(); i++) {
        struct ring_reader reader;

        if (!ring_at(i) || (ring_at(i)->flags & RING_OVERWRITE))
            continue;
        reader = reader_of(ring_at(i));
        read += (unsigned)expect_rising(&reader, RING_CLOSED, 0);
    }
    assert_int_equal(read, 2 * MANY);
    pthread_attr_destroy(&attr);
}

/* By default the first rings are large, the others not; the memory of each is what was used of it. */
static void test_default_sizes(void **state)
{
    static uint64_t emitted[MANY];
    static pthread_t threads[MANY];
    const unsigned n = 40, large = 3;
    unsigned before = ring_count(), n_large = 0, n_usual = 0;

    /* What the rings of the other tests have counts, too. */
    assert_int_equal(ring_setup(&(struct ring_options){
                         .unnamed = true, .total = 4 * (bytes_of_rings() + large * RING_SIZE_FEW)}),
                     0);
    pthread_barrier_init(&all_are_there, NULL, n);
    for (unsigned i = 0; i < before; i++) /* none is used again */
        if (ring_at(i) && ring_at(i)->owner == 0)
            ring_at(i)->owner = (uint32_t)getpid();
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, emit_and_wait, &emitted[i]), 0);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = before; i < ring_count(); i++) {
        n_large += ring_at(i)->size == RING_SIZE_FEW;
        n_usual += ring_at(i)->size == RING_SIZE;
        assert_int_equal(ring_at(i)->ready,
                         reserve_is_supported() ? RING_SUBBUFFER_SIZE : UINT64_MAX);
    }
    assert_int_equal(n_large, reserve_is_supported() ? large : 0);
    assert_int_equal(n_large + n_usual, n);
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
        ON_THREAD(test_pages),
        ON_THREAD(test_emitted_is_read),
        ON_THREAD(test_long_strings_are_cut),
        ON_THREAD(test_strings),
        ON_THREAD(test_around),
        ON_THREAD(test_owner_believes_no_header),
        ON_THREAD(test_full_drops_and_counts),
        ON_THREAD(test_release_is_whole),
        ON_THREAD(test_too_large),
        ON_THREAD(test_long_gap),
        ON_THREAD(test_threads),
        ON_THREAD(test_churn),
        ON_THREAD(test_overwrite),
        ON_THREAD(test_fork),
        ON_THREAD(test_thousand_threads),
        ON_THREAD(test_default_sizes),
    };
    int r = ring_setup(
        &(struct ring_options){.size = RING, .unnamed = true, .subbuffer_size = SUBBUFFER});

    if (r < 0) {
        fprintf(stderr, "ring_setup: %s\n", strerror(-r));
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
