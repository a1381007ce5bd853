/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "random.h"
#include "record/kernel/guest_boot.h"
#include "record/kernel/guest_internal.h"
#include "timeline/clock_map.h"

/* A guest's clock of 2 GHz that stands still while the machine is paused, in a store of the test's. Its host's times are what
 * the recorded pairs have to give, within the bounds that they state. */

#define MS NSEC_PER_MSEC
#define HZ UINT64_C(2000000000)
#define ERROR (UINT64_C(100000)) /* of an exchange */

static char directory[] = "/tmp/strata-pause-XXXXXX";

struct recorded {
    struct guest guest;
    int dir;
};

static struct recorded *begin(void)
{
    struct recorded *made = calloc(1, sizeof *made);

    memcpy(directory + sizeof directory - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(directory));
    made->dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(made->dir >= 0);
    assert_int_equal(guest_store_open(made->dir, "guest-", "g", &made->guest.store, NULL), 0);
    assert_int_equal(guest_boot_begin(&made->guest), 0);
    made->guest.boots[0].hz = HZ;
    made->guest.channel = -1;
    made->guest.ended = true; /* it has no child */
    return made;
}

static void end(struct recorded *made)
{
    guest_store_discard(&made->guest.store);
    guest_store_done(&made->guest.store);
    guest_boots_done(&made->guest);
    close(made->dir);
    rmdir(directory);
    free(made);
}

static void put_within(struct recorded *made, uint64_t host_ns, uint64_t ticks, uint64_t error)
{
    const struct guest_pair pair = {host_ns, ticks, error};

    assert_int_equal(guest_pause_pair(&made->guest, &pair), 0);
}

static void put(struct recorded *made, uint64_t host_ns, uint64_t ticks)
{
    put_within(made, host_ns, ticks, ERROR);
}

static void read_map_at(const char *name, uint64_t hz, struct clock_map *ret)
{
    char path[100];

    snprintf(path, sizeof path, "%s/%s/" GUEST_PAIRS, directory, name);
    assert_int_equal(clock_map_read(path, hz, ret, NULL), 0);
}

static void read_map(const char *name, struct clock_map *ret)
{
    read_map_at(name, HZ, ret);
}

/* Whether HOST_NS is right for TICKS by MAP, within a bound of at most MOST. */
static void expect_time(const struct clock_map *map, uint64_t ticks, uint64_t host_ns, int64_t most)
{
    int64_t error;
    int64_t time = clock_map_convert(map, (int64_t)ticks, &error);

    assert_true(llabs(time - (int64_t)host_ns) <= error);
    assert_true(error <= most);
}

static uint64_t below(uint64_t limit)
{
    return limit ? random_u64() % limit : 0;
}

/* Host times of the running clock: it began at second 100, and stood still from FROM to TO. */
static uint64_t ticks_at(uint64_t host_ns, uint64_t from, uint64_t to)
{
    uint64_t ran = host_ns - 100 * NSEC_PER_SEC;

    if (host_ns > to)
        ran -= to - from;
    else if (host_ns > from)
        ran -= host_ns - from;
    return 5000 + ran * 2;
}

/* STOP is said 3 ms too late, and RESUME 1 ms too early. */
static void a_pause_is_exact(void **state)
{
    const uint64_t from = 105 * NSEC_PER_SEC + 400 * MS, to = 120 * NSEC_PER_SEC + 123 * MS;
    struct recorded *made = begin();
    struct clock_map map;

    (void)state;
    for (uint64_t s = 100; s <= 105; s++)
        put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
    guest_machine_stopped(&made->guest, from + 3 * MS);
    guest_machine_resumed(&made->guest, to - MS);
    /* Pairs come late, when another pause has begun. */
    guest_machine_stopped(&made->guest, 126 * NSEC_PER_SEC);
    for (uint64_t s = 121; s <= 125; s++)
        put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
    read_map("guest-g", &map);
    for (uint64_t t = 100 * NSEC_PER_SEC; t < from - 6 * MS; t += 7 * MS)
        expect_time(&map, ticks_at(t, from, to), t, 6 * MS);
    for (uint64_t t = to + 6 * MS; t < 125 * NSEC_PER_SEC; t += 7 * MS)
        expect_time(&map, ticks_at(t, from, to), t, 6 * MS);
    /* Just at the pause it is not known on which side of it. */
    for (uint64_t t = from - 6 * MS; t < from; t += MS / 10)
        expect_time(&map, ticks_at(t, from, to), t, 16 * NSEC_PER_SEC);
    for (uint64_t t = to; t < to + 6 * MS; t += MS / 10)
        expect_time(&map, ticks_at(t, from, to) + 1, t, 16 * NSEC_PER_SEC);
    clock_map_done(&map);
    end(made);
}

/* The guest's kernel states a wrong rate; pairs gave the right one for less than a second. Two pauses, each between two pairs. */
static void a_wrong_rate_is_not_believed(void **state)
{
    static const uint64_t hz[] = {HZ / 7, HZ * 7};
    static const uint64_t at[] = {100000, 100170, 100610, 102750, 103085};
    const uint64_t first[] = {100700 * MS, 102700 * MS}, second[] = {102910 * MS, 103070 * MS};

    (void)state;
    for (unsigned k = 0; k < ARRAY_SIZE(hz); k++) {
        struct recorded *made = begin();
        struct clock_map map;

        made->guest.boots[0].hz = hz[k];
        for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
            uint64_t stood = (at[i] * MS > first[1] ? first[1] - first[0] : 0) +
                             (at[i] * MS > second[1] ? second[1] - second[0] : 0);

            put(made, at[i] * MS, 5000 + (at[i] * MS - 100 * NSEC_PER_SEC - stood) * 2);
            if (i == 2) {
                guest_machine_stopped(&made->guest, first[0]);
                guest_machine_resumed(&made->guest, first[1]);
            } else if (i == 3) {
                guest_machine_stopped(&made->guest, second[0]);
                guest_machine_resumed(&made->guest, second[1]);
            }
        }
        read_map_at("guest-g", hz[k], &map);
        for (uint64_t t = 100000 * MS; t < 100690 * MS; t += 7 * MS)
            expect_time(&map, 5000 + (t - 100 * NSEC_PER_SEC) * 2, t, 200 * MS);
        for (uint64_t t = 102720 * MS; t < 102905 * MS; t += 7 * MS)
            expect_time(&map, 5000 + (t - 102 * NSEC_PER_SEC) * 2, t, 200 * MS);
        clock_map_done(&map);
        end(made);
    }
}

/* On a busy machine STOP comes late, and pairs are close to the pause. Two pauses have no pair between them. */
static void pauses_among_pairs(void **state)
{
    const uint64_t late[] = {0, MS, 30 * MS, 400 * MS};

    (void)state;
    for (unsigned n = 0; n < 64; n++) {
        const uint64_t begin_ns = 105 * NSEC_PER_SEC, length = 2 * NSEC_PER_SEC;
        uint64_t from = begin_ns + late[n % 4] / 2 + n * MS, said = late[n / 4 % 4];
        uint64_t to = from + length + said, next = to + late[n / 16] + MS;
        struct recorded *made = begin();
        struct clock_map map;

        for (uint64_t s = 100; s <= 105; s++)
            put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
        guest_machine_stopped(&made->guest, from + said);
        if (n % 3 == 0) { /* two pauses, with nothing between */
            guest_machine_resumed(&made->guest, from + said + NSEC_PER_SEC);
            guest_machine_stopped(&made->guest, from + said + NSEC_PER_SEC + 1000);
        }
        guest_machine_resumed(&made->guest, to);
        for (unsigned i = 0; i < 5; i++)
            put(made, next + i * NSEC_PER_SEC, ticks_at(next + i * NSEC_PER_SEC, from, to));
        read_map("guest-g", &map);
        for (uint64_t t = 100 * NSEC_PER_SEC; t < next + 4 * NSEC_PER_SEC; t += MS / 2)
            if (t < from || t > to)
                expect_time(&map, ticks_at(t, from, to), t, 4 * NSEC_PER_SEC);
        clock_map_done(&map);
        end(made);
    }
}

/* The clock ran for 0.6 s, but for two pauses of milliseconds, each between two pairs that are exact to within less: times long
 * after the last pair are as exact as the rate that the longest time without a pause gives. */
static void short_pauses_among_few_pairs(void **state)
{
    const uint64_t begin_ns = 100 * NSEC_PER_SEC;

    (void)state;
    for (unsigned n = 0; n < 500; n++) {
        uint64_t from = begin_ns + (200 + below(100)) * MS, next = from + 300 * MS;
        uint64_t length = below(n % 5 * MS) + 1000, late = below(MS);
        uint64_t errors = 1 + below(400000), end_ns = next + length + 30 * MS;
        const uint64_t pairs[] = {begin_ns, from - below(100 * MS) - 1000,
                                  from + length + late + below(50 * MS) + 1000, end_ns};
        struct recorded *made = begin();
        struct clock_map map;

        for (unsigned i = 0; i < ARRAY_SIZE(pairs); i++) {
            uint64_t ticks = ticks_at(pairs[i], from, from + length);
            uint64_t error = 1 + below(errors);
            /* What is stated need not be what it is wrong by. */
            uint64_t wrong = below(error);

            if (i == 2) {
                guest_machine_stopped(&made->guest, from + below(length / 2));
                guest_machine_resumed(&made->guest, from + length - below(length / 2));
            } else if (i == 3) {
                guest_machine_stopped(&made->guest, next + below(length / 2));
                guest_machine_resumed(&made->guest, next + length - below(length / 2));
                ticks -= length * 2;
            }
            put_within(made, pairs[i] + (below(2) ? wrong : -wrong), ticks, error);
        }
        read_map("guest-g", &map);
        for (uint64_t t = begin_ns; t < end_ns; t += MS / 2)
            if (t < next && (t < from || t > from + length))
                expect_time(&map, ticks_at(t, from, from + length), t, 10 * MS);
            else if (t > next + length)
                expect_time(&map, ticks_at(t - length, from, from + length), t, 10 * MS);
        for (uint64_t s = 1; s <= 10; s++)
            expect_time(&map, ticks_at(end_ns + s * NSEC_PER_SEC - length, from, from + length),
                        end_ns + s * NSEC_PER_SEC, (int64_t)(3 * MS + s * 10 * MS));
        clock_map_done(&map);
        end(made);
    }
}

/* More than are kept between two pairs: the first of them was the longest. */
static void many_pauses_among_pairs(void **state)
{
    const uint64_t begin_ns = 100 * NSEC_PER_SEC, from = begin_ns + NSEC_PER_SEC;
    const uint64_t to = from + NSEC_PER_SEC, end_ns = begin_ns + 5 * NSEC_PER_SEC;
    struct recorded *made = begin();
    struct clock_map map;

    (void)state;
    put(made, begin_ns, ticks_at(begin_ns, from, to));
    guest_machine_stopped(&made->guest, from);
    guest_machine_resumed(&made->guest, to);
    for (unsigned i = 1; i <= GUEST_PAUSES_MAX; i++) {
        guest_machine_stopped(&made->guest, to + i * 100 * MS);
        guest_machine_resumed(&made->guest, to + i * 100 * MS + MS);
    }
    put(made, end_ns, ticks_at(end_ns - GUEST_PAUSES_MAX * MS, from, to));
    read_map("guest-g", &map);
    for (uint64_t t = begin_ns; t < to + 100 * MS; t += 7 * MS)
        if (t < from || t > to)
            expect_time(&map, ticks_at(t, from, to), t, 4 * NSEC_PER_SEC);
    clock_map_done(&map);
    end(made);
}

/* The trace ends before another pair comes. */
static void a_pause_before_the_end(void **state)
{
    const uint64_t from = 105 * NSEC_PER_SEC + 400 * MS, to = 108 * NSEC_PER_SEC;
    struct recorded *made = begin();
    struct clock_map map;

    (void)state;
    for (uint64_t s = 100; s <= 105; s++)
        put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
    guest_machine_stopped(&made->guest, from + 3 * MS);
    guest_machine_resumed(&made->guest, to - MS);
    guest_pause_end(&made->guest);
    read_map("guest-g", &map);
    for (uint64_t t = 100 * NSEC_PER_SEC; t < 109 * NSEC_PER_SEC; t += 7 * MS)
        if (t < from || t > to)
            expect_time(&map, ticks_at(t, from, to), t, 6 * NSEC_PER_SEC);
    clock_map_done(&map);
    end(made);
}

/* As a processor's counter does under KVM. */
static void a_clock_that_goes_on_is_left_alone(void **state)
{
    struct recorded *made = begin();

    (void)state;
    for (uint64_t s = 100; s <= 105; s++)
        put(made, s * NSEC_PER_SEC, 5000 + s * HZ);
    guest_machine_stopped(&made->guest, 105 * NSEC_PER_SEC + MS);
    guest_machine_resumed(&made->guest, 110 * NSEC_PER_SEC);
    put(made, 111 * NSEC_PER_SEC, 5000 + 111 * HZ);
    assert_int_equal(made->guest.boots[0].n_pairs, 7);
    end(made);
}

/* How many pairs of what was recorded are after a pause. */
static unsigned n_paused(const char *name)
{
    char path[100], line[100];
    unsigned n = 0;
    FILE *file;

    snprintf(path, sizeof path, "%s/%s/" GUEST_PAIRS, directory, name);
    file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        n += strcmp(line, CLOCK_MAP_PAUSED "\n") == 0;
    fclose(file);
    return n;
}

/* RESUME seems to be before STOP, as their times are those of a clock that is set. The pause was longer than both say. */
static void a_pause_whose_end_is_before_its_begin(void **state)
{
    const uint64_t from = 105 * NSEC_PER_SEC + 400 * MS, to = from + 30 * MS;
    struct recorded *made = begin();
    struct clock_map map;

    (void)state;
    for (uint64_t s = 100; s <= 105; s++)
        put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
    guest_machine_stopped(&made->guest, from + 12 * MS);
    guest_machine_resumed(&made->guest, from + 10 * MS);
    for (uint64_t s = 106; s <= 110; s++)
        put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
    assert_int_equal(n_paused("guest-g"), 1);
    read_map("guest-g", &map);
    for (uint64_t t = 100 * NSEC_PER_SEC; t < 110 * NSEC_PER_SEC; t += MS / 2)
        if (t < from - 40 * MS || t > to + 40 * MS)
            expect_time(&map, ticks_at(t, from, to), t, MS);
        else if (t < from || t > to)
            expect_time(&map, ticks_at(t, from, to), t, 100 * MS);
    clock_map_done(&map);
    end(made);
}

/* Where a pause cannot be placed, it is known that there was one: RESUME is not read yet, or is later than the pair; no rate is
 * known. */
static void a_pause_that_cannot_be_placed_is_said(void **state)
{
    const uint64_t from = 105 * NSEC_PER_SEC + 400 * MS, to = from + 300 * MS;

    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        struct recorded *made = begin();
        struct clock_map map;

        made->guest.boots[0].hz = n == 2 ? 0 : HZ;
        for (uint64_t s = n == 2 ? 104 : 100; s <= 105; s++)
            put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
        guest_machine_stopped(&made->guest, from + MS);
        if (n > 0)
            guest_machine_resumed(&made->guest, n == 1 ? 107 * NSEC_PER_SEC : to);
        put(made, 106 * NSEC_PER_SEC, ticks_at(106 * NSEC_PER_SEC, from, to));
        assert_int_equal(n_paused("guest-g"), 1);
        if (n == 0)
            guest_machine_resumed(&made->guest, 106 * NSEC_PER_SEC + MS);
        for (uint64_t s = 108; s <= 110; s++)
            put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
        assert_int_equal(n_paused("guest-g"), n == 2 ? 1 : 2);
        read_map_at("guest-g", made->guest.boots[0].hz, &map);
        for (uint64_t t = 104 * NSEC_PER_SEC; t < 111 * NSEC_PER_SEC; t += MS)
            if (t < from || t > to)
                expect_time(&map, ticks_at(t, from, to), t, NSEC_PER_SEC);
        clock_map_done(&map);
        end(made);
    }
}

/* A pair that comes too late to be kept does not use up the pause before it. */
static void a_pair_that_is_left_out_leaves_the_pause(void **state)
{
    const uint64_t from = 105 * NSEC_PER_SEC + 400 * MS, to = from + 300 * MS;
    struct recorded *made = begin();

    (void)state;
    for (uint64_t s = 100; s <= 105; s++)
        put(made, s * NSEC_PER_SEC, ticks_at(s * NSEC_PER_SEC, from, to));
    guest_machine_stopped(&made->guest, from + MS);
    guest_machine_resumed(&made->guest, to - MS);
    put(made, 106 * NSEC_PER_SEC, ticks_at(104 * NSEC_PER_SEC, from, to));
    assert_int_equal(n_paused("guest-g"), 0);
    put(made, 107 * NSEC_PER_SEC, ticks_at(107 * NSEC_PER_SEC, from, to));
    assert_int_equal(n_paused("guest-g"), 1);
    end(made);
}

/* The guest is set back by 5 seconds, at second 110. What it had not sent before its state was saved comes again, and is not
 * of the time after that. */
static void a_trace_after_a_restore_keeps_its_bounds(void **state)
{
    const uint64_t back = 5 * NSEC_PER_SEC;
    struct recorded *made = begin();
    struct clock_map map;

    (void)state;
    for (uint64_t s = 100; s <= 109; s++)
        put(made, s * NSEC_PER_SEC, s * HZ);
    guest_machine_stopped(&made->guest, 109 * NSEC_PER_SEC + 500 * MS);
    guest_machine_resumed(&made->guest, 110 * NSEC_PER_SEC);
    assert_int_equal(guest_store_next_rewound(&made->guest.store, NULL), 0);
    assert_int_equal(guest_boot_begin(&made->guest), 0);
    guest_boot_copy_facts(&made->guest);
    for (uint64_t s = 111; s <= 115; s++)
        put(made, s * NSEC_PER_SEC, s * HZ - back * 2);
    read_map("guest-g.2", &map);
    for (uint64_t t = 110 * NSEC_PER_SEC + MS; t < 115 * NSEC_PER_SEC; t += 7 * MS)
        expect_time(&map, t * 2 - back * 2, t, 2 * MS);
    for (uint64_t t = 103 * NSEC_PER_SEC; t < 105 * NSEC_PER_SEC - MS; t += 7 * MS)
        expect_time(&map, t * 2, t, 6 * NSEC_PER_SEC);
    clock_map_done(&map);
    end(made);
}

/* The same of a guest that does not state the rate of its clock, right after a pause, and with few pairs after it. */
static void a_restored_clock_keeps_its_rate(void **state)
{
    const uint64_t back = 5 * NSEC_PER_SEC;
    struct recorded *made = begin();
    struct clock_map map;

    (void)state;
    made->guest.boots[0].hz = 0;
    for (uint64_t s = 100; s <= 109; s++)
        put(made, s * NSEC_PER_SEC, s * HZ);
    guest_machine_stopped(&made->guest, 109 * NSEC_PER_SEC + 500 * MS);
    guest_machine_resumed(&made->guest, 111 * NSEC_PER_SEC);
    put(made, 112 * NSEC_PER_SEC, 112 * HZ - 1500 * MS * 2);
    guest_machine_stopped(&made->guest, 112 * NSEC_PER_SEC + 500 * MS);
    guest_machine_resumed(&made->guest, 113 * NSEC_PER_SEC);
    assert_int_equal(guest_store_next_rewound(&made->guest.store, NULL), 0);
    assert_int_equal(guest_boot_begin(&made->guest), 0);
    guest_boot_copy_facts(&made->guest);
    for (uint64_t s = 114; s <= 116; s++)
        put(made, s * NSEC_PER_SEC, s * HZ - back * 2);
    assert_in_range(made->guest.boots[1].hz, HZ - HZ / 10000, HZ + HZ / 10000);
    read_map_at("guest-g.2", made->guest.boots[1].hz, &map);
    assert_in_range(map.hz, HZ - HZ / 1000, HZ + HZ / 1000);
    for (uint64_t t = 113 * NSEC_PER_SEC + MS; t < 118 * NSEC_PER_SEC; t += 7 * MS)
        expect_time(&map, t * 2 - back * 2, t, 2 * MS);
    clock_map_done(&map);
    end(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_whose_end_is_before_its_begin),
        cmocka_unit_test(a_pause_that_cannot_be_placed_is_said),
        cmocka_unit_test(a_pair_that_is_left_out_leaves_the_pause),
        cmocka_unit_test(a_pause_is_exact),
        cmocka_unit_test(a_wrong_rate_is_not_believed),
        cmocka_unit_test(pauses_among_pairs),
        cmocka_unit_test(short_pauses_among_few_pairs),
        cmocka_unit_test(many_pauses_among_pairs),
        cmocka_unit_test(a_pause_before_the_end),
        cmocka_unit_test(a_clock_that_goes_on_is_left_alone),
        cmocka_unit_test(a_trace_after_a_restore_keeps_its_bounds),
        cmocka_unit_test(a_restored_clock_keeps_its_rate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
