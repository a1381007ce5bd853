/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include "print/wrap.h"

static void check(unsigned width, const char *lines, const char *expected)
{
    struct text in = TEXT_IN_MEMORY, out = TEXT_IN_MEMORY;

    text_put_str(&in, lines);
    wrap_lines(&out, &in, width);
    assert_int_equal(text_len(&in), 0);
    text_put_char(&out, '\0');
    assert_string_equal(out.start, expected);
    text_done(&in);
    text_done(&out);
}

/* Words stay whole, and what follows a number, a dash or a blank is below it. */
static void test_lines(void **state)
{
    static const char note[] =
        "a note whose words are more than a line of this terminal has room for\n";

    (void)state;
    check(0, note, note);
    check(100, note, note);
    check(40, note,
          "a note whose words are more than a line\n"
          "  of this terminal has room for\n");
    check(40, "        12 spans were open at the end of the trace: not counted\nshort\n",
          "        12 spans were open at the end of\n"
          "           the trace: not counted\n"
          "short\n");
    check(40, "- exits by io take 13.0% of the time of a vCPU\n",
          "- exits by io take 13.0% of the time of\n"
          "  a vCPU\n");
    check(40, "      worker-7853 ran 219.7 us, slept 6.22 ms\n",
          "      worker-7853 ran 219.7 us, slept\n"
          "        6.22 ms\n");
}

/* Of UTF-8, characters count. A word that is too long is not broken, and neither is a command. */
static void test_widths(void **state)
{
    (void)state;
    check(40, "\xc2\xb1\xc2\xb1\xc2\xb1\xc2\xb1\xc2\xb1 12345678901234567890 2345678901234\n",
          "\xc2\xb1\xc2\xb1\xc2\xb1\xc2\xb1\xc2\xb1 12345678901234567890 2345678901234\n");
    check(10, "1234567890123456789012345678901234567890123 4\n\n",
          "1234567890123456789012345678901234567890123\n  4\n\n");
    check(40, "  strata report --from 29749.584411789 --until 29749.594805954 vm\n",
          "  strata report --from 29749.584411789 --until 29749.594805954 vm\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_widths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
