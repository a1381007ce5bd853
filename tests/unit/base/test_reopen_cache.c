/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/reopen_cache.h"

static unsigned n_freed;

static void count_free(void *thing)
{
    (void)thing;
    n_freed++;
}

static void first_of_a_key_stays(void **state)
{
    struct reopen_cache *cache = reopen_cache_new();
    char key[] = "a";
    int first, second, other;

    n_freed = 0;
    assert_null(reopen_cache_get(cache, "a"));
    assert_int_equal(reopen_cache_put(cache, key, &first, count_free), 0);
    key[0] = 'b'; /* the key was copied */
    assert_int_equal(reopen_cache_put(cache, "a", &second, count_free), -EEXIST);
    assert_int_equal(reopen_cache_put(cache, "b", &other, count_free), 0);
    assert_ptr_equal(reopen_cache_get(cache, "a"), &first);
    assert_ptr_equal(reopen_cache_get(cache, "b"), &other);
    assert_null(reopen_cache_get(cache, "c"));
    assert_int_equal(n_freed, 0);
    reopen_cache_free(cache);
    assert_int_equal(n_freed, 2);
}

static void without_a_cache_nothing_is_kept(void **state)
{
    int thing;

    n_freed = 0;
    assert_null(reopen_cache_get(NULL, "a"));
    assert_int_equal(reopen_cache_put(NULL, "a", &thing, count_free), -ENOENT);
    reopen_cache_free(NULL);
    assert_int_equal(n_freed, 0);
}

/* Opens the file FD, as its name in /proc, and returns how many bytes can be read. */
static size_t read_fixed(struct reopen_cache *cache, int fd)
{
    struct error error = {0};
    struct input in;
    char path[32], byte;
    size_t n;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(input_open(&in, path, 4096, &error), 0);
    assert_int_equal(reopen_cache_fix_end(cache, &in, &error), 0);
    while (input_refill(&in, &error) > 0 && !in.ended)
        ;
    n = input_buffered(&in);
    assert_int_equal(input_read_at(&in, n, &byte, 1, &error), 0);
    input_done(&in);
    return n;
}

static void a_file_that_grows_ends_where_it_did(void **state)
{
    struct reopen_cache *cache = reopen_cache_new();
    FILE *file = tmpfile(), *later = tmpfile();

    assert_non_null(file);
    assert_non_null(later);
    fputs("first", file);
    fflush(file);
    assert_int_equal(read_fixed(cache, fileno(file)), 5);
    reopen_cache_seal(cache);
    fputs("more", file);
    fflush(file);
    fputs("a source that began later", later);
    fflush(later);
    assert_int_equal(read_fixed(cache, fileno(file)), 5);
    assert_int_equal(read_fixed(cache, fileno(later)), 0);
    assert_int_equal(read_fixed(NULL, fileno(file)), 9);
    fclose(file);
    fclose(later);
    reopen_cache_free(cache);
}

/* /proc states 0 bytes for files that have some. */
static void a_file_of_the_kernel_is_read_whole(void **state)
{
    struct reopen_cache *cache = reopen_cache_new();
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    struct error error = {0};
    struct input in;

    assert_true(fd >= 0);
    assert_int_equal(input_open_fd(&in, fd, "status", 4096, &error), 0);
    reopen_cache_seal(cache);
    assert_int_equal(reopen_cache_fix_end(cache, &in, &error), 0);
    assert_int_equal(input_refill(&in, &error), 1);
    input_done(&in);
    reopen_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_of_a_key_stays),
        cmocka_unit_test(without_a_cache_nothing_is_kept),
        cmocka_unit_test(a_file_that_grows_ends_where_it_did),
        cmocka_unit_test(a_file_of_the_kernel_is_read_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
