/* SPDX-License-Identifier: MIT */
/* Files and directories copied as they are (base/copy.h). */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/input.h"
#include "base/macro.h"
#include "base/sparse.h"

static char place[64];

static const char *in_place(const char *name)
{
    static char paths[4][160];
    static unsigned next;

    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", place, name);
    return paths[next];
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(in_place(name), "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void has_file(const char *name, const char *text)
{
    FILE *file = fopen(in_place(name), "r");
    char got[64] = "";

    if (!file)
        fail_msg("there is no %s", name);
    (void)!fread(got, 1, sizeof got - 1, file);
    fclose(file);
    assert_string_equal(got, text);
}

static int set_up(void **state)
{
    snprintf(place, sizeof place, "/tmp/strata-test-XXXXXX");
    return mkdtemp(place) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", place);
    return system(command);
}

static bool takes_only_a(const char *path, size_t len)
{
    return len == 5 && memcmp(path, "sub/a", 5) == 0;
}

static void files(void **state)
{
    struct copy_options plain = {0}, link = {.link = true}, follow = {.follow = true};
    struct error error = {0};
    struct stat one, other;

    put_file("a", "text");
    assert_int_equal(copy_file(in_place("a"), in_place("b"), &plain, &error), 0);
    has_file("b", "text");
    assert_int_equal(copy_file(in_place("a"), in_place("b"), &plain, &error), -EEXIST);
    assert_non_null(strstr(error.path, "/b"));
    error_clear(&error);
    assert_int_equal(copy_file(in_place("a"), in_place("c"), &link, &error), 0);
    assert_int_equal(stat(in_place("a"), &one), 0);
    assert_int_equal(stat(in_place("c"), &other), 0);
    assert_int_equal(one.st_ino, other.st_ino);
    assert_int_equal(symlink("a", in_place("l")), 0);
    assert_int_equal(copy_file(in_place("l"), in_place("d"), &plain, &error), -ELOOP);
    error_clear(&error);
    assert_int_equal(copy_file(in_place("l"), in_place("d"), &follow, &error), 0);
    has_file("d", "text");
    assert_int_equal(copy_file(place, in_place("e"), &plain, &error), -EINVAL);
    error_clear(&error);
    assert_int_equal(copy_file(in_place("none"), in_place("e"), &plain, &error), -ENOENT);
    error_clear(&error);
    /* It says that it is empty. */
    assert_int_equal(copy_file("/proc/self/comm", in_place("comm"), &plain, &error), 0);
    assert_int_equal(stat(in_place("comm"), &one), 0);
    assert_true(one.st_size > 0);
}

static void dirs(void **state)
{
    struct copy_options all = {0}, some = {.takes = takes_only_a};
    struct error error = {0};

    assert_int_equal(mkdir(in_place("from"), 0777), 0);
    assert_int_equal(mkdir(in_place("from/sub"), 0777), 0);
    assert_int_equal(mkdir(in_place("from/empty"), 0777), 0);
    put_file("from/top", "1");
    put_file("from/sub/a", "2");
    put_file("from/sub/b", "3");
    assert_int_equal(symlink("top", in_place("from/link")), 0);
    assert_int_equal(mkfifo(in_place("from/pipe"), 0666), 0);
    assert_int_equal(copy_dir(in_place("from"), in_place("to"), &all, &error), 0);
    has_file("to/top", "1");
    has_file("to/sub/a", "2");
    has_file("to/sub/b", "3");
    assert_int_equal(access(in_place("to/link"), F_OK), -1);
    assert_int_equal(access(in_place("to/pipe"), F_OK), -1);
    assert_int_equal(copy_dir(in_place("from"), in_place("few"), &some, &error), 0);
    has_file("few/sub/a", "2");
    assert_int_equal(access(in_place("few/top"), F_OK), -1);
    assert_int_equal(copy_dir(in_place("none"), in_place("never"), &all, &error), -ENOENT);
}

/* A file of a MiB that was released, some bytes, a hole between, and one at the end. */
static void holes(void **state)
{
    enum { BEGIN = 1 << 20, SECOND = 3 << 20, SIZE = 4 << 20 };
    const struct copy_options options = {0};
    struct error error = {0};
    struct stat from, to;
    char got[8] = "";
    int fd = open(in_place("holes"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(pwrite(fd, "one", 3, BEGIN), 3);
    assert_int_equal(pwrite(fd, "two", 3, SECOND), 3);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    assert_int_equal(fstat(fd, &from), 0);
    close(fd);
    assert_int_equal(copy_file(in_place("holes"), in_place("copy"), &options, &error), 0);
    fd = open(in_place("copy"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(fd, &to), 0);
    assert_int_equal(to.st_size, SIZE);
    assert_int_equal(pread(fd, got, 3, BEGIN), 3);
    assert_string_equal(got, "one");
    assert_int_equal(pread(fd, got, 3, SECOND), 3);
    assert_string_equal(got, "two");
    if (lseek(fd, 0, SEEK_DATA) == 0)
        print_message("the file system has no holes\n");
    else
        assert_true(to.st_blocks <= from.st_blocks);
    assert_int_equal(sparse_begin(fd), BEGIN);
    close(fd);
}

/* A copy by a program that does not keep holes, and files that begin with fewer zeros. */
static void begins_with_zeros(void **state)
{
    static const char zeros[3 * 65536 + 100];
    static const size_t cases[] = {0, 1, 4095, 4096, 4097, 65536, 3 * 65536, 3 * 65536 + 100};

    (void)state;
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        int fd = open(in_place("zeros"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, zeros, cases[i]), (int)cases[i]);
        assert_int_equal(write(fd, "data", 4), 4);
        assert_int_equal(write(fd, zeros, 8192), 8192);
        assert_int_equal(sparse_begin(fd), cases[i] < 4096 ? 0 : cases[i]);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), (int)cases[i] + 4 + 8192);
        close(fd);
    }
}

/* A recording that is still under way releases its beginning between the opening and the first read. */
static void released_before_the_first_read(void **state)
{
    struct error error = {0};
    struct input in;
    int fd = open(in_place("released"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_int_equal(pwrite(fd, "a", 1, 0), 1);
    assert_int_equal(pwrite(fd, "b", 1, 65536), 1);
    assert_int_equal(pwrite(fd, "c", 1, (off_t)3 * 65536), 1);
    assert_int_equal(sparse_release(fd, 0, 65536), 0);
    assert_int_equal(input_open(&in, in_place("released"), INPUT_BUFFER_SIZE, &error), 0);
    assert_int_equal(input_offset(&in), 65536);
    assert_int_equal(sparse_release(fd, 65536, 3 * 65536), 0);
    assert_int_equal(input_need(&in, 1, &error), 1);
    assert_int_equal(input_offset(&in), 3 * 65536);
    assert_int_equal(*input_at(&in), 'c');
    input_done(&in);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dirs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(begins_with_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(released_before_the_first_read, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
