/* SPDX-License-Identifier: MIT */
/* QEMU logs into a FIFO: all lines are kept, and lines that are not events are passed on. */

#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "record/qemu/log.h"
#include "timeline/clock_map.h"

struct place {
    char dir[32], fifo[48], file[48], copy[48], pairs[48];
    int in; /* the monitor's end */
    struct qemu_log_input log;
};

static void make_place(struct place *place)
{
    strcpy(place->dir, "/tmp/vmm-log-XXXXXX");
    assert_non_null(mkdtemp(place->dir));
    snprintf(place->fifo, sizeof place->fifo, "%s/fifo", place->dir);
    snprintf(place->file, sizeof place->file, "%s/file", place->dir);
    snprintf(place->copy, sizeof place->copy, "%s/copy", place->dir);
    snprintf(place->pairs, sizeof place->pairs, "%s/pairs", place->dir);
}

static void open_log(struct place *place, uint64_t max_size, bool copies_rest)
{
    int copy;

    make_place(place);
    copy = open(place->copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(copy >= 0);
    assert_int_equal(qemu_log_input_open_fifo(place->fifo, place->file, max_size, copy, copies_rest,
                                              0, &place->log, NULL),
                     0);
    place->in = open(place->fifo, O_WRONLY | O_CLOEXEC);
    assert_true(place->in >= 0);
}

static void close_log(struct place *place)
{
    qemu_log_input_done(&place->log);
    unlink(place->fifo);
    unlink(place->file);
    unlink(place->copy);
    unlink(place->pairs);
    assert_int_equal(rmdir(place->dir), 0);
}

static void say(struct place *place, const char *text, size_t n)
{
    uint64_t sleep;

    assert_int_equal(write(place->in, text, n), (ssize_t)n);
    qemu_log_input_take(&place->log, &sleep);
}

static void assert_file(const char *path, const char *expected)
{
    char text[512];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);

    close(fd);
    assert_true(n >= 0);
    text[n] = '\0';
    assert_string_equal(text, expected);
}

#define EVENT1 "123@1.000001:one x 1\n"
#define EVENT2 "4567890@1.000002:two at 7@8\n"
#define REST1 "qemu: warning: 12 of them\n"
#define REST2 "77\n"
#define REST3 "@\n"

/* Cut at any place, an event is no rest, and a rest is not lost. */
static void test_rest(void **state)
{
    static const char all[] = EVENT1 REST1 EVENT2 REST2 REST3 EVENT1;

    (void)state;
    for (size_t cut = 1; cut < sizeof all - 1; cut++) {
        for (size_t more = 1; more <= 2; more++) {
            size_t end = cut + more < sizeof all - 1 ? cut + more : cut;
            struct place place;

            open_log(&place, 0, true);
            say(&place, all, cut);
            if (end > cut)
                say(&place, all + cut, end - cut);
            say(&place, all + end, sizeof all - 1 - end);
            close(place.in);
            qemu_log_input_finish(&place.log);
            assert_int_equal(place.log.lines, 6);
            assert_int_equal(place.log.lost_bytes, 0);
            assert_file(place.file, all);
            assert_file(place.copy, REST1 REST2 REST3);
            close_log(&place);
        }
    }
}

/* What a full disk drops is stated before the next line. */
static void test_full_disk(void **state)
{
    static const char lines[] = EVENT1 EVENT2;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct place place;
    int file;

    (void)state;
    assert_true(full >= 0);
    open_log(&place, 0, true);
    place.log.drops_when_full = true;
    say(&place, EVENT1, sizeof EVENT1 - 1);
    file = place.log.file;
    place.log.file = full;
    say(&place, lines, sizeof lines - 1);
    say(&place, EVENT2, 9);
    assert_int_equal(place.log.error, -ENOSPC);
    assert_int_equal(place.log.lost_lines, 2);
    assert_int_equal(place.log.stated_lines, 0);
    place.log.file = file;
    /* The rest of a line alone does not begin one. */
    say(&place, EVENT2 + 9, sizeof EVENT2 - 10);
    assert_int_equal(place.log.lost_lines, 3);
    assert_int_equal(place.log.stated_lines, 0);
    say(&place, EVENT2 REST1, sizeof EVENT2 + sizeof REST1 - 2);
    assert_int_equal(place.log.error, 0);
    assert_int_equal(place.log.stated_lines, 3);
    assert_int_equal(place.log.lines, 3);
    close(place.in);
    qemu_log_input_finish(&place.log);
    assert_file(place.file, EVENT1 "4567890@1.000002:3 events were dropped\n" EVENT2 REST1);
    assert_file(place.copy, REST1);
    close(full);
    close_log(&place);
}

#define EVENT3 "2026-11-29T16:03:50.546123Z two at 7@8\n"
#define EVENT4 "2026-11-29T16:03:50Z one\n"
#define EVENT5 "2026-11-29T16:03:50.546123Z [vm 1] one x 2\n"
#define REST4 "2026-11-29T16:03:50.546123Z twofold\n"
#define REST5 "2026-11-29T16:03:50.546123Z qemu-system-x86_64: terminating on signal 15\n"

/* The same of newer versions, which tell an event only by its name. */
static void test_rest_by_name(void **state)
{
    static char one[] = "one", two[] = "two";
    static char *const names[] = {one, two};
    static const char all[] = EVENT3 REST4 EVENT4 REST5 EVENT5 REST1 EVENT3;

    (void)state;
    for (size_t cut = 1; cut < sizeof all - 1; cut++) {
        struct place place;

        open_log(&place, 0, true);
        place.log.names = names;
        place.log.n_names = 2;
        say(&place, all, cut);
        say(&place, all + cut, sizeof all - 1 - cut);
        close(place.in);
        qemu_log_input_finish(&place.log);
        assert_int_equal(place.log.lines, 7);
        assert_file(place.file, all);
        assert_file(place.copy, REST4 REST5 REST1);
        close_log(&place);
    }
}

/* What a guest makes QEMU print does not command the terminal, wherever the pieces are cut. */
static void test_escapes(void **state)
{
    static const char all[] = "q\033]0;x\a \xc2\x9b"
                              "1m\x9b\x7f \xe2\x80\xae \xc3\xa4\r\n" EVENT1;

    (void)state;
    for (size_t cut = 1; cut < sizeof all - 1; cut++) {
        struct place place;

        open_log(&place, 0, true);
        say(&place, all, cut);
        say(&place, all + cut, sizeof all - 1 - cut);
        close(place.in);
        qemu_log_input_finish(&place.log);
        assert_file(place.file, all);
        assert_file(place.copy, "q\\x1b]0;x\\x07 \\u009b1m\\x9b\\x7f \\u202e \xc3\xa4\r\n");
        close_log(&place);
    }
}

/* A monitor that is killed in the midst of a line. */
static void test_cut_off(void **state)
{
    struct place place;

    (void)state;
    open_log(&place, 0, true);
    say(&place, EVENT1 "12", sizeof EVENT1 "12" - 1);
    close(place.in);
    qemu_log_input_finish(&place.log);
    assert_file(place.file, EVENT1);
    assert_int_equal(place.log.lost_bytes, 2);
    assert_file(place.copy, "12");
    close_log(&place);
}

/* Lines without room are counted, and are written to the full copy nevertheless. */
static void test_no_room(void **state)
{
    static const char all[] = EVENT1 EVENT2 REST1;
    struct place place;

    (void)state;
    open_log(&place, sizeof EVENT1 - 1 + 5, false);
    say(&place, all, sizeof all - 1);
    say(&place, EVENT1, sizeof EVENT1 - 1);
    close(place.in);
    qemu_log_input_finish(&place.log);
    assert_file(place.file, EVENT1);
    assert_int_equal(place.log.error, -EFBIG);
    assert_int_equal(place.log.lines, 1);
    assert_int_equal(place.log.lost_lines, 3);
    assert_int_equal(place.log.lost_bytes, sizeof EVENT2 REST1 EVENT1 - 1);
    assert_file(place.copy, EVENT1 EVENT2 REST1 EVENT1);
    close_log(&place);
}

/* Whoever reads the trace now gets this bound. */
static void assert_bound(const struct place *place, int64_t least, int64_t most)
{
    struct clock_map clock_map;
    int64_t error;

    assert_int_equal(clock_map_read(place->pairs, 1000000000, &clock_map, NULL), 0);
    assert_int_equal(clock_map_set_steady(&clock_map), 0);
    (void)clock_map_convert(&clock_map, clock_map.given[0].ticks, &error);
    assert_in_range(error, least, most);
    clock_map_done(&clock_map);
}

/* Lines without times that came after a long silence: the time at which the reader was woken up bounds theirs, where nothing
 * was left when it began to wait; where it did not wait for them, nothing does. */
static void stamps_after_silence(void **state)
{
    struct place place;
    struct qemu_clock clock;
    /* So long ago the machine was up already. */
    uint64_t silence = clock_ns(CLOCK_MONOTONIC) / 2;
    uint64_t sleep;

    (void)state;
    open_log(&place, 0, false);
    assert_int_equal(qemu_clock_open(place.pairs, &clock, NULL), 0);
    assert_int_equal(qemu_log_input_stamp(&place.log, &clock, NULL), 0);
    assert_bound(&place, place.log.stamp_error, INT64_MAX);
    place.log.is_waited_for = true;
    qemu_log_input_take(&place.log, &sleep);
    assert_true(place.log.is_idle);
    assert_int_equal(sleep, UINT64_MAX);
    /* A silence ago it was empty, and woken up just now. */
    place.log.empty_at -= silence;
    place.log.woken_at = place.log.empty_at + silence;
    say(&place, "a line\n", 7);
    assert_in_range(clock.extra, 0, silence / 5 * 2);
    assert_false(place.log.is_idle);
    /* While lines come, the pipe is read often. A wake-up for another reason reports nothing. */
    qemu_log_input_take(&place.log, &sleep);
    say(&place, "more\n", 5);
    place.log.empty_at -= silence;
    assert_false(place.log.is_idle);
    place.log.woken_at += UINT64_C(1000000000);
    say(&place, "late\n", 5);
    assert_in_range(clock.extra, silence / 2, INT64_MAX);
    assert_true(place.log.stamps_late >= 1);
    assert_bound(&place, clock.extra, INT64_MAX);
    qemu_clock_done(&clock);
    assert_bound(&place, clock.extra, INT64_MAX);
    close(place.in);
    close_log(&place);
}

/* Of QEMU's own file, only what comes behind its end is taken. Where it is made shorter, it is read from its begin. */
static void test_own_file(void **state)
{
    struct place place = {.in = -1};
    uint64_t sleep;
    int own;

    (void)state;
    make_place(&place);
    place.in = open(place.fifo, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    assert_int_equal(write(place.in, "before\n", 7), 7);
    own = open(place.fifo, O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(own, 0, SEEK_END), 7);
    assert_int_equal(qemu_log_input_open_file(own, place.file, 0, &place.log, NULL), 0);
    qemu_log_input_take(&place.log, &sleep);
    assert_true(place.log.is_idle && place.log.wake >= 0 && sleep == UINT64_MAX);
    say(&place, "1@0:first\n", 10);
    assert_false(place.log.is_idle);
    say(&place, "1@0:se", 6);
    say(&place, "cond\n", 5);
    assert_file(place.file, "1@0:first\n1@0:second\n");
    assert_false(place.log.was_cut);
    assert_int_equal(ftruncate(place.in, 0), 0);
    say(&place, "1@0:third\n", 10);
    assert_true(place.log.was_cut);
    qemu_log_input_finish(&place.log);
    assert_file(place.file, "1@0:first\n1@0:second\n1@0:third\n");
    assert_int_equal(place.log.lines, 3);
    assert_int_equal(place.log.lost_lines, 0);
    close(place.in);
    close_log(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_after_silence), cmocka_unit_test(test_rest),
        cmocka_unit_test(test_own_file),        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_rest_by_name),    cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_cut_off),         cmocka_unit_test(test_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
