/* SPDX-License-Identifier: MIT */
/* Per-CPU buffers as one CPU writes them: bytes, masks, the ring's end, losses, the mark. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The clock goes on by itself, or where a test says so. */
static uint64_t now = 1000, step = 1;

static uint64_t tick(void)
{
    return now += step;
}
#define STRATA_PERCPU_CYCLES() tick()

#include "percpu_records.h"

#define EVENT (STRATA_TRC_GUEST | 0x123)
#define X 4088U

static unsigned n_notified;

static void count_notification(struct strata_percpu_cpu *cpu)
{
    expect(cpu == self);
    n_notified++;
}

static const struct strata_percpu_hooks hooks = {.cycles = tick, .notify = count_notification};

static void emit_words(uint32_t event, bool cycles, unsigned n)
{
    strata_percpu_emit(event, cycles, n, 1, 2, 3, 4, 5, 6, 7);
}

/* ---- Bytes ---- */

static void expect_words(const uint32_t *expected, size_t n)
{
    struct reader reader = reader_of(0, NULL);
    struct strata_percpu_window windows[2];

    assert_int_equal(strata_percpu_view_windows(&reader.view, windows), 1);
    assert_int_equal(windows[0].size, 4 * n);
    assert_memory_equal(windows[0].data, expected, 4 * n);
    assert_int_equal(strata_percpu_view_skip(&reader.view), 4 * n);
}

#define EXPECT(...)                                     \
    do {                                                \
        uint32_t expected_[] = {__VA_ARGS__};           \
        expect_words(expected_, sizeof(expected_) / 4); \
        now += expected_[0] >> 31;                      \
    } while (0)

/* The word that four bytes are. */
static uint32_t word_of(const char *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

static void bytes_of_records(void **state)
{
    uint64_t address = 0x1122334455667788;
    uint8_t extra[29] = "abcdefghijklmnopqrstuvwxyz0";

    make_area(1, 1, &hooks);
    step = 0;
    now = 0x100000002;
    TRACE_0D(0x0001f005);
    EXPECT(0x8001f005, 2, 1);
    TRACE_1D(0x00021002, 7);
    EXPECT(0x90021002, 3, 1, 7);
    TRACE_2D(0x00028004, -1, 8);
    EXPECT(0xa0028004, 4, 1, 0xffffffff, 8);
    TRACE_3D(0x00041001, 1, 2, 3);
    EXPECT(0xb0041001, 5, 1, 1, 2, 3);
    TRACE_4D(0x00081002, 1, 2, 3, 4);
    EXPECT(0xc0081002, 6, 1, 1, 2, 3, 4);
    TRACE_5D(0x0010f001, 1, 2, 3, 4, 5);
    EXPECT(0xd010f001, 7, 1, 1, 2, 3, 4, 5);
    TRACE_6D(0x00801002, 1, 2, 3, 4, 5, 6);
    EXPECT(0xe0801002, 8, 1, 1, 2, 3, 4, 5, 6);
    TRACE_7D(EVENT, 1, 2, 3, 4, 5, 6, 7);
    EXPECT(0xf800f123, 9, 1, 1, 2, 3, 4, 5, 6, 7);
    TRACE_3D(EVENT, TRACE_PARAM64(address), 9);
    EXPECT(0xb800f123, 10, 1, 0x55667788, 0x11223344, 9);

    STRATA_PERCPU_TRACE(0x00082001);
    EXPECT(0x00082001);
    STRATA_PERCPU_TRACE(0x00082001, 1, TRACE_PARAM64(address), 4, 5, 6);
    EXPECT(0x60082001, 1, 0x55667788, 0x11223344, 4, 5, 6);
    STRATA_PERCPU_TRACE_TIME(EVENT);
    EXPECT(0x8800f123, 11, 1);
    STRATA_PERCPU_TRACE_TIME(EVENT, 1, 2, 3, 4, 5, 6, 7);
    EXPECT(0xf800f123, 12, 1, 1, 2, 3, 4, 5, 6, 7);

    STRATA_PERCPU_TRACE_VAR(EVENT, true, 0, NULL);
    EXPECT(0x8800f123, 13, 1);
    STRATA_PERCPU_TRACE_VAR(EVENT, false, 4, "wxyz");
    EXPECT(0x1800f123, word_of("wxyz"));
    STRATA_PERCPU_TRACE_VAR(EVENT, true, 5, extra);
    EXPECT(0xa800f123, 14, 1, word_of("abcd"), word_of("e\0\0"));
    STRATA_PERCPU_TRACE_VAR(EVENT, false, 28, extra);
    EXPECT(0x7800f123, word_of("abcd"), word_of("efgh"), word_of("ijkl"), word_of("mnop"),
           word_of("qrst"), word_of("uvwx"), word_of("yz0"));
    assert_int_equal(pending(0), 0);
    STRATA_PERCPU_TRACE_VAR(EVENT, false, 29, extra);
    assert_int_equal(pending(0), 1);
    step = 1;
}

/* ---- Masks ---- */

static unsigned n_evaluated;

static uint32_t evaluated(void)
{
    n_evaluated++;
    return 1;
}

static bool passes(uint32_t event)
{
    struct reader reader = reader_of(0, NULL);

    TRACE_1D(event, evaluated());
    return read_all(&reader) > 0;
}

/* The test as Xen does it, step by step. */
static bool passes_in_xen(uint32_t mask, uint32_t event)
{
    if (!(mask & event))
        return false;
    if (!((mask >> 16) & (event >> 16) & 0xfff))
        return false;
    return (mask >> 12) & (event >> 12) & 0xf;
}

static void masks(void **state)
{
    static const uint32_t events[] = {0x1f005,  0x21002,  0x22001,  0x2800a,  0x41001,
                                      0x81002,  0x82003,  0x84001,  0x10f004, 0x201104,
                                      0x40f205, 0x801002, 0x802001, 0x800f123};
    static const uint32_t tried[] = {
        0,         0x1f000,  0x2f000, 0x4f000, 0x8f000, 0x10f000,   0x20f000, 0x40f000,
        0x80f000,  0x21000,  0x22000, 0x28000, 0x81000, 0x82000,    0x84000,  0x800f000,
        0xffff000, 0x202000, 0xa3000, 0xf0000, 0xf000,  UINT32_MAX, 0x20f0ff, 0xffff0fff};
    unsigned n_passed = 0;

    make_area(2, 1, &hooks);
    for (size_t i = 0; i < sizeof(tried) / 4; i++)
        for (size_t j = 0; j < sizeof(events) / 4; j++) {
            strata_percpu_control->masks.events = tried[i];
            assert_int_equal(passes(events[j]), passes_in_xen(tried[i], events[j]));
            n_passed += passes_in_xen(tried[i], events[j]);
        }
    assert_in_range(n_passed, 50, 250);

    strata_percpu_control->masks.events = STRATA_TRC_ALL;
    strata_percpu_control->cpus[0] = 2;
    assert_false(passes(EVENT));
    strata_percpu_control->cpus[0] = 1;
    assert_true(passes(EVENT));

    /* Single events: only that one, and only while the map counts. */
    for (size_t i = 0; i < sizeof(events) / 4; i++) {
        strata_percpu_set_single(strata_percpu_control, events[i], true);
        assert_true(passes(events[i]));
        strata_percpu_control->masks.singles = 1;
        for (size_t j = 0; j < sizeof(events) / 4; j++)
            assert_int_equal(passes(events[j]), i != j);
        strata_percpu_set_single(strata_percpu_control, events[i], false);
        assert_true(passes(events[i]));
        strata_percpu_control->masks.singles = 0;
    }
    assert_int_equal(strata_percpu_single(0x0800ffff), STRATA_PERCPU_SINGLES - 1);

    /* Off, arguments are not evaluated. */
    n_evaluated = 0;
    strata_percpu_control->masks.enabled = 0;
    assert_false(passes(EVENT));
    STRATA_PERCPU_TRACE_VAR(EVENT, true, evaluated(), "");
    assert_int_equal(n_evaluated, 0);
    assert_int_equal(pending(0), 0);

    /* And before there is an area. */
    strata_percpu_control->masks.enabled = 1;
    self = &(struct strata_percpu_cpu){0};
    assert_false(passes(EVENT));
    STRATA_PERCPU_TRACE_VAR(EVENT, true, 4, "abcd");
    self = &cpus[0];
}

/* ---- The ring's end ---- */

/* Moves the CPU to POSITION, with nothing unread. */
static void go_to(struct reader *reader, uint32_t position)
{
    void (*on_record)(struct reader *, const struct seen_record *) = reader->on_record;

    reader->on_record = NULL;
    while (cpus[0].buffer[1] != position) {
        emit_words(EVENT, false, 0);
        if (look(0) > X / 2)
            read_all(reader);
    }
    read_all(reader);
    reader->on_record = on_record;
}

static struct seen_record last_record;

static void keep_record(struct reader *reader, const struct seen_record *record)
{
    if (record->event != STRATA_TRC_WRAP_BUFFER)
        last_record = *record;
}

static void every_size_at_every_place(void **state)
{
    struct reader reader;

    make_area(1, 1, &hooks);
    reader = reader_of(0, keep_record);
    for (unsigned lap = 0; lap < 2; lap++)
        for (uint32_t place = X - 48; place <= X; place += 4)
            for (unsigned kind = 0; kind < 16; kind++) {
                uint32_t size = 4 + 8 * (kind & 1) + 4 * (kind / 2), left = X - place;
                uint64_t n_records, n_fillers;

                go_to(&reader, (lap * X + place) % (2 * X));
                n_records = reader.n_records;
                n_fillers = reader.n_fillers;
                emit_words(EVENT, kind & 1, kind / 2);
                read_all(&reader);
                assert_int_equal(reader.n_records, n_records + 1);
                assert_int_equal(reader.n_fillers, n_fillers + (left > 0 && size > left));
                assert_int_equal(last_record.event, EVENT);
                assert_int_equal(last_record.size, size);
                for (unsigned i = 0; i < kind / 2; i++)
                    assert_int_equal(last_record.words[i], i + 1);
                assert_int_equal(cpus[0].buffer[1],
                                 ((lap * X + place) + (size > left ? left : 0) + size) % (2 * X));
                expect_at_rest(&cpus[0]);
            }
    for (unsigned i = 0; i <= 8; i++)
        assert_true(reader.n_fillers_of[i] > 0);
    assert_int_equal(reader.n_lost + pending(0), 0);
}

/* ---- Losses ---- */

static void a_full_ring(void **state)
{
    struct reader reader;
    uint64_t first, first_lost;

    make_area(1, 1, &hooks);
    strata_percpu_set_current(self, 5, 3);
    reader = reader_of(0, keep_record);
    go_to(&reader, 100);

    /* 4088 is 511 times 8: filled to the last byte, but for the end, which is at an 8 as well. */
    step = 0;
    first_lost = now;
    for (unsigned i = 0; i < 511; i++)
        STRATA_PERCPU_TRACE(EVENT, i);
    step = 1;
    assert_int_equal(look(0), X - 4); /* 4 bytes of filler at the end, 4 free */
    assert_int_equal(pending(0), 1);
    emit_words(EVENT, false, 0); /* would fit; but not with the LOST_RECORDS that comes first */
    assert_int_equal(pending(0), 2);
    assert_int_equal(strata_percpu_area_lost(&area, 0, &first), 2);
    assert_int_equal(first, first_lost);
    for (unsigned i = 0; i < 1000; i++)
        TRACE_1D(EVENT, i);
    assert_int_equal(pending(0), 1002);
    expect_at_rest(self);

    /* Room for one, not for both. */
    while (X - look(0) < 4)
        read_some(&reader, 1);
    TRACE_0D(EVENT);
    assert_int_equal(pending(0), 1003);
    /* Room for both. */
    while (X - look(0) < 28 + 12)
        read_some(&reader, 1);
    TRACE_0D(EVENT);
    assert_int_equal(pending(0), 0);
    assert_int_equal(cpus[0].state->reported, 1003);
    read_all(&reader);
    assert_int_equal(reader.n_lost, 1003);
    assert_int_equal(reader.n_lost_records, 1);
    assert_int_equal(look(0), 0);
}

static struct seen_record lost_records[4];

static void keep_lost(struct reader *reader, const struct seen_record *record)
{
    if (record->event == STRATA_TRC_LOST_RECORDS && reader->n_lost_records <= 4)
        lost_records[reader->n_lost_records - 1] = *record;
}

static void lose(unsigned n)
{
    while (!pending(0))
        emit_words(EVENT, true, 7);
    for (unsigned i = 1; i < n; i++)
        emit_words(EVENT, true, 7);
    assert_int_equal(pending(0), n);
}

static void lost_records_in_bytes(void **state)
{
    struct reader reader;
    uint64_t first;

    make_area(1, 1, &hooks);
    strata_percpu_set_current(self, 5, 3);
    reader = reader_of(0, keep_lost);
    now = 0x500000000;
    lose(7);
    strata_percpu_area_lost(&area, 0, &first);
    read_all(&reader);
    emit_words(EVENT, true, 0);
    read_all(&reader);
    assert_int_equal(lost_records[0].cycles, now);
    assert_int_equal(lost_records[0].words[0], 7);
    assert_int_equal(lost_records[0].words[1], 3 << 16 | 5);
    assert_int_equal(lost_records[0].words[2], (uint32_t)first);
    assert_int_equal(lost_records[0].words[3], 5);

    /* A consumer takes some over: it knows of them. */
    lose(9);
    assert_int_equal(strata_percpu_area_take_lost(&area, 0, &first), 9);
    assert_int_equal(pending(0), 0);
    emit_words(EVENT, true, 7);
    assert_int_equal(strata_percpu_area_lost(&area, 0, &first), 1);
    assert_int_equal(first, now);
    emit_words(EVENT, true, 7);
    assert_int_equal(strata_percpu_area_lost(&area, 0, &first), 2);
    assert_true(first < now);
    read_all(&reader);
    emit_words(EVENT, true, 0);
    read_all(&reader);
    assert_int_equal(lost_records[1].words[0], 2);
    assert_int_equal(lost_records[1].words[2], (uint32_t)first);
    /* All of them: nothing to tell. */
    lose(3);
    assert_int_equal(strata_percpu_area_take_lost(&area, 0, &first), 3);
    read_all(&reader);
    emit_words(EVENT, true, 0);
    read_all(&reader);
    assert_int_equal(reader.n_lost_records, 2);
    assert_int_equal(reader.n_lost, 9);

    /* More than a record can tell. */
    lose(1);
    cpus[0].state->lost += 0x100000000;
    read_all(&reader);
    emit_words(EVENT, true, 0);
    emit_words(EVENT, true, 0);
    emit_words(EVENT, true, 0);
    read_all(&reader);
    assert_int_equal(reader.n_lost_records, 4);
    assert_int_equal(lost_records[2].words[0], UINT32_MAX);
    assert_int_equal(lost_records[3].words[0], 2);
    assert_int_equal(pending(0), 0);
}

static uint32_t next_expected;

/* What is not there was told of in between. */
static void expect_next(struct reader *reader, const struct seen_record *record)
{
    if (record->event == STRATA_TRC_LOST_RECORDS) {
        next_expected += record->words[0];
        return;
    }
    if (record->event == STRATA_TRC_WRAP_BUFFER)
        return;
    expect(record->words[0] == next_expected);
    for (unsigned i = 1; i < record->n_words; i++)
        expect(record->words[i] == ~record->words[0] + i);
    next_expected++;
}

static unsigned random_below(unsigned n)
{
    static uint64_t seed = 1;

    seed = seed * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(seed >> 33) % n;
}

static void random_sizes_and_readers(void **state)
{
    for (uint32_t pages = 1; pages <= 3; pages += 2) {
        struct reader reader;
        uint32_t n = 0;

        make_area(1, pages, &hooks);
        reader = reader_of(0, expect_next);
        next_expected = 0;
        for (unsigned i = 0; i < 100000; i++) {
            unsigned burst = random_below(100), reads = random_below(120);

            for (; burst > 0; burst--) {
                unsigned words = 1 + random_below(7);

                strata_percpu_emit(EVENT, random_below(2), words, n, ~n + 1, ~n + 2, ~n + 3, ~n + 4,
                                   ~n + 5, ~n + 6);
                n++;
            }
            read_some(&reader, reads);
            if (i % 1000 == 0)
                expect_at_rest(self);
        }
        read_all(&reader);
        assert_int_equal(reader.n_records + reader.n_lost + pending(0), n);
        assert_int_equal(next_expected + pending(0), n);
        assert_true(reader.n_lost > 1000 && reader.n_lost_records > 100);
        for (unsigned i = 0; i <= 8; i++)
            assert_true(reader.n_fillers_of[i] > 0);
    }
}

/* ---- The high-water mark ---- */

static void the_mark(void **state)
{
    struct reader reader;
    uint64_t first;

    make_area(1, 1, &hooks);
    reader = reader_of(0, NULL);
    assert_int_equal(strata_percpu_control->masks.high_water, X / 2);
    n_notified = 0;

    for (unsigned round = 1; round <= 50; round++) {
        /* Up to one record below it; then to it exactly. */
        while (look(0) < X / 2 - 4)
            emit_words(EVENT, false, 0);
        assert_int_equal(n_notified, round - 1);
        emit_words(EVENT, false, 0);
        assert_int_equal(look(0), X / 2);
        assert_int_equal(n_notified, round);
        assert_int_equal(strata_percpu_control->notify, round);
        assert_int_equal(cpus[0].state->crossings, round);
        /* Not again above it, also when full, */
        while (!pending(0))
            emit_words(EVENT, true, 3);
        read_some(&reader, 10);
        emit_words(EVENT, true, 3);
        assert_int_equal(n_notified, round);
        /* but again when the consumer has been below, be it by one record. */
        while (look(0) >= X / 2)
            read_some(&reader, 1);
        if (round % 2)
            read_all(&reader);
        strata_percpu_area_take_lost(&area, 0, &first);
    }

    /* The consumer chooses it; it counts from when the consumer reads. */
    strata_percpu_control->masks.high_water = 0;
    read_all(&reader);
    n_notified = 0;
    while (!pending(0))
        emit_words(EVENT, true, 3);
    assert_int_equal(n_notified, 0);
    strata_percpu_control->masks.high_water = 4;
    read_all(&reader);
    emit_words(EVENT, false, 0);
    assert_int_equal(n_notified, 1);
    strata_percpu_control->masks.high_water = UINT32_MAX;
    read_all(&reader);
    while (!pending(0))
        emit_words(EVENT, true, 3);
    assert_int_equal(n_notified, 1);
}

/* ---- A consumer that is ill ---- */

static void a_cons_that_cannot_be(void **state)
{
    static const uint32_t wrong[] = {2 * X, UINT32_MAX, 2, 8, X - 4, 2 * X - 2};
    struct reader reader;
    uint32_t n = 0;

    make_area(1, 1, &hooks);
    reader = reader_of(0, NULL);
    for (unsigned i = 0; i < sizeof(wrong) / 4; i++) {
        uint32_t prod = cpus[0].buffer[1];

        cpus[0].buffer[0] =
            prod % 4 == 0 && wrong[i] < X + 9 ? (prod + wrong[i]) % (2 * X) : wrong[i];
        for (unsigned j = 0; j < 2000; j++, n++)
            emit_words(EVENT, j & 1, j % 8);
        assert_int_equal(cpus[0].buffer[1], prod);
        assert_int_equal(strata_percpu_view_reset(&reader.view), 0);
        assert_int_equal(pending(0), 2000);
        for (unsigned j = 0; j < 100; j++, n++)
            emit_words(EVENT, j & 1, j % 8);
        read_all(&reader);
        assert_int_equal(pending(0), 0);
    }
    assert_int_equal(reader.n_lost + reader.n_records, n);
}

/* ---- Areas ---- */

static void areas_that_cannot_be(void **state)
{
    static _Alignas(4096) uint8_t memory[64 * 4096], copy[64 * 4096];
    struct strata_percpu_options options = {.n_cpus = 3, .pages = 2, .tsc_hz = 7, .name = "n"};
    struct strata_percpu_control *control = NULL;
    struct strata_percpu_cpu cpu = {0};
    struct strata_percpu_area found;
    struct strata_percpu_view view;
    uint32_t online = 5;
    size_t size = strata_percpu_size(&options);

#define WRONG(field, value)                                                                       \
    do {                                                                                          \
        struct strata_percpu_options wrong_ = options;                                            \
        wrong_.field = value;                                                                     \
        assert_int_equal(strata_percpu_size(&wrong_), 0);                                         \
        assert_int_equal(strata_percpu_init(memory, sizeof(memory), &wrong_, &control), -EINVAL); \
    } while (0)
    WRONG(n_cpus, 0);
    WRONG(n_cpus, 4097);
    WRONG(pages, 0);
    WRONG(pages, 65536);
    WRONG(pages, 22000);
    WRONG(online, &(uint32_t){8});
    assert_int_equal(strata_percpu_init(memory, size - 1, &options, &control), -EINVAL);
    assert_int_equal(strata_percpu_init(memory + 8, size, &options, &control), -EINVAL);
    assert_null(control);
    assert_int_equal(strata_percpu_area_init(&found, memory, size), -EINVAL);

    options.online = &online;
    size = strata_percpu_size(&options);
    assert_int_equal(size % 4096, 0);
    assert_int_equal(strata_percpu_init(memory, size, &options, &control), 0);
    assert_string_equal(control->name, "n");
    assert_int_equal(strata_percpu_area_init(&found, memory, size), 0);
    assert_int_equal(found.control->tsc_hz, 7);
    assert_int_equal(found.n_cpus, 3);
    assert_int_equal(strata_percpu_area_view(&found, 0, &view), 0);
    assert_int_equal(view.size, 2 * 4096 - 8);
    assert_int_equal((uint8_t *)view.buffer - memory, size - 4 * 4096);
    assert_int_equal(strata_percpu_area_view(&found, 1, &view), -ENODEV);
    assert_int_equal(strata_percpu_area_view(&found, 2, &view), 0);
    assert_int_equal((uint8_t *)view.buffer - memory, size - 2 * 4096);
    assert_int_equal(strata_percpu_area_view(&found, 3, &view), -EINVAL);
    assert_int_equal(strata_percpu_cpu_init(&cpu, control, 1, NULL), -ENODEV);
    assert_int_equal(strata_percpu_cpu_init(&cpu, control, 3, NULL), -EINVAL);
    assert_int_equal(strata_percpu_cpu_init(&cpu, control, 2, NULL), 0);
    cpu.buffer[1] = 4;
    assert_int_equal(strata_percpu_cpu_init(&cpu, control, 2, NULL), -EBUSY);

    memcpy(copy, memory, size);
#define DAMAGED(field, value, error)                                            \
    do {                                                                        \
        control->field = value;                                                 \
        assert_int_equal(strata_percpu_area_init(&found, memory, size), error); \
        memcpy(memory, copy, size);                                             \
    } while (0)
    DAMAGED(magic[7], 0, -EINVAL);
    DAMAGED(version, 2, -ENOTSUP);
    DAMAGED(n_cpus, 0, -EBADMSG);
    DAMAGED(n_cpus, 4097, -EBADMSG);
    DAMAGED(n_cpus, 1000, -EBADMSG);
    DAMAGED(pages, 1, -EBADMSG);
    DAMAGED(page_size, 0, -EBADMSG);
    DAMAGED(size, size + 1, -EBADMSG);
    DAMAGED(size, 4096, -EBADMSG);
    DAMAGED(info_offset, 4096, -EBADMSG);
    DAMAGED(info_offset, UINT32_MAX, -EBADMSG);
    DAMAGED(info_offset, control->info_offset + 2, -EBADMSG);
    DAMAGED(info_size, 0, -EBADMSG);
    DAMAGED(info_size, UINT32_MAX, -EBADMSG);
    assert_int_equal(strata_percpu_area_init(&found, memory, 4096), -EINVAL);
    assert_int_equal(strata_percpu_area_init(&found, memory + 4, size - 4), -EINVAL);

    /* The lists of pages. */
    assert_int_equal(strata_percpu_area_init(&found, memory, size), 0);
    for (unsigned i = 0; i < 4; i++) {
        static const uint32_t wrong[] = {0, 1, 1000, UINT32_MAX};
        uint32_t *list = (uint32_t *)(void *)(memory + control->info_offset) + 2;

        list[0] = wrong[i];
        list[1] = wrong[i] + 1;
        assert_int_equal(strata_percpu_area_view(&found, 0, &view), -EBADMSG);
        list[0] = (uint32_t)(size / 4096 - 4);
        list[1] = list[0] + 2;
        assert_int_equal(strata_percpu_area_view(&found, 0, &view), -EBADMSG);
        list[1] = list[0] + 1;
        assert_int_equal(strata_percpu_area_view(&found, 0, &view), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_records),
        cmocka_unit_test(masks),
        cmocka_unit_test(every_size_at_every_place),
        cmocka_unit_test(a_full_ring),
        cmocka_unit_test(lost_records_in_bytes),
        cmocka_unit_test(random_sizes_and_readers),
        cmocka_unit_test(the_mark),
        cmocka_unit_test(a_cons_that_cannot_be),
        cmocka_unit_test(areas_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
