/* SPDX-License-Identifier: MIT */
#include "filter/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

int filter_fail(struct filter_error *error, size_t column, const char *format, ...)
{
    va_list args;

    error->column = column;
    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    return -EINVAL;
}

/* At P. */
#define FAIL(lexer, p, ...) \
    filter_fail((lexer)->error, (size_t)((p) - (lexer)->text) + 1, __VA_ARGS__)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* 36 and more: no digit of any base. */
static unsigned digit_value(char c)
{
    return is_digit(c)            ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10
                                  : 36;
}

/* As in C: 0x, 0b and 0 in front, U and L behind. What no signed number of 64 bits can hold is
 * unsigned. */
static int lex_number(struct filter_lexer *lexer, struct filter_token *ret)
{
    const char *start = lexer->at;
    const char *p = start;
    unsigned base = 10;
    uint64_t value = 0;
    bool is_unsigned = false;
    const char *digits;

    if (*p == '0' && (p[1] == 'x' || p[1] == 'X')) {
        base = 16;
        p += 2;
    } else if (*p == '0' && (p[1] == 'b' || p[1] == 'B')) {
        base = 2;
        p += 2;
    } else if (*p == '0') {
        base = 8;
    }
    for (digits = p; digit_value(*p) < base; p++)
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit_value(*p), &value))
            return FAIL(lexer, start, "the number has more than 64 bits");
    if (p == digits)
        return FAIL(lexer, start, "a number in base %u has no digits", base);
    for (; *p == 'u' || *p == 'U' || *p == 'l' || *p == 'L'; p++)
        is_unsigned |= *p == 'u' || *p == 'U';
    if (base == 8 && is_digit(*p))
        return FAIL(lexer, p, "invalid digit '%c' in an octal number (a leading 0 makes it octal)",
                    *p);
    if (*p == '.' || ((*p == 'e' || *p == 'E') && base == 10))
        return FAIL(lexer, start, "numbers are whole ones");
    if (is_letter(*p) || is_digit(*p))
        return FAIL(lexer, p, "'%c' does not belong to a number", *p);
    lexer->at = p;
    *ret = (struct filter_token){.kind = TOKEN_NUMBER,
                                 .is_unsigned = is_unsigned || value > INT64_MAX,
                                 .value = value,
                                 .start = start,
                                 .len = (size_t)(p - start)};
    return 0;
}

/* The escape at *P, behind the backslash. */
static int lex_escape(struct filter_lexer *lexer, const char **p, char *ret)
{
    static const char letters[] = "abfnrtve\\'\"?*";
    static const char meant[] = "\a\b\f\n\r\t\v\033\\'\"?*";
    const char *found = **p ? strchr(letters, **p) : NULL;
    unsigned value = 0;

    if (found) {
        *ret = meant[found - letters];
        (*p)++;
        return 0;
    }
    if (**p == 'x') {
        const char *digits = ++*p;

        for (; digit_value(**p) < 16 && *p < digits + 2; (*p)++)
            value = value * 16 + digit_value(**p);
        if (*p == digits)
            return FAIL(lexer, digits - 2, "'\\x' requires hexadecimal digits");
    } else if (digit_value(**p) < 8) {
        const char *digits = *p;

        for (; digit_value(**p) < 8 && *p < digits + 3; (*p)++)
            value = value * 8 + digit_value(**p);
        if (value > 255)
            return FAIL(lexer, digits - 1, "invalid character '\\%.3s'", digits);
    } else {
        return FAIL(lexer, *p - 1,
                    "unknown escape '\\%c' (valid: \\n, \\t, \\x2c, \\\\, \\\", \\*, \\?)",
                    **p ? **p : ' ');
    }
    *ret = (char)value;
    return 0;
}

static int lex_character(struct filter_lexer *lexer, struct filter_token *ret)
{
    const char *start = lexer->at;
    const char *p = start + 1;
    char c = *p;
    int r;

    if (!c || c == '\'')
        return FAIL(lexer, start, "missing character after '");
    p++;
    if (c == '\\') {
        r = lex_escape(lexer, &p, &c);
        if (r < 0)
            return r;
    }
    if (*p != '\'')
        return FAIL(lexer, start, "one character and ' belong here; write \"...\" for a text");
    lexer->at = p + 1;
    *ret = (struct filter_token){.kind = TOKEN_NUMBER,
                                 .value = (uint64_t)(signed char)c,
                                 .start = start,
                                 .len = (size_t)(lexer->at - start)};
    return 0;
}

static int lex_text(struct filter_lexer *lexer, struct filter_token *ret)
{
    const char *start = lexer->at;
    const char *p = start + 1;
    size_t pattern = lexer->patterns_len;
    int r;

    while (*p != '"') {
        char c = *p;

        if (!c)
            return FAIL(lexer, start, "the text has no \" at its end");
        p++;
        if (c == '\\') {
            r = lex_escape(lexer, &p, &c);
            if (r < 0)
                return r;
            if (!c)
                return FAIL(lexer, start, "a text with a NUL in it matches nothing");
            if (c == '*' || c == '?' || c == '\\')
                lexer->patterns[lexer->patterns_len++] = '\\';
        }
        lexer->patterns[lexer->patterns_len++] = c;
    }
    lexer->patterns[lexer->patterns_len++] = '\0';
    lexer->at = p + 1;
    *ret = (struct filter_token){
        .kind = TOKEN_TEXT, .start = start, .len = (size_t)(lexer->at - start), .pattern = pattern};
    return 0;
}

/* A dot may be in it, as in thread.name, which no argument's name has. */
static void lex_name(struct filter_lexer *lexer, struct filter_token *ret)
{
    const char *start = lexer->at;
    const char *p = start;

    while (is_letter(*p) || is_digit(*p) || (*p == '.' && is_letter(p[1])))
        p++;
    lexer->at = p;
    *ret = (struct filter_token){.kind = TOKEN_NAME, .start = start, .len = (size_t)(p - start)};
}

/* Longer ones first. */
static const struct {
    char text[3];
    uint8_t kind;
    uint8_t op;
} signs[] = {
    {"&&", TOKEN_OPERATOR, OPERATOR_AND},
    {"||", TOKEN_OPERATOR, OPERATOR_OR},
    {"==", TOKEN_OPERATOR, OPERATOR_EQUAL},
    {"!=", TOKEN_OPERATOR, OPERATOR_NOT_EQUAL},
    {"<=", TOKEN_OPERATOR, OPERATOR_LESS_EQUAL},
    {">=", TOKEN_OPERATOR, OPERATOR_GREATER_EQUAL},
    {"<<", TOKEN_OPERATOR, OPERATOR_SHIFT_LEFT},
    {">>", TOKEN_OPERATOR, OPERATOR_SHIFT_RIGHT},
    {"<", TOKEN_OPERATOR, OPERATOR_LESS},
    {">", TOKEN_OPERATOR, OPERATOR_GREATER},
    {"*", TOKEN_OPERATOR, OPERATOR_MULTIPLY},
    {"/", TOKEN_OPERATOR, OPERATOR_DIVIDE},
    {"%", TOKEN_OPERATOR, OPERATOR_MODULO},
    {"+", TOKEN_OPERATOR, OPERATOR_ADD},
    {"-", TOKEN_OPERATOR, OPERATOR_SUBTRACT},
    {"&", TOKEN_OPERATOR, OPERATOR_BIT_AND},
    {"^", TOKEN_OPERATOR, OPERATOR_BIT_XOR},
    {"|", TOKEN_OPERATOR, OPERATOR_BIT_OR},
    {"!", TOKEN_NOT, OPERATOR_NOT},
    {"~", TOKEN_BIT_NOT, OPERATOR_BIT_NOT},
    {"(", TOKEN_OPEN, 0},
    {")", TOKEN_CLOSE, 0},
};

static int lex_sign(struct filter_lexer *lexer, struct filter_token *ret)
{
    const char *at = lexer->at;

    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        size_t len = strlen(signs[i].text);

        if (strncmp(at, signs[i].text, len) != 0)
            continue;
        lexer->at += len;
        *ret = (struct filter_token){
            .kind = signs[i].kind, .op = signs[i].op, .start = at, .len = len};
        return 0;
    }
    if (*at == '=')
        return FAIL(lexer, at, "'=' assigns in C: write '=='");
    if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
        return FAIL(lexer, at, "the byte 0x%02x does not belong here", (unsigned char)*at);
    return FAIL(lexer, at, "'%c' does not belong here", *at);
}

int filter_lex(struct filter_lexer *lexer, struct filter_token *ret)
{
    while (*lexer->at == ' ' || *lexer->at == '\t')
        lexer->at++;
    switch (*lexer->at) {
    case '\0': *ret = (struct filter_token){.kind = TOKEN_END, .start = lexer->at}; return 0;
    case '\'': return lex_character(lexer, ret);
    case '"': return lex_text(lexer, ret);
    default: break;
    }
    if (is_digit(*lexer->at))
        return lex_number(lexer, ret);
    if (!is_letter(*lexer->at))
        return lex_sign(lexer, ret);
    lex_name(lexer, ret);
    return 0;
}
