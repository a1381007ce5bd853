/* SPDX-License-Identifier: MIT */
#include "serve/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "libraries/libpcre2.h"

#define LENGTH_MAX 256
#define STEPS_MAX 50000 /* for one text: some hundred times what sensible expressions need */
#define HEAP_MAX_KIB 1024

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    libpcre2.match_context_free(pattern->context);
    libpcre2.match_data_free(pattern->data);
    libpcre2.code_free(pattern->code);
    free(pattern);
}

int pattern_compile(const char *expression, struct pattern **ret, struct error *error)
{
    size_t len = strlen(expression), at;
    struct pattern *pattern = NULL;
    unsigned char why[128] = "";
    int r;

    if (len > LENGTH_MAX)
        return error_set(error, -EINVAL, NULL, "an expression is longer than %d characters",
                         LENGTH_MAX);
    pattern = calloc(1, sizeof *pattern);
    if (!pattern)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    pattern->code = libpcre2.compile((PCRE2_SPTR)expression, len,
                                     PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &r, &at, NULL);
    if (!pattern->code) {
        free(pattern);
        if (r == PCRE2_ERROR_HEAP_FAILED)
            return error_set(error, -ENOMEM, NULL, "out of memory");
        (void)libpcre2.get_error_message(r, why, sizeof why);
        return error_set(error, -EINVAL, NULL,
                         "'%s' is not a regular expression: %s at character %zu", expression, why,
                         at + 1);
    }
    pattern->data = libpcre2.match_data_create(1, NULL);
    pattern->context = libpcre2.match_context_create(NULL);
    if (!pattern->data || !pattern->context) {
        pattern_free(pattern);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    (void)libpcre2.set_match_limit(pattern->context, STEPS_MAX);
    (void)libpcre2.set_heap_limit(pattern->context, HEAP_MAX_KIB);
    *ret = pattern;
    return 0;
}

int pattern_matches(const struct pattern *pattern, const char *text, size_t len)
{
    int r =
        libpcre2.match(pattern->code, (PCRE2_SPTR)text, len, 0, 0, pattern->data, pattern->context);

    if (r >= 0)
        return 1;
    return r == PCRE2_ERROR_NOMATCH ? 0 : r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -ETIMEDOUT;
}
