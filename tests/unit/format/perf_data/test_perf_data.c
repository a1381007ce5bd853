/* SPDX-License-Identifier: MIT */
/* Small files made by hand (tests/data/perf/made/make.py); of little.data, perf 6.1 shows the same. Files as perf writes
 * them: tests/golden/perf_data.sh. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "event/program.h"
#include "format/perf_data/order.h"
#include "format/perf_data/perf_data.h"

static uint8_t *file;
static size_t file_size;

static void load(const char *name)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof path, TEST_DATA "/perf/made/%s.data", name);
    f = fopen(path, "r");
    assert_non_null(f);
    free(file);
    file = malloc(65536);
    assert_non_null(file);
    file_size = fread(file, 1, 65536, f);
    fclose(f);
}

/* Whether the last event of CPU 1 before its loss, at 110, says that one follows. */
static bool is_begin_seen;

static void put_item(const struct item *item, struct text *text)
{
    const char *name = item_task_name(item);

    if (item->kind == ITEM_EVENT && item->before_loss && item->time == 110 && item->cpu == 1)
        is_begin_seen = true;

    if (item->kind == ITEM_LOSS) {
        text_printf(text, "%lld cpu%d lost %lld since %lld skipped %u%s\n", (long long)item->time,
                    item->cpu, item->lost == LOST_UNKNOWN ? -1LL : (long long)item->lost,
                    item->since == TIME_UNKNOWN ? -1LL : (long long)item->since, item->skipped,
                    item->is_open ? " open" : "");
        return;
    }
    text_printf(text, "%lld cpu%d %s%s-%d %s:%s ", (long long)item->time, item->cpu,
                item->origin->layer == LAYER_GUEST ? "guest " : "", name ? name : "?", item->pid,
                item->class->group, item->class->name);
    item_put_text(item, text);
    text_put_str(text, "\n");
}

/* Reads the file that is loaded; TEXT gets its items and, if it has one, the hint. */
static int read_all(bool keep_going, struct text *text, struct error *error)
{
    struct reader_options options = {.keep_going = keep_going};
    struct catalogue catalogue = {0};
    struct source *source;
    const struct item *items;
    struct input in;
    int r;

    error_clear(error);
    assert_int_equal(input_open_memory(&in, file, file_size, "f"), 0);
    r = perf_data_open(&in, "f", &catalogue, &options, &source, error);
    if (r < 0) {
        catalogue_done(&catalogue);
        return r;
    }
    while ((r = source_next(source, &items)) > 0)
        for (int i = 0; i < r; i++)
            put_item(&items[i], text);
    if (r < 0)
        *error = source->error;
    /* The same again. */
    assert_int_equal(source_next(source, &items), r);
    if (source->ops->hint(source)) {
        text_put_str(text, source->ops->hint(source));
        text_put_char(text, '\n');
    }
    source_free(source);
    catalogue_done(&catalogue);
    return r;
}

static void assert_text(struct text *text, const char *expected)
{
    text_put_char(text, '\0');
    assert_string_equal(text->start, expected);
    text_done(text);
}

static void assert_events(const char *name, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    load(name);
    assert_int_equal(read_all(false, &text, &error), 0);
    assert_text(&text, expected);
}

static const char plain[] =
    "90 cpu1 nine-9 made:numbers a=4 b=5\n"
    "100 cpu0 eight-8 made:numbers a=1 b=2\n"
    "110 cpu1 nine-9 perf:cpu-clock ip=0x1000 period=250000 cpumode=unknown depth=0 callchain=[]\n"
    "120 cpu0 eight-12 perf:cpu-clock ip=0x2000 period=250000 cpumode=unknown depth=3 "
    "callchain=[0xffffffffffffff80 0x2000 0x2004]\n"
    "130 cpu0 eight-8 made:numbers a=-1 b=3\n"
    "139 cpu1 lost 5 since 110 skipped 0\n"
    "140 cpu0 renamed-12 made:numbers a=6 b=7\n"
    "140 cpu1 nine-9 made:numbers a=8 b=9\n"
    "150 cpu0 <idle>-0 perf:throttle event=\"cpu-clock\"\n"
    "160 cpu0 <idle>-0 perf:unthrottle event=\"cpu-clock\"\n"
    "170 cpu1 nine-9 perf:switch out=true preempt=true next_prev_pid=8 next_prev_tid=8\n"
    "171 cpu1 eight-8 perf:switch out=false preempt=false\n"
    "180 cpu1 ?-10 made:numbers a=10 b=11\n"
    "180 cpu0 lost 3 since 140 skipped 0\n"
    "180 cpu1 lost 2 since 180 skipped 0\n"
    "the kernel throttled sampling, so samples are missing (1 times); record with a lower "
    "frequency (-F)\n";

static void test_forms(void **state)
{
    is_begin_seen = false;
    assert_events("little", plain);
    assert_true(is_begin_seen);
    assert_events("big", plain);
    assert_events("stream", plain);
    assert_events("packed", plain);
    assert_events("packed2", plain);
    assert_events("packed2-stream", plain);
}

static void test_old(void **state)
{
    assert_events("old", "1000 cpu-1 seven-7 perf:cycles ip=0x10 cpumode=unknown\n"
                         "1010 cpu-1 seven-7 perf:cycles ip=0x11 cpumode=unknown\n"
                         "1010 cpu-1 lost 4 since 1010 skipped 0\n"
                         "1020 cpu-1 seven-7 perf:cycles ip=0x12 cpumode=unknown\n"
                         "1020 cpu-1 lost 2 since 1020 skipped 0\n");
}

static void test_read_values(void **state)
{
    assert_events(
        "read",
        "2000 cpu3 guest ?-6 perf:instructions ip=0x500 cpumode=unknown depth=1 callchain=[0x600]\n"
        "2010 cpu3 guest ?-6 perf:type-4-config-0x1c2 ip=0x501 cpumode=unknown raw=[0x1 0x2 0x3 "
        "0x4]\n"
        "its AUX area traces (24 bytes) are not read; perf script decodes them; of groups that are "
        "sampled by their leader (:S), only the leader is shown, and not 1 values of the others; "
        "2 records are damaged, or of no event that the file names; 2 records are of types that "
        "are not known\n");
}

/* Samples of the host and of guests, as perf kvm --host --guest takes them: each of its layer. */
static void test_guest(void **state)
{
    assert_events("guest", "3000 cpu1 ?-5 perf:cycles ip=0x700 cpumode=kernel\n"
                           "3001 cpu1 ?-5 perf:cycles ip=0x701 cpumode=user\n"
                           "3002 cpu1 guest ?-5 perf:cycles ip=0x702 cpumode=guest_kernel\n"
                           "3003 cpu1 guest ?-5 perf:cycles ip=0x703 cpumode=guest_user\n"
                           "3004 cpu1 ?-5 perf:cycles ip=0x704 cpumode=hypervisor\n"
                           "3005 cpu1 ?-5 perf:cycles ip=0x705 cpumode=7\n");
}

static struct origin *open_origin(const char *name, struct catalogue *catalogue,
                                  struct source **ret_source)
{
    struct reader_options options = {0};
    struct error error = {0};
    struct input in;

    load(name);
    assert_int_equal(input_open_memory(&in, file, file_size, "f"), 0);
    assert_int_equal(perf_data_open(&in, "f", catalogue, &options, ret_source, &error), 0);
    return catalogue->origins[0];
}

static void find_fact(void *arg, const char *key, const char *value)
{
    const char **wanted = arg;

    if (strcmp(key, wanted[0]) == 0)
        wanted[1] = strcmp(value, wanted[1]) == 0 ? "found" : "different";
}

static void assert_fact(const struct source *source, const char *key, const char *value)
{
    const char *wanted[] = {key, value};

    source->ops->facts(source, find_fact, wanted);
    assert_string_equal(wanted[1], "found");
}

/* Whose events, by which clock. */
static void test_origin(void **state)
{
    struct catalogue catalogue = {0};
    struct source *source;
    const struct origin *origin = open_origin("big", &catalogue, &source);

    assert_int_equal(origin->layer, LAYER_HOST);
    assert_string_equal(origin->clock.name, "monotonic");
    assert_int_equal(origin->clock.hz, NANOSECONDS);
    assert_int_equal(origin->n_cpus, 2);
    assert_string_equal(origin->host_name, "host");
    assert_fact(source, "command line", "perf record");
    assert_fact(source, "kernel", "6.1.0, x86_64");
    assert_fact(source, "memory", "2 MB");
    assert_fact(source, "time of day", "2023-11-14 22:13:20.000000005 UTC at 0.000000090");
    source_free(source);
    catalogue_done(&catalogue);

    memset(&catalogue, 0, sizeof catalogue);
    origin = open_origin("read", &catalogue, &source);
    assert_int_equal(origin->layer, LAYER_GUEST);
    assert_string_equal(origin->clock.name, "perf");
    source_free(source);
    catalogue_done(&catalogue);
}

/* The record at which the events of little.data begin. */
static size_t find_at(size_t at, uint32_t type)
{
    while (load_le32(file + at) != type) {
        size_t size = load_le16(file + at + 6);

        if (load_le32(file + at) == 66) /* tracing data follows */
            size += (load_le32(file + at + 8) + 7) & ~7u;
        at += size;
    }
    return at;
}

static size_t find_record(uint32_t type)
{
    return find_at((size_t)load_le64(file + 40), type);
}

static void test_damaged(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;
    size_t at;

    load("little");
    at = find_record(7);
    store_le16(file + at + 6, 4);
    assert_int_equal(read_all(false, &text, &error), -EBADMSG);
    assert_int_equal(error.offset, at);
    assert_text(&text, "90 cpu1 nine-9 made:numbers a=4 b=5\n"
                       "100 cpu0 eight-8 made:numbers a=1 b=2\n"
                       "110 cpu1 nine-9 perf:cpu-clock ip=0x1000 period=250000 cpumode=unknown "
                       "depth=0 callchain=[]\n"
                       "110 cpu1 lost -1 since 110 skipped 0 open\n"
                       "130 cpu0 eight-8 made:numbers a=-1 b=3\n"
                       "130 cpu0 lost -1 since 130 skipped 0 open\n");

    /* The next record is found. */
    text = TEXT_IN_MEMORY;
    assert_int_equal(read_all(true, &text, &error), 0);
    text_put_char(&text, '\0');
    assert_non_null(strstr(text.start, "120 cpu0 lost -1 since 130 skipped 64\n"));
    assert_non_null(strstr(text.start, "120 cpu0 renamed-12 perf:cpu-clock"));
    assert_non_null(strstr(text.start, "180 cpu1 lost 2 since 180"));
    text_done(&text);
}

/* A CPU that has no record in a file that is cut may have had some, since the last round but one. */
static void test_cut_unseen(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    load("stream");
    file_size = find_at(16, 9);
    while (load_le32(file + file_size + 24) != 9) /* a thread of CPU 1 */
        file_size += load_le16(file + file_size + 6);
    file_size += 8;
    assert_int_equal(read_all(true, &text, &error), 0);
    assert_text(&text, "100 cpu0 eight-8 made:numbers a=1 b=2\n"
                       "100 cpu1 lost -1 since 100 skipped 0 open\n"
                       "130 cpu0 eight-8 made:numbers a=-1 b=3\n"
                       "130 cpu0 lost -1 since 130 skipped 8 open\n");
}

/* A piece of what is compressed is missing: zstd waits for the rest of a block. */
static void test_packed_damaged(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;
    size_t at;

    load("packed");
    at = find_record(81);
    at += load_le16(file + at + 6);
    store_le32(file + at, 65);
    assert_int_equal(read_all(false, &text, &error), -EBADMSG);
    assert_text(&text, "");
}

/* A record that says it holds more compressed bytes than it is long. */
static void test_packed_too_long(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;
    size_t at;

    load("little");
    at = find_record(7);
    store_le32(file + at, 83);
    store_le64(file + at + 8, UINT64_MAX - 3);
    assert_int_equal(read_all(false, &text, &error), -EBADMSG);
    text_done(&text);
    text = TEXT_IN_MEMORY;
    store_le64(file + at + 8, load_le16(file + at + 6) - 15U);
    assert_int_equal(read_all(false, &text, &error), -EBADMSG);
    assert_non_null(strstr(error.what, "longer than the record"));
    text_done(&text);
}

/* Every beginning of each file, and each with a byte changed: no crash, and what is said has a place. */
static void test_cut(void **state)
{
    static const char *const names[] = {"little",  "big", "stream", "packed",
                                        "packed2", "old", "read"};
    struct error error;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t whole;

        load(names[i]);
        whole = file_size;
        for (file_size = 0; file_size < whole; file_size++)
            for (unsigned keep_going = 0; keep_going < 2; keep_going++) {
                struct text text = TEXT_IN_MEMORY;

                if (read_all(keep_going, &text, &error) < 0)
                    assert_true(error.code < 0 && error.what[0]);
                text_done(&text);
            }
        for (size_t at = 0; at < whole; at++) {
            struct text text = TEXT_IN_MEMORY;

            file[at] ^= 0xff;
            (void)read_all(at & 1, &text, &error);
            file[at] ^= 0xff;
            text_done(&text);
        }
    }
}

/* An event in the last round that is older than what was lent before it. */
static void test_late(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;
    const char *late;
    size_t at;

    load("little");
    at = find_record(14);
    at += load_le16(file + at + 6);
    assert_int_equal(load_le64(file + at + 32), 180);
    store_le64(file + at + 32, 95);
    assert_int_equal(read_all(false, &text, &error), 0);
    text_put_char(&text, '\0');
    late = strstr(text.start, "95 cpu1 ?-10 made:numbers a=10 b=11\n");
    assert_non_null(late);
    assert_true(late > strstr(text.start, "110 cpu1 nine-9"));
    assert_non_null(
        strstr(late, "events came too late to be put in order, and are where they came (1)"));
    text_done(&text);
}

/* perf was killed: its header says that there are no records. */
static void test_unfinished(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    load("little");
    file_size = find_record(14) + 3;
    store_le64(file + 48, 0);
    assert_int_equal(read_all(false, &text, &error), 0);
    text_put_char(&text, '\0');
    assert_non_null(strstr(text.start, "130 cpu0 eight-8 (null):unknown-300"));
    assert_non_null(strstr(text.start, "perf did not finish the file"));
    text_done(&text);
}

/* In such a file, too, a damaged length is not taken for the end. */
static void test_unfinished_damaged(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;
    size_t at;

    load("little");
    file_size = (size_t)(load_le64(file + 40) + load_le64(file + 48));
    store_le64(file + 48, 0);
    at = find_record(7);
    store_le16(file + at + 6, 65528);
    assert_int_equal(read_all(false, &text, &error), -EBADMSG);
    assert_int_equal(error.offset, at);
    text_done(&text);

    text = TEXT_IN_MEMORY;
    assert_int_equal(read_all(true, &text, &error), 0);
    text_put_char(&text, '\0');
    assert_non_null(strstr(text.start, "120 cpu0 lost -1 since 130 skipped 64\n"));
    text_done(&text);
}

/* A stream without events ends in what says how to read them. */
static void test_no_events(void **state)
{
    struct text text = TEXT_IN_MEMORY;
    struct error error;
    size_t at = 16;

    load("stream");
    while (load_le32(file + at) != 66)
        at += load_le16(file + at + 6);
    file_size = at + load_le16(file + at + 6) + ((load_le32(file + at + 8) + 7) & ~7u);
    assert_int_equal(read_all(false, &text, &error), 0);
    assert_text(&text, "");
}

/* Events that share their IDs take no more than a file has. */
static void test_shared_ids(void **state)
{
    const size_t n = 900, entry = 64 + 16;
    struct text text = TEXT_IN_MEMORY;
    struct error error;

    free(file);
    file_size = 104 + n * entry;
    file = calloc(1, file_size);
    assert_non_null(file);
    memcpy(file, "PERFILE2", 8);
    store_le64(file + 8, 104);
    store_le64(file + 16, entry);
    store_le64(file + 24, 104);
    store_le64(file + 32, n * entry);
    store_le64(file + 40, file_size);
    for (size_t i = 0; i < n; i++) {
        uint8_t *attr = file + 104 + i * entry;

        store_le32(attr + 4, 64);
        store_le64(attr + 64, 104);
        store_le64(attr + 72, n * entry);
    }
    assert_int_equal(read_all(false, &text, &error), -EBADMSG);
    assert_non_null(strstr(error.what, "IDs"));
    text_done(&text);
}

/* ---- Order ---- */

/* A pseudo-random number, below N. */
static uint32_t draw(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

/* Rounds of stretches, as of many CPUs: what comes out is sorted, stable, complete, and has its payloads. */
static void test_order(void **state)
{
    enum { ROUNDS = 50, CPUS = 12, RUN = 100 };
    struct item taken[64];
    struct order *order;
    uint32_t seed = 1, n_put = 0, n_taken = 0;
    int64_t last = INT64_MIN;
    uint32_t last_number = 0;

    assert_int_equal(order_new(&order), 0);
    for (int64_t round = 0; round <= ROUNDS; round++) {
        unsigned n;

        for (unsigned cpu = 0; cpu < CPUS && round < ROUNDS; cpu++) {
            int64_t time = round * 1000;

            for (unsigned i = draw(&seed, RUN); i > 0; i--) {
                uint8_t payload[300];
                struct order_piece pieces[] = {{&n_put, sizeof n_put}, {payload, draw(&seed, 300)}};
                struct item item = {.kind = ITEM_EVENT, .time = time, .cpu = (int32_t)cpu};

                memset(payload, (int)(n_put & 0xff), sizeof payload);
                assert_non_null(order_put(order, &item, pieces, 2));
                n_put++;
                time += draw(&seed, 20);
            }
        }
        while ((n = order_take(order, round < ROUNDS ? round * 1000 - 1 : INT64_MAX, taken, 64)) >
               0)
            for (unsigned i = 0; i < n; i++) {
                uint32_t number = load_u32(taken[i].payload);

                assert_true(taken[i].time > last ||
                            (taken[i].time == last && number > last_number));
                for (uint32_t k = 4; k < taken[i].size; k++)
                    assert_int_equal(taken[i].payload[k], number & 0xff);
                last = taken[i].time;
                last_number = number;
                n_taken++;
            }
    }
    assert_int_equal(n_taken, n_put);
    assert_true(n_put > 10000);
    assert_int_equal(order_held(order), 0);
    assert_true(order_oldest(order) == TIME_UNKNOWN);
    order_free(order);
}

static int done(void **state)
{
    free(file);
    file = NULL;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_old),
        cmocka_unit_test(test_read_values),
        cmocka_unit_test(test_guest),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_cut_unseen),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_unfinished_damaged),
        cmocka_unit_test(test_no_events),
        cmocka_unit_test(test_shared_ids),
        cmocka_unit_test(test_packed_damaged),
        cmocka_unit_test(test_packed_too_long),
    };

    return cmocka_run_group_tests(tests, NULL, done);
}
