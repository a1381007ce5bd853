/* SPDX-License-Identifier: MIT */
/* The xentrace reader on streams made here, record by record, in both byte orders. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "event/program.h"
#include "format/xentrace/windows.h"
#include "format/xentrace/xentrace.h"
#include "timeline/merge.h"

/* The streams are those of a machine of the other byte order. */
static bool swapped;

static void store_word(void *p, uint32_t v)
{
    store_u32(p, swapped ? __builtin_bswap32(v) : v);
}

/* A stream that is being made. */
struct stream {
    uint8_t bytes[1 << 16];
    size_t size;
    size_t window; /* where the size of the open window stands */
};

static void put_word(struct stream *s, uint32_t v)
{
    assert_true(s->size + 4 <= sizeof s->bytes);
    store_word(s->bytes + s->size, v);
    s->size += 4;
}

static void close_window(struct stream *s)
{
    if (s->window)
        store_word(s->bytes + s->window, (uint32_t)(s->size - s->window - 4));
    s->window = 0;
}

static void put_window(struct stream *s, uint32_t cpu)
{
    close_window(s);
    put_word(s, XENTRACE_WINDOW_HEADER);
    put_word(s, cpu);
    s->window = s->size;
    put_word(s, 0);
}

/* A record with a time, or without (-1), and N words. */
static void put_record(struct stream *s, uint32_t event, int64_t time, unsigned n,
                       const uint32_t *words)
{
    put_word(s, event | n << 28 | (time >= 0 ? 1u << 31 : 0));
    if (time >= 0) {
        put_word(s, (uint32_t)time);
        put_word(s, (uint32_t)(time >> 32));
    }
    for (unsigned i = 0; i < n; i++)
        put_word(s, words[i]);
}

#define RECORD(s, event, time, ...) \
    put_record(s, event, time, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

struct opened {
    struct catalogue catalogue;
    struct source **sources;
    unsigned n;
    struct error error;
};

static int open_stream(struct opened *o, struct stream *s, bool keep_going)
{
    struct xentrace_options options = {.reader.keep_going = keep_going};
    struct input in;

    close_window(s);
    *o = (struct opened){0};
    assert_int_equal(input_open_memory(&in, s->bytes, s->size, "test"), 0);
    return xentrace_open(&in, &options, &o->catalogue, &o->sources, &o->n, &o->error);
}

static void close_stream(struct opened *o)
{
    for (unsigned i = 0; i < o->n; i++)
        source_free(o->sources[i]);
    free(o->sources);
    catalogue_done(&o->catalogue);
}

/* Everything of one source as text, one item a line; returns what the source ended with. */
static int read_all(struct source *source, struct text *text)
{
    const struct item *items;
    int n;

    while ((n = source_next(source, &items)) > 0) {
        for (int i = 0; i < n; i++) {
            const struct item *item = &items[i];

            if (item->time == TIME_UNKNOWN)
                text_put_literal(text, "?");
            else
                text_put_i64(text, item->time);
            text_put_literal(text, " cpu");
            text_put_i64(text, item->cpu);
            text_put_char(text, ' ');
            if (item->vcpu == VCPU_UNKNOWN)
                text_put_char(text, '-');
            else
                item->origin->put_vcpu(item->origin, item->vcpu, text);
            text_put_char(text, ' ');
            if (item->kind == ITEM_LOSS) {
                text_printf(
                    text, "%s %lld since %lld skipped %u",
                    item->cause == LOSS_DROPPED ? "dropped" : "unreadable", (long long)item->lost,
                    item->since == TIME_UNKNOWN ? -1LL : (long long)item->since, item->skipped);
            } else {
                text_put_str(text, item->class->name);
                text_put_char(text, ' ');
                item_put_text(item, text);
            }
            text_put_char(text, '\n');
        }
    }
    text_put_char(text, '\0');
    return n;
}

static void expect(struct source *source, int end, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;

    assert_int_equal(read_all(source, &text), end);
    assert_string_equal(text.start, expected);
    /* And so it stays. */
    {
        const struct item *items;
        assert_int_equal(source_next(source, &items), end);
    }
    text_done(&text);
}

static void test_windows_of_cpus(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 3);
    RECORD(&s, 0x28004, 100, 1, 2);
    put_window(&s, 0);
    RECORD(&s, 0x81001, 50);
    RECORD(&s, 0x8200c, -1, 0x10, 0xdddddddd, 0x11111111);
    put_window(&s, 3);
    RECORD(&s, 0x28004, 0x200000000, 3, 4);
    put_window(&s, 1); /* empty */
    assert_int_equal(open_stream(&o, &s, false), 0);
    assert_int_equal(o.n, 2);
    assert_int_equal(xentrace_source_cpu(o.sources[0]), 0);
    assert_int_equal(xentrace_source_cpu(o.sources[1]), 3);
    expect(o.sources[1], 0,
           "100 cpu3 - wake dom=1 vcpu=2\n"
           "8589934592 cpu3 - wake dom=3 vcpu=4\n");
    /* The record without a time has that of the one before it. */
    expect(o.sources[0], 0,
           "50 cpu0 - vmentry \n"
           "50 cpu0 - msr_read msr=tsc value=0x11111111dddddddd\n");
    close_stream(&o);
}

static void test_first_records_without_time(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x800f123, -1, 1, 2);
    RECORD(&s, 0x28001, 77, 9);
    put_window(&s, 1);
    RECORD(&s, 0x800f123, -1);
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "77 cpu0 - guest_0x123 0x00000001 0x00000002\n"
           "77 cpu0 - dom_add dom=9\n");
    expect(o.sources[1], 0, "? cpu1 - guest_0x123 \n");
    close_stream(&o);
}

/* Nor does it take a minute when none of very many has a time. */
static void test_no_times_at_all(void **state)
{
    static const uint32_t n_records = 2 << 20;
    struct xentrace_options options = {0};
    struct catalogue catalogue = {0};
    struct source **sources;
    const struct item *items;
    struct error error = {0};
    struct input in;
    uint8_t *bytes = malloc(12 + 4 * (size_t)n_records);
    uint32_t total = 0;
    unsigned n_sources;
    int n;

    assert_non_null(bytes);
    store_word(bytes, XENTRACE_WINDOW_HEADER);
    store_word(bytes + 4, 0);
    store_word(bytes + 8, 4 * n_records);
    for (uint32_t i = 0; i < n_records; i++)
        store_word(bytes + 12 + 4 * (size_t)i, 0x82001);
    assert_int_equal(input_open_memory(&in, bytes, 12 + 4 * (size_t)n_records, "test"), 0);
    assert_int_equal(xentrace_open(&in, &options, &catalogue, &sources, &n_sources, &error), 0);
    while ((n = source_next(sources[0], &items)) > 0) {
        assert_int_equal(items[0].time, TIME_UNKNOWN);
        total += (uint32_t)n;
    }
    assert_int_equal(total, n_records);
    source_free(sources[0]);
    free(sources);
    catalogue_done(&catalogue);
    free(bytes);
}

static void test_lost_and_wrap(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 10, 1);
    RECORD(&s, XEN_WRAP_BUFFER, -1, 0xffffffff, 0xffffffff, 7);
    RECORD(&s, XEN_WRAP_BUFFER, -1);
    RECORD(&s, XEN_LOST_RECORDS, 500, 42, 2 | 1 << 16, 20, 0);
    RECORD(&s, 0x28001, 510, 2); /* no record tells when d2v1 stops running */
    RECORD(&s, XEN_LOST_RECORDS, 600, 3);
    RECORD(&s, 0x2800a, 610, 5, 1, 6, 0);
    RECORD(&s, XEN_LOST_RECORDS, 620, 1, 2 | 1 << 16, 615, 0);
    RECORD(&s, 0x28001, 630, 3);
    RECORD(&s, XEN_LOST_RECORDS, 640, 1, 2 | 1 << 16, 7, 0); /* not before the last record */
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "10 cpu0 - dom_add dom=1\n"
           "500 cpu0 - dropped 42 since 20 skipped 0\n"
           "510 cpu0 - dom_add dom=2\n"
           "600 cpu0 - dropped 3 since 510 skipped 0\n"
           "610 cpu0 d5v1 switch prev_dom=5 prev_unit=1 next_dom=6 next_unit=0\n"
           "620 cpu0 - dropped 1 since 615 skipped 0\n"
           "630 cpu0 d2v1 dom_add dom=3\n"
           "640 cpu0 - dropped 1 since 630 skipped 0\n");
    close_stream(&o);
}

/* The last event before a loss says so, also where the loss is the first record of the next window; and the last event of a CPU
 * while others may go on, unless all is known to be recorded. */
static void test_before_loss(void **state)
{
    static struct stream s;
    struct text times = TEXT_IN_MEMORY;
    const struct item *items;
    struct opened o;
    int n;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 10, 1);
    RECORD(&s, XEN_LOST_RECORDS, 500, 42, 2 | 1 << 16, 20, 0);
    RECORD(&s, 0x28001, 510, 2);
    RECORD(&s, 0x28001, 520, 2);
    put_window(&s, 1);
    RECORD(&s, 0x28001, 530, 2);
    put_window(&s, 0);
    RECORD(&s, XEN_LOST_RECORDS, 600, 3);
    RECORD(&s, 0x28001, 610, 2);
    put_window(&s, 0);
    RECORD(&s, 0x28001, 620, 2);
    assert_int_equal(open_stream(&o, &s, false), 0);
    while ((n = source_next(o.sources[0], &items)) > 0)
        for (int i = 0; i < n; i++)
            if (items[i].kind == ITEM_EVENT && items[i].before_loss)
                text_printf(&times, "%d ", (int)items[i].time);
    text_put_char(&times, '\0');
    assert_string_equal(times.start, "10 520 620 ");
    text_done(&times);
    close_stream(&o);
    assert_int_equal(open_stream(&o, &s, false), 0);
    assert_int_equal(o.catalogue.n_origins, 1);
    o.catalogue.origins[0]->known_until = 1000;
    while ((n = source_next(o.sources[0], &items)) > 0)
        for (int i = 0; i < n; i++)
            assert_false(items[i].kind == ITEM_EVENT && items[i].before_loss &&
                         items[i].time > 520);
    close_stream(&o);
}

static void test_vcpu(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    RECORD(&s, 0x21101, 2, 5u << 16 | 1); /* runnable to running */
    RECORD(&s, 0x28001, 3, 1);
    RECORD(&s, 0x21211, 4, 7u << 16); /* another one, blocked to runnable */
    RECORD(&s, 0x2800a, 5, 5, 1, 32767, 0);
    RECORD(&s, 0x21021, 6, 5u << 16 | 1); /* running to blocked: still that one */
    RECORD(&s, 0x28001, 7, 1);
    RECORD(&s, 0x28011, 8, 7, 0, 1, 1);
    RECORD(&s, 0x21002, 9, 7u << 16);
    RECORD(&s, 0x21101, 10, 0x80000000); /* no such domain */
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "1 cpu0 - dom_add dom=1\n"
           "2 cpu0 d5v1 runnable_to_running vcpu=1 dom=5\n"
           "3 cpu0 d5v1 dom_add dom=1\n"
           "4 cpu0 d5v1 blocked_to_runnable vcpu=0 dom=7\n"
           "5 cpu0 d5v1 switch prev_dom=5 prev_unit=1 next_dom=idle next_unit=0\n"
           "6 cpu0 d5v1 running_to_blocked vcpu=1 dom=5\n"
           "7 cpu0 idlev0 dom_add dom=1\n"
           "8 cpu0 d7v0 switch_infcont dom=7 unit=0 run=1 slice=1\n"
           "9 cpu0 d7v0 continue_running vcpu=0 dom=7\n"
           "10 cpu0 - runnable_to_running vcpu=0 dom=32768\n");
    close_stream(&o);
}

/* A loss at the start of a CPU's stream, too, tells what runs until a record tells otherwise. */
static void test_loss_at_start(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, XEN_LOST_RECORDS, 500, 42, 2 | 1 << 16, 20, 0);
    RECORD(&s, 0x28001, 510, 2);
    RECORD(&s, 0x2800a, 610, 2, 1, 6, 0);
    RECORD(&s, 0x28001, 620, 3);
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "500 cpu0 - dropped 42 since 20 skipped 0\n"
           "510 cpu0 d2v1 dom_add dom=2\n"
           "610 cpu0 d2v1 switch prev_dom=2 prev_unit=1 next_dom=6 next_unit=0\n"
           "620 cpu0 d6v0 dom_add dom=3\n");
    close_stream(&o);
}

static void test_hypercalls(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x20100d, 1, 23);
    RECORD(&s, 0x20100d, 2, 20 | 1 << 20 | 1 << 24, 5, 6);
    RECORD(&s, 0x20200e, 3, 1 | 2u << 20 | 1u << 30, 0x89abcdef, 0x1234567, 9);
    RECORD(&s, 0x20100d, 4, 999 | 2 << 20, 5);             /* a word is missing */
    RECORD(&s, 0x20100d, 5, 24 | 3 << 20 | 1 << 22, 5, 6); /* a value that is not used */
    RECORD(&s, 0x20100d, 6);
    RECORD(&s, 0x20100d, 7, 26 | 1 << 22, 0x80000001); /* the rest of an interrupted call */
    RECORD(&s, 0x20100d, 8, 1 | 2 << 22, 0x80000003, 0);
    RECORD(&s, 0x20100d, 9, 26 | 1 << 22, 5);
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "1 cpu0 - hypercall op=iret\n"
           "2 cpu0 - hypercall op=grant_table_op cmd=copy count=6\n"
           "3 cpu0 - hypercall_subcall op=mmu_update a0=0x123456789abcdef a5=0x9\n"
           "4 cpu0 - hypercall op=999 a0=?\n"
           "5 cpu0 - hypercall op=vcpu_op cmd=? vcpu=?\n"
           "6 cpu0 - hypercall \n"
           "7 cpu0 - hypercall op=mmuext_op count=1 continued=1\n"
           "8 cpu0 - hypercall op=mmu_update count=3 continued=1\n"
           "9 cpu0 - hypercall op=mmuext_op count=5 continued=0\n");
    close_stream(&o);
}

static void test_versions(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x10f005, 1, 1, 0, 2 | 9 << 16, 3);
    RECORD(&s, 0x81102, 2, 12, 5, 0);
    RECORD(&s, 0x81103, 3, 0x78, 6, 0); /* tells that it is 4.19 at least */
    RECORD(&s, 0x10f005, 4, 1, 0, 2, 3);
    RECORD(&s, 0x81102, 5, 12, 5, 0);
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "1 cpu0 - decrease_reservation gfn=0x1 dom=2 order_417=9 order_418=3\n"
           "2 cpu0 - vmexit reason=12 rip=0x5\n"
           "3 cpu0 - vmexit reason=hlt rip=0x6\n"
           "4 cpu0 - decrease_reservation gfn=0x1 dom=2 order=3\n"
           "5 cpu0 - vmexit reason=hlt rip=0x5\n");
    close_stream(&o);
}

static void test_unknown_and_short(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x22fff, 1, 0xabc);
    RECORD(&s, 0x100f001, 2); /* a class that Xen does not have (yet) */
    RECORD(&s, 0x2800a, 3, 1, 2);
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], 0,
           "1 cpu0 - unknown_0x22fff 0x00000abc\n"
           "2 cpu0 - unknown_0x100f001 \n"
           "3 cpu0 - switch prev_dom=1 prev_unit=2 next_dom=? next_unit=?\n");
    close_stream(&o);
}

static void test_damage_in_a_window(void **state)
{
    static struct stream s;
    struct opened o;
    size_t bad;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    bad = s.size;
    put_word(&s, 0); /* no class at all */
    put_word(&s, 0xffffffff);
    put_window(&s, 1);
    RECORD(&s, 0x28001, 2, 2);
    put_window(&s, 0);
    RECORD(&s, 0x28001, 30, 3);
    /* This one promises a word more than the window has. */
    put_word(&s, 0x28001 | 1u << 28 | 1u << 31);
    put_word(&s, 40);
    put_word(&s, 0);

    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[1], 0, "2 cpu1 - dom_add dom=2\n");
    expect(o.sources[0], -EBADMSG, "1 cpu0 - dom_add dom=1\n");
    assert_int_equal(o.sources[0]->error.offset, bad);
    close_stream(&o);

    assert_int_equal(open_stream(&o, &s, true), 0);
    expect(o.sources[0], 0,
           "1 cpu0 - dom_add dom=1\n"
           "30 cpu0 - unreadable -1 since 1 skipped 8\n"
           "30 cpu0 - dom_add dom=3\n"
           "30 cpu0 - unreadable -1 since 30 skipped 12\n");
    close_stream(&o);
}

static void test_broken_chain(void **state)
{
    static struct stream s;
    struct opened o;
    size_t bad;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    close_window(&s);
    bad = s.size;
    put_word(&s, 0xdeadbeef);
    s.bytes[s.size++] = 0x03; /* nothing is aligned any more */
    put_window(&s, 1);
    RECORD(&s, 0x28001, 2, 2);
    put_window(&s, 0);
    RECORD(&s, 0x28001, 3, 3);

    assert_int_equal(open_stream(&o, &s, false), 0);
    assert_int_equal(o.n, 1);
    expect(o.sources[0], -EBADMSG, "1 cpu0 - dom_add dom=1\n");
    assert_int_equal(o.sources[0]->error.offset, bad);
    close_stream(&o);

    assert_int_equal(open_stream(&o, &s, true), 0);
    assert_int_equal(o.n, 2);
    expect(o.sources[0], 0,
           "1 cpu0 - dom_add dom=1\n"
           "3 cpu0 - dom_add dom=3\n");
    expect(o.sources[1], 0,
           "2 cpu-1 - unreadable -1 since -1 skipped 5\n"
           "2 cpu1 - dom_add dom=2\n");
    close_stream(&o);
}

static void test_wrong_window_size(void **state)
{
    static struct stream s;
    struct opened o;

    /* Too large: the record of a window turns up inside. Too small: no window where it ends. */
    for (int delta = -4; delta <= 4; delta += 8) {
        uint32_t size;

        s = (struct stream){0};
        put_window(&s, 0);
        RECORD(&s, 0x28001, 1, 1);
        RECORD(&s, 0x28001, 2, 2);
        put_window(&s, 0);
        RECORD(&s, 0x28001, 3, 3);
        close_window(&s);
        size = load_u32_swap(s.bytes + 8, swapped);
        store_word(s.bytes + 8, size + (uint32_t)delta);

        assert_int_equal(open_stream(&o, &s, false), 0);
        assert_int_equal(source_next(o.sources[0], &(const struct item *){NULL}) > 0, true);
        close_stream(&o);
        assert_int_equal(open_stream(&o, &s, true), 0);
        expect(o.sources[0], 0,
               "1 cpu0 - dom_add dom=1\n"
               "2 cpu0 - dom_add dom=2\n"
               "3 cpu0 - dom_add dom=3\n");
        close_stream(&o);
    }
}

/* A head that neither leads to the next nor has records behind it is damage, all of it. */
static void test_head_of_nothing(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    close_window(&s);
    put_window(&s, 0);
    s.window = 0;
    store_word(s.bytes + s.size - 4, 16);
    put_word(&s, 0);
    put_word(&s, 0);
    put_window(&s, 0);
    RECORD(&s, 0x28001, 2, 2);
    assert_int_equal(open_stream(&o, &s, true), 0);
    expect(o.sources[0], 0,
           "1 cpu0 - dom_add dom=1\n"
           "2 cpu-1 - unreadable -1 since 1 skipped 20\n"
           "2 cpu0 - dom_add dom=2\n");
    close_stream(&o);
}

/* At every length the readable part comes first, then the error. */
static void test_cut_anywhere(void **state)
{
    static struct stream s;
    static struct stream cut;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    RECORD(&s, 0x28001, 2, 2);
    put_window(&s, 0);
    RECORD(&s, 0x28001, 3, 3);
    close_window(&s);

    for (size_t size = 0; size <= s.size; size++) {
        bool whole = size == 0 || size == 44 || size == s.size;
        unsigned records = (unsigned)((size >= 28) + (size >= 44) + (size >= s.size));
        const struct item *items;
        unsigned n = 0;
        int r;

        memcpy(cut.bytes, s.bytes, size);
        cut.size = size;
        assert_int_equal(open_stream(&o, &cut, false), 0);
        while ((r = source_next(o.sources[0], &items)) > 0)
            n += (unsigned)r;
        assert_int_equal(r, whole ? 0 : -EBADMSG);
        if (!whole)
            assert_true(o.sources[0]->error.offset <= size);
        assert_int_equal(n, records);
        close_stream(&o);

        assert_int_equal(open_stream(&o, &cut, true), 0);
        n = 0;
        while ((r = source_next(o.sources[0], &items)) > 0)
            n += (unsigned)r;
        assert_int_equal(r, 0);
        assert_int_equal(n, records + !whole);
        close_stream(&o);
    }
}

/* After a file that is cut, no CPU has an end: which of them had more is not known. */
static void test_cut_cpus(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    put_window(&s, 1);
    RECORD(&s, 0x28001, 2, 2);
    RECORD(&s, 0x28001, 3, 3);
    close_window(&s);
    s.size -= 4;
    assert_int_equal(open_stream(&o, &s, true), 0);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        const struct item *items;
        bool before_loss = false, is_open = false;
        int r;

        while ((r = source_next(o.sources[cpu], &items)) > 0) {
            for (int i = 0; i < r; i++) {
                assert_false(is_open);
                assert_true(items[i].kind == ITEM_EVENT || before_loss);
                is_open = items[i].kind == ITEM_LOSS && items[i].is_open;
                before_loss = items[i].kind == ITEM_EVENT && items[i].before_loss;
            }
        }
        assert_int_equal(r, 0);
        assert_true(is_open);
    }
    close_stream(&o);
}

static void test_mid_stream(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    RECORD(&s, 0x28001, 1, 1); /* of nobody knows which cpu */
    put_window(&s, 2);
    RECORD(&s, 0x28001, 2, 2);
    assert_int_equal(open_stream(&o, &s, false), 0);
    expect(o.sources[0], -EBADMSG, "");
    assert_int_equal(o.sources[0]->error.offset, 0);
    close_stream(&o);
    assert_int_equal(open_stream(&o, &s, true), 0);
    expect(o.sources[0], 0,
           "2 cpu-1 - unreadable -1 since -1 skipped 16\n"
           "2 cpu2 - dom_add dom=2\n");
    close_stream(&o);
}

static void test_time_steps_back(void **state)
{
    static struct stream s;
    struct opened o;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 10, 1);
    RECORD(&s, 0x28001, 5, 2);
    assert_int_equal(open_stream(&o, &s, false), 0);
    assert_false(o.sources[0]->ordered);
    expect(o.sources[0], 0,
           "10 cpu0 - dom_add dom=1\n"
           "5 cpu0 - dom_add dom=2\n");
    close_stream(&o);
}

/* An index of four segments at most finds all windows of every cpu all the same. */
static void test_index_is_bounded(void **state)
{
    static struct stream s;
    struct input in;
    struct error error = {0};
    struct xentrace_windows *windows = malloc(sizeof *windows);
    unsigned n = 0;

    s = (struct stream){0};
    for (unsigned i = 0; s.size + 64 < sizeof s.bytes; i++) {
        put_window(&s, i % 100 == 99 ? 7 : i % 3);
        RECORD(&s, 0x28001, i, i);
        n++;
    }
    close_window(&s);
    assert_int_equal(input_open_memory(&in, s.bytes, s.size, "test"), 0);
    assert_int_equal(xentrace_windows_open(windows, &in, 0, false, 4, &error), 0);
    assert_true(windows->n_segments <= 4);
    assert_int_equal(windows->n_windows, n);
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        struct xentrace_cursor cursor = {0};
        struct xentrace_window window;
        unsigned found = 0;

        for (unsigned i = 0; i < n; i++) {
            if ((i % 100 == 99 ? 7 : i % 3) != cpu)
                continue;
            assert_int_equal(
                xentrace_windows_next(windows, &cursor, (uint16_t)cpu, &window, &error), 1);
            assert_int_equal(window.offset, i * (12 + 16) + 12);
            assert_int_equal(window.size, 16);
            found++;
        }
        assert_int_equal(xentrace_windows_next(windows, &cursor, (uint16_t)cpu, &window, &error),
                         0);
        assert_int_equal(windows->cpu_bytes[cpu], found * 16);
    }
    xentrace_windows_done(windows);
    free(windows);
    input_done(&in);
}

/* The windows of all CPUs below 8, in the order of the index. */
static unsigned list_windows(struct xentrace_windows *windows, struct xentrace_window *list)
{
    struct error error = {0};
    unsigned n = 0;

    for (unsigned cpu = 0; cpu < 8; cpu++) {
        struct xentrace_cursor cursor = {0};

        while (xentrace_windows_next(windows, &cursor, (uint16_t)cpu, &list[n], &error) == 1)
            n++;
        assert_int_equal(error.code, 0);
    }
    return n;
}

static void expect_windows(const struct xentrace_window *list,
                           const struct xentrace_window *expected, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        assert_true(list[i].offset == expected[i].offset && list[i].size == expected[i].size &&
                    list[i].skipped == expected[i].skipped && list[i].cpu == expected[i].cpu &&
                    list[i].cut == expected[i].cut);
}

/* Windows that are remembered, walked again, or borrowed are the same, also those of a damaged file that is cut. */
static void test_remembered_windows(void **state)
{
    enum { WINDOWS = 1000 };
    static struct stream s;
    static struct xentrace_windows remembered, walked, borrowed;
    static struct xentrace_window expected[WINDOWS], list[WINDOWS];
    struct error error = {0};
    struct input in;
    unsigned n;

    s = (struct stream){0};
    for (unsigned i = 0; i < WINDOWS && s.size + 64 < sizeof s.bytes; i++) {
        put_window(&s, i % 3);
        RECORD(&s, 0x28001, i, i);
    }
    close_window(&s);
    memset(s.bytes + 5 * (12 + 16), 0xff, 4); /* a head */
    s.size -= 6;
    assert_int_equal(input_open_memory(&in, s.bytes, s.size, "test"), 0);
    assert_int_equal(xentrace_windows_open(&remembered, &in, 0, true, 0, &error), 0);
    assert_int_equal(xentrace_windows_open(&walked, &in, 0, true, 4, &error), 0);
    assert_int_equal(remembered.n_first, remembered.n_windows);
    assert_int_equal(walked.n_first, 4);
    n = list_windows(&walked, expected);
    assert_int_equal(n, walked.n_windows);

    assert_int_equal(list_windows(&remembered, list), n);
    expect_windows(list, expected, n);
    xentrace_windows_borrow(&borrowed, &remembered, &in);
    memset(list, 0, sizeof list);
    assert_int_equal(list_windows(&borrowed, list), n);
    expect_windows(list, expected, n);
    xentrace_windows_done(&borrowed);
    assert_int_equal(list_windows(&remembered, list), n);
    xentrace_windows_borrow(&borrowed, &walked, &in);
    assert_int_equal(list_windows(&borrowed, list), n);
    expect_windows(list, expected, n);
    xentrace_windows_done(&borrowed);
    xentrace_windows_done(&remembered);
    xentrace_windows_done(&walked);
    input_done(&in);
}

/* The same through a pipe. */
static void test_pipe(void **state)
{
    static struct stream s;
    struct xentrace_options options = {0};
    struct catalogue catalogue = {0};
    struct error error = {0};
    struct source **sources;
    struct input in;
    unsigned n;
    int fds[2];

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    put_window(&s, 1);
    RECORD(&s, 0x28001, 2, 2);
    put_window(&s, 0);
    RECORD(&s, 0x28001, 3, 3);
    close_window(&s);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], s.bytes, s.size), s.size);
    close(fds[1]);
    assert_int_equal(input_open_fd(&in, fds[0], "pipe", 64, &error), 0);
    /* Someone has looked at its beginning. */
    assert_int_equal(input_need(&in, 16, &error), 1);
    assert_true(xentrace_recognise(input_at(&in), input_buffered(&in)));
    assert_int_equal(xentrace_open(&in, &options, &catalogue, &sources, &n, &error), 0);
    assert_int_equal(n, 2);
    expect(sources[0], 0, "1 cpu0 - dom_add dom=1\n3 cpu0 - dom_add dom=3\n");
    expect(sources[1], 0, "2 cpu1 - dom_add dom=2\n");
    source_free(sources[0]);
    source_free(sources[1]);
    free(sources);
    catalogue_done(&catalogue);
}

/* A file of nothing but unknown numbers makes no more classes than are bounded. */
static void test_many_unknown(void **state)
{
    static struct stream s;
    struct opened o;
    const struct item *items;
    unsigned total = 0;
    int n;

    s = (struct stream){0};
    put_window(&s, 0);
    for (unsigned i = 0; s.size + 4 <= sizeof s.bytes - 64; i++)
        RECORD(&s, (0x22000u + (i & 0xfff)) | (i & 0x1000) << 2, -1);
    assert_int_equal(open_stream(&o, &s, false), 0);
    while ((n = source_next(o.sources[0], &items)) > 0)
        total += (unsigned)n;
    assert_int_equal(n, 0);
    assert_true(total > 8192);
    assert_true(o.catalogue.n_classes < 4300);
    close_stream(&o);
}

/* A real trace: each record's cpu, number and time, and the order over the cpus, as xenalyze
 * (4.17, --dump-raw-process) has them. */
static void test_as_xenalyze(void **state)
{
    struct xentrace_options options = {0};
    struct catalogue catalogue = {0};
    struct error error = {0};
    struct source **sources;
    struct source *merged;
    const struct item *items;
    const struct item *item = NULL;
    struct input in;
    unsigned records = 0;
    unsigned n_sources;
    unsigned cpu;
    unsigned event;
    char time[32];
    int n = 0;
    FILE *capture;
    FILE *expected;

    if (system("command -v xz >/dev/null") != 0)
        skip();
    capture = popen("xz -dc " TEST_DATA "/xen/xen-4.17-no-guest-class.raw.xz", "r");
    assert_int_equal(input_open_fd(&in, dup(fileno(capture)), "capture", 1 << 16, &error), 0);
    expected =
        popen("xz -dc " TEST_DATA "/xen/xen-4.17-no-guest-class.xenalyze-records.txt.xz", "r");
    assert_int_equal(xentrace_open(&in, &options, &catalogue, &sources, &n_sources, &error), 0);
    assert_int_equal(n_sources, 2);
    assert_int_equal(merge_open(sources, n_sources, &merged), 0);
    free(sources);

    while (fscanf(expected, "%u %x %31s", &cpu, &event, time) == 3) {
        do {
            if (n == 0) {
                n = source_next(merged, &items);
                assert_true(n > 0);
                item = items - 1;
            }
            item++;
            n--;
        } while (item->kind != ITEM_EVENT);
        assert_int_equal(item->cpu, cpu);
        assert_int_equal(item->class->id, event);
        assert_int_equal(item->reader_word, event);
        if (strcmp(time, "-") != 0)
            assert_int_equal(item->time, strtoll(time, NULL, 10));
        records++;
    }
    assert_int_equal(records, 37774);
    assert_int_equal(n, 0);
    assert_int_equal(source_next(merged, &items), 0);
    pclose(capture);
    pclose(expected);
    source_free(merged);
    catalogue_done(&catalogue);
}

static void test_recognise(void **state)
{
    static const uint8_t other[64] = "This is a text, and by no means a trace of Xen's.";
    static struct stream s;

    s = (struct stream){0};
    put_window(&s, 0);
    RECORD(&s, 0x28001, 1, 1);
    close_window(&s);
    assert_true(xentrace_recognise(s.bytes, s.size));
    assert_true(xentrace_recognise(s.bytes, 13));
    assert_false(xentrace_recognise(s.bytes, 11));
    assert_false(xentrace_recognise(other, sizeof other));
    s.bytes[12] = s.bytes[13] = s.bytes[14] = 0;
    assert_false(xentrace_recognise(s.bytes, s.size));

    /* Without its beginning. */
    s = (struct stream){0};
    RECORD(&s, 0x28001, 1, 1);
    put_window(&s, 1);
    for (unsigned i = 0; i < 4; i++) {
        assert_false(xentrace_recognise(s.bytes, s.size));
        RECORD(&s, 0x28001, 1, 1);
        close_window(&s);
        s.window = 16 + 8;
    }
    assert_true(xentrace_recognise(s.bytes, s.size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_of_cpus),
        cmocka_unit_test(test_first_records_without_time),
        cmocka_unit_test(test_no_times_at_all),
        cmocka_unit_test(test_lost_and_wrap),
        cmocka_unit_test(test_before_loss),
        cmocka_unit_test(test_vcpu),
        cmocka_unit_test(test_loss_at_start),
        cmocka_unit_test(test_hypercalls),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_unknown_and_short),
        cmocka_unit_test(test_damage_in_a_window),
        cmocka_unit_test(test_broken_chain),
        cmocka_unit_test(test_wrong_window_size),
        cmocka_unit_test(test_head_of_nothing),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_cut_cpus),
        cmocka_unit_test(test_mid_stream),
        cmocka_unit_test(test_time_steps_back),
        cmocka_unit_test(test_index_is_bounded),
        cmocka_unit_test(test_remembered_windows),
        cmocka_unit_test(test_pipe),
        cmocka_unit_test(test_many_unknown),
        cmocka_unit_test(test_as_xenalyze),
        cmocka_unit_test(test_recognise),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    swapped = true;
    return failed + cmocka_run_group_tests_name("of the other byte order", tests, NULL, NULL);
}
