/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "event/value.h"
#include "format/simpletrace/simpletrace.h"

#define DROPPED UINT64_C(0xfffffffffffffffe)

static const char declared[] = "one(int n) \"n %d\"\n"
                               "disable off(void) \"\"\n"
                               "two(const char *s, uint32_t u) \"s %s u %x\"\n";

/* A trace as it is written. */
struct made {
    uint8_t bytes[512 * 1024];
    size_t len;
};

static struct made made;

static void u32(uint32_t v)
{
    store_u32(made.bytes + made.len, v);
    made.len += 4;
}

static void u64(uint64_t v)
{
    store_u64(made.bytes + made.len, v);
    made.len += 8;
}

static void bytes(const void *p, size_t len)
{
    memcpy(made.bytes + made.len, p, len);
    made.len += len;
}

static void header(uint64_t version)
{
    made.len = 0;
    u64(UINT64_MAX);
    u64(UINT64_C(0xf2b177cb0aa429b4));
    u64(version);
}

static void mapping(uint64_t id, const char *name)
{
    u64(0);
    u64(id);
    u32((uint32_t)strlen(name));
    bytes(name, strlen(name));
}

static void event(uint64_t id, uint64_t time, uint32_t size, uint32_t pid)
{
    u64(id);
    u64(time);
    u32(24 + size);
    u32(pid);
}

static void one(uint64_t id, uint64_t time, int64_t n)
{
    u64(1);
    event(id, time, 8, 7);
    u64((uint64_t)n);
}

/* A reader of `made`. */
struct reader {
    struct declarations declarations;
    struct qemu_events events;
    struct catalogue catalogue;
    struct source *source;
    struct error error;
    const struct item *items;
};

static int open_made(struct reader *reader, bool no_header, bool keep_going)
{
    struct simpletrace_options options = {
        .no_header = no_header,
        .reader = {.keep_going = keep_going},
    };
    struct input in;

    *reader = (struct reader){0};
    assert_int_equal(declarations_parse(&reader->declarations, "events", declared, strlen(declared),
                                        NULL, NULL, NULL),
                     0);
    assert_int_equal(qemu_events_init(&reader->declarations, &reader->events), 0);
    options.events = &reader->events;
    assert_int_equal(input_open_memory(&in, made.bytes, made.len, "made"), 0);
    return simpletrace_open(&in, &reader->catalogue, &options, &reader->source, &reader->error);
}

static void close_reader(struct reader *reader)
{
    source_free(reader->source);
    catalogue_done(&reader->catalogue);
    qemu_events_done(&reader->events);
    declarations_done(&reader->declarations);
}

static int next(struct reader *reader)
{
    return source_next(reader->source, &reader->items);
}

static void assert_told(const struct error *error, const char *expected)
{
    char text[1024];

    error_print(error, text, sizeof text);
    assert_string_equal(text, expected);
}

static void test_probe(void **state)
{
    header(4);
    assert_true(simpletrace_probe(made.bytes, made.len));
    assert_false(simpletrace_is_old(made.bytes, made.len));
    assert_false(simpletrace_probe(made.bytes, made.len - 1));
    made.bytes[3] ^= 1;
    assert_false(simpletrace_probe(made.bytes, made.len));
    header(4);
    made.bytes[9] ^= 1;
    assert_false(simpletrace_probe(made.bytes, made.len));
    store_u64(made.bytes + 8, __builtin_bswap64(UINT64_C(0xf2b177cb0aa429b4)));
    assert_true(simpletrace_probe(made.bytes, made.len));
    store_u64(made.bytes + 16, __builtin_bswap64(3));
    assert_true(simpletrace_is_old(made.bytes, made.len));
    store_u64(made.bytes + 16, __builtin_bswap64(4));
    assert_false(simpletrace_is_old(made.bytes, made.len));
}

static void test_items(void **state)
{
    struct reader r;
    struct value values[2];
    const struct item *item;

    header(4);
    mapping(5, "one");
    mapping(900000, "two"); /* beyond the plain table */
    one(5, 1000, -3);
    u64(1);
    event(900000, 900, 4 + 3 + 8, 0xffffffff);
    u32(3);
    bytes("abc", 3);
    u64(0x10);
    u64(1);
    event(DROPPED, 2000, 8, 7);
    u64(12);
    one(5, 2001, 4);

    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(simpletrace_version(r.source), 4);
    assert_int_equal(next(&r), 4);
    item = r.items;
    assert_int_equal(item->kind, ITEM_EVENT);
    assert_string_equal(item->class->name, "one");
    assert_int_equal(item->time, 1000);
    assert_int_equal(item->pid, 7);
    assert_int_equal(item->cpu, CPU_UNKNOWN);
    assert_int_equal(item->vcpu, VCPU_UNKNOWN);
    assert_ptr_equal(item->origin, item->class->origin);
    assert_int_equal(item->origin->layer, LAYER_VMM);
    assert_string_equal(item->origin->path, "made");
    assert_int_equal(item->size, 8);
    item_values(item, values);
    assert_int_equal(values[0].i, -3);

    item++;
    assert_string_equal(item->class->name, "two");
    assert_int_equal(item->time, 900);
    item_values(item, values);
    assert_int_equal(values[0].len, 3);
    assert_memory_equal(values[0].s, "abc", 3);
    assert_int_equal(values[1].u, 0x10);
    assert_false(item[-1].before_loss);
    assert_true(item->before_loss);

    item++;
    assert_int_equal(item->kind, ITEM_LOSS);
    assert_int_equal(item->cause, LOSS_DROPPED);
    assert_int_equal(item->lost, 12);
    assert_int_equal(item->time, 2000);
    assert_int_equal(item->since, 900);
    assert_int_equal(item->pid, 7);
    assert_null(item->class);

    item++;
    assert_int_equal(item->kind, ITEM_EVENT);
    assert_int_equal(item->time, 2001);
    assert_int_equal(next(&r), 0);
    assert_int_equal(next(&r), 0);
    close_reader(&r);
}

/* The payload ends before the last field. */
static void test_absent_number(void **state)
{
    struct value values[2];
    struct reader r;

    header(4);
    mapping(1, "two");
    u64(1);
    event(1, 10, 4, 7);
    u32(0);
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 1);
    item_values(&r.items[0], values);
    assert_false(values[1].present);
    assert_int_equal(values[1].u, 0);
    close_reader(&r);
}

/* A second name for an id, a second id for a name. */
static void test_remapping(void **state)
{
    struct reader r;

    header(4);
    mapping(1, "one");
    one(1, 10, 1);
    mapping(1, "other");
    one(1, 11, 1);
    mapping(1, "one");
    mapping(2, "one");
    one(1, 12, 1);
    one(2, 13, 1);
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 4);
    assert_string_equal(r.items[0].class->name, "one");
    assert_string_equal(r.items[1].class->name, "other");
    assert_ptr_equal(r.items[2].class, r.items[0].class);
    assert_ptr_equal(r.items[3].class, r.items[0].class);
    close_reader(&r);
}

static void note_fact(void *arg, const char *key, const char *value)
{
    char *facts = arg;
    size_t len = strlen(facts);

    snprintf(facts + len, 512 - len, "%s: %s\n", key, value);
}

static void test_undeclared(void **state)
{
    struct reader r;
    char facts[512] = "";
    struct value value;

    header(4);
    mapping(1, "not\033[31mdeclared");
    one(1, 10, 0x1234);
    one(77, 11, 2);
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 2);
    assert_string_equal(r.items[0].class->name, "not?[31mdeclared");
    assert_null(r.items[0].class->declared_in);
    value = item_value(&r.items[0], 0);
    assert_int_equal(value.len, 8);
    assert_int_equal(load_u64(value.s), 0x1234);
    assert_string_equal(r.items[1].class->name, "event-77");
    r.source->ops->facts(r.source, note_fact, facts);
    assert_string_equal(facts, "version: 4\n"
                               "undeclared events: 2, shown as raw words: not?[31mdeclared, "
                               "event-77\n");
    close_reader(&r);
}

/* Where no declarations are found, each event is its words. */
static void test_no_declarations(void **state)
{
    struct simpletrace_options options = {0};
    struct reader r = {0};
    struct input in;

    header(4);
    mapping(1, "one");
    one(1, 5, 6);
    assert_int_equal(input_open_memory(&in, made.bytes, made.len, "made"), 0);
    assert_int_equal(simpletrace_open(&in, &r.catalogue, &options, &r.source, &r.error), 0);
    assert_int_equal(next(&r), 1);
    assert_string_equal(r.items[0].class->name, "one");
    assert_string_equal(r.items[0].class->fields[0].name, "words");
    assert_int_equal(next(&r), 0);
    source_free(r.source);
    catalogue_done(&r.catalogue);
}

/* Positions: all declarations in version 3, without the disabled in version 2. */
static void test_positions(void **state)
{
    struct reader r;

    header(3);
    event(0, 10, 8, 3);
    u64(1);
    event(2, 11, 12, 3);
    u32(0);
    u64(1);
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 2);
    assert_string_equal(r.items[0].class->name, "one");
    assert_int_equal(r.items[0].pid, 3);
    assert_string_equal(r.items[1].class->name, "two");
    close_reader(&r);

    store_u64(made.bytes + 16, 2);
    store_u64(made.bytes + 56, 1);
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 2);
    assert_int_equal(r.items[0].pid, PID_UNKNOWN);
    assert_string_equal(r.items[1].class->name, "two");
    close_reader(&r);
}

static void test_version_0(void **state)
{
    struct reader r;

    header(0);
    made.len = 64;
    memset(made.bytes + 24, 0xee, 40);
    u64(1);
    u64(500);
    for (uint64_t i = 0; i < 6; i++)
        u64(i + 100);
    u64(DROPPED);
    u64(600);
    for (uint64_t i = 0; i < 6; i++)
        u64(i + 3);
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 2);
    assert_string_equal(r.items[0].class->name, "two");
    assert_int_equal(r.items[0].class->fields[0].type, FIELD_POINTER);
    assert_int_equal(item_value(&r.items[0], 0).u, 100);
    assert_int_equal(item_value(&r.items[0], 1).u, 101);
    assert_int_equal(r.items[1].kind, ITEM_LOSS);
    assert_int_equal(r.items[1].lost, 3);
    assert_int_equal(next(&r), 0);
    close_reader(&r);
}

/* The event before a loss says so, also as the last of a run. */
static void test_before_loss(void **state)
{
    struct reader r;
    unsigned n = 0;
    int got;

    (void)state;
    header(4);
    mapping(5, "one");
    for (unsigned i = 0; i < 8000; i++)
        one(5, 1000 + i, 4);
    u64(1);
    event(DROPPED, 10000, 8, 7);
    u64(12);
    one(5, 10001, 4);
    made.len -= 4; /* cut */
    assert_int_equal(open_made(&r, false, true), 0);
    while ((got = next(&r)) > 0)
        for (int i = 0; i < got; i++)
            assert_int_equal(r.items[i].before_loss, ++n == 8000);
    assert_int_equal(n, 8002);
    close_reader(&r);

    for (unsigned left = 2040; left < 2060; left++) {
        header(4);
        mapping(5, "one");
        for (unsigned i = 0; i < left; i++)
            one(5, 1000 + i, 4);
        u64(1);
        event(DROPPED, 10000, 8, 7);
        u64(12);
        assert_int_equal(open_made(&r, false, false), 0);
        for (n = 0; (got = next(&r)) > 0;)
            for (int i = 0; i < got; i++)
                assert_int_equal(r.items[i].before_loss, ++n == left);
        assert_int_equal(n, left + 1);
        close_reader(&r);
    }
}

static void test_no_header(void **state)
{
    struct reader r;

    made.len = 0;
    one(0, 10, 5);
    assert_int_equal(open_made(&r, true, false), 0);
    assert_int_equal(next(&r), 1);
    assert_string_equal(r.items[0].class->name, "one");
    assert_int_equal(next(&r), 0);
    close_reader(&r);

    made.len = 0;
    assert_int_equal(open_made(&r, true, false), 0);
    assert_int_equal(next(&r), 0);
    close_reader(&r);
}

static void test_wrong_files(void **state)
{
    struct reader r;

    header(1);
    assert_int_equal(open_made(&r, false, false), -EBADMSG);
    assert_told(&r.error, "made: offset 16: unknown simpletrace version 1 (known: 0, 2, 3, 4)");
    close_reader(&r);
    made.len = 23;
    assert_int_equal(open_made(&r, false, false), -EBADMSG);
    assert_told(&r.error, "made: offset 0: not a simpletrace file: the header is missing");
    close_reader(&r);
    header(0);
    u64(0);
    assert_int_equal(open_made(&r, false, false), -EBADMSG);
    assert_told(&r.error, "made: offset 24: the file ends within its header");
    close_reader(&r);
}

/* After ONE good record, what is told of the rest, again and again; and nothing with keep_going. */
static void assert_damage(const char *told, uint32_t skipped)
{
    struct reader r;

    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), 1);
    assert_int_equal(r.items[0].time, 10);
    assert_int_equal(next(&r), -EBADMSG);
    assert_told(&r.source->error, told);
    assert_int_equal(next(&r), -EBADMSG);
    close_reader(&r);

    assert_int_equal(open_made(&r, false, true), 0);
    assert_int_equal(next(&r), 1);
    assert_int_equal(next(&r), 1);
    assert_int_equal(r.items[0].kind, ITEM_LOSS);
    assert_int_equal(r.items[0].cause, LOSS_UNREADABLE);
    assert_true(r.items[0].lost == LOST_UNKNOWN);
    assert_int_equal(r.items[0].skipped, skipped);
    assert_int_equal(r.items[0].since, 10);
    close_reader(&r);
}

static void test_damage(void **state)
{
    header(4);
    mapping(1, "one");
    one(1, 10, 1);
    u64(2);
    u64(0);
    assert_damage("made: offset 87: invalid record type 2 (valid: 0, 1)", 16);

    made.len = 87;
    u64(1);
    event(1, 11, 0, 0);
    store_u32(made.bytes + made.len - 8, 23);
    assert_damage("made: offset 87: a record of 23 bytes: they have 24 to 262144", 32);

    made.len = 87;
    u64(1);
    event(1, 11, 0xfffffff0 - 24, 0);
    assert_damage("made: offset 87: a record of 4294967280 bytes: they have 24 to 262144", 32);

    made.len = 87;
    u64(0);
    u64(1);
    u32(0xffffffff);
    assert_damage("made: offset 87: an event's name of 4294967295 bytes", 20);

    made.len = 87;
    memset(made.bytes + made.len, 0, 4096);
    made.len += 4096;
    assert_damage("made: offset 87: an event's name of 0 bytes", 4096);

    made.len = 87;
    u64(1);
    event(DROPPED, 11, 0, 0);
    assert_damage("made: offset 95: a note of dropped events without their number", 32);

    made.len = 87;
    u64(1);
    event(1, 11, 8, 0);
    assert_damage("made: offset 87: the file ends within a record, after 32 of its bytes", 32);
    made.len = 88;
    assert_damage("made: offset 87: the file ends within a record, after 1 of its bytes", 1);
}

/* Garbage between records of which one is not at a multiple of anything. */
static void test_resync(void **state)
{
    struct reader r;

    header(4);
    mapping(1, "one");
    mapping(2, "two");
    one(1, 1000000, 1);
    for (unsigned i = 0; i < 101; i++)
        bytes(&(uint8_t){(uint8_t)(i * 7 + 2)}, 1);
    one(1, 2000000, 2);
    one(1, 3000000, 3);

    assert_int_equal(open_made(&r, false, true), 0);
    assert_int_equal(next(&r), 1);
    assert_int_equal(next(&r), 1);
    assert_int_equal(r.items[0].kind, ITEM_LOSS);
    assert_int_equal(r.items[0].skipped, 101);
    assert_int_equal(next(&r), 2);
    assert_int_equal(r.items[0].kind, ITEM_EVENT);
    assert_int_equal(r.items[0].skipped, 0);
    assert_int_equal(item_value(&r.items[0], 0).i, 2);
    assert_int_equal(item_value(&r.items[1], 0).i, 3);
    assert_int_equal(next(&r), 0);
    close_reader(&r);
}

/* A record that claims more bytes than the file has does not hide those that stand behind it. */
static void test_resync_at_the_end(void **state)
{
    struct reader r;

    header(4);
    mapping(1, "one");
    one(1, 1000000, 1);
    u64(1);
    event(1, 1500000, 100000, 1);
    one(1, 2000000, 2);
    one(1, 3000000, 3);

    assert_int_equal(open_made(&r, false, true), 0);
    assert_int_equal(next(&r), 1);
    assert_int_equal(next(&r), 1);
    assert_int_equal(r.items[0].kind, ITEM_LOSS);
    assert_int_equal(r.items[0].skipped, 32);
    assert_int_equal(next(&r), 2);
    assert_int_equal(r.items[0].time, 2000000);
    assert_int_equal(item_value(&r.items[1], 0).i, 3);
    assert_int_equal(next(&r), 0);
    close_reader(&r);
}

/* More items than a run holds, and records as long as they can be, through a pipe in pieces. */
static void test_pipe(void **state)
{
    struct reader r;
    struct simpletrace_options options = {0};
    struct input in;
    unsigned n_events = 0;
    uint64_t long_ones = 0;
    int fds[2], n;

    header(4);
    mapping(1, "one");
    mapping(2, "two");
    for (unsigned i = 0; i < 3000; i++)
        one(1, i, i);
    u64(1);
    event(2, 3000, 200000 + 12, 1);
    u32(200000);
    made.len += 200000;
    u64(9);
    one(1, 3001, 3001);

    assert_int_equal(open_made(&r, false, false), 0);
    source_free(r.source);
    options.events = &r.events;
    assert_int_equal(pipe(fds), 0);
    if (fork() == 0) {
        close(fds[0]);
        for (size_t at = 0; at < made.len;) {
            ssize_t written = write(fds[1], made.bytes + at, MIN(made.len - at, (size_t)4001));
            if (written < 0)
                _exit(1);
            at += (size_t)written;
        }
        _exit(0);
    }
    close(fds[1]);
    assert_int_equal(input_open_fd(&in, fds[0], "pipe", SIMPLETRACE_INPUT_SIZE, NULL), 0);
    assert_int_equal(simpletrace_open(&in, &r.catalogue, &options, &r.source, NULL), 0);
    while ((n = next(&r)) > 0) {
        for (int i = 0; i < n; i++) {
            assert_int_equal(r.items[i].time, n_events + (unsigned)i);
            long_ones += r.items[i].size > 1000;
        }
        n_events += (unsigned)n;
    }
    assert_int_equal(n, 0);
    assert_int_equal(n_events, 3002);
    assert_int_equal(long_ones, 1);
    close_reader(&r);
}

/* Ids and names without end cost no memory without end. */
static void test_many_ids(void **state)
{
    struct reader r;
    unsigned n_events = 0;
    int n;

    header(4);
    for (uint64_t i = 0; i < 10000; i++) {
        u64(1);
        event(i * 1000003, i, 0, 0);
    }
    assert_int_equal(open_made(&r, false, false), 0);
    while ((n = next(&r)) > 0)
        n_events += (unsigned)n;
    assert_int_equal(n, 0);
    assert_int_equal(n_events, 10000);
    assert_int_equal(r.catalogue.n_classes, 1025);
    close_reader(&r);

    header(4);
    for (uint64_t i = 0; i < 17000; i++) {
        char name[16];
        snprintf(name, sizeof name, "e%u", (unsigned)i);
        mapping(1, name);
    }
    assert_int_equal(open_made(&r, false, false), 0);
    assert_int_equal(next(&r), -EBADMSG);
    assert_non_null(strstr(r.source->error.what, "more names or ids of events than any QEMU has"));
    close_reader(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),         cmocka_unit_test(test_items),
        cmocka_unit_test(test_absent_number), cmocka_unit_test(test_remapping),
        cmocka_unit_test(test_undeclared),    cmocka_unit_test(test_no_declarations),
        cmocka_unit_test(test_positions),     cmocka_unit_test(test_version_0),
        cmocka_unit_test(test_before_loss),   cmocka_unit_test(test_no_header),
        cmocka_unit_test(test_wrong_files),   cmocka_unit_test(test_damage),
        cmocka_unit_test(test_resync),        cmocka_unit_test(test_resync_at_the_end),
        cmocka_unit_test(test_pipe),          cmocka_unit_test(test_many_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
