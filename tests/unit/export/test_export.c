/* SPDX-License-Identifier: MIT */
/* The pieces that exports are made of: pages of a ring buffer, records put aside, made kernel formats; what is text
 * to the last byte. */
#include "cmocka_all.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "byte_order.h"
#include "event/catalogue.h"
#include "export/export.h"
#include "export/trace_dat/events.h"
#include "export/trace_dat/kernel_layout.h"
#include "export/trace_dat/record_spool.h"
#include "export/trace_dat/ring_page.h"
#include "format/ftrace/page.h"

struct order {
    bool big;
    uint8_t long_size;
};

static const struct order orders[] = {{false, 8}, {true, 8}, {false, 4}, {true, 4}};

static void layouts(struct order order, uint32_t size, struct ring_layout *ret_ring,
                    struct ftrace_layout *ret_ftrace)
{
    bool swap = order.big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);

    *ret_ring = (struct ring_layout){
        .swap = swap, .big_endian = order.big, .long_size = order.long_size, .size = size};
    *ret_ftrace = (struct ftrace_layout){.swap = swap,
                                         .big_endian = order.big,
                                         .long_size = order.long_size,
                                         .commit = 8,
                                         .data = 8U + order.long_size,
                                         .size = size};
}

/* Times, with deltas around what each form of a record holds, and sizes likewise. */
static const uint64_t deltas[] = {
    0, 1, (1 << 27) - 1, 1 << 27, (1 << 27) + 1, UINT64_C(1) << 40, (UINT64_C(1) << 59) - 1};
static const uint32_t sizes[] = {0, 1, 4, 8, 111, 112, 113, 116, 1000};

static void test_page_is_read_back(void **state)
{
    (void)state;
    for (size_t o = 0; o < ARRAY_SIZE(orders); o++)
        for (size_t d = 0; d < ARRAY_SIZE(deltas); d++)
            for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
                uint8_t bytes[4096], data[1000];
                struct ring_layout layout;
                struct ftrace_layout ftrace;
                struct ftrace_page walk;
                struct ftrace_record record;
                struct ring_page page = {.layout = &layout, .bytes = bytes};
                const char *what;
                uint64_t time = 1000;
                unsigned n = 0;

                memset(bytes, 0xee, sizeof bytes);
                memset(data, 0x55, sizeof data);
                layouts(orders[o], sizeof bytes, &layout, &ftrace);
                ring_page_begin(&page, time);
                page.missed = n % 2 == 0;
                page.n_missed = 12;
                while (n < 2 && ring_page_put(&page, time + deltas[d], data, sizes[s])) {
                    time += deltas[d];
                    n++;
                }
                assert_int_equal(n, 2);
                ring_page_end(&page);
                assert_int_equal(ftrace_page_open(&walk, &ftrace, bytes, sizeof bytes, &what), 0);
                assert_true(walk.missed && walk.count_known && walk.n_missed == 12);
                for (unsigned i = 1; i <= n; i++) {
                    assert_int_equal(ftrace_page_next(&walk, &ftrace, &record), 1);
                    assert_int_equal(record.time, 1000 + i * deltas[d]);
                    assert_int_equal(record.size, (sizes[s] + 3) / 4 * 4);
                    assert_memory_equal(record.data, data, sizes[s]);
                }
                assert_int_equal(ftrace_page_next(&walk, &ftrace, &record), 0);
            }
}

static void test_page_is_filled(void **state)
{
    (void)state;
    for (size_t o = 0; o < ARRAY_SIZE(orders); o++)
        for (uint32_t size = 0; size < 200; size++) {
            uint8_t bytes[4096 + 16], data[200] = {0};
            struct ring_layout layout;
            struct ftrace_layout ftrace;
            struct ftrace_page walk;
            struct ftrace_record record;
            struct ring_page page = {.layout = &layout, .bytes = bytes};
            const char *what;
            unsigned n = 0;

            memset(bytes, 0xee, sizeof bytes);
            layouts(orders[o], 4096, &layout, &ftrace);
            ring_page_begin(&page, 5);
            page.missed = true;
            page.n_missed = 7;
            while (ring_page_put(&page, 5 + n, data, size))
                n++;
            ring_page_end(&page);
            assert_int_equal(bytes[4096], 0xee);
            assert_int_equal(ftrace_page_open(&walk, &ftrace, bytes, 4096, &what), 0);
            assert_true(walk.count_known && walk.n_missed == 7);
            for (; n > 0; n--)
                assert_int_equal(ftrace_page_next(&walk, &ftrace, &record), 1);
            assert_int_equal(ftrace_page_next(&walk, &ftrace, &record), 0);
        }
}

/* A count that a `long` does not hold is not known. A time too far away wants a page of its own. */
static void test_page_limits(void **state)
{
    uint8_t bytes[4096];
    struct ring_layout layout;
    struct ftrace_layout ftrace;
    struct ftrace_page walk;
    struct ring_page page = {.layout = &layout, .bytes = bytes};
    const char *what;

    (void)state;
    layouts(orders[2], sizeof bytes, &layout, &ftrace);
    ring_page_begin(&page, 5);
    page.missed = true;
    page.n_missed = UINT64_C(1) << 32;
    assert_false(ring_page_put(&page, 5 + (UINT64_C(1) << 59), bytes, 4));
    ring_page_end(&page);
    assert_int_equal(ftrace_page_open(&walk, &ftrace, bytes, sizeof bytes, &what), 0);
    assert_true(walk.missed && !walk.count_known);

    for (uint32_t size = 3900; size < 9000; size++) {
        uint32_t needed = ring_page_size(8, size);
        uint8_t *large = calloc(1, needed);
        uint8_t *data = calloc(1, size);

        layouts(orders[0], needed, &layout, &ftrace);
        page.bytes = large;
        ring_page_begin(&page, 0);
        page.missed = true;
        assert_true(ring_page_put(&page, 1 << 30, data, size));
        assert_int_equal(needed & (needed - 1), 0);
        free(large);
        free(data);
    }
}

/* Records of many sizes into many streams, in no order. */
static void test_spool(void **state)
{
    static struct spool_stream streams[300];
    static uint64_t n_put[300];
    static uint8_t data[200000];
    char path[] = "/tmp/strata-test-export-XXXXXX";
    int fd = mkstemp(path);
    struct record_spool spool;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(record_spool_open(path, &spool), 0);
    unlink(path);
    close(fd);
    for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
        record_spool_add(&spool, &streams[i]);
    for (uint32_t i = 0; i < 60000; i++) {
        uint32_t mixed = i * 2654435761U;
        unsigned s = (mixed >> 8) % ARRAY_SIZE(streams);
        uint32_t size = i % 5000 == 0 ? sizeof data : (mixed >> 20) % 2000;

        /* One stream gets nothing. */
        s = s == 17 ? 18 : s;
        memset(data, (int)(s + n_put[s]), size);
        assert_int_equal(record_spool_put(&spool, &streams[s], n_put[s]++, SPOOL_EVENT, data, size),
                         0);
    }
    assert_true(spool.buffered <= 17 * 1024 * 1024);
    assert_int_equal(record_spool_flush(&spool), 0);
    for (size_t s = 0; s < ARRAY_SIZE(streams); s++) {
        struct spool_reader reader;
        struct spool_record record;
        const uint8_t *bytes;
        uint64_t n = 0;

        spool_reader_open(&spool, &streams[s], &reader);
        for (; spool_reader_next(&reader, &record, &bytes) > 0; n++) {
            assert_true(record.time == n && record.kind == SPOOL_EVENT);
            for (uint32_t i = 0; i < record.size; i++)
                if (bytes[i] != (uint8_t)(s + n))
                    fail_msg("byte %u of record %u of stream %zu", i, (unsigned)n, s);
        }
        assert_int_equal(n, n_put[s]);
        spool_reader_done(&reader);
    }
    record_spool_done(&spool);
}

static const struct origin origin = {.layer = LAYER_VMM, .format = "test", .path = "test"};

static const struct field fields[] = {
    {.name = "a b", .c_type = "uint8_t", .type = FIELD_UINT, .size = 1},
    {.name = "a_b",
     .c_type = "int64_t",
     .type = FIELD_INT,
     .offset = 1,
     .size = 8,
     .swap = SWAP_LITTLE},
    {.name = "common_pid",
     .c_type = "char *",
     .type = FIELD_STRING,
     .storage = STORE_COUNTED,
     .offset = 9,
     .swap = SWAP_LITTLE},
    {.name = "f",
     .c_type = "double",
     .type = FIELD_FLOAT,
     .place = PLACE_AFTER_PREVIOUS,
     .size = 8,
     .swap = SWAP_LITTLE},
};

static void test_made_format(void **state)
{
    static const char expected[] =
        "name: an_event\nID: 77\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:u8 a_b;\toffset:8;\tsize:1;\tsigned:0;\n"
        "\tfield:s64 a_b_2;\toffset:16;\tsize:8;\tsigned:1;\n"
        "\tfield:__data_loc char[] _common_pid;\toffset:24;\tsize:4;\tsigned:0;\n"
        "\tfield:__data_loc char[] f;\toffset:28;\tsize:4;\tsigned:0;\n"
        "\nprint fmt: \"%#x 100%% \\\"%lld\\\" of %s %s\", REC->a_b, REC->a_b_2, "
        "__get_str(_common_pid), __get_str(f)\n";
    static const uint8_t payload[] = {7,    0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                      0xff, 3,    0,    0,    0,    'x',  'y',  'z',
                                      0,    0,    0,    0,    0,    0,    0xf8, 0x3f};
    struct event_class class = {.name = "an event",
                                .origin = &origin,
                                .fields = fields,
                                .n_fields = ARRAY_SIZE(fields),
                                .format = "%#x 100%% \"%lld\" of %s %g"};
    struct catalogue catalogue = {0};
    struct text text = TEXT_IN_MEMORY;
    struct kernel_layout layout;
    struct event_class *added;
    struct arena arena = {0};
    struct item item = {.payload = payload, .size = sizeof payload};
    const uint8_t *record;

    (void)state;
    assert_int_equal(catalogue_add(&catalogue, &class, &added), 0);
    item.class = added;
    assert_int_equal(kernel_layout_make(&arena, added, &layout), 0);
    kernel_layout_put_format(&text, &layout, 77);
    text_put_char(&text, '\0');
    assert_string_equal(text.start, expected);

    text.next = text.start;
    kernel_layout_put_record(&text, &layout, 77, -5, &item, false);
    record = (const uint8_t *)text.start;
    assert_int_equal(load_u16(record), 77);
    assert_int_equal(load_u32(record + 4), (uint32_t)-5);
    assert_int_equal(record[8], 7);
    assert_int_equal(load_u64(record + 16), (uint64_t)-2);
    assert_int_equal(load_u32(record + 24), 4 << 16 | 32);
    assert_int_equal(load_u32(record + 28), 4 << 16 | 36);
    assert_string_equal((const char *)record + 32, "xyz");
    assert_string_equal((const char *)record + 36, "1.5");

    /* A kernel of the other byte order reads the same. */
    text.next = text.start;
    kernel_layout_put_record(&text, &layout, 77, -5, &item, true);
    record = (const uint8_t *)text.start;
    assert_int_equal(load_u16_swap(record, true), 77);
    assert_int_equal(load_u64_swap(record + 16, true), (uint64_t)-2);
    assert_int_equal(load_u32_swap(record + 24, true), 4 << 16 | 32);
    text_done(&text);
    arena_done(&arena);
    catalogue_done(&catalogue);
}

/* Long texts are cut where a __data_loc can tell no more. */
static void test_long_record(void **state)
{
    static const struct field texts[] = {
        {.name = "a", .c_type = "char *", .type = FIELD_STRING, .storage = STORE_COUNTED},
        {.name = "b",
         .c_type = "char *",
         .type = FIELD_STRING,
         .storage = STORE_COUNTED,
         .place = PLACE_AFTER_PREVIOUS},
    };
    struct event_class class = {
        .name = "texts", .origin = &origin, .fields = texts, .n_fields = ARRAY_SIZE(texts)};
    uint8_t *payload = malloc(140008);
    struct item item = {.class = &class, .payload = payload, .size = 140008};
    struct text text = TEXT_IN_MEMORY;
    struct kernel_layout layout;
    struct arena arena = {0};
    uint32_t loc;

    (void)state;
    memset(payload, 'x', 140008);
    store_u32(payload, 60000);
    store_u32(payload + 60004, 80000);
    assert_int_equal(kernel_layout_make(&arena, &class, &layout), 0);
    kernel_layout_put_record(&text, &layout, 1, 1, &item, false);
    assert_int_equal(text_len(&text), 65535);
    loc = load_u32(text.start + 8);
    assert_int_equal(loc >> 16, 60001);
    loc = load_u32(text.start + 12);
    assert_int_equal((loc >> 16) + (loc & 0xffff), 65535);
    assert_int_equal(text.start[65534], '\0');
    text_done(&text);
    arena_done(&arena);
    free(payload);
}

/* The one number that SQL asks for. */
static int64_t ask(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    int64_t answer;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    answer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return answer;
}

/* Columns that no event of a class had are there for the first one that does, many batches later. */
static void test_sqlite_columns(void **state)
{
    struct catalogue catalogue = {0};
    const struct origin *first = catalogue_add_origin(&catalogue, &origin);
    const struct origin *second = catalogue_add_origin(&catalogue, &origin);
    struct event_class class = {.name = "e", .origin = second};
    char path[] = "/tmp/strata-test-XXXXXX";
    int fd = mkstemp(path);
    const struct export_options options = {
        .fd = fd, .path = path, .name = path, .catalogue = &catalogue};
    struct item item = {.origin = second,
                        .payload = (const uint8_t *)"",
                        .cpu = CPU_UNKNOWN,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};
    struct event_class *made;
    struct sink *sink;
    struct error error;
    sqlite3 *db;

    assert_true(fd >= 0);
    assert_true(first && second);
    assert_int_equal(catalogue_add(&catalogue, &class, &made), 0);
    item.class = made;
    assert_int_equal(export_sqlite_open(&options, &sink, &error), 0);
    for (unsigned i = 0; i < 40000; i++) {
        item.time = i;
        item.cpu = i == 10000 ? 3 : CPU_UNKNOWN;
        item.pid = i == 20000 ? 4 : PID_UNKNOWN;
        item.vcpu = i == 30000 ? 5 : VCPU_UNKNOWN;
        item.origin = i == 39000 ? first : second;
        assert_int_equal(sink_put(sink, &item, 1), 0);
    }
    assert_int_equal(sink_finish(sink), 0);
    sink_free(sink);

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(ask(db, "SELECT count(*) FROM vmm_e"), 40000);
    assert_int_equal(ask(db, "SELECT count(*) FROM vmm_e WHERE id = time_ns + 1"), 40000);
    assert_int_equal(ask(db, "SELECT sum(cpu IS NOT NULL) * 100000 + max(cpu * id) FROM vmm_e"),
                     130003);
    assert_int_equal(ask(db, "SELECT sum(pid IS NOT NULL) * 100000 + max(pid * id) FROM vmm_e"),
                     180004);
    assert_int_equal(ask(db, "SELECT sum(vcpu IS NOT NULL) * 100000 + max(vcpu * id) FROM vmm_e"),
                     250005);
    assert_int_equal(ask(db, "SELECT sum(source = 1) * 100000 + id FROM vmm_e WHERE source = 0"),
                     39001);
    assert_int_equal(ask(db, "SELECT count(*) FROM vmm_e WHERE source = 1"), 39999);
    assert_int_equal(ask(db, "SELECT count(error_ns) FROM vmm_e"), 0);
    sqlite3_close(db);
    close(fd);
    unlink(path);
    catalogue_done(&catalogue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_page_is_read_back), cmocka_unit_test(test_page_is_filled),
        cmocka_unit_test(test_page_limits),       cmocka_unit_test(test_spool),
        cmocka_unit_test(test_made_format),       cmocka_unit_test(test_long_record),
        cmocka_unit_test(test_sqlite_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
