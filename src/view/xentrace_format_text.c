/* SPDX-License-Identifier: MIT */
#include "view/xentrace_format_text.h"

#include <stdio.h>

#include "base/number.h"

/* Python has no limit; a file of formats needs none of this size. */
#define WIDTH_MAX 1000000
#define PRECISION_MAX 1000
/* A 64-bit number with sign and prefix (octal: 22 digits), a double with PRECISION_MAX digits. */
#define BODY_MAX (PRECISION_MAX + 400)
/* A line that is surely no longer than this is written without looking for room in between. */
#define FAST_MAX 2048
#define COPY 16

static const char *const value_names[VALUES] = {"cpu", "tsc", "event", "reltsc", "1", "2",
                                                "3",   "4",   "5",     "6",      "7"};

enum op_kind {
    OP_LITERAL,
    OP_DEC,    /* %Nd, %0Nd of what is never negative and no float */
    OP_SDEC,   /* the same of reltsc */
    OP_HEX,    /* %Nx, %0Nx of what is never negative and no float */
    OP_NUMBER, /* any other number, slowly */
    OP_STRING, /* %s, %r, %a of a value */
    OP_CHAR,   /* %c */
    OP_DICT,   /* %s of the dictionary itself */
    OP_STAR,   /* a width or precision of *: a value that must not be too large */
    OP_TYPE_ERROR,
    OP_OTHER_ERROR,
};

struct op {
    uint8_t kind;
    uint8_t value; /* enum xentrace_value */
    char conversion;
    char fill; /* ' ' or '0' */
    bool left, plus, blank, alternate;
    bool is_float; /* the value is */
    int precision; /* -1: none */
    uint32_t width;
    uint32_t len;  /* of a literal */
    const char *s; /* a literal, padded to a multiple of COPY; what the error is */
};

struct xentrace_rule {
    const char *format;
    size_t len;
    bool seconds;
    bool checks;   /* OP_CHAR or OP_STAR, whose values can be out of range */
    uint8_t error; /* 0, or the op_kind that it always comes to */
    uint32_t max;  /* bytes of the longest line, when fast */
    bool fast;     /* only literals, OP_DEC, OP_SDEC and OP_HEX */
    unsigned n_ops;
    const struct op *ops;
};

/* ---- compiling */

enum pending {
    ARGUMENT_NONE = -1, /* used up */
    ARGUMENT_DICT = -2, /* the dictionary as a whole, for a conversion without a name */
};

struct compiler {
    struct arena *arena;
    const char *p;
    const char *end;
    bool seconds;
    int pending; /* enum pending, or the value that the last name put in its place */
    struct op *ops;
    unsigned n_ops;
    bool failed; /* an error ends the program */
};

static void add_error(struct compiler *c, enum op_kind kind, const char *what)
{
    c->ops[c->n_ops++] = (struct op){.kind = (uint8_t)kind, .s = what};
    c->failed = true;
}

/* Behind "%(": up to the ")" that closes it, and the value of that name. */
static void compile_name(struct compiler *c)
{
    const char *start = c->p;
    unsigned depth = 1;

    for (; c->p < c->end; c->p++) {
        if (*c->p == '(')
            depth++;
        else if (*c->p == ')' && --depth == 0)
            break;
    }
    if (c->p == c->end) {
        add_error(c, OP_OTHER_ERROR, "a name after %( has no ) (ValueError)");
        return;
    }
    for (int i = 0; i < VALUES; i++) {
        if (strlen(value_names[i]) == (size_t)(c->p - start) &&
            memcmp(value_names[i], start, (size_t)(c->p - start)) == 0) {
            c->pending = i;
            c->p++;
            return;
        }
    }
    add_error(c, OP_OTHER_ERROR,
              "names a value other than cpu, tsc, event, reltsc and 1 to 7 (KeyError)");
}

/* A `*`: takes the argument, so that none is left for the conversion. */
static void compile_star(struct compiler *c, bool precision)
{
    struct op op = {.kind = OP_STAR, .value = (uint8_t)c->pending, .precision = precision};

    c->p++;
    if (c->pending < 0 || (c->pending == VALUE_TSC && c->seconds))
        add_error(c, OP_TYPE_ERROR, NULL);
    else
        c->ops[c->n_ops++] = op;
    c->pending = ARGUMENT_NONE;
}

/* A width or a precision; more than LIMIT is an error. */
static uint32_t compile_size(struct compiler *c, uint32_t limit, bool precision)
{
    uint32_t v = 0;

    if (c->p < c->end && *c->p == '*') {
        compile_star(c, precision);
        return 0;
    }
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        if (v <= limit)
            v = v * 10 + (uint32_t)(*c->p - '0');
    if (v > limit)
        add_error(c, OP_OTHER_ERROR, "a width or a precision is too large");
    return v;
}

static void compile_flags(struct compiler *c, struct op *op)
{
    for (; c->p < c->end; c->p++) {
        switch (*c->p) {
        case '-': op->left = true; break;
        case '+': op->plus = true; break;
        case ' ': op->blank = true; break;
        case '#': op->alternate = true; break;
        case '0': op->fill = '0'; break;
        default: return;
        }
    }
}

static void choose_kind(struct op *op)
{
    bool plain = !op->left && !op->plus && !op->blank && !op->alternate && op->precision < 0 &&
                 op->width <= 64;

    op->kind = OP_NUMBER;
    if (!plain)
        return;
    if (op->conversion == 'd')
        op->kind = op->value == VALUE_RELTSC ? OP_SDEC : OP_DEC;
    else if (op->conversion == 'x' && op->value != VALUE_RELTSC)
        op->kind = OP_HEX;
    /* Python's zero-filling stands behind the sign. */
    if (op->kind == OP_SDEC && op->fill == '0')
        op->kind = OP_NUMBER;
}

/* The conversion's letter, its argument taken. */
static void compile_letter(struct compiler *c, struct op *op)
{
    int argument = c->pending;

    c->pending = ARGUMENT_NONE;
    if (argument == ARGUMENT_NONE) {
        add_error(c, OP_TYPE_ERROR, NULL);
        return;
    }
    if (argument >= 0) {
        op->value = (uint8_t)argument;
        op->is_float = argument == VALUE_TSC && c->seconds;
    }
    switch (op->conversion) {
    case 'i':
    case 'u': op->conversion = 'd'; break;
    default: break;
    }
    switch (op->conversion) {
    case 's':
    case 'r':
    case 'a':
        op->kind = argument == ARGUMENT_DICT ? OP_DICT : OP_STRING;
        op->fill = ' ';
        break;
    case 'o':
    case 'x':
    case 'X':
        if (argument == ARGUMENT_DICT || op->is_float)
            add_error(c, OP_TYPE_ERROR, NULL);
        else
            choose_kind(op);
        break;
    case 'd':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
        if (argument == ARGUMENT_DICT)
            add_error(c, OP_TYPE_ERROR, NULL);
        else
            choose_kind(op);
        break;
    case 'c':
        if (argument == ARGUMENT_DICT || op->is_float)
            add_error(c, OP_TYPE_ERROR, NULL);
        else
            op->kind = OP_CHAR;
        op->fill = ' ';
        break;
    default: add_error(c, OP_OTHER_ERROR, "a conversion that % does not have (ValueError)"); break;
    }
    if (!c->failed)
        c->ops[c->n_ops++] = *op;
}

static int add_literal(struct compiler *c, const char *s, size_t len)
{
    char *copy = arena_alloc(c->arena, (len + COPY - 1) / COPY * COPY + COPY);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, s, len);
    c->ops[c->n_ops++] = (struct op){.kind = OP_LITERAL, .s = copy, .len = (uint32_t)len};
    return 0;
}

/* Behind a "%". */
static int compile_conversion(struct compiler *c)
{
    struct op op = {.fill = ' ', .precision = -1};

    if (c->p < c->end && *c->p == '%') {
        c->p++;
        return add_literal(c, "%", 1);
    }
    if (c->p < c->end && *c->p == '(') {
        c->p++;
        compile_name(c);
    }
    if (!c->failed)
        compile_flags(c, &op);
    if (!c->failed)
        op.width = compile_size(c, WIDTH_MAX, false);
    if (!c->failed && c->p < c->end && *c->p == '.') {
        c->p++;
        op.precision = (int)compile_size(c, PRECISION_MAX, true);
    }
    if (c->failed)
        return 0;
    if (c->p < c->end && (*c->p == 'h' || *c->p == 'l' || *c->p == 'L'))
        c->p++;
    if (c->p == c->end) {
        add_error(c, OP_OTHER_ERROR, "ends within a conversion (ValueError)");
        return 0;
    }
    op.conversion = *c->p++;
    compile_letter(c, &op);
    return 0;
}

static void finish(struct xentrace_rule *rule, const struct op *ops, unsigned n)
{
    uint64_t max = 1 + COPY;

    rule->fast = true;
    for (unsigned i = 0; i < n; i++) {
        const struct op *op = &ops[i];

        switch (op->kind) {
        case OP_LITERAL: max += op->len; break;
        case OP_DEC:
        case OP_SDEC:
        case OP_HEX: max += 64 + NUMBER_MAX; break;
        case OP_TYPE_ERROR:
        case OP_OTHER_ERROR: rule->error = op->kind; break;
        case OP_CHAR:
        case OP_STAR: rule->checks = true; /* fall through */
        default: rule->fast = false; break;
        }
    }
    rule->max = (uint32_t)MIN(max, (uint64_t)UINT32_MAX);
    if (max > FAST_MAX || rule->error)
        rule->fast = false;
}

int xentrace_rule_compile(struct arena *arena, const char *format, size_t len, bool seconds,
                          const struct xentrace_rule **ret_rule)
{
    struct compiler c = {
        .arena = arena,
        .p = format,
        .end = format + len,
        .seconds = seconds,
        .pending = ARGUMENT_DICT,
    };
    struct xentrace_rule *rule = arena_alloc(arena, sizeof *rule);
    unsigned percents = 0;
    int r = 0;

    if (!rule || len > UINT32_MAX)
        return -ENOMEM;
    for (const char *p = format; p < c.end; p++)
        percents += *p == '%';
    /* A conversion is one operation, or up to two * and an error, with a literal before it and one
     * behind the last. */
    c.ops = arena_alloc(arena, (2 * (size_t)percents + 4) * sizeof *c.ops);
    if (!c.ops)
        return -ENOMEM;
    while (c.p < c.end && !c.failed && r == 0) {
        const char *percent = memchr(c.p, '%', (size_t)(c.end - c.p));
        const char *stop = percent ? percent : c.end;

        if (stop > c.p)
            r = add_literal(&c, c.p, (size_t)(stop - c.p));
        c.p = stop;
        if (r == 0 && percent) {
            c.p++;
            r = compile_conversion(&c);
        }
    }
    if (r < 0)
        return r;
    rule->format = format;
    rule->len = len;
    rule->seconds = seconds;
    rule->ops = c.ops;
    rule->n_ops = c.n_ops;
    finish(rule, c.ops, c.n_ops);
    *ret_rule = rule;
    return 0;
}

/* ---- writing */

/* A float as Python's repr(): the fewest digits that read back as the same number. Returns its
 * length; BUF has 32 bytes. */
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

static bool is_negative(const struct op *op, const struct xentrace_values *values)
{
    return op->value == VALUE_RELTSC && values->reltsc_negative;
}

static unsigned put_octal(uint64_t v, char *buf)
{
    return (unsigned)snprintf(buf, 32, "%llo", (unsigned long long)v);
}

/* The digits of an integer conversion, without sign and prefix. */
static unsigned put_digits(const struct op *op, const struct xentrace_values *values, char *body,
                           bool *negative)
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

static unsigned put_float(const struct op *op, const struct xentrace_values *values, char *body,
                          bool *negative)
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

static void put_number(const struct op *op, const struct xentrace_values *values, struct text *text)
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

static void put_padded(const struct op *op, const char *s, unsigned len, unsigned characters,
                       struct text *text)
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

static void put_string(const struct op *op, const struct xentrace_values *values, struct text *text)
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
        p += sprintf(p, "%s'%s': ", i ? ", " : "", value_names[i]);
        p += value_text(i, i == VALUE_TSC && rule->seconds, values, p);
    }
    *p++ = '}';
    return (unsigned)(p - buf);
}

#define DICTIONARY_MAX (VALUES * 64)

static void put_dictionary(const struct op *op, const struct xentrace_rule *rule,
                           const struct xentrace_values *values, struct text *text)
{
    char buf[DICTIONARY_MAX];
    unsigned len = dictionary(rule, values, buf);

    if (op->precision >= 0)
        len = MIN(len, (unsigned)op->precision);
    put_padded(op, buf, len, len, text);
}

/* A character as UTF-8. */
static void put_char(const struct op *op, const struct xentrace_values *values, struct text *text)
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

static int other_error(const struct xentrace_rule *rule, const char *what, struct fault *fault)
{
    return fault_plain(fault, -EINVAL, "", "the rule '%.*s' cannot be followed: %s",
                       (int)MIN(rule->len, (size_t)200), rule->format, what);
}

/* Python raises an error at the first value that is out of range. */
static int check_values(const struct xentrace_rule *rule, const struct xentrace_values *values,
                        struct fault *fault)
{
    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct op *op = &rule->ops[i];
        uint64_t c;

        c = values->v[op->value];
        if (op->kind == OP_STAR && c > (op->precision ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX))
            return other_error(rule, "* of a value that is too large (OverflowError)", fault);
        if (op->kind == OP_CHAR && (c > 0x10ffff || is_negative(op, values)))
            return other_error(rule, "%c of a value that is no character (OverflowError)", fault);
    }
    return 0;
}

static int check_surrogates(const struct xentrace_rule *rule, const struct xentrace_values *values,
                            struct fault *fault)
{
    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct op *op = &rule->ops[i];

        if (op->kind == OP_CHAR && values->v[op->value] >= 0xd800 && values->v[op->value] <= 0xdfff)
            return other_error(rule, "%c of a surrogate (UnicodeEncodeError)", fault);
    }
    return 0;
}

static void put_slowly(const struct xentrace_rule *rule, const struct xentrace_values *values,
                       struct text *text)
{
    for (unsigned i = 0; i < rule->n_ops; i++) {
        const struct op *op = &rule->ops[i];

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

static inline char *put_fast_number(char *p, const struct op *op, uint64_t v, bool hex)
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
        const struct op *op = &rule->ops[i];

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
                      struct text *text, struct fault *fault)
{
    char buf[DICTIONARY_MAX];
    int r;

    if (likely(rule->fast && !(values->seconds < 0))) {
        put_fast(rule, values, text);
        return 0;
    }
    if (rule->checks) {
        r = check_values(rule, values, fault);
        if (r < 0)
            return r;
    }
    if (rule->error == OP_OTHER_ERROR)
        return other_error(rule, rule->ops[rule->n_ops - 1].s, fault);
    if (rule->error == OP_TYPE_ERROR) {
        text_put(text, rule->format, rule->len);
        text_put_char(text, '\n');
        text_put(text, buf, dictionary(rule, values, buf));
        text_put_char(text, '\n');
        return 0;
    }
    if (rule->checks) {
        r = check_surrogates(rule, values, fault);
        if (r < 0)
            return r;
    }
    put_slowly(rule, values, text);
    return 0;
}
