/* SPDX-License-Identifier: MIT */
/* What process_foreach() makes of directories without a process file, while processes begin and end. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/proc.h"
#include "record/rings/process.h"
#include "runtime/ring/process_file.h"

static char parent[] = "/tmp/strata-test-foreach-XXXXXX";
static char directory[80], file[96], ring[96];
static bool ends_with_its_file; /* the process makes its file, and ends, when it is looked for */
static int stat_error;          /* of looking for the process */

static void make_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Linked in the place of proc_stat(): there is no such process (any more), or it cannot be seen. */
int __wrap_proc_stat(pid_t pid, uint64_t *ret_start, char *ret_state);
int __wrap_proc_stat(pid_t pid, uint64_t *ret_start, char *ret_state)
{
    (void)ret_start, (void)ret_state;
    assert_int_equal(pid, 77);
    if (ends_with_its_file)
        make_file(file, PROCESS_FILE_MAGIC);
    return stat_error;
}

static int count(const char *path, void *userdata)
{
    assert_string_equal(path, directory);
    ++*(unsigned *)userdata;
    return 0;
}

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(parent))
        return -1;
    snprintf(directory, sizeof directory, "%s/77-1234", parent);
    snprintf(file, sizeof file, "%s/" PROCESS_FILE_NAME, directory);
    snprintf(ring, sizeof ring, "%s/" RING_FILE_PREFIX "0", directory);
    if (mkdir(directory, 0700) < 0)
        return -1;
    make_file(ring, "a ring");
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    (void)unlink(ring);
    (void)unlink(file);
    (void)rmdir(directory);
    return rmdir(parent) < 0 ? -1 : (memcpy(parent + strlen(parent) - 6, "XXXXXX", 6), 0);
}

static void a_process_that_ends_with_its_file_keeps_its_rings(void **state)
{
    unsigned n = 0;

    (void)state;
    ends_with_its_file = true;
    stat_error = -ENOENT;
    assert_int_equal(process_foreach(parent, count, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(access(ring, F_OK), 0);
}

static void a_directory_left_half_made_is_removed(void **state)
{
    unsigned n = 0;

    (void)state;
    ends_with_its_file = false;
    stat_error = -ESRCH;
    assert_int_equal(process_foreach(parent, count, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(access(directory, F_OK), -1);
}

static void a_process_that_cannot_be_seen_keeps_its_directory(void **state)
{
    static const int errors[] = {-EIO, -EMFILE, -ENOMEM, -EACCES};
    unsigned n = 0;

    (void)state;
    ends_with_its_file = false;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        stat_error = errors[i];
        assert_int_equal(process_foreach(parent, count, &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(access(ring, F_OK), 0);
    }
}

/* As a process that was killed while it made its directory, or a recorder while it removed that, leaves it. */
static void a_hidden_directory_is_removed_and_not_shown(void **state)
{
    static const char *const names[] = {".77-1234", ".77-1234-2", ".gone-.77-1234"};
    unsigned n = 0;

    (void)state;
    ends_with_its_file = false;
    stat_error = -ENOENT;
    for (unsigned i = 0; i < 3; i++) {
        char hidden[96], inside[112];

        snprintf(hidden, sizeof hidden, "%s/%s", parent, names[i]);
        snprintf(inside, sizeof inside, "%s/" PROCESS_FILE_NAME, hidden);
        assert_int_equal(mkdir(hidden, 0700), 0);
        make_file(inside, PROCESS_FILE_MAGIC);
        assert_int_equal(process_foreach(parent, count, &n), 0);
        assert_int_equal(n, 0);
        assert_int_equal(access(hidden, F_OK), -1);
    }
}

static void a_hidden_directory_of_a_process_that_cannot_be_seen_stays(void **state)
{
    char hidden[96];
    unsigned n = 0;

    (void)state;
    ends_with_its_file = false;
    stat_error = -EACCES;
    snprintf(hidden, sizeof hidden, "%s/.77-1234", parent);
    assert_int_equal(mkdir(hidden, 0700), 0);
    assert_int_equal(process_foreach(parent, count, &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(access(hidden, F_OK), 0);
    assert_int_equal(rmdir(hidden), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_process_that_ends_with_its_file_keeps_its_rings,
                                        make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_directory_left_half_made_is_removed, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_process_that_cannot_be_seen_keeps_its_directory,
                                        make_directory, remove_directory),
        cmocka_unit_test_setup_teardown(a_hidden_directory_is_removed_and_not_shown, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(a_hidden_directory_of_a_process_that_cannot_be_seen_stays,
                                        make_directory, remove_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
