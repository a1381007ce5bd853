/* SPDX-License-Identifier: MIT */

/* A calculator in postfix notation, traced: calc 3 4 + 5 '*' prints 35. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace-calc.h"

#define DEPTH 32

static int64_t stack[DEPTH];
static unsigned depth;

static int fail(const char *word, const char *what)
{
    trace_calc_error(word, what);
    fprintf(stderr, "calc: '%s': %s\n", word, what);
    return -1;
}

static int push_number(const char *word)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(word, &end, 0);
    if (end == word || *end || errno)
        return fail(word, "neither a number nor one of + - * /");
    if (depth == DEPTH)
        return fail(word, "the stack is full");
    stack[depth++] = value;
    return 0;
}

static int apply(const char *word)
{
    int64_t left, right, result;
    int overflow = 0;

    if (depth < 2)
        return fail(word, "needs two numbers before it");
    right = stack[--depth];
    left = stack[--depth];
    switch (word[0]) {
    case '+': overflow = __builtin_add_overflow(left, right, &result); break;
    case '-': overflow = __builtin_sub_overflow(left, right, &result); break;
    case '*': overflow = __builtin_mul_overflow(left, right, &result); break;
    default:
        if (right == 0 || (right == -1 && left == INT64_MIN))
            return fail(word, "no such quotient");
        result = left / right;
    }
    if (overflow)
        return fail(word, "the result is too large");
    trace_calc_apply(word[0], left, right, result);
    stack[depth++] = result;
    return 0;
}

static int is_operator(const char *word)
{
    return (word[0] == '+' || word[0] == '-' || word[0] == '*' || word[0] == '/') && !word[1];
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        trace_calc_token(argv[i], depth);
        if ((is_operator(argv[i]) ? apply(argv[i]) : push_number(argv[i])) < 0)
            return 1;
    }
    while (depth > 0)
        printf("%" PRId64 "\n", stack[--depth]);
    return 0;
}
