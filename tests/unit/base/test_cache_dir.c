/* SPDX-License-Identifier: MIT */
/* Whose directory is used as the cache. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_dir.h"

static char work[] = "/tmp/strata-cache-dir-XXXXXX";
static char home[64], cache[64];

static int make(void **state)
{
    (void)state;
    if (!mkdtemp(work))
        return -1;
    snprintf(home, sizeof home, "%s/home", work);
    snprintf(cache, sizeof cache, "%s/some/cache", work);
    return mkdir(home, 0700);
}

static int clean(void **state)
{
    (void)state;
    return rmdir(home) < 0 || rmdir(work) < 0 ? -1 : 0;
}

static void expect(const char *wanted)
{
    struct text text = TEXT_IN_MEMORY;

    cache_dir_put_path(&text);
    assert_int_equal(text.error, 0);
    assert_string_equal(text.start, wanted);
    text_done(&text);
}

static void is_below_home_or_the_cache(void **state)
{
    char wanted[128];

    (void)state;
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", home, 1);
    snprintf(wanted, sizeof wanted, "%s/.cache/strata", home);
    expect(wanted);
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect(wanted);
    /* It is made when it is first used. */
    setenv("XDG_CACHE_HOME", cache, 1);
    snprintf(wanted, sizeof wanted, "%s/strata", cache);
    expect(wanted);
}

static void is_not_another_user_s(void **state)
{
    (void)state;
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nonexistent", 1);
    expect("");
    setenv("HOME", "", 1);
    expect("");
    if (geteuid() != 0)
        skip();
    setenv("HOME", home, 1);
    assert_int_equal(chown(home, 65534, 65534), 0);
    expect("");
    setenv("XDG_CACHE_HOME", home, 1);
    expect("");
    assert_int_equal(chown(home, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_below_home_or_the_cache),
        cmocka_unit_test(is_not_another_user_s),
    };

    return cmocka_run_group_tests(tests, make, clean);
}
