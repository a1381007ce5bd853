/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_of_a_key_stays),
        cmocka_unit_test(without_a_cache_nothing_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
