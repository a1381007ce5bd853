/* SPDX-License-Identifier: MIT */
#include "libraries/regex.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/libpcre2.h"

#define LENGTH_MAX 1024
#define STEPS_MAX 50000 /* for one text: some hundred times what sensible expressions need */
#define HEAP_MAX_KIB 1024

struct regex {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    unsigned groups;
};

void regex_free(struct regex *regex)
{
    if (!regex)
        return;
    libpcre2.match_context_free(regex->context);
    libpcre2.match_data_free(regex->data);
    libpcre2.code_free(regex->code);
    free(regex);
}

int regex_compile(const char *expression, struct regex **ret, struct error *error)
{
    size_t len = strlen(expression), at;
    struct regex *regex = NULL;
    unsigned char why[128] = "";
    uint32_t groups = 0;
    int r = libpcre2_load(error);

    if (r < 0)
        return r;
    if (len > LENGTH_MAX)
        return error_set(error, -EINVAL, NULL, "an expression is longer than %d characters",
                         LENGTH_MAX);
    regex = calloc(1, sizeof *regex);
    if (!regex)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    regex->code = libpcre2.compile((PCRE2_SPTR)expression, len,
                                   PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &r, &at, NULL);
    if (!regex->code) {
        free(regex);
        if (r == PCRE2_ERROR_HEAP_FAILED)
            return error_set(error, -ENOMEM, NULL, "out of memory");
        (void)libpcre2.get_error_message(r, why, sizeof why);
        return error_set(error, -EINVAL, NULL,
                         "'%s' is not a regular expression: %s at character %zu", expression, why,
                         at + 1);
    }
    (void)libpcre2.pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    regex->groups = groups;
    regex->data = libpcre2.match_data_create(groups + 1, NULL);
    regex->context = libpcre2.match_context_create(NULL);
    if (!regex->data || !regex->context) {
        regex_free(regex);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    (void)libpcre2.set_match_limit(regex->context, STEPS_MAX);
    (void)libpcre2.set_heap_limit(regex->context, HEAP_MAX_KIB);
    *ret = regex;
    return 0;
}

unsigned regex_groups(const struct regex *regex)
{
    return regex->groups;
}

int regex_match(const struct regex *regex, const char *text, size_t len, struct regex_range *ranges,
                unsigned n_ranges)
{
    int r = libpcre2.match(regex->code, (PCRE2_SPTR)text, len, 0, 0, regex->data, regex->context);
    const size_t *offsets;

    if (r < 0)
        return r == PCRE2_ERROR_NOMATCH ? 0 : r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -ETIMEDOUT;
    offsets = libpcre2.get_ovector_pointer(regex->data);
    for (unsigned i = 0; i < n_ranges; i++) {
        bool took_part = i < (unsigned)r && offsets[2 * i] != PCRE2_UNSET;

        ranges[i] = took_part ? (struct regex_range){offsets[2 * i], offsets[2 * i + 1]}
                              : (struct regex_range){0};
    }
    return 1;
}
