/* SPDX-License-Identifier: MIT */
/* QEMU's log text as events. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "event/program.h"
#include "format/qemu_log/qemu_log.h"

#define DEBIAN_EVENTS "/usr/share/qemu/trace-events-all"

static const char declared[] =
    "one(int a) \"a %d\"\n"
    "text(const char *s, unsigned n) \"s '%s' n %u\"\n"
    "twice(int a) \"first %d\"\n"
    "twice(const char *s) \"second %s\"\n"
    "dump(const char *what, size_t len, const char *bytes) \"%s: %zu\\n%s\"\n"
    "two_lines(int a, int b) \"a %d\\n  b %d\"\n"
    "empty(void) \"\"\n"
    "no_format(int a)\n"
    "vcpu reset(int a) \"a %d\"\n"
    "tail(const char *s) \"it is %s\"\n";

struct session {
    struct declarations declarations;
    struct qemu_events events;
    struct catalogue catalogue;
    struct source *source;
};

static void declare(struct session *s, const char *text)
{
    struct error error = {0};

    memset(s, 0, sizeof *s);
    assert_int_equal(declarations_parse(&s->declarations, "trace-events", text, strlen(text), NULL,
                                        NULL, &error),
                     0);
    assert_int_equal(qemu_events_init(&s->declarations, &s->events), 0);
}

static void finish(struct session *s)
{
    source_free(s->source);
    catalogue_done(&s->catalogue);
    qemu_events_done(&s->events);
    declarations_done(&s->declarations);
}

/* "TIME PID NAME: TEXT" a line; a loss as "TIME lost SKIPPED", or "TIME dropped EVENTS since TIME". */
static void put_items(struct source *source, struct text *out)
{
    const struct item *items;
    int n;

    while ((n = source_next(source, &items)) > 0)
        for (int i = 0; i < n; i++) {
            text_put_i64(out, items[i].time);
            if (items[i].kind == ITEM_LOSS) {
                if (items[i].cause == LOSS_DROPPED)
                    text_printf(out, " dropped %u since %lld\n", (unsigned)items[i].lost,
                                (long long)items[i].since);
                else
                    text_printf(out, " lost %u\n", items[i].skipped);
                continue;
            }
            text_printf(out, " %d %s: ", items[i].pid, items[i].class->name);
            item_put_text(&items[i], out);
            text_put_char(out, '\n');
        }
    assert_int_equal(n, 0);
    assert_int_equal(source_next(source, &items), 0);
    text_put(out, "", 1);
}

static void expect_of(struct input *in, const char *expected)
{
    struct session s;
    struct text out = TEXT_IN_MEMORY;
    struct error error = {0};

    declare(&s, declared);
    assert_int_equal(qemu_log_open(in, &s.catalogue, &s.events, &s.source, &error), 0);
    put_items(s.source, &out);
    assert_string_equal(out.start, expected);
    text_done(&out);
    finish(&s);
}

static void expect(const char *log, const char *expected)
{
    struct input in;

    assert_int_equal(input_open_memory(&in, log, strlen(log), "log"), 0);
    expect_of(&in, expected);
}

static void lines_with_the_prefix_have_time_and_thread(void **state)
{
    expect("12@1700000000.000001:one a 5\n"
           "13@1700000000.999999:text s 'it's' n 1' n 2\n"
           "12@1700000001.000000:one a -1\n",
           "1700000000000001000 12 one: a 5\n"
           "1700000000999999000 13 text: s 'it's' n 1' n 2\n"
           "1700000001000000000 12 one: a -1\n");
}

static void lines_without_a_time_are_numbered(void **state)
{
    expect("one a 5\nsome text\none a 6\n", "1 -1 one: a 5\n2 -1 log: some text\n3 -1 one: a 6\n");
}

static void drops_are_losses(void **state)
{
    expect("12@1700000000.000001:one a 5\n"
           "12@1700000000.000002:17 events were dropped\n"
           "12@1700000000.000003:one a 6\n",
           "1700000000000001000 12 one: a 5\n"
           "1700000000000002000 dropped 17 since 1700000000000001000\n"
           "1700000000000003000 12 one: a 6\n");
    expect("one a 5\n3 events were dropped\n0 events were dropped\n4 events were dropped.\n",
           "1 -1 one: a 5\n2 dropped 3 since 2\n3 -1 log: 0 events were dropped\n"
           "4 -1 log: 4 events were dropped.\n");
}

static void newer_prefixes_are_read(void **state)
{
    expect("2025-10-01T12:34:56.123456Z one a 5\n"
           "2025-10-01T12:34:57Z one a 6\n"
           "2025-10-01T12:34:58.000001Z Invalid read at addr 0x0\n"
           "2025-10-01T12:34:59Z [vm] qemu-system-x86_64: (77:main): one a 7\n"
           "2025-10-01T12:35:00Z 8 events were dropped\n",
           "1759322096123456000 -1 one: a 5\n"
           "1759322097000000000 -1 one: a 6\n"
           "1759322098000001000 -1 log: Invalid read at addr 0x0\n"
           "1759322099000000000 77 one: a 7\n"
           "1759322100000000000 dropped 8 since 1759322099000000000\n");
    expect("2024-02-29T00:00:00Z one a 5\n", "1709164800000000000 -1 one: a 5\n");
    expect("qemu-system-x86_64: one a 5\nqemu-system-x86_64: warning: one\n",
           "1 -1 one: a 5\n2 -1 log: qemu-system-x86_64: warning: one\n");
}

static void other_text_takes_the_time_of_the_line_before(void **state)
{
    expect("IN: main\n0x7c00:  cli\n\n"
           "1@5.000001:one a 5\n"
           "1@5.0000:one a 5\n"
           "5@x\n",
           "5000001000 -1 log: IN: main\n5000001000 -1 log: 0x7c00:  cli\n5000001000 -1 log: \n"
           "5000001000 1 one: a 5\n"
           "5000001000 -1 log: 1@5.0000:one a 5\n"
           "5000001000 -1 log: 5@x\n");
}

static void text_of_no_declaration_is_a_message(void **state)
{
    expect("1@5.000001:one a x\n"
           "1@5.000002:unheard of\n"
           "1@5.000003:unheard\n"
           "1@5.000004:no_format 5\n"
           "1@5.000005:9lives\n"
           "1@5.000006:a-b\n",
           "5000001000 1 one: a x\n"
           "5000002000 1 unheard: of\n"
           "5000003000 1 unheard: \n"
           "5000004000 1 no_format: 5\n"
           "5000005000 1 log: 1@5.000005:9lives\n"
           "5000006000 1 log: 1@5.000006:a-b\n");
    expect("one a x\nunheard of\n", "1 -1 one: a x\n2 -1 log: unheard of\n");
}

static void all_declarations_of_a_name_are_tried(void **state)
{
    expect("twice first 5\ntwice second x\ntwice third\n",
           "1 -1 twice: first 5\n2 -1 twice: second x\n3 -1 twice: third\n");
}

static void implicit_arguments_are_read(void **state)
{
    expect("reset cpu=0x55aa a 3\nreset a 3\n", "1 -1 reset: cpu=0x55aa a 3\n2 -1 reset: a 3\n");
}

static void events_without_text_are_read(void **state)
{
    expect("empty \nempty\nempty x\n", "1 -1 empty: \n2 -1 empty: \n3 -1 empty: x\n");
}

static void events_may_take_several_lines(void **state)
{
    /* A format with newlines takes the lines it needs. */
    expect(
        "1@5.000001:two_lines a 1\n  b 2\nother\n1@5.000002:one a 1\n",
        "5000001000 1 two_lines: a 1\\x0a  b 2\n5000001000 -1 log: other\n5000002000 1 one: a 1\n");
    /* One that ends in a string takes all. */
    expect("dump in: 3\n00 01\n02\none a 1\n",
           "1 -1 dump: in: 3\\x0a00 01\\x0a02\n4 -1 one: a 1\n");
    /* A string within the line has a newline; what the format does not need is other text. */
    expect("text s 'a\nb' n 3\nmore\none a 1\n",
           "1 -1 text: s 'a\\x0ab' n 3\n3 -1 log: more\n4 -1 one: a 1\n");
    /* A string at the end takes its line alone. */
    expect("tail it is x\nmore\n", "1 -1 tail: it is x\n2 -1 log: more\n");
}

static void what_does_not_match_over_lines_is_left_apart(void **state)
{
    expect("two_lines a 1\nother\none a 1\n",
           "1 -1 two_lines: a 1\n2 -1 log: other\n3 -1 one: a 1\n");
    expect("two_lines a 1\none a 1\n", "1 -1 two_lines: a 1\n2 -1 one: a 1\n");
    expect("two_lines a 1", "1 -1 two_lines: a 1\n");
}

static void the_last_line_needs_no_newline(void **state)
{
    expect("one a 5\none a 6", "1 -1 one: a 5\n2 -1 one: a 6\n");
    expect("one a 5\ntext s 'cut of", "1 -1 one: a 5\n2 -1 text: s 'cut of\n");
    expect("one a 5\n1@17", "1 -1 one: a 5\n2 -1 log: 1@17\n");
    expect("", "");
    expect("\n", "1 -1 log: \n");
}

static void carriage_returns_end_lines_too(void **state)
{
    expect("1@5.000001:one a 5\r\nother\r\n1@5.000002:one a 6\r",
           "5000001000 1 one: a 5\n5000001000 -1 log: other\n5000002000 1 one: a 6\n");
}

static void nul_bytes_are_text(void **state)
{
    static const char log[] = "one a 5\n\0\0\0one a 6\ntext s 'a\0b' n 2\n";
    struct input in;

    assert_int_equal(input_open_memory(&in, log, sizeof log - 1, "log"), 0);
    expect_of(&in, "1 -1 one: a 5\n2 -1 log: \\x00\\x00\\x00one a 6\n"
                   "3 -1 text: s 'a\\x00b' n 2\n");
}

/* Longer than the buffer of the file, as a monitor that is traced logs them. */
static void long_lines_of_a_file_are_whole(void **state)
{
    static const char before[] = "one a 5\n";
    static const char behind[] = "\none a 6\n";
    size_t size = 300000;
    struct text log = TEXT_IN_MEMORY;
    char *xs = malloc(size);
    struct text expected = TEXT_IN_MEMORY;
    int fd = memfd_create("log", MFD_CLOEXEC);
    struct input in;

    memset(xs, 'x', size);
    text_put_str(&log, before);
    text_put(&log, xs, size);
    text_put_str(&log, behind);
    text_put_str(&expected, "1 -1 one: a 5\n2 -1 log: ");
    text_put(&expected, xs, size);
    text_put_str(&expected, "\n3 -1 one: a 6\n");
    text_put(&expected, "", 1);

    assert_int_equal(write(fd, log.start, text_len(&log)), (ssize_t)text_len(&log));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(input_open_fd(&in, fd, "log", INPUT_BUFFER_SIZE, NULL), 0);
    expect_of(&in, expected.start);
    text_done(&expected);
    text_done(&log);
    free(xs);
}

static void lines_that_are_too_long_are_cut(void **state)
{
    static const char before[] = "one a 5\n";
    static const char behind[] = "\none a 6\n";
    size_t size = 3 * QEMU_LOG_LINE_MAX;
    struct text log = TEXT_IN_MEMORY;
    char *xs = malloc(size);
    struct text expected = TEXT_IN_MEMORY;
    struct input in;

    memset(xs, 'x', size);
    text_put_str(&log, before);
    text_put(&log, xs, size);
    text_put_str(&log, behind);
    text_put_str(&expected, "1 -1 one: a 5\n2 -1 log: ");
    text_put(&expected, xs, QEMU_LOG_LINE_MAX);
    text_printf(&expected, "\n2 lost %zu\n3 -1 one: a 6\n", size - QEMU_LOG_LINE_MAX);
    text_put(&expected, "", 1);

    assert_int_equal(input_open_memory(&in, log.start, text_len(&log), "log"), 0);
    expect_of(&in, expected.start);
    text_done(&expected);
    text_done(&log);
    free(xs);
}

/* Bytes come through a pipe in pieces of any size: what is read does not depend on it. */
static void a_pipe_is_read_as_a_file(void **state)
{
    static const char log[] = "1@5.000001:one a 5\ntext s 'a\nb' n 3\ntwo_lines a 1\n  b 2\n"
                              "1@5.000002:one a 6\n";

    for (size_t piece = 1; piece < 30; piece += 7) {
        struct input in;
        struct error error = {0};
        int fds[2];
        pid_t child;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        child = fork();
        if (child == 0) {
            for (size_t i = 0; i < sizeof log - 1; i += piece) {
                if (write(fds[1], log + i, MIN(piece, sizeof log - 1 - i)) < 0)
                    _exit(1);
                usleep(200);
            }
            _exit(0);
        }
        close(fds[1]);
        assert_int_equal(input_open_fd(&in, fds[0], "pipe", INPUT_BUFFER_SIZE, &error), 0);
        expect_of(&in, "5000001000 1 one: a 5\n5000001000 -1 text: s 'a\\x0ab' n 3\n"
                       "5000001000 -1 two_lines: a 1\\x0a  b 2\n5000002000 1 one: a 6\n");
    }
}

/* What a source over IN shows. */
static void show(struct input *in, struct text *out)
{
    struct session s;

    declare(&s, declared);
    assert_int_equal(qemu_log_open(in, &s.catalogue, &s.events, &s.source, NULL), 0);
    put_items(s.source, out);
    finish(&s);
}

/* Lines lie anywhere in the buffer, and end behind it. */
static void the_buffer_s_size_does_not_matter(void **state)
{
    static const char *const lines[] = {
        "1@5.000001:one a 5\n",
        "some text that is no event\n",
        "text s 'a\nb' n 3\n",
        "\n",
        "2@5.000003:two_lines a 1\n  b 2\n",
        "3@5.000004:one of those\n",
    };
    struct text log = TEXT_IN_MEMORY;
    struct text expected = TEXT_IN_MEMORY;
    struct input in;
    FILE *file = tmpfile();

    for (unsigned i = 0; i < 2000; i++)
        text_put_str(&log, lines[i * i % 31 % (sizeof lines / sizeof *lines)]);
    assert_int_equal(fwrite(log.start, 1, text_len(&log), file), text_len(&log));
    assert_int_equal(fflush(file), 0);
    assert_int_equal(input_open_memory(&in, log.start, text_len(&log), "log"), 0);
    show(&in, &expected);
    for (size_t capacity = 64; capacity < 8192; capacity = capacity * 7 / 4) {
        struct text out = TEXT_IN_MEMORY;
        int fd = dup(fileno(file));

        assert_true(lseek(fd, 0, SEEK_SET) == 0);
        assert_int_equal(input_open_fd(&in, fd, "log", capacity, NULL), 0);
        show(&in, &out);
        assert_string_equal(out.start, expected.start);
        text_done(&out);
    }
    text_done(&expected);
    text_done(&log);
    (void)fclose(file);
}

static void payloads_are_laid_out_as_the_classes_say(void **state)
{
    static const char log[] = "text s 'abc' n 7\n";
    struct session s;
    struct input in;
    const struct item *items;
    struct value values[FIELDS_MAX];

    declare(&s, declared);
    assert_int_equal(input_open_memory(&in, log, strlen(log), "log"), 0);
    assert_int_equal(qemu_log_open(&in, &s.catalogue, &s.events, &s.source, NULL), 0);
    assert_int_equal(source_next(s.source, &items), 1);
    assert_string_equal(items[0].class->name, "text");
    assert_int_equal(items[0].class->declared_line, 2);
    assert_int_equal(items[0].size, 4 + 3 + 8);
    item_values(&items[0], values);
    assert_int_equal(values[0].len, 3);
    assert_memory_equal(values[0].s, "abc", 3);
    assert_int_equal(values[1].u, 7);
    assert_true(s.source->ordered);
    assert_int_equal(items[0].origin->clock.hz, 0);
    assert_string_equal(items[0].origin->clock.name, "line");
    finish(&s);
}

static void without_declarations_names_are_kept(void **state)
{
    static const char log[] = "1@5.000001:one a 5\none a 6\n";
    struct catalogue catalogue = {0};
    struct source *source;
    struct text out = TEXT_IN_MEMORY;
    struct input in;

    assert_int_equal(input_open_memory(&in, log, strlen(log), "log"), 0);
    assert_int_equal(qemu_log_open(&in, &catalogue, NULL, &source, NULL), 0);
    put_items(source, &out);
    assert_string_equal(out.start, "5000001000 1 one: a 5\n5000001000 -1 log: one a 6\n");
    text_done(&out);
    source_free(source);
    catalogue_done(&catalogue);
}

/* Lines that come after the opening do not make the clock of the lines another one. */
static void an_empty_log_has_an_unknown_clock(void **state)
{
    struct catalogue catalogue = {0};
    struct source *source;
    struct input in;
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(input_open_fd(&in, dup(fileno(file)), "log", INPUT_BUFFER_SIZE, NULL), 0);
    assert_int_equal(qemu_log_open(&in, &catalogue, NULL, &source, NULL), 0);
    assert_true(fputs("1@5.000001:one a 5\n", file) >= 0 && fflush(file) == 0);
    assert_true(catalogue.origins[0]->is_empty);
    source_free(source);
    catalogue_done(&catalogue);

    assert_int_equal(input_open_fd(&in, dup(fileno(file)), "log", INPUT_BUFFER_SIZE, NULL), 0);
    (void)lseek(fileno(file), 0, SEEK_SET);
    assert_int_equal(qemu_log_open(&in, &catalogue, NULL, &source, NULL), 0);
    assert_false(catalogue.origins[0]->is_empty);
    source_free(source);
    catalogue_done(&catalogue);
    (void)fclose(file);
}

static void names_that_nothing_declares_are_bounded(void **state)
{
    struct catalogue catalogue = {0};
    struct text log = TEXT_IN_MEMORY;
    struct source *source;
    const struct item *items;
    struct input in;
    int n, all = 0;

    for (unsigned i = 0; i < 20000; i++)
        text_printf(&log, "1@5.000001:n%u x\n", i);
    assert_int_equal(input_open_memory(&in, log.start, text_len(&log), "log"), 0);
    assert_int_equal(qemu_log_open(&in, &catalogue, NULL, &source, NULL), 0);
    while ((n = source_next(source, &items)) > 0)
        all += n;
    assert_int_equal(all, 20000);
    assert_true(catalogue.n_classes < 5000);
    text_done(&log);
    source_free(source);
    catalogue_done(&catalogue);
}

static void logs_are_recognised(void **state)
{
    static const struct {
        const char *head;
        int expected;
    } examples[] = {
        {"9145@1795246302.879456:bdrv_open_common bs 0x1\n", 2},
        {"some text\nmore\n9145@1795246302.879456:bdrv_open_common bs 0x1\n", 2},
        {"virtio_set_status vdev 0x1\nblk_co_preadv x\nblk_co_preadv x\n", 1},
        {"2025-10-01T12:34:56.123456Z virtio_set_status vdev\n", 1},
        {"virtio_set_status vdev 0x1\nother\nother\n", 0},
        {"#include <stdio.h>\n", 0},
        {"", 0},
        {"\n", 0},
        {"9145@1795246302.8794:bdrv_open_common\n", 0},
    };

    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        assert_int_equal(qemu_log_probe(examples[i].head, strlen(examples[i].head)),
                         examples[i].expected);
    assert_int_equal(qemu_log_probe("\xff\xff\xff\xff\xff\xff\xff\xff\0\0", 10), 0);
}

/* The log of a real boot under Debian's QEMU 7.2: every event comes back with values, and formatting
 * them gives its text back. */
static void a_real_log_comes_back_whole(void **state)
{
    struct session s = {0};
    struct input in;
    struct error error = {0};
    const struct item *items;
    struct text log = TEXT_IN_MEMORY;
    struct text out = TEXT_IN_MEMORY;
    char piece[65536];
    size_t got;
    FILE *pipe;
    int n;

    if (access(DEBIAN_EVENTS, R_OK) < 0)
        skip();
    /* NOLINTNEXTLINE(cert-env33-c): the command is a constant */
    pipe = popen("xz -dc '" TEST_DATA "/qemu/stock-qemu.log.xz'", "r");
    assert_non_null(pipe);
    while ((got = fread(piece, 1, sizeof piece, pipe)) > 0)
        text_put(&log, piece, got);
    assert_int_equal(pclose(pipe), 0);

    assert_int_equal(declarations_read(&s.declarations, DEBIAN_EVENTS, NULL, NULL, &error), 0);
    assert_int_equal(
        declarations_read(&s.declarations, TEST_DATA "/qemu/trace-events-7.2", NULL, NULL, &error),
        0);
    assert_int_equal(qemu_events_init(&s.declarations, &s.events), 0);
    assert_int_equal(input_open_memory(&in, log.start, text_len(&log), "log"), 0);
    assert_int_equal(qemu_log_open(&in, &s.catalogue, &s.events, &s.source, &error), 0);
    while ((n = source_next(s.source, &items)) > 0)
        for (int i = 0; i < n; i++) {
            assert_int_equal(items[i].kind, ITEM_EVENT);
            /* A class that is declared, not one for text that nothing matches. */
            assert_non_null(items[i].class->declared_in);
            text_printf(&out, "%d@%lld.%06lld:%s ", items[i].pid,
                        (long long)(items[i].time / 1000000000),
                        (long long)(items[i].time / 1000 % 1000000), items[i].class->name);
            item_put_text(&items[i], &out);
            text_put_char(&out, '\n');
        }
    assert_int_equal(n, 0);
    assert_int_equal(text_len(&out), text_len(&log));
    assert_memory_equal(out.start, log.start, text_len(&log));
    text_done(&out);
    text_done(&log);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_with_the_prefix_have_time_and_thread),
        cmocka_unit_test(lines_without_a_time_are_numbered),
        cmocka_unit_test(drops_are_losses),
        cmocka_unit_test(newer_prefixes_are_read),
        cmocka_unit_test(other_text_takes_the_time_of_the_line_before),
        cmocka_unit_test(text_of_no_declaration_is_a_message),
        cmocka_unit_test(all_declarations_of_a_name_are_tried),
        cmocka_unit_test(implicit_arguments_are_read),
        cmocka_unit_test(events_without_text_are_read),
        cmocka_unit_test(events_may_take_several_lines),
        cmocka_unit_test(what_does_not_match_over_lines_is_left_apart),
        cmocka_unit_test(the_last_line_needs_no_newline),
        cmocka_unit_test(carriage_returns_end_lines_too),
        cmocka_unit_test(nul_bytes_are_text),
        cmocka_unit_test(long_lines_of_a_file_are_whole),
        cmocka_unit_test(lines_that_are_too_long_are_cut),
        cmocka_unit_test(a_pipe_is_read_as_a_file),
        cmocka_unit_test(the_buffer_s_size_does_not_matter),
        cmocka_unit_test(payloads_are_laid_out_as_the_classes_say),
        cmocka_unit_test(without_declarations_names_are_kept),
        cmocka_unit_test(an_empty_log_has_an_unknown_clock),
        cmocka_unit_test(names_that_nothing_declares_are_bounded),
        cmocka_unit_test(logs_are_recognised),
        cmocka_unit_test(a_real_log_comes_back_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
