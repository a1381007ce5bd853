/* SPDX-License-Identifier: MIT */
#include "cli/option_rules.h"

#include <string.h>

/* The next "--name" or "--name=VALUE" of *TEXT, *RET_LEN bytes, which is moved behind it; NULL: there is none. */
static const char *next_option(const char **text, size_t *ret_len)
{
    const char *option = strstr(*text, "--");

    if (!option)
        return NULL;
    *ret_len = strcspn(option, " ,");
    *text = option + *ret_len;
    return option;
}

/* Whether a word of VALUE, between commas, is WANTED, LEN bytes. What begins with a capital letter stands for any text but "-". */
static bool has_word(const char *value, const char *wanted, size_t len)
{
    size_t fixed = 0;

    while (fixed < len && !(wanted[fixed] >= 'A' && wanted[fixed] <= 'Z'))
        fixed++;
    if (fixed == 0)
        return strcmp(value, "-") != 0;
    for (;;) {
        size_t word = strcspn(value, ",");

        if (word >= fixed && memcmp(value, wanted, fixed) == 0 && (fixed < len || word == len))
            return true;
        if (value[word] == '\0')
            return false;
        value += word + 1;
    }
}

/* Whether "--name" or "--name=VALUE", LEN bytes, was given. */
static bool is_given(const struct given_option *given, unsigned n, const char *option, size_t len)
{
    const char *name = option + strlen("--"), *equals = memchr(option, '=', len);
    size_t name_len = (equals ? (size_t)(equals - option) : len) - strlen("--");

    for (unsigned i = n; i-- > 0;) {
        const char *value = given[i].value ? given[i].value : "";

        if (strlen(given[i].option->name) != name_len ||
            memcmp(given[i].option->name, name, name_len) != 0)
            continue;
        if (!equals || has_word(value, equals + 1, len - name_len - strlen("--=")))
            return true;
        /* It replaced those before it. */
        if (!options_is_repeatable(given[i].option))
            return false;
    }
    return false;
}

/* Whether one of the options of RULE, "--xen or --percpu", was given; if so, which. */
static const char *find_given(const struct given_option *given, unsigned n, const char *rule,
                              size_t *ret_len)
{
    const char *option;

    while ((option = next_option(&rule, ret_len)))
        if (is_given(given, n, option, *ret_len))
            return option;
    return NULL;
}

int option_rules_check(const struct given_option *given, unsigned n, struct error *error)
{
    for (unsigned i = 0; i < n; i++) {
        const struct cli_option *option = given[i].option;
        const char *other = NULL;
        size_t len = 0;

        if (option->requires && !find_given(given, n, option->requires, &len))
            return error_set(error, -EINVAL, NULL, "--%s requires %s", option->name,
                             option->requires);
        if (option->excludes)
            other = find_given(given, n, option->excludes, &len);
        if (other)
            return error_set(error, -EINVAL, NULL, "--%s excludes %.*s", option->name, (int)len,
                             other);
    }
    return 0;
}
