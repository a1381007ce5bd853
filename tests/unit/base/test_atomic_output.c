/* SPDX-License-Identifier: MIT */
/* base/atomic_output.h: an output appears when it is complete, and else leaves nothing. */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/unnamed_file.h"

static char scratch[64];
static char path[128];

static unsigned count_entries(const char *directory)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    unsigned n = 0;

    assert_non_null(dir);
    while ((entry = readdir(dir)))
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void put_file(const char *directory, const char *name)
{
    char file[384];
    int fd;

    snprintf(file, sizeof file, "%s/%s", directory, name);
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static bool exists(const char *directory, const char *name)
{
    char file[384];

    snprintf(file, sizeof file, "%s/%s", directory, name);
    return access(file, F_OK) == 0;
}

static int set_up(void **state)
{
    snprintf(scratch, sizeof scratch, "/tmp/strata-test-XXXXXX");
    if (!mkdtemp(scratch))
        return -1;
    snprintf(path, sizeof path, "%s/output", scratch);
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

static bool any_directory(const char *directory)
{
    return directory;
}

static void a_file_appears_when_it_is_committed(void **state)
{
    struct atomic_output output;
    struct error error = {0};
    struct stat st;

    assert_int_equal(atomic_output_open(ATOMIC_OUTPUT_STREAM, path, NULL, NULL, &output, &error),
                     0);
    text_put_str(&output.out, "text");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(atomic_output_commit(&output, &error), 0);
    atomic_output_done(&output);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(count_entries(scratch), 1);
}

static void an_output_that_is_not_committed_leaves_the_old_one(void **state)
{
    struct atomic_output output;
    struct error error = {0};

    put_file(scratch, "output");
    assert_int_equal(atomic_output_open(ATOMIC_OUTPUT_FILE, path, NULL, NULL, &output, &error), 0);
    assert_int_equal(write(output.fd, "half", 4), 4);
    atomic_output_done(&output);
    assert_int_equal(count_entries(scratch), 1);
    assert_true(exists(scratch, "output"));
}

static void a_directory_that_is_not_empty_is_refused(void **state)
{
    struct atomic_output output;
    struct error error = {0};

    assert_int_equal(mkdir(path, 0700), 0);
    put_file(path, "precious");
    assert_int_equal(atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, NULL, NULL, &output, &error),
                     -EEXIST);
    assert_string_equal(error.what, "directory exists and is not empty; name another directory");
    assert_true(exists(path, "precious"));
    assert_int_equal(count_entries(scratch), 1);
}

static void a_directory_may_be_replaced_where_the_caller_says_so(void **state)
{
    struct atomic_output output;
    struct error error = {0};

    assert_int_equal(mkdir(path, 0700), 0);
    put_file(path, "old");
    assert_int_equal(
        atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, any_directory, NULL, &output, &error), 0);
    put_file(output.temp_path, "new");
    assert_true(exists(path, "old"));
    assert_int_equal(atomic_output_commit(&output, &error), 0);
    atomic_output_done(&output);
    assert_false(exists(path, "old"));
    assert_true(exists(path, "new"));
    assert_int_equal(count_entries(scratch), 1);
}

static void a_file_in_the_place_of_a_directory_is_named(void **state)
{
    struct atomic_output output;
    struct error error = {0};

    put_file(scratch, "output");
    assert_int_equal(
        atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, any_directory, NULL, &output, &error),
        -EEXIST);
    assert_string_equal(error.what, "exists and is not a directory; name another directory");
}

static void a_directory_has_the_mode_that_mkdir_gives(void **state)
{
    struct atomic_output output;
    struct error error = {0};
    mode_t mask = umask(027);
    struct stat st;

    assert_int_equal(atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, NULL, NULL, &output, &error),
                     0);
    umask(mask);
    assert_int_equal(atomic_output_commit(&output, &error), 0);
    atomic_output_done(&output);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
    assert_int_equal(count_entries(scratch), 1);
}

/* A child writes a directory with a directory in it, and gets NUMBER, which ends it. */
static void end_by_signal(int number)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        struct atomic_output output;
        struct error error = {0};
        char inner[256];

        signal(number, SIG_DFL); /* nohup and background jobs ignore some */
        if (atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, NULL, NULL, &output, &error) < 0)
            _exit(1);
        snprintf(inner, sizeof inner, "%s/inner", output.temp_path);
        if (mkdir(inner, 0700) < 0)
            _exit(2);
        put_file(inner, "file");
        raise(number);
        _exit(3);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static void a_signal_leaves_nothing(void **state)
{
    end_by_signal(SIGTERM);
    end_by_signal(SIGINT);
    assert_int_equal(count_entries(scratch), 0);
}

/* A reader of all directories beside the output, by the pattern "*\/inner", finds nothing of it. */
static void what_a_kill_leaves_is_no_output(void **state)
{
    struct atomic_output output;
    struct error error = {0};
    char pattern[128];
    glob_t found = {0};

    end_by_signal(SIGKILL);
    assert_int_equal(count_entries(scratch), 1);
    snprintf(pattern, sizeof pattern, "%s/*/inner", scratch);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
    globfree(&found);

    assert_int_equal(atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, NULL, NULL, &output, &error),
                     0);
    put_file(output.temp_path, "new");
    assert_int_equal(atomic_output_commit(&output, &error), 0);
    atomic_output_done(&output);
    assert_true(exists(path, "new"));
    assert_int_equal(count_entries(scratch), 2);
}

static void the_first_signal_may_be_a_request_to_stop(void **state)
{
    static volatile sig_atomic_t stop;
    struct atomic_output output;
    struct error error = {0};

    stop = 0;
    assert_int_equal(atomic_output_open(ATOMIC_OUTPUT_STREAM, path, NULL, &stop, &output, &error),
                     0);
    raise(SIGTERM);
    assert_int_equal(stop, SIGTERM);
    assert_int_equal(atomic_output_commit(&output, &error), 0);
    atomic_output_done(&output);
    assert_true(exists(scratch, "output"));
}

/* Also where the file system has none (overlayfs before Linux 6.1). */
static void a_file_without_a_name_is_in_no_directory(void **state)
{
    int (*const open_one[])(int, const char *) = {unnamed_file_open, unnamed_file_open_by_name};

    for (size_t i = 0; i < sizeof open_one / sizeof *open_one; i++) {
        char byte = 0;
        int fd = open_one[i](AT_FDCWD, scratch);

        assert_true(fd >= 0);
        assert_int_equal(count_entries(scratch), 0);
        assert_int_equal(pwrite(fd, "x", 1, 8192), 1);
        assert_int_equal(pread(fd, &byte, 1, 8192), 1);
        assert_int_equal(byte, 'x');
        close(fd);
        assert_int_equal(open_one[i](AT_FDCWD, "/nonexistent"), -ENOENT);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_appears_when_it_is_committed),
        TEST(an_output_that_is_not_committed_leaves_the_old_one),
        TEST(a_directory_that_is_not_empty_is_refused),
        TEST(a_directory_may_be_replaced_where_the_caller_says_so),
        TEST(a_file_in_the_place_of_a_directory_is_named),
        TEST(a_directory_has_the_mode_that_mkdir_gives),
        TEST(a_signal_leaves_nothing),
        TEST(what_a_kill_leaves_is_no_output),
        TEST(the_first_signal_may_be_a_request_to_stop),
        TEST(a_file_without_a_name_is_in_no_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
