/* SPDX-License-Identifier: MIT */
/* Compiles a rule of a formats file to the operations that write its line. */
#include "print/xentrace_rule.h"

#include <string.h>

#include "base/number.h"

const char *const xentrace_value_names[VALUES] = {"cpu", "tsc", "event", "reltsc", "1", "2",
                                                  "3",   "4",   "5",     "6",      "7"};

enum pending {
    ARGUMENT_NONE = -1, /* used up */
    ARGUMENT_DICT = -2, /* the whole dictionary, for a conversion without a name */
};

struct compiler {
    struct arena *arena;
    const char *p;
    const char *end;
    bool seconds;
    int pending; /* enum pending, or the value of the last name */
    struct xentrace_op *ops;
    unsigned n_ops;
    bool failed; /* after an error the program ends */
};

static void add_error(struct compiler *c, enum xentrace_op_kind kind, const char *what)
{
    c->ops[c->n_ops++] = (struct xentrace_op){.kind = (uint8_t)kind, .s = what};
    c->failed = true;
}

/* Compiles a name, after "%(" and up to its ")", and makes its value pending. */
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
        if (strlen(xentrace_value_names[i]) == (size_t)(c->p - start) &&
            memcmp(xentrace_value_names[i], start, (size_t)(c->p - start)) == 0) {
            c->pending = i;
            c->p++;
            return;
        }
    }
    add_error(c, OP_OTHER_ERROR,
              "names a value other than cpu, tsc, event, reltsc and 1 to 7 (KeyError)");
}

/* Compiles a `*`, which takes the argument. None is left for the conversion. */
static void compile_star(struct compiler *c, bool precision)
{
    struct xentrace_op op = {.kind = OP_STAR, .value = (uint8_t)c->pending, .precision = precision};

    c->p++;
    if (c->pending < 0 || (c->pending == VALUE_TSC && c->seconds))
        add_error(c, OP_TYPE_ERROR, NULL);
    else
        c->ops[c->n_ops++] = op;
    c->pending = ARGUMENT_NONE;
}

/* Compiles a width or a precision; more than LIMIT is an error. */
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

static void compile_flags(struct compiler *c, struct xentrace_op *op)
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

static void choose_kind(struct xentrace_op *op)
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
    /* Python's zeros come after the sign. */
    if (op->kind == OP_SDEC && op->fill == '0')
        op->kind = OP_NUMBER;
}

/* Compiles the conversion's letter; its argument was taken. */
static void compile_letter(struct compiler *c, struct xentrace_op *op)
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
    c->ops[c->n_ops++] = (struct xentrace_op){.kind = OP_LITERAL, .s = copy, .len = (uint32_t)len};
    return 0;
}

/* Compiles what follows "%". */
static int compile_conversion(struct compiler *c)
{
    struct xentrace_op op = {.fill = ' ', .precision = -1};

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

static void finish(struct xentrace_rule *rule, const struct xentrace_op *ops, unsigned n)
{
    uint64_t max = 1 + COPY;

    rule->fast = true;
    for (unsigned i = 0; i < n; i++) {
        const struct xentrace_op *op = &ops[i];

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
    /* A conversion is one operation, or up to two * and an error, each after a literal, and one
     * literal at the end. */
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
