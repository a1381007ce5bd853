/* SPDX-License-Identifier: MIT */
/* The grammar of print formats, as kernels write them and libtraceevent reads them:
 *
 *   print     strings [ "," argument { "," argument } ]
 *   argument  binary [ "?" argument ":" argument ]
 *   binary    unary { operator unary }
 *   unary     ( "-" | "+" | "!" | "~" ) unary | postfix
 *   postfix   primary { "[" argument "]" }
 *   primary   strings | words | "REC" "->" field | function | "(" argument ")" | cast unary
 *   cast      "(" words [ "*" ] ")"
 *   function  one of those below, with its own kind of arguments
 *   list      "{" constant "," constant "}" { "," list }
 *
 * Nothing is built: it is only looked at. */
#include <ctype.h>
#include <string.h>

#include "base/macro.h"
#include "schema/kernel/format.h"

#define DEPTH_MAX 100
#define OPERATORS_MAX 1000 /* of one argument: the parser nests that deeply */
#define STRING_MAX 4096
#define WORD_MAX 256

enum token {
    TOKEN_END,
    TOKEN_WORD, /* letters, digits, _ */
    TOKEN_STRING,
    TOKEN_OPERATOR,
    TOKEN_BAD,
};

struct checker {
    const char *p, *end; /* behind the token */
    enum token token;
    const char *s; /* the token */
    size_t n;
    unsigned depth, operators;
    bool (*has_field)(const void *arg, const char *name, size_t len);
    const void *arg;
};

/* What an expression is made of. */
struct shape {
    bool constant; /* no field of the event in it */
    bool nonzero;  /* a number other than 0, written out */
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static enum token scan_string(struct checker *c, char quote)
{
    for (; c->p < c->end; c->p++) {
        if (*c->p == '\\' && c->p + 1 < c->end) {
            c->p++;
        } else if (*c->p == quote) {
            c->p++;
            return c->p - c->s <= STRING_MAX ? TOKEN_STRING : TOKEN_BAD;
        }
        if ((*c->p < ' ' && *c->p != '\n') || *c->p > '~')
            return TOKEN_BAD;
    }
    return TOKEN_BAD;
}

static enum token scan_operator(struct checker *c)
{
    static const char *const operators[] = {"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    static const char single[] = "()[]{},?:+-*/%&|^~!<>";

    for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
        if (c->end - c->s >= 2 && memcmp(c->s, operators[i], 2) == 0) {
            c->p = c->s + 2;
            return TOKEN_OPERATOR;
        }
    }
    /* "++" and "--" would be one token to libtraceevent. */
    if ((*c->s == '+' || *c->s == '-') && c->p < c->end && *c->p == *c->s)
        return TOKEN_BAD;
    return *c->s && strchr(single, *c->s) ? TOKEN_OPERATOR : TOKEN_BAD;
}

static void next(struct checker *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n'))
        c->p++;
    c->s = c->p;
    if (c->p == c->end) {
        c->token = TOKEN_END;
    } else if (is_word(*c->p)) {
        while (c->p < c->end && is_word(*c->p))
            c->p++;
        c->token = c->p - c->s <= WORD_MAX ? TOKEN_WORD : TOKEN_BAD;
    } else if (*c->p == '"' || *c->p == '\'') {
        c->p++;
        c->token = scan_string(c, *c->s);
    } else {
        c->p++;
        c->token = scan_operator(c);
    }
    c->n = (size_t)(c->p - c->s);
}

static bool is(const struct checker *c, const char *s)
{
    return (c->token == TOKEN_OPERATOR || c->token == TOKEN_WORD) && c->n == strlen(s) &&
           memcmp(c->s, s, c->n) == 0;
}

static bool take(struct checker *c, const char *s)
{
    if (!is(c, s))
        return false;
    next(c);
    return true;
}

static bool take_strings(struct checker *c)
{
    if (c->token != TOKEN_STRING)
        return false;
    while (c->token == TOKEN_STRING)
        next(c);
    return true;
}

static bool take_field(struct checker *c)
{
    if (c->token != TOKEN_WORD || !c->has_field(c->arg, c->s, c->n))
        return false;
    next(c);
    return true;
}

static bool check_argument(struct checker *c, struct shape *shape);
static bool check_unary(struct checker *c, struct shape *shape);

/* "(name)" of a field. */
static bool check_field_call(struct checker *c, struct shape *shape)
{
    shape->constant = false;
    return take_field(c) && take(c, ")");
}

/* The dynamic array itself may not be indexed; a cast of it may. */
static bool check_array_call(struct checker *c, struct shape *shape)
{
    return check_field_call(c, shape) && !is(c, "[");
}

static bool check_list(struct checker *c)
{
    do {
        struct shape value = {.constant = true}, name = {.constant = true};

        if (!take(c, "{") || !check_argument(c, &value) || !value.constant || !take(c, ","))
            return false;
        /* Some lists end in { -1, ((void *)0) }. */
        if (is(c, "-") || is(c, "+") || is(c, "!") || is(c, "~") || !check_unary(c, &name) ||
            !name.constant || !take(c, "}"))
            return false;
    } while (take(c, ","));
    return take(c, ")");
}

static bool check_flags(struct checker *c, struct shape *shape)
{
    shape->constant = false;
    return check_argument(c, shape) && take(c, ",") && take_strings(c) && take(c, ",") &&
           check_list(c);
}

static bool check_symbolic(struct checker *c, struct shape *shape)
{
    shape->constant = false;
    return check_argument(c, shape) && take(c, ",") && check_list(c);
}

static bool check_arguments(struct checker *c, struct shape *shape, unsigned n)
{
    shape->constant = false;
    for (unsigned i = 0; i < n; i++)
        if ((i && !take(c, ",")) || !check_argument(c, shape))
            return false;
    return take(c, ")");
}

static bool check_hex(struct checker *c, struct shape *shape)
{
    return check_arguments(c, shape, 2);
}

static bool check_array(struct checker *c, struct shape *shape)
{
    return check_arguments(c, shape, 3);
}

static bool check_expect(struct checker *c, struct shape *shape)
{
    if (!check_argument(c, shape) || !take(c, ",") || c->token != TOKEN_WORD)
        return false;
    next(c);
    return take(c, ")");
}

static bool check_sizeof(struct checker *c, struct shape *shape)
{
    shape->nonzero = true;
    if (take(c, "REC"))
        return take(c, "->") && take_field(c) && take(c, ")");
    take(c, "unsigned");
    if (take(c, "long")) {
        take(c, "long");
        return take(c, ")");
    }
    return take(c, "int") && take(c, ")");
}

static bool check_function(struct checker *c, const char *name, size_t len, struct shape *shape)
{
    static const struct {
        const char *name;
        bool (*check)(struct checker *c, struct shape *shape);
    } functions[] = {
        {"__print_flags", check_flags},
        {"__print_symbolic", check_symbolic},
        {"__print_hex", check_hex},
        {"__print_hex_str", check_hex},
        {"__print_array", check_array},
        {"__get_str", check_field_call},
        {"__get_rel_str", check_field_call},
        {"__get_bitmask", check_field_call},
        {"__get_rel_bitmask", check_field_call},
        {"__get_cpumask", check_field_call},
        {"__get_rel_cpumask", check_field_call},
        {"__get_dynamic_array", check_array_call},
        {"__get_rel_dynamic_array", check_array_call},
        {"__get_sockaddr", check_array_call},
        {"__get_sockaddr_rel", check_array_call},
        {"__get_dynamic_array_len", check_field_call},
        {"__get_rel_dynamic_array_len", check_field_call},
        {"__builtin_expect", check_expect},
        {"sizeof", check_sizeof},
    };

    for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
        if (strlen(functions[i].name) == len && memcmp(functions[i].name, name, len) == 0)
            return functions[i].check(c, shape);
    return false;
}

/* Words that libtraceevent replaces by something else. */
static bool is_replaced(const char *s, size_t n)
{
    static const char end[] = "_PR_FMT";

    return n > sizeof end - 1 && memcmp(s + n - (sizeof end - 1), end, sizeof end - 1) == 0;
}

static bool check_words(struct checker *c, struct shape *shape)
{
    const char *first = c->s;
    size_t n = c->n;

    if (is_replaced(c->s, c->n))
        return false;
    if (take(c, "REC")) {
        shape->constant = false;
        return take(c, "->") && take_field(c);
    }
    next(c);
    if (take(c, "("))
        return check_function(c, first, n, shape);
    /* A number with letters behind, or the name of a type or a symbol. */
    shape->nonzero = isdigit((unsigned char)*first) && memchr("123456789", *first, 9);
    for (unsigned words = 1; c->token == TOKEN_WORD; words++) {
        if (words == 8 || is(c, "REC") || is_replaced(c->s, c->n))
            return false;
        next(c);
    }
    return true;
}

static bool begins_operand(const struct checker *c)
{
    return c->token == TOKEN_WORD || c->token == TOKEN_STRING || is(c, "(");
}

/* Behind "(": an expression, or a type, which is one that may end in a "*". */
static bool check_paren(struct checker *c, struct shape *shape)
{
    struct checker before = *c;
    struct shape inner = {.constant = true};
    bool is_words = c->token == TOKEN_WORD;

    if (take(c, "REC") && take(c, ")")) {
        shape->constant = false;
        return take(c, "->") && take_field(c);
    }
    *c = before;
    if (is_words && check_words(c, &inner) && inner.constant && take(c, "*") && take(c, ")"))
        return begins_operand(c) && check_unary(c, shape);
    *c = before;
    inner = (struct shape){.constant = true};
    if (!check_argument(c, &inner) || !take(c, ")"))
        return false;
    if (begins_operand(c)) /* a cast */
        return is_words && inner.constant && check_unary(c, shape);
    shape->constant &= inner.constant;
    shape->nonzero = inner.nonzero;
    return true;
}

static bool check_unary(struct checker *c, struct shape *shape)
{
    bool ok;

    if (++c->depth > DEPTH_MAX)
        return false;
    if (is(c, "-") || is(c, "+") || is(c, "!") || is(c, "~")) {
        next(c);
        ok = ++c->operators <= OPERATORS_MAX && check_unary(c, shape);
        shape->nonzero = false;
        c->depth--;
        return ok;
    }
    if (c->token == TOKEN_STRING)
        ok = take_strings(c);
    else if (c->token == TOKEN_WORD)
        ok = check_words(c, shape);
    else
        ok = take(c, "(") && check_paren(c, shape);
    while (ok && take(c, "[")) {
        struct shape index = {.constant = true};

        ok = check_argument(c, &index) && take(c, "]");
        shape->constant = false;
        shape->nonzero = false;
    }
    c->depth--;
    return ok;
}

static bool is_operator(const struct checker *c)
{
    static const char *const operators[] = {"+",  "-",  "*",  "&",  "|",  "^",  "<",  ">",
                                            "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};

    for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
        if (is(c, operators[i]))
            return true;
    return false;
}

static bool check_binary(struct checker *c, struct shape *shape)
{
    if (!check_unary(c, shape))
        return false;
    for (;;) {
        struct shape right = {.constant = true};
        bool divides = is(c, "/") || is(c, "%");

        if (!divides && !is_operator(c))
            return true;
        next(c);
        if (++c->operators > OPERATORS_MAX || !check_unary(c, &right))
            return false;
        /* Of constants, libtraceevent works out the quotient: not by zero, please. */
        if (divides && (shape->constant || (right.constant && !right.nonzero)))
            return false;
        shape->constant &= right.constant;
        shape->nonzero = false;
    }
}

static bool check_argument(struct checker *c, struct shape *shape)
{
    bool ok;

    if (++c->depth > DEPTH_MAX)
        return false;
    ok = check_binary(c, shape);
    if (ok && take(c, "?")) {
        ok = ++c->operators <= OPERATORS_MAX && check_argument(c, shape) && take(c, ":") &&
             check_argument(c, shape);
        shape->nonzero = false;
    }
    c->depth--;
    return ok;
}

bool kernel_print_check(const char *p, size_t n,
                        bool (*has_field)(const void *arg, const char *name, size_t len),
                        const void *arg)
{
    struct checker c = {.p = p, .end = p + n, .has_field = has_field, .arg = arg};

    next(&c);
    /* A single-quoted string is none here. */
    if (c.token != TOKEN_STRING || *c.s != '"' || !take_strings(&c))
        return false;
    while (take(&c, ",")) {
        struct shape shape = {.constant = true};

        c.operators = 0;
        if (!check_argument(&c, &shape))
            return false;
    }
    return c.token == TOKEN_END;
}
