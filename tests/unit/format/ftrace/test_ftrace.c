/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event/program.h"
#include "format/ftrace/clock.h"
#include "format/ftrace/ftrace.h"
#include "format/ftrace/page.h"
#include "format/ftrace/tree.h"

/* Pages as a kernel writes them. */

struct order {
    bool big;
    unsigned long_size;
};

static const struct order orders[] = {{false, 8}, {true, 8}, {false, 4}, {true, 4}};

static struct order order;
static uint8_t page[4096];
static size_t used; /* bytes of records */

static size_t head_size(void)
{
    return 8 + order.long_size;
}

static void put(uint8_t *p, uint64_t v, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        p[order.big ? size - 1 - i : i] = (uint8_t)(v >> (8 * i));
}

static void begin(uint64_t time)
{
    memset(page, 0xee, sizeof page); /* what lies behind the records is not to be looked at */
    put(page, time, 8);
    used = 0;
}

static void word(uint32_t v)
{
    put(page + head_size() + used, v, 4);
    used += 4;
}

static void header(unsigned type_len, uint32_t delta)
{
    word(order.big ? type_len << 27 | delta : delta << 5 | type_len);
}

/* An event of the type 1 by the thread PID with one number. */
static void event(uint32_t delta, int32_t pid, uint32_t value)
{
    header(3, delta);
    put(page + head_size() + used, 1, 2);
    put(page + head_size() + used + 2, 0, 2);
    used += 4;
    word((uint32_t)pid);
    word(value);
}

static void end(uint64_t flags)
{
    put(page + 8, used | flags, order.long_size);
}

#define MISSED UINT64_C(0xffffffff80000000) /* as kernels write it: the sign goes on */
#define STORED UINT64_C(0xffffffffc0000000)

static struct ftrace_layout layout_of_order(void)
{
    struct ftrace_layout layout = {.long_size = (uint8_t)order.long_size,
                                   .commit = 8,
                                   .data = (uint32_t)head_size(),
                                   .size = sizeof page};

    ftrace_layout_set_order(&layout, order.big);
    return layout;
}

static void assert_record(struct ftrace_page *walk, const struct ftrace_layout *layout,
                          uint64_t time, uint32_t size)
{
    struct ftrace_record record = {0};

    assert_int_equal(ftrace_page_next(walk, layout, &record), 1);
    assert_int_equal(record.time, time);
    assert_int_equal(record.size, size);
}

static void record_types(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct ftrace_layout layout;
        struct ftrace_record record;
        struct ftrace_page walk;
        const char *what;

        order = orders[i];
        layout = layout_of_order();
        begin(1000);
        event(5, 1, 0);
        header(30, 7); /* time extend */
        word(2);
        event(1, 1, 0);
        header(29, 3); /* a discarded event of 12 bytes */
        word(12);
        word(0xeeeeeeee);
        word(0xeeeeeeee);
        event(1, 1, 0);
        header(0, 10); /* a long event: 8 bytes and its own 4 */
        word(12);
        word(1);
        word(2);
        header(0, 0); /* one of no round length */
        word(4 + 5);
        word(1);
        word(2);
        header(28, 1); /* the longest short one */
        for (unsigned k = 0; k < 28; k++)
            word(k);
        header(31, 0x7ffffff); /* the time itself */
        word(0x12345678);
        event(2, 1, 0);
        header(29, 0); /* the page's rest */
        word(0xeeeeeeee);
        end(0);

        assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
        assert_false(walk.missed);
        assert_false(walk.cut);
        assert_record(&walk, &layout, 1005, 12);
        assert_record(&walk, &layout, 1005 + (2u << 27) + 7 + 1, 12);
        assert_record(&walk, &layout, 1005 + (2u << 27) + 8 + 4, 12);
        assert_record(&walk, &layout, 1005 + (2u << 27) + 22, 8);
        assert_record(&walk, &layout, 1005 + (2u << 27) + 22, 5);
        assert_record(&walk, &layout, 1005 + (2u << 27) + 23, 112);
        assert_record(&walk, &layout, (UINT64_C(0x12345678) << 27 | 0x7ffffff) + 2, 12);
        assert_int_equal(ftrace_page_next(&walk, &layout, &record), 0);
        assert_int_equal(ftrace_page_next(&walk, &layout, &record), 0);
    }
}

/* A time stamp has 59 bits; the upper five are those of the time before, or the next. */
static void time_stamp_tops(void **state)
{
    struct ftrace_layout layout;
    struct ftrace_page walk;
    const char *what;

    order = orders[0];
    layout = layout_of_order();
    begin(UINT64_C(3) << 59 | 100);
    header(31, 200);
    word(0);
    event(0, 1, 0);
    end(0);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
    assert_record(&walk, &layout, UINT64_C(3) << 59 | 200, 12);

    begin((UINT64_C(4) << 59) - 100);
    header(31, 200);
    word(0);
    event(0, 1, 0);
    end(0);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
    assert_record(&walk, &layout, (UINT64_C(4) << 59) + 200, 12);
}

static void missed_events(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct ftrace_layout layout;
        struct ftrace_page walk;
        const char *what;

        order = orders[i];
        layout = layout_of_order();
        begin(1);
        event(1, 1, 1);
        end(STORED);
        put(page + head_size() + used, 85078, order.long_size);
        assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
        assert_true(walk.missed && walk.count_known);
        assert_int_equal(walk.n_missed, 85078);

        end(MISSED);
        assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
        assert_true(walk.missed);
        assert_false(walk.count_known);

        /* A full page has no room for the number. */
        while (used + 16 <= sizeof page - head_size())
            event(1, 1, 1);
        used = sizeof page - head_size() - 4;
        end(STORED);
        assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
        assert_true(walk.missed);
        assert_int_equal(walk.count_known, order.long_size == 4);
    }
}

static void hostile_pages(void **state)
{
    struct ftrace_layout layout;
    struct ftrace_record record;
    struct ftrace_page walk;
    const char *what;

    order = orders[0];
    layout = layout_of_order();

    begin(1);
    used = sizeof page - head_size() + 1;
    end(0);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), -EBADMSG);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, 15, &what), -EBADMSG);
    put(page + 8, UINT64_C(1) << 29, 8);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), -EBADMSG);
    put(page + 8, UINT64_C(1) << 40, 8);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), -EBADMSG);

    static const struct {
        unsigned type_len;
        uint32_t delta, next;
        int result;
    } cases[] = {
        {3, 1, 0, -EBADMSG}, /* 12 bytes where 4 are left */
        {0, 1, 3, -EBADMSG}, /* shorter than its own length */
        {0, 1, 9, -EBADMSG}, /* longer than the page's rest */
        {0, 1, UINT32_MAX, -EBADMSG},
        {29, 1, UINT32_MAX, -EBADMSG},
        {29, 1, 0, -EBADMSG}, /* would not go on */
        {29, 1, 4, 0},
        {30, 1, UINT32_MAX, 0},
        {31, 1, UINT32_MAX, 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        begin(1);
        event(1, 1, 1);
        header(cases[i].type_len, cases[i].delta);
        word(cases[i].next);
        end(0);
        assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
        assert_int_equal(ftrace_page_next(&walk, &layout, &record), 1);
        assert_int_equal(ftrace_page_next(&walk, &layout, &record), cases[i].result);
    }
    /* Half a header. */
    begin(1);
    event(1, 1, 1);
    used += 2;
    end(0);
    assert_int_equal(ftrace_page_open(&walk, &layout, page, sizeof page, &what), 0);
    assert_int_equal(ftrace_page_next(&walk, &layout, &record), 1);
    assert_int_equal(ftrace_page_next(&walk, &layout, &record), -EBADMSG);
}

static int parse_layout(const char *text, struct ftrace_layout *ret)
{
    return ftrace_layout_parse(text, strlen(text), "header_page", ret, NULL);
}

static void layouts(void **state)
{
    struct ftrace_layout layout;

    assert_int_equal(parse_layout("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
                                  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                                  "\tfield: char data;\toffset:12;\tsize:16372;\tsigned:0;\n",
                                  &layout),
                     0);
    assert_int_equal(layout.long_size, 4);
    assert_int_equal(layout.commit, 8);
    assert_int_equal(layout.data, 12);
    assert_int_equal(layout.size, 16384);
    /* Without "overwrite" and "signed", as old kernels have it. */
    assert_int_equal(parse_layout("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\n"
                                  "\tfield: char data;\toffset:16;\tsize:4080;\n",
                                  &layout),
                     0);
    assert_int_equal(layout.size, 4096);

    assert_int_equal(parse_layout("", &layout), -EBADMSG);
    assert_int_equal(parse_layout("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\n"
                                  "\tfield: char data;\toffset:12;\tsize:4080;\n",
                                  &layout),
                     -EBADMSG);
    assert_int_equal(parse_layout("\tfield: u64 timestamp;\toffset:0;\tsize:8;\n"
                                  "\tfield: local_t commit;\toffset:8;\tsize:8;\n"
                                  "\tfield: char data;\toffset:16;\tsize:99999999999;\n",
                                  &layout),
                     -EBADMSG);
}

static void clocks(void **state)
{
    static const struct {
        const char *text, *name;
        uint64_t hz;
    } cases[] = {
        {"[local] global counter uptime\n", "local", NANOSECONDS},
        {"local [mono] boot\n", "monotonic", NANOSECONDS},
        {"local global [x86-tsc]", "x86-tsc", 0},
        {"local [uptime]", "uptime", 100},
        {"counter\n", "counter", 0},
        {"local [later]", "unknown", NANOSECONDS},
        {"", "unknown", NANOSECONDS},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct clock clock = ftrace_clock(cases[i].text, strlen(cases[i].text));

        assert_string_equal(clock.name, cases[i].name);
        assert_int_equal(clock.hz, cases[i].hz);
    }
}

/* A trace in a directory. */

static char dir[64];

static void write_file(const char *name, const void *p, size_t size)
{
    char path[256], *slash = path;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    while ((slash = strchr(slash + 1, '/'))) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, size, f), size);
    fclose(f);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void make_tree(void)
{
    char text[512];

    snprintf(text, sizeof text,
             "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
             "\tfield: local_t commit;\toffset:8;\tsize:%u;\tsigned:1;\n"
             "\tfield: char data;\toffset:%zu;\tsize:%zu;\tsigned:1;\n",
             order.long_size, head_size(), sizeof page - head_size());
    write_text("guest/events/header_page", text);
    write_text("guest/events/made/one/format",
               "name: one\nID: 1\nformat:\n"
               "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
               "\tfield:unsigned short common_flags;\toffset:2;\tsize:2;\tsigned:0;\n"
               "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
               "\tfield:u32 v;\toffset:8;\tsize:4;\tsigned:0;\n\n"
               "print fmt: \"v=%u\", REC->v\n");
    write_text("guest/saved_cmdlines", "7 seven\n");
    write_text("guest/trace_clock", "local [mono]\n");
}

static int make_dir(void **state)
{
    strcpy(dir, "/tmp/strata-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

struct opened {
    struct catalogue catalogue;
    struct source **sources;
    unsigned n;
    struct error error;
};

static int try_open(struct opened *o, const char *name, bool keep_going)
{
    struct reader_options options = {.keep_going = keep_going};
    struct ftrace_files files;
    char path[128];
    int r;

    *o = (struct opened){0};
    error_clear(&o->error);
    snprintf(path, sizeof path, "%s%s", dir, name);
    r = ftrace_find(path, NULL, &files, &o->error);
    if (r < 0)
        return r;
    r = ftrace_open(&files, path, LAYER_GUEST, &o->catalogue, &options, &o->sources, &o->n,
                    &o->error);
    ftrace_files_done(&files);
    return r;
}

static void close_opened(struct opened *o)
{
    for (unsigned i = 0; i < o->n; i++)
        source_free(o->sources[i]);
    free(o->sources);
    catalogue_done(&o->catalogue);
}

/* The items of a source as one line of text each, and how it ended. */
static int dump(struct source *source, struct text *text)
{
    const struct item *items;
    int n;

    while ((n = source_next(source, &items)) > 0) {
        for (int i = 0; i < n; i++) {
            const struct item *e = &items[i];

            if (e->kind == ITEM_LOSS) {
                text_printf(text, "%s %lld..%lld cpu%d lost %lld skipped %u\n",
                            e->cause == LOSS_DROPPED ? "dropped" : "unreadable",
                            e->since == TIME_UNKNOWN ? -1LL : (long long)e->since,
                            (long long)e->time, e->cpu,
                            e->lost == LOST_UNKNOWN ? -1LL : (long long)e->lost, e->skipped);
                continue;
            }
            text_printf(text, "%s%lld cpu%d %d/%s %s: ", e->before_loss ? "before a loss: " : "",
                        (long long)e->time, e->cpu, e->pid,
                        e->origin->task_name(e->origin, e->pid)
                            ? e->origin->task_name(e->origin, e->pid)
                            : "?",
                        e->class->name);
            item_put_text(e, text);
            text_put_char(text, '\n');
        }
    }
    text_put_char(text, '\0');
    return n;
}

static void assert_dump(struct source *source, int result, const char *expected)
{
    struct text text = TEXT_IN_MEMORY;

    assert_int_equal(dump(source, &text), result);
    assert_string_equal(text.start, expected);
    /* S3: once more the same. */
    text.next = text.start;
    assert_int_equal(dump(source, &text), result);
    assert_string_equal(text.start, "");
    text_done(&text);
}

static uint8_t pages[4 * sizeof page];
static unsigned n_pages;

static void add_page(void)
{
    memcpy(pages + n_pages * sizeof page, page, sizeof page);
    n_pages++;
}

static void sources(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        struct opened o;

        order = orders[i];
        n_pages = 0;
        make_tree();
        begin(1000);
        event(1, 7, 70);
        event(1, 8, 80);
        end(0);
        add_page();
        begin(2000);
        event(5, 0, 90);
        end(STORED);
        put(page + head_size() + used, 12, order.long_size);
        add_page();
        begin(3000);
        header(2, 1); /* of a type that nobody knows */
        word(order.big ? 999u << 16 : 999);
        word(7);
        end(MISSED);
        add_page();
        begin(4000);
        end(0);
        add_page();
        write_file("cpu3.raw", pages, n_pages * sizeof page);

        assert_int_equal(try_open(&o, "", false), 0);
        assert_int_equal(o.n, 1);
        assert_dump(o.sources[0], 0,
                    "1001 cpu3 7/seven one: v=70\n"
                    "before a loss: 1002 cpu3 8/? one: v=80\n"
                    "dropped 1002..2000 cpu3 lost 12 skipped 0\n"
                    "before a loss: 2005 cpu3 0/<idle> one: v=90\n"
                    "dropped 2005..3000 cpu3 lost -1 skipped 0\n"
                    "3001 cpu3 7/seven unknown-999: data=[]\n");
        close_opened(&o);
    }
}

/* The same, by the file's own path, and with its end cut off. */
static void truncated(void **state)
{
    struct opened o;

    order = orders[0];
    n_pages = 0;
    make_tree();
    begin(1000);
    event(1, 7, 70);
    end(0);
    add_page();
    begin(2000);
    event(1, 7, 71);
    event(1, 7, 72);
    end(0);
    add_page();

    write_file("cpu3.raw", pages, sizeof page + 16 + 16 + 8);
    assert_int_equal(try_open(&o, "/cpu3.raw", false), 0);
    assert_dump(o.sources[0], -EBADMSG,
                "1001 cpu3 7/seven one: v=70\nbefore a loss: 2001 cpu3 7/seven one: v=71\n"
                "unreadable 2001..2001 cpu3 lost -1 skipped 8\n");
    assert_int_equal(o.sources[0]->error.offset, sizeof page + 16 + 16);
    assert_non_null(strstr(o.sources[0]->error.what, "ends inside a record"));
    close_opened(&o);
    assert_int_equal(try_open(&o, "/cpu3.raw", true), 0);
    assert_dump(o.sources[0], 0,
                "1001 cpu3 7/seven one: v=70\nbefore a loss: 2001 cpu3 7/seven one: v=71\n"
                "unreadable 2001..2001 cpu3 lost -1 skipped 8\n");
    close_opened(&o);

    write_file("cpu3.raw", pages, sizeof page + 5);
    assert_int_equal(try_open(&o, "/cpu3.raw", false), 0);
    assert_dump(o.sources[0], -EBADMSG,
                "before a loss: 1001 cpu3 7/seven one: v=70\nunreadable 1001..1001 cpu3 lost -1 "
                "skipped 5\n");
    assert_int_equal(o.sources[0]->error.offset, sizeof page);
    close_opened(&o);

    /* A page that the kernel did not fill may be cut behind its records. */
    write_file("cpu3.raw", pages, sizeof page + 16 + 32);
    assert_int_equal(try_open(&o, "/cpu3.raw", false), 0);
    assert_dump(o.sources[0], 0,
                "1001 cpu3 7/seven one: v=70\n2001 cpu3 7/seven one: v=71\n"
                "2002 cpu3 7/seven one: v=72\n");
    close_opened(&o);

    write_file("cpu3.raw", pages, 0);
    assert_int_equal(try_open(&o, "/cpu3.raw", false), 0);
    assert_dump(o.sources[0], 0, "");
    close_opened(&o);
}

static void damaged(void **state)
{
    struct opened o;

    order = orders[0];
    n_pages = 0;
    make_tree();
    begin(1000);
    event(1, 7, 70);
    header(28, 1);
    end(0);
    add_page();
    begin(2000);
    put(page + 8, UINT64_C(0x1234567887654321), 8);
    add_page();
    begin(3000);
    header(1, 1); /* an event without a thread id */
    word(1);
    end(0);
    add_page();
    begin(4000);
    event(1, 7, 71);
    end(0);
    add_page();
    write_file("cpu3.raw", pages, n_pages * sizeof page);

    assert_int_equal(try_open(&o, "", false), 0);
    assert_dump(o.sources[0], -EBADMSG,
                "before a loss: 1001 cpu3 7/seven one: v=70\nunreadable 1001..1001 cpu3 lost -1 "
                "skipped 4064\n");
    assert_int_equal(o.sources[0]->error.offset, 32);
    close_opened(&o);

    assert_int_equal(try_open(&o, "", true), 0);
    assert_dump(o.sources[0], 0,
                "before a loss: 1001 cpu3 7/seven one: v=70\n"
                "unreadable 1001..1001 cpu3 lost -1 skipped 8160\n"
                "unreadable 1001..1001 cpu3 lost -1 skipped 4080\n"
                "4001 cpu3 7/seven one: v=71\n");
    close_opened(&o);
}

/* What is damaged may be a time before it shows by a record that does not fit: events that are later than the next page
 * begins are left out. */
static void damaged_times(void **state)
{
    order = orders[0];
    make_tree();
    for (unsigned backward = 0; backward < 2; backward++) {
        struct opened o;

        n_pages = 0;
        begin(1000);
        event(1, 7, 70);
        header(backward ? 31 : 30, 7); /* to the beginning of time, or years ahead */
        word(backward ? 0 : 2000000000);
        event(1, 7, 71);
        event(1, 7, 72);
        header(28, 1);
        end(0);
        add_page();
        begin(2000);
        event(1, 7, 73);
        end(0);
        add_page();
        write_file("cpu3.raw", pages, n_pages * sizeof page);

        assert_int_equal(try_open(&o, "", false), 0);
        assert_dump(o.sources[0], -EBADMSG,
                    "before a loss: 1001 cpu3 7/seven one: v=70\nunreadable 1001..1001 cpu3 lost "
                    "-1 skipped 4056\n");
        assert_int_equal(o.sources[0]->error.offset, 16 + 16 + 8);
        close_opened(&o);

        assert_int_equal(try_open(&o, "", true), 0);
        assert_dump(o.sources[0], 0,
                    "before a loss: 1001 cpu3 7/seven one: v=70\n"
                    "unreadable 1001..1001 cpu3 lost -1 skipped 4056\n"
                    "2001 cpu3 7/seven one: v=73\n");
        close_opened(&o);
    }
}

/* A piece is missing in the middle of a page: what follows is out of step. */
static void out_of_step(void **state)
{
    static const size_t holes[] = {1, 3, 100, 1000, 4095};
    struct opened o;

    order = orders[0];
    make_tree();
    for (size_t i = 0; i < ARRAY_SIZE(holes); i++) {
        size_t hole = holes[i], begin_hole = sizeof page / 2;
        uint8_t cut[sizeof pages];
        struct text text = TEXT_IN_MEMORY;

        n_pages = 0;
        for (unsigned k = 0; k < 4; k++) {
            begin(10000 * (k + 1));
            for (unsigned n = 0; n < 250; n++)
                event(1, 7, n);
            end(0);
            add_page();
        }
        memcpy(cut, pages, begin_hole);
        memcpy(cut + begin_hole, pages + begin_hole + hole, sizeof pages - begin_hole - hole);
        write_file("cpu3.raw", cut, sizeof pages - hole);
        assert_int_equal(try_open(&o, "", true), 0);
        assert_int_equal(dump(o.sources[0], &text), 0);
        /* At least all of the last two pages, and one loss between. */
        assert_non_null(strstr(text.start, "10001 cpu3"));
        assert_non_null(strstr(text.start, "unreadable"));
        assert_null(strstr(strstr(text.start, "unreadable") + 1, "unreadable"));
        assert_non_null(strstr(strstr(text.start, "unreadable"), "30001 cpu3 7/seven one: v=0"));
        assert_non_null(strstr(text.start, "40250 cpu3 7/seven one: v=249"));
        text_done(&text);
        close_opened(&o);
    }
}

static void finding(void **state)
{
    struct ftrace_files files;
    struct opened o;

    order = orders[0];
    assert_int_equal(ftrace_cpu_of_path("/x/cpu12.raw"), 12);
    assert_int_equal(ftrace_cpu_of_path("cpu1/per_cpu/cpu31/trace_pipe_raw"), 31);
    assert_int_equal(ftrace_cpu_of_path("trace.raw"), CPU_UNKNOWN);
    assert_int_equal(ftrace_cpu_of_path("cpu99999999999999999999.raw"), CPU_UNKNOWN);

    assert_int_equal(try_open(&o, "", false), -ENOENT);
    assert_non_null(strstr(o.error.what, "events/header_page"));
    assert_int_equal(try_open(&o, "/nowhere", false), -ENOENT);
    make_tree();
    assert_int_equal(try_open(&o, "", false), -ENOENT);
    assert_non_null(strstr(o.error.what, "no ring-buffer pages"));

    /* Pages within the tree, as a tracefs has them; in the order of their CPUs. */
    write_text("guest/per_cpu/cpu10/trace_pipe_raw", "");
    write_text("guest/per_cpu/cpu2/trace_pipe_raw", "");
    write_text("guest/per_cpu/other/trace_pipe_raw", "");
    assert_int_equal(ftrace_find(dir, NULL, &files, NULL), 0);
    assert_int_equal(files.n_raws, 2);
    assert_int_equal(files.raws[0].cpu, 2);
    assert_int_equal(files.raws[1].cpu, 10);
    ftrace_files_done(&files);
    /* Those beside the tree come first. */
    write_text("cpu1.raw", "");
    write_text("cpu1.rawer", "");
    assert_int_equal(ftrace_find(dir, NULL, &files, NULL), 0);
    assert_int_equal(files.n_raws, 1);
    assert_int_equal(files.raws[0].cpu, 1);
    ftrace_files_done(&files);

    write_text("guest/events/header_page", "nonsense");
    assert_int_equal(try_open(&o, "", false), -EBADMSG);
    close_opened(&o);
}

static bool has_format(struct reopen_cache *cache, uint16_t id)
{
    struct kernel_formats *formats;
    struct kernel_format format;
    char path[sizeof dir + 16];
    bool has;

    snprintf(path, sizeof path, "%s/guest", dir);
    assert_int_equal(ftrace_tree_new(path, NULL, cache, &formats), 0);
    has = formats->format(formats, id, &format) == 0;
    formats->free(formats);
    return has;
}

/* The tree is looked through once for all openings that have a cache. */
static void reopened_tree(void **state)
{
    struct reopen_cache *cache = reopen_cache_new();

    order = orders[0];
    make_tree();
    assert_true(has_format(cache, 1));
    write_text("guest/events/test/late/format", "name: late\nID: 4711\nformat:\n");
    assert_true(has_format(NULL, 4711));
    assert_false(has_format(cache, 4711));
    assert_true(has_format(cache, 1));
    reopen_cache_free(cache);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_types),
        cmocka_unit_test(time_stamp_tops),
        cmocka_unit_test(missed_events),
        cmocka_unit_test(hostile_pages),
        cmocka_unit_test(layouts),
        cmocka_unit_test(clocks),
        IN_FOLDER(sources),
        IN_FOLDER(truncated),
        IN_FOLDER(damaged),
        IN_FOLDER(damaged_times),
        IN_FOLDER(out_of_step),
        IN_FOLDER(finding),
        IN_FOLDER(reopened_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
