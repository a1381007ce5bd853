/* SPDX-License-Identifier: MIT */
#include "print/xentrace_format_text.h"

#include <stdio.h>

#include "base/number.h"
#include "print/xentrace_rule.h"

/* Writes a float like Python's repr(): the fewest digits that read back as the same number. Returns its length; BUF has
 * 32 bytes. */
static unsigned put_repr(double d, char *buf)
{
    char digits[32];
    char *p = buf;
    int precision = 0;
    int exponent;
    int n;

    do
        snprintf(digits, sizeof digits, "%.*e", precision, d);
    while (strtod(digits, NULL) != d && ++precision < 17);
    /* "-d.ddde+XX" */
    exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        n = snprintf(buf, 32, "%s", digits);
        return (unsigned)n;
    }
    n = snprintf(p, 32, "%.*f", MAX(precision - exponent, 0), d);
    if (!strchr(p, '.'))
        n += snprintf(p + n, (size_t)(32 - n), ".0");
    return (unsigned)n;
}

static bool is_negative(const struct xentrace_op *op, const struct xentrace_values *values)
{
    return op->value == VALUE_RELTSC && values->reltsc_negative;
}

static unsigned put_octal(uint64_t v, char *buf)
{
    return (unsigned)snprintf(buf, 32, "%llo", (unsigned long long)v);
}

/* Writes the digits of an integer conversion, without sign and prefix. */
static unsigned put_digits(const struct xentrace_op *op, const struct xentrace_values *values,
                           char *body, bool *negative)
{
    uint64_t v = values->v[op->value];
    char digits[32];
    unsigned n;
    unsigned zeros;

    *negative = is_negative(op, values);
    if (op->is_float) {
        /* %d cuts the fraction off. */
        double d = values->seconds;
        *negative = d <= -1;
        v = (uint64_t)(d < 0 ? -d : d);
    }
    switch (op->conversion) {
    case 'o': n = put_octal(v, digits); break;
    case 'x':
    case 'X': n = (unsigned)(number_hex(digits, v) - digits); break;
    default: n = (unsigned)(number_dec(digits, v) - digits); break;
    }
    if (op->conversion == 'X')
        for (unsigned i = 0; i < n; i++)
            if (digits[i] >= 'a')
                digits[i] = (char)(digits[i] - 'a' + 'A');
    zeros = op->precision > (int)n ? (unsigned)op->precision - n : 0;
    memset(body, '0', zeros);
    memcpy(body + zeros, digits, n);
    return zeros + n;
}

static unsigned put_float(const struct xentrace_op *op, const struct xentrace_values *values,
                          char *body, bool *negative)
{
    double d = op->is_float ? values->seconds : (double)values->v[op->value];
    char spec[] = {'%', '#', '.', '*', op->conversion, 0};
    int n;

    if (!op->alternate) {
        memmove(spec + 1, spec + 2, sizeof spec - 2);
    }
    /* Also of a zero with a sign. */
    *negative = __builtin_signbit(d) || is_negative(op, values);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    n = snprintf(body, BODY_MAX, spec, op->precision < 0 ? 6 : op->precision, __builtin_fabs(d));
#pragma GCC diagnostic pop
    return (unsigned)n;
}

static void put_fill(char c, uint32_t n, struct text *text)
{
    while (n > 0) {
        uint32_t piece = MIN(n, (uint32_t)TEXT_ROOM_MAX);
        memset(text_room(text, piece), c, piece);
        text->next += piece;
        n -= piece;
    }
}

static void put_number(const struct xentrace_op *op, const struct xentrace_values *values,
                       struct text *text)
{
    char body[BODY_MAX];
    char head[4];
    unsigned head_len = 0;
    bool negative;
    bool integer = strchr("doxX", op->conversion) != NULL;
    unsigned len =
        integer ? put_digits(op, values, body, &negative) : put_float(op, values, body, &negative);
    uint32_t pad;

    if (negative)
        head[head_len++] = '-';
    else if (op->plus)
        head[head_len++] = '+';
    else if (op->blank)
        head[head_len++] = ' ';
    if (op->alternate && integer && op->conversion != 'd') {
        head[head_len++] = '0';
        head[head_len++] = op->conversion;
    }
    pad = op->width > head_len + len ? op->width - head_len - len : 0;
    if (!op->left && op->fill == ' ')
        put_fill(' ', pad, text);
    text_put(text, head, head_len);
    if (!op->left && op->fill == '0')
        put_fill('0', pad, text);
    text_put(text, body, len);
    if (op->left)
        put_fill(' ', pad, text);
}

static void put_padded(const struct xentrace_op *op, const char *s, unsigned len,
                       unsigned characters, struct text *text)
{
    uint32_t pad = op->width > characters ? op->width - characters : 0;

    if (!op->left)
        put_fill(' ', pad, text);
    text_put(text, s, len);
    if (op->left)
        put_fill(' ', pad, text);
}

static unsigned value_text(unsigned value, bool is_float, const struct xentrace_values *values,
                           char *buf)
{
    char *p = buf;

    if (is_float)
        return put_repr(values->seconds, buf);
    if (value == VALUE_RELTSC && values->reltsc_negative)
        *p++ = '-';
    return (unsigned)(number_dec(p, values->v[value]) - buf);
}

static void put_string(const struct xentrace_op *op, const struct xentrace_values *values,
                       struct text *text)
{
    char buf[32];
    unsigned len = value_text(op->value, op->is_float, values, buf);

    if (op->precision >= 0)
        len = MIN(len, (unsigned)op->precision);
    put_padded(op, buf, len, len, text);
}

static unsigned dictionary(const struct xentrace_rule *rule, const struct xentrace_values *values,
                           char *buf)
{
    char *p = buf;

    *p++ = '{';
    for (unsigned i = 0; i < VALUES; i++) {
        p += sprintf(p, "%s'%s': ", i ? ", " : "", xentrace_value_names[i]);
        p += value_text(i, i == VALUE_TSC && rule->seconds, values, p);
    }
    *p++ = '}';
    return (unsigned)(p - buf);
}

#define DICTIONARY_MAX (VALUES * 64)

static void put_dictionary(const struct xentrace_op *op, const struct xentrace_rule *rule,
                           const struct xentrace_values *values, struct text *text)
{
    char buf[DICTIONARY_MAX];
    unsigned len = dictionary(rule, values, buf);

    if (op->precision >= 0)
        len = MIN(len, (unsigned)op->precision);
    put_padded(op, buf, len, len, text);
}

/* Puts a character as UTF-8. */
static void put_char(const struct xentrace_op *op, const struct xentrace_values *values,
                     struct text *text)
{
    uint32_t c = (uint32_t)values->v[op->value];
    char buf[4];
    unsigned len = 1;

    if (c < 0x80) {
        buf[0] = (char)c;
    } else if (c < 0x800) {
        buf[0] = (char)(0xc0 | c >> 6);
        len = 2;
    } else if (c < 0x10000) {
        buf[0] = (char)(0xe0 | c >> 12);
        len = 3;
    } else {
        buf[0] = (char)(0xf0 | c >> 18);
        len = 4;
    }
    for (unsigned i = 1; i < len; i++)
        buf[i] = (char)(0x80 | (c >> 6 * (len - 1 - i) & 0x3f));
    put_padded(op, buf, len, 1, text);
}

static int other_error(const struct xentrace_rule *rule, const char *what, struct error *error)
{
    return error_set(error, -EINVAL, "", "cannot apply the rule '%.*s': %s",
                     (int)MIN(rule->len, (size_t)200), rule->format, what);
}

/* Python raises an error for the first value that is out of range. */
static int check_values(const struct xentrace_rule *rule, const struct xentrace_values *values,
                        struct error *error)
{
    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct xentrace_op *op = &rule->ops[i];
        uint64_t c;

        c = values->v[op->value];
        if (op->kind == OP_STAR && c > (op->precision ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX))
            return other_error(rule, "* of a value that is too large (OverflowError)", error);
        if (op->kind == OP_CHAR && (c > 0x10ffff || is_negative(op, values)))
            return other_error(rule, "%c of a value that is not a character (OverflowError)",
                               error);
    }
    return 0;
}

static int check_surrogates(const struct xentrace_rule *rule, const struct xentrace_values *values,
                            struct error *error)
{
    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct xentrace_op *op = &rule->ops[i];

        if (op->kind == OP_CHAR && values->v[op->value] >= 0xd800 && values->v[op->value] <= 0xdfff)
            return other_error(rule, "%c of a surrogate (UnicodeEncodeError)", error);
    }
    return 0;
}

static void put_slowly(const struct xentrace_rule *rule, const struct xentrace_values *values,
                       struct text *text)
{
    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct xentrace_op *op = &rule->ops[i];

        switch (op->kind) {
        case OP_LITERAL: text_put(text, op->s, op->len); break;
        case OP_DEC:
        case OP_SDEC:
        case OP_HEX:
        case OP_NUMBER: put_number(op, values, text); break;
        case OP_STRING: put_string(op, values, text); break;
        case OP_DICT: put_dictionary(op, rule, values, text); break;
        case OP_CHAR: put_char(op, values, text); break;
        default: break;
        }
    }
    text_put_char(text, '\n');
}

static inline char *put_fast_number(char *p, const struct xentrace_op *op, uint64_t v, bool hex)
{
    unsigned n = hex ? (unsigned)(67 - __builtin_clzll(v | 1)) / 4 : number_dec_digits(v | 1);
    unsigned pad = op->width > n ? op->width - n : 0;

    if (op->fill == '0')
        return hex && n + pad <= 16 ? number_hex_fixed(p, v, n + pad)
                                    : (memset(p, '0', pad), hex ? number_hex_fixed(p + pad, v, n)
                                                                : number_dec_fixed(p + pad, v, n));
    if (pad) {
        memset(p, ' ', pad);
        p += pad;
    }
    return hex ? number_hex_fixed(p, v, n) : number_dec_fixed(p, v, n);
}

_hot_ static void put_fast(const struct xentrace_rule *rule, const struct xentrace_values *values,
                           struct text *text)
{
    char *p = text_room(text, rule->max);

    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct xentrace_op *op = &rule->ops[i];

        switch (op->kind) {
        case OP_LITERAL:
            for (uint32_t at = 0; at < op->len; at += COPY)
                memcpy(p + at, op->s + at, COPY);
            p += op->len;
            break;
        case OP_HEX: p = put_fast_number(p, op, values->v[op->value], true); break;
        case OP_SDEC:
            if (unlikely(values->reltsc_negative)) {
                unsigned n = number_dec_digits(values->v[VALUE_RELTSC] | 1) + 1;
                unsigned pad = op->width > n ? op->width - n : 0;
                memset(p, ' ', pad);
                p += pad;
                *p++ = '-';
                p = number_dec(p, values->v[VALUE_RELTSC]);
                break;
            }
            /* fall through */
        default: p = put_fast_number(p, op, values->v[op->value], false); break;
        }
    }
    *p++ = '\n';
    text->next = p;
}

int xentrace_rule_put(const struct xentrace_rule *rule, const struct xentrace_values *values,
                      struct text *text, struct error *error)
{
    char buf[DICTIONARY_MAX];
    int r;

    if (likely(rule->fast && !(values->seconds < 0))) {
        put_fast(rule, values, text);
        return 0;
    }
    if (rule->checks) {
        r = check_values(rule, values, error);
        if (r < 0)
            return r;
    }
    if (rule->error == OP_OTHER_ERROR)
        return other_error(rule, rule->ops[rule->n_ops - 1].s, error);
    if (rule->error == OP_TYPE_ERROR) {
        text_put(text, rule->format, rule->len);
        text_put_char(text, '\n');
        text_put(text, buf, dictionary(rule, values, buf));
        text_put_char(text, '\n');
        return 0;
    }
    if (rule->checks) {
        r = check_surrogates(rule, values, error);
        if (r < 0)
            return r;
    }
    put_slowly(rule, values, text);
    return 0;
}
