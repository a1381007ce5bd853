/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include "cli/option_rules.h"
#include "cmd/cmd.h"

struct target {
    bool flag;
    const char *word;
    struct strings words;
    uint64_t number;
    unsigned choice;
    int parsed;
};

static int parse_even(void *member, const char *value, struct error *error)
{
    int v = atoi(value);

    if (v % 2)
        return error_set(error, -EINVAL, NULL, "is odd");
    *(int *)member = v;
    return 0;
}

static const char *const colours[] = {"red", "green", "blue", NULL};

#define MEMBER(m) offsetof(struct target, m)
static const struct cli_option table[] = {
    {OPTION_FLAG, 'f', "flag", NULL, "a flag", MEMBER(flag)},
    {OPTION_STRING, 'w', "word", "WORD", "a word", MEMBER(word)},
    {OPTION_STRINGS, 'm', "many", "WORD", "many words, more than a line of the help has room for",
     MEMBER(words)},
    {OPTION_NUMBER, 0, "number", "N", "a number", MEMBER(number)},
    {OPTION_CHOICE, 'c', "colour", "COLOUR", "a colour", MEMBER(choice), .choices = colours,
     .default_text = "red"},
    {OPTION_PARSED, 0, "even", "N", "an even number", MEMBER(parsed), .parse = parse_even},
    {OPTION_HELP, 'h', "help", NULL, "this"},
    {OPTION_END},
};
static const struct option_group groups[] = {{"All", table, 0}, {NULL}};
static const struct command command = {
    .name = "test", .summary = "s", .operands = "X…", .about = "A.", .groups = groups};

/* What was printed to FILE's descriptor while the last parse ran. */
static char printed[4096];

static bool parse(struct target *target, const char **words, int *ret_n, int *ret_status)
{
    char **argv = (char **)words;
    FILE *file = tmpfile();
    int saved[2] = {dup(1), dup(2)};
    int argc = 0;
    bool go_on;
    size_t n;

    while (argv[argc])
        argc++;
    fflush(NULL);
    dup2(fileno(file), 1);
    dup2(fileno(file), 2);
    go_on = options_parse(&command, argc, argv, target, ret_n, ret_status);
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    rewind(file);
    n = fread(printed, 1, sizeof printed - 1, file);
    printed[n] = '\0';
    fclose(file);
    return go_on;
}

#define PARSE(target, ...) parse(target, (const char *[]){"test", __VA_ARGS__, NULL}, &n, &status)

static void test_all_kinds(void **state)
{
    struct target t = {0};
    const char *argv[] = {"test",     "one",  "-fw", "-x",         "--many=a", "-m",
                          "b",        "-mc",  "-",   "--number=7", "--even",   "4",
                          "--colour", "blue", "--",  "-f",         NULL};
    int n, status;

    assert_true(parse(&t, argv, &n, &status));
    assert_true(t.flag);
    assert_string_equal(t.word, "-x");
    assert_int_equal(t.words.n, 3);
    assert_string_equal(t.words.items[0], "a");
    assert_string_equal(t.words.items[1], "b");
    assert_string_equal(t.words.items[2], "c");
    assert_int_equal(t.number, 7);
    assert_int_equal(t.parsed, 4);
    assert_int_equal(t.choice, 2);
    assert_int_equal(n, 3);
    assert_string_equal(argv[1], "one");
    assert_string_equal(argv[2], "-");
    assert_string_equal(argv[3], "-f");
    strings_done(&t.words);
}

static void test_many_strings(void **state)
{
    struct target t = {0};
    int n, status;

    for (int i = 0; i < 1000; i++)
        assert_true(PARSE(&t, "-m", i % 2 ? "odd" : "even"));
    assert_int_equal(t.words.n, 1000);
    assert_string_equal(t.words.items[998], "even");
    assert_string_equal(t.words.items[999], "odd");
    strings_done(&t.words);
}

static void test_errors(void **state)
{
    struct target t = {0};
    int n, status;

    assert_false(PARSE(&t, "--flgs"));
    assert_int_equal(status, EXIT_USAGE);
    assert_string_equal(printed, "strata test: unknown option '--flgs'; did you mean '--flag'?\n"
                                 "Try 'strata test --help'.\n");
    assert_false(PARSE(&t, "--num=3"));
    assert_non_null(strstr(printed, "did you mean '--number'"));
    assert_false(PARSE(&t, "--zzzzzzzz"));
    assert_non_null(strstr(printed, "unknown option '--zzzzzzzz'\n"));
    assert_false(PARSE(&t, "-fz"));
    assert_non_null(strstr(printed, "unknown option '-z'"));
    assert_false(PARSE(&t, "--flag=1"));
    assert_non_null(strstr(printed, "--flag accepts no argument"));
    assert_false(PARSE(&t, "--word"));
    assert_non_null(strstr(printed, "--word requires WORD"));
    assert_false(PARSE(&t, "-w"));
    assert_non_null(strstr(printed, "-w requires WORD"));
    assert_false(PARSE(&t, "--colour=pink"));
    assert_non_null(strstr(printed, "--colour 'pink' is not one of red, green or blue"));
    assert_false(PARSE(&t, "--even", "3"));
    assert_non_null(strstr(printed, "--even '3' is odd"));
    status = 0;
    assert_false(PARSE(&t, "--number=-3"));
    assert_int_equal(status, EXIT_USAGE);
    assert_non_null(strstr(printed, "--number '-3' is less than 0"));
    assert_false(PARSE(&t, "--number=3x"));
    assert_false(PARSE(&t, "--number="));
    assert_false(PARSE(&t, "--number=99999999999999999999"));
    assert_non_null(strstr(printed, "is not a whole number"));
}

static void test_help(void **state)
{
    struct target t = {0};
    int n, status = -1;

    assert_false(PARSE(&t, "-h", "--zzz"));
    assert_int_equal(status, EXIT_SUCCESS);
    assert_string_equal(
        printed,
        "Usage: strata test [OPTION...] X…\n\nA.\n\nAll:\n"
        "  -f, --flag              a flag\n"
        "  -w, --word=WORD         a word\n"
        "  -m, --many=WORD         many words, more than a line of the help has room for;\n"
        "                          repeatable\n"
        "      --number=N          a number\n"
        "  -c, --colour=COLOUR     a colour (default: red)\n"
        "      --even=N            an even number\n"
        "  -h, --help              this\n");
}

/* The options are given in this order, as "word=x"; ended by NULL. */
static void check_rules(const char *message, const char *const *words)
{
    static const struct cli_option options[] = {
        {OPTION_FLAG, 0, "on", NULL, "h"},
        {OPTION_FLAG, 0, "then", NULL, "h", .requires = "--on"},
        {OPTION_STRING, 0, "to", "FORMAT", "h"},
        {OPTION_STRINGS, 0, "event", "EVENT", "h"},
        {OPTION_STRING, 0, "output", "FILE", "h"},
        {OPTION_FLAG, 0, "threads", NULL, "h", .requires = "--on or --event=host:EVENT"},
        {OPTION_FLAG, 0, "open", NULL, "h", .requires = "--to=html, --to=svg or --output=FILE",
         .excludes = "--then and --event=x"},
    };
    struct given_option given[8];
    struct error error = {0};
    unsigned n = 0;
    int r;

    for (; words[n]; n++) {
        const char *value = strchr(words[n], '=');
        size_t i = 0, len = value ? (size_t)(value - words[n]) : strlen(words[n]);

        while (strlen(options[i].name) != len || memcmp(options[i].name, words[n], len) != 0)
            i++;
        given[n] = (struct given_option){&options[i], value ? value + 1 : NULL};
    }
    r = option_rules_check(given, n, &error);
    assert_string_equal(error.what, message);
    assert_int_equal(r, *message ? -EINVAL : 0);
}

#define RULES(message, ...) check_rules(message, (const char *const[]){__VA_ARGS__, NULL})

static void test_rules(void **state)
{
    RULES("", "on");
    RULES("", "then", "on");
    RULES("--then requires --on", "then", "to=on");
    RULES("", "open", "to=svg");
    RULES("", "to=svg,html", "open");
    RULES("--open requires --to=html, --to=svg or --output=FILE", "open", "to=htm");
    RULES("--open requires --to=html, --to=svg or --output=FILE", "open", "to=html5");
    /* The last one counts, but of those that may be repeated. */
    RULES("--open requires --to=html, --to=svg or --output=FILE", "open", "to=html", "to=x");
    RULES("", "open", "to=x", "to=html");
    RULES("--threads requires --on or --event=host:EVENT", "threads", "event=a,hosts");
    RULES("", "threads", "event=a,host:b", "event=c");
    RULES("--open requires --to=html, --to=svg or --output=FILE", "open", "output=-");
    RULES("", "open", "output=f");
    RULES("--open excludes --then", "on", "then", "open", "output=f");
    RULES("--open excludes --event=x", "event=x", "event=y", "output=f", "open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds), cmocka_unit_test(test_many_strings),
        cmocka_unit_test(test_errors),    cmocka_unit_test(test_help),
        cmocka_unit_test(test_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
