/* SPDX-License-Identifier: MIT */
/* What the user says of common events (merge/common_events.h). */

#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "merge/common_events.h"

static void parses(const char *given, const char *a, const char *a_text, const char *b,
                   const char *b_text, bool ordered)
{
    struct common_sync sync;
    struct error error = {0};

    if (common_sync_parse(given, &sync, &error) < 0)
        fail_msg("%s: %s", given, error.what);
    assert_string_equal(sync.a.event, a);
    assert_string_equal(sync.b.event, b);
    assert_string_equal(sync.a.text ? sync.a.text : "-", a_text);
    assert_string_equal(sync.b.text ? sync.b.text : "-", b_text);
    assert_int_equal(sync.ordered, ordered);
    common_sync_done(&sync);
}

static void refuses(const char *given, const char *why)
{
    struct common_sync sync;
    struct error error = {0};

    assert_int_equal(common_sync_parse(given, &sync, &error), -EINVAL);
    if (!strstr(error.what, why))
        fail_msg("%s: %s", given, error.what);
}

static void what_users_say(void **state)
{
    parses("guest:print~MARK = vmm:marker", "guest:print", "MARK", "vmm:marker", "-", false);
    parses("a<b", "a", "-", "b", "-", true);
    parses("  a ~ x=1 <  b~y<2 ", "a", "x=1", "b", "y<2", true);
    parses("a~(x) < b~(\\d+)", "a", "(x)", "b", "(\\d+)", true);
    refuses("a", "requires");
    refuses("", "requires");
    refuses("a=b=c", "requires");
    refuses("= b", "names no event");
    refuses("a: = b", "names no event");
    refuses("a~[ = b", "regular expression");
    refuses("a~(x) = b", "one side only");
    refuses("a~(x) = b~(x)(y)", "1 parentheses in one TEXT and 2 in the other");
    refuses("a~(1)(2)(3)(4)(5)(6)(7)(8)(9) = b", "more than 8");
}

/* regcomp(3) takes exponential time and memory for these. */
static void no_expression_takes_long(void **state)
{
    struct common_sync sync;
    struct error error = {0};

    assert_int_equal(common_sync_parse("a~(?:(?:(?:(?:(?:(?:a*)*)*)*)*)*)* < "
                                       "b~(?:(?:(?:(?:(?:(?:a+)+)+)+)+)+)+",
                                       &sync, &error),
                     0);
    common_sync_done(&sync);
    refuses("a~(?:(?:(?:a{1,9999}){1,9999}){1,9999}){1,9999} = b", "regular expression");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_users_say),
        cmocka_unit_test(no_expression_takes_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
