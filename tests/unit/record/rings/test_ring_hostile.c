/* SPDX-License-Identifier: MIT */
/* Rings whose owner writes what no owner writes, while they are read: the reader stays within the mapping, hands out no
 * more than a sub-buffer at once, and comes to an end. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/ring/ring.h"

#define SUBBUFFER UINT64_C(4096)
#define SIZE (4 * SUBBUFFER)
#define DATA UINT64_C(4096)
#define LENGTH (DATA + SIZE)
#define ROUNDS 2000000u

static struct ring_map *map;

/* What lies around the mapping cannot be read. */
static int make_map(void **state)
{
    uint8_t *all = mmap(NULL, 3 * LENGTH, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    alarm(250);
    if (all == MAP_FAILED || mprotect(all + LENGTH, LENGTH, PROT_READ | PROT_WRITE) < 0)
        return -1;
    map = (struct ring_map *)(void *)(all + LENGTH);
    return 0;
}

static void reset(uint32_t flags)
{
    memset(map, 0, LENGTH);
    memcpy(map->magic, RING_MAGIC, sizeof map->magic);
    map->version = RING_VERSION;
    map->flags = flags;
    map->size = SIZE;
    map->subbuffer_size = SUBBUFFER;
    map->data_offset = map->classes_offset = DATA;
}

static void expect_inside(const struct ring_packet *packet)
{
    const uint8_t *data = (const uint8_t *)map + DATA;

    assert_true(packet->content >= data);
    assert_true(packet->content <= data + SIZE);
    assert_true(packet->content_size <= SUBBUFFER);
    assert_true(packet->content_size <= (size_t)(data + SIZE - packet->content));
}

static void packets_without_records_have_an_end(void **state)
{
    static const enum ring_reading readings[] = {RING_CLOSED, RING_FLUSH};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct ring_reader reader;
        struct ring_packet packet;

        reset(0);
        map->closed = map->committed = UINT64_MAX;
        assert_int_equal(ring_reader_init(&reader, map, LENGTH), 0);
        assert_int_equal(ring_reader_next(&reader, readings[i], &packet), 0);
    }
}

/* ---- A writer beside the reader ---- */

static bool stop;

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void store(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static bool goes_on(void)
{
    return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

static void *move_committed(void *p)
{
    while (goes_on()) {
        store(&map->committed, 200);
        store(&map->committed, UINT64_C(1) << 40);
    }
    return p;
}

static void *move_offsets(void *p)
{
    while (goes_on()) {
        store(&map->data_offset, UINT64_C(1) << 45);
        store(&map->data_offset, DATA);
    }
    return p;
}

static void *move_oldest(void *p)
{
    for (uint64_t n = 0; goes_on(); n += SUBBUFFER) {
        store(&map->closed, n + 8 * SUBBUFFER);
        store(&map->oldest, n);
    }
    return p;
}

/* Any word of the header or of a packet's header, to any value: small, large, a position, a size. */
static void *write_anything(void *p)
{
    uint64_t seed = 88172645463325252;

    while (goes_on()) {
        uint64_t r = next_random(&seed), value = next_random(&seed);
        uint64_t *words = (uint64_t *)(void *)map;
        size_t at = (r & 3) == 0   ? r / 4 % (sizeof *map / 8)
                    : (r & 3) == 1 ? (offsetof(struct ring_map, committed) + r / 4 % 256) / 8
                                   : (DATA + r / 4 % 4 * SUBBUFFER) / 8 + r / 64 % 12;

        value >>= r >> 32 & 63;
        store(&words[at], value);
    }
    return p;
}

static void beside(void *(*write)(void *p), void (*read)(void))
{
    pthread_t thread;

    stop = false;
    assert_int_equal(pthread_create(&thread, NULL, write, NULL), 0);
    read();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

static void read_open_packets(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ring_reader reader;
        struct ring_packet packet;

        if (ring_reader_init(&reader, map, LENGTH) >= 0 &&
            ring_reader_next(&reader, RING_FLUSH, &packet) > 0)
            expect_inside(&packet);
    }
}

static void positions_that_go_back_are_not_believed(void **state)
{
    (void)state;
    reset(0);
    beside(move_committed, read_open_packets);
}

static void look_at_rings(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct ring_reader reader;

        if (ring_reader_init(&reader, map, LENGTH) >= 0)
            assert_ptr_equal(reader.data, (const uint8_t *)map + DATA);
    }
}

static void what_is_checked_is_what_is_used(void **state)
{
    (void)state;
    reset(0);
    beside(move_offsets, look_at_rings);
}

static void copy_packets(void)
{
    static uint8_t buffer[SUBBUFFER];

    for (unsigned i = 0; i < ROUNDS / 1000; i++) {
        struct ring_reader reader;
        struct ring_packet packet;

        if (ring_reader_init(&reader, map, LENGTH) < 0)
            continue;
        if (ring_reader_copy(&reader, RING_FLUSH, buffer, &packet) > 0)
            assert_true(packet.content_size <= SUBBUFFER);
    }
}

static void a_flight_recorder_that_flies_too_fast_is_left(void **state)
{
    (void)state;
    reset(RING_OVERWRITE);
    beside(move_oldest, copy_packets);
}

/* As a collector does, for as long as it takes. */
static void read_all(void)
{
    static const enum ring_reading readings[] = {RING_CLOSED, RING_FLUSH};
    static uint8_t buffer[SUBBUFFER];

    for (unsigned i = 0; i < ROUNDS / 200; i++) {
        struct ring_reader reader;
        struct ring_packet packet;

        if (i % 20 == 0)
            reset(i % 40 ? RING_OVERWRITE : 0);
        if (ring_reader_init(&reader, map, LENGTH) < 0)
            continue;
        if (reader.data != (const uint8_t *)map + DATA || reader.size != SIZE ||
            reader.subbuffer_size != SUBBUFFER)
            continue; /* another layout that fits, too */
        for (unsigned j = 0; j < 50; j++) {
            if (i % 3 == 2) {
                if (ring_reader_copy(&reader, readings[j % 2], buffer, &packet) > 0)
                    assert_true(packet.content_size <= SUBBUFFER);
            } else if (ring_reader_next(&reader, readings[j % 2], &packet) > 0) {
                expect_inside(&packet);
                ring_reader_release(&reader, &packet);
            }
        }
    }
}

static void anything_may_be_written_while_it_is_read(void **state)
{
    (void)state;
    reset(0);
    beside(write_anything, read_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(packets_without_records_have_an_end, make_map),
        cmocka_unit_test(positions_that_go_back_are_not_believed),
        cmocka_unit_test(what_is_checked_is_what_is_used),
        cmocka_unit_test(a_flight_recorder_that_flies_too_fast_is_left),
        cmocka_unit_test(anything_may_be_written_while_it_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
