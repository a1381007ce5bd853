/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/glob.h"
#include "base/input.h"
#include "base/map.h"
#include "base/number.h"
#include "base/proc.h"
#include "base/suggest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "qemu_user.h"
#include "random.h"

/* Numbers of all sizes. */
static uint64_t next_random(void)
{
    uint64_t v = random_u64();

    return v >> (v >> 40 & 63);
}

static void check_number(uint64_t v)
{
    char expected[64];
    char got[64];

    snprintf(expected, sizeof expected, "%" PRIu64, v);
    got[NUMBER_MAX] = '|';
    *number_dec(got, v) = '\0';
    assert_string_equal(got, expected);
    assert_int_equal(got[NUMBER_MAX], '|');
    snprintf(expected, sizeof expected, "%" PRId64, (int64_t)v);
    *number_sdec(got, (int64_t)v) = '\0';
    assert_string_equal(got, expected);
    snprintf(expected, sizeof expected, "%" PRIx64, v);
    *number_hex(got, v) = '\0';
    assert_string_equal(got, expected);
    snprintf(expected, sizeof expected, "%016" PRIx64, v);
    *number_hex_fixed(got, v, 16) = '\0';
    assert_string_equal(got, expected);
}

static void doubles_have_as_few_digits_as_read_back(void **state)
{
    static const struct {
        double v;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {0.30000000000000004, "0.30000000000000004"},
        {100000, "100000"},
        {1e300, "1e+300"},
        {-2.2250738585072014e-308, "-2.2250738585072014e-308"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
    };
    char got[64];

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        *number_double(got, cases[i].v) = '\0';
        assert_string_equal(got, cases[i].text);
    }
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t bits = next_random();
        double v;

        memcpy(&v, &bits, sizeof v);
        if (!isfinite(v))
            continue;
        got[NUMBER_MAX] = '|';
        *number_double(got, v) = '\0';
        assert_true(strtod(got, NULL) == v);
        assert_int_equal(got[NUMBER_MAX], strlen(got) == NUMBER_MAX ? '\0' : '|');
    }
}

static void numbers_read_as_printf_writes_them(void **state)
{
    uint64_t power = 1;

    (void)state;
    for (unsigned i = 0; i < 20; i++, power *= 10) {
        check_number(power - 1);
        check_number(power);
        check_number(power + 1);
    }
    for (unsigned i = 0; i < 64; i++)
        for (int d = -1; d <= 1; d++)
            check_number((UINT64_C(1) << i) + (uint64_t)d);
    for (unsigned i = 0; i < 100000; i++)
        check_number(next_random());
}

static void a_byte_takes_two_places(void **state)
{
    (void)state;
    for (unsigned v = 0; v < 256; v++) {
        char expected[8];
        char got[4] = "..|";

        snprintf(expected, sizeof expected, "%02x|", v);
        assert_ptr_equal(number_hex_byte(got, (uint8_t)v), got + 2);
        assert_string_equal(got, expected);
    }
}

static void seconds_have_nine_decimals(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {0, "0.000000000"},
        {1, "0.000000001"},
        {-1, "-0.000000001"},
        {1795246302879456789, "1795246302.879456789"},
        {INT64_MAX, "9223372036.854775807"},
        {INT64_MIN, "-9223372036.854775808"},
    };
    char got[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        *number_seconds(got, cases[i].ns) = '\0';
        assert_string_equal(got, cases[i].text);
    }
}

static void stars_stand_for_parts_of_names(void **state)
{
    struct arena arena = {0};
    const char *name = "blk_co_preadv", *star;
    size_t len;

    (void)state;
    star = glob_match_star("blk_*v", name, &len);
    assert_ptr_equal(star, name + 4);
    assert_int_equal(len, 8);
    assert_string_equal(glob_fill_star(&arena, "x*_*", star, len), "xco_pread_co_pread");
    assert_string_equal(glob_fill_star(&arena, "whole", star, len), "whole");
    assert_ptr_equal(glob_match_star("*", name, &len), name);
    assert_int_equal(len, strlen(name));
    assert_ptr_equal(glob_match_star(name, name, &len), name + strlen(name));
    assert_int_equal(len, 0);
    assert_null(glob_match_star("ab*b", "ab", &len)); /* the same letter is not used twice */
    assert_null(glob_match_star("blk", name, &len));
    assert_null(glob_match_star("*_x", name, &len));
    arena_done(&arena);
}

static void globs_match(void **state)
{
    char many[4001];

    (void)state;
    assert_true(glob_match("*", ""));
    assert_true(glob_match("blk_*", "blk_co_preadv"));
    assert_true(glob_match("*_co_*v", "blk_co_preadv"));
    assert_true(glob_match("a?c", "abc"));
    assert_true(glob_match("a*b*c", "a1b2bc"));
    assert_true(glob_match("**", "x"));
    assert_false(glob_match("a?c", "ac"));
    assert_false(glob_match("blk", "blk_"));
    assert_false(glob_match("", "x"));
    assert_false(glob_match("*x", "xy"));
    assert_true(glob_is_pattern("a*"));
    assert_false(glob_is_pattern("abc"));

    /* A pattern that makes a backtracking matcher run for ever. */
    memset(many, 'a', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_false(glob_match("a*a*a*a*a*a*a*a*a*a*a*a*b", many));
}

static void maps_find_what_was_put(void **state)
{
    struct map map = {0};
    struct map names = {0};
    static char texts[5000][8];
    size_t iter = 0;
    size_t n = 0;
    void *value;

    (void)state;
    assert_null(map_get(&map, 0));
    for (uint64_t i = 0; i < 5000; i++) {
        snprintf(texts[i], sizeof texts[i], "n%u", (unsigned)i);
        assert_int_equal(map_put(&map, i << 20, texts[i]), 0);
        assert_int_equal(map_put_str(&names, texts[i], strlen(texts[i]), texts[i]), 0);
    }
    assert_int_equal(map_put(&map, 0, texts[1]), 0);
    assert_ptr_equal(map_get(&map, 0), texts[1]);
    for (uint64_t i = 1; i < 5000; i++) {
        assert_ptr_equal(map_get(&map, i << 20), texts[i]);
        assert_ptr_equal(map_get_str(&names, texts[i], strlen(texts[i])), texts[i]);
    }
    assert_null(map_get(&map, 1));
    assert_null(map_get_str(&names, "n", 1));
    while (map_next(&map, &iter, NULL, &value))
        n++;
    assert_int_equal(n, 5000);
    map_done(&map);
    map_done(&names);
}

static void arenas_give_aligned_zeroed_memory(void **state)
{
    struct arena arena = {0};

    (void)state;
    for (size_t size = 0; size < 20000; size = size * 3 / 2 + 1) {
        uint8_t *p = arena_alloc(&arena, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    assert_string_equal(arena_strndup(&arena, "abcdef", 3), "abc");
    assert_null(arena_alloc(&arena, SIZE_MAX));
    arena_done(&arena);
}

static void a_text_drains_into_its_file(void **state)
{
    struct text text;
    char big[10000];
    char back[10001];
    int fds[2];

    (void)state;
    memset(big, 'y', sizeof big);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(text_open_fd(&text, fds[1], 1), 0);
    text_put(&text, big, sizeof big);
    text_put_char(&text, 'z');
    assert_int_equal(text_flush(&text), 0);
    assert_int_equal(read(fds[0], back, sizeof back), sizeof back);
    assert_memory_equal(back, big, sizeof big);
    assert_int_equal(back[10000], 'z');
    text_done(&text);
    close(fds[0]);
    close(fds[1]);
}

static void a_text_keeps_its_first_error(void **state)
{
    struct text text;
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    /* Written to the end that is for reading. */
    assert_int_equal(text_open_fd(&text, fds[0], 1), 0);
    for (unsigned i = 0; i < 10000; i++)
        text_put_u64(&text, UINT64_MAX);
    assert_int_equal(text_flush(&text), -EBADF);
    text_done(&text);
    close(fds[0]);
    close(fds[1]);
}

/* Reads 1,000 bytes in pieces of 1 to 16 through a buffer of 16. */
static void read_in_pieces(struct input *in)
{
    struct error error = {0};
    unsigned at = 0;

    while (at < 1000) {
        unsigned n = MIN(1 + at % 16, 1000 - at);
        assert_int_equal(input_offset(in), at);
        assert_int_equal(input_need(in, n, &error), 1);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal(input_at(in)[i], (uint8_t)((at + i) * 7));
        input_skip(in, n);
        at += n;
    }
    assert_int_equal(input_need(in, 1, &error), 0);
    assert_int_equal(input_need(in, 0, &error), 1);
    assert_int_equal(error.code, 0);
}

static void inputs_read_files_pipes_and_memory(void **state)
{
    uint8_t bytes[1000];
    struct error error = {0};
    struct input in;
    char path[] = "/tmp/strata-test-XXXXXX";
    int fds[2];
    int fd;

    (void)state;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);

    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    close(fd);
    assert_int_equal(input_open(&in, path, 16, &error), 0);
    assert_int_equal(in.size, 1000);
    read_in_pieces(&in);
    assert_int_equal(input_need(&in, 17, &error), -ENOBUFS);
    assert_int_equal(input_seek(&in, 500, &error), 0);
    assert_int_equal(input_need(&in, 16, &error), 1);
    assert_int_equal(input_at(&in)[0], (uint8_t)(500 * 7));
    input_done(&in);

    assert_int_equal(input_open_whole(&in, path, 1 << 20, "a list", &error), 0);
    assert_int_equal(input_buffered(&in), sizeof bytes);
    assert_memory_equal(input_at(&in), bytes, sizeof bytes);
    input_done(&in);
    assert_int_equal(truncate(path, (1 << 20) - 1), 0);
    assert_int_equal(input_open_whole(&in, path, 1 << 20, "a list", &error), 0);
    input_done(&in);
    assert_int_equal(truncate(path, 1 << 20), 0);
    assert_int_equal(input_open_whole(&in, path, 1 << 20, "a list", &error), -EFBIG);
    assert_string_equal(error.what, "is larger than 1 MB: not a list");
    unlink(path);

    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], bytes, sizeof bytes), sizeof bytes);
    close(fds[1]);
    assert_int_equal(input_open_fd(&in, fds[0], "pipe", 16, &error), 0);
    assert_int_equal(in.size, UINT64_MAX);
    assert_int_equal(input_need(&in, 1, &error), 1);
    read_in_pieces(&in);
    assert_int_equal(input_seek(&in, 0, &error), -ESPIPE);
    input_done(&in);

    assert_int_equal(input_open_memory(&in, bytes, sizeof bytes, "memory"), 0);
    read_in_pieces(&in);
    input_done(&in);
}

static void errors_say_what_and_where(void **state)
{
    struct error error = {0};
    struct input in;
    char text[512];

    (void)state;
    assert_int_equal(input_open(&in, "/nonexistent/file", 16, &error), -ENOENT);
    error_print(&error, text, sizeof text);
    assert_string_equal(text, "/nonexistent/file: cannot open it: No such file or directory");
    /* The first one stays. */
    assert_int_equal(error_at(&error, -EBADMSG, "a", 12, "x"), -EBADMSG);
    assert_int_equal(error.code, -ENOENT);
    error_clear(&error);
    assert_int_equal(error_at(&error, -EBADMSG, "a", 12, "bad %s", "x"), -EBADMSG);
    error_print(&error, text, sizeof text);
    assert_string_equal(text, "a: offset 12: bad x");
    error_clear(&error);
    error_on_line(&error, -EINVAL, "events", 3, "bad");
    error_print(&error, text, sizeof text);
    assert_string_equal(text, "events:3: bad");
    error_clear(&error);
    assert_int_equal(input_open(&in, "/", 16, &error), -EISDIR);
}

static void near_words_are_found(void **state)
{
    static const char *const words[] = {"disable", "vcpu", "tcg", NULL};
    static const char *const events[] = {"victim_ticks_all",   "victim_tick",  "sched_switched",
                                         "sched:sched_switch", "sched_waking", NULL};
    char longest[64];

    assert_int_equal(suggest_distance("", 0, "abc", 3), 3);
    assert_int_equal(suggest_distance("abcd", 4, "abcd", 4), 0);
    assert_int_equal(suggest_distance("abcd", 4, "acbd", 4), 1); /* swapped */
    assert_int_equal(suggest_distance("abcd", 4, "abxd", 4), 1);
    assert_int_equal(suggest_distance("kitten", 6, "sitting", 7), 3);
    memset(longest, 'a', sizeof longest);
    assert_int_equal(suggest_distance(longest, 63, longest, 63), 0);
    assert_true(suggest_distance(longest, 64, longest, 64) > 1000);
    assert_string_equal(suggest_find("dsiable", 7, words), "disable");
    assert_string_equal(suggest_pattern("dsia*", words), "disable");
    assert_string_equal(suggest_pattern("dsiable", words), "disable");
    assert_null(suggest_pattern("xyzdsiable*", words));
    assert_null(suggest_pattern("*", words));
    assert_string_equal(suggest_pattern("switch", events), "sched:sched_switch");
    assert_string_equal(suggest_pattern("tick", events), "victim_tick");
    assert_string_equal(suggest_pattern("witc*", events), "sched_switched");
    assert_string_equal(suggest_pattern("wak", events), "sched_waking");
    assert_null(suggest_pattern("ti", events));
    assert_null(suggest_pattern("*tick", events));
    assert_string_equal(suggest_find("vpcu", 4, words), "vcpu");
    assert_null(suggest_find("xyz", 3, words));
    assert_null(suggest_find("cpus", 4, words));
    assert_null(suggest_find("", 0, words));
}

static void utf8_is_told_from_other_bytes(void **state)
{
    static const struct {
        const char *bytes;
        uint32_t character; /* 0: none */
    } cases[] = {
        {"a", 'a'},
        {"\xc2\x80", 0x80},
        {"\xdf\xbf", 0x7ff},
        {"\xe0\xa0\x80", 0x800},
        {"\xef\xbf\xbf", 0xffff},
        {"\xf0\x90\x80\x80", 0x10000},
        {"\xf4\x8f\xbf\xbf", 0x10ffff},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc3", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xe2\x82", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xc3(", 0},
        {"\xff", 0},
    };
    char text[64], encoded[4];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t len = strlen(cases[i].bytes);
        uint32_t character = 0;
        size_t n = utf8_decode(cases[i].bytes, len, &character);

        assert_int_equal(character, cases[i].character);
        assert_int_equal(n, character ? len : 0);
        if (character) {
            assert_int_equal(utf8_encode(character, encoded), len);
            assert_memory_equal(encoded, cases[i].bytes, len);
        }
        /* At each place in words of eight bytes. */
        for (size_t before = 0; before < 20; before++) {
            memset(text, 'x', sizeof text);
            memcpy(text + before, cases[i].bytes, len);
            assert_ptr_equal(utf8_find_wrong(text, before + len + 5),
                             character ? NULL : text + before);
        }
    }
}

static void processes_have_a_beginning(void **state)
{
    struct timespec moment;
    uint64_t start, again;
    char how;
    pid_t child;

    (void)state;
    SKIP_BY_QEMU_USER("makes up /proc/self/stat, without a state and a beginning");
    assert_int_equal(proc_stat(getpid(), &start, &how), 0);
    assert_int_equal(how, 'R');
    child = fork();
    if (child == 0)
        _exit(0);
    assert_true(child > 0);
    do
        assert_int_equal(proc_stat(child, &again, &how), 0);
    while (how != 'Z');
    assert_true(again >= start);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(proc_stat(child, &again, &how), -ENOENT);
    /* Long before and long behind now, as the clock may be set meanwhile. */
    clock_gettime(CLOCK_REALTIME, &moment);
    moment.tv_sec += 3600;
    assert_false(proc_began_after(getpid(), &moment));
    moment.tv_sec -= 2 * 3600;
    assert_true(proc_began_after(getpid(), &moment));
    assert_false(proc_began_after(child, &moment));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_as_printf_writes_them),
        cmocka_unit_test(doubles_have_as_few_digits_as_read_back),
        cmocka_unit_test(a_byte_takes_two_places),
        cmocka_unit_test(seconds_have_nine_decimals),
        cmocka_unit_test(stars_stand_for_parts_of_names),
        cmocka_unit_test(globs_match),
        cmocka_unit_test(maps_find_what_was_put),
        cmocka_unit_test(arenas_give_aligned_zeroed_memory),
        cmocka_unit_test(a_text_drains_into_its_file),
        cmocka_unit_test(a_text_keeps_its_first_error),
        cmocka_unit_test(inputs_read_files_pipes_and_memory),
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(near_words_are_found),
        cmocka_unit_test(processes_have_a_beginning),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
