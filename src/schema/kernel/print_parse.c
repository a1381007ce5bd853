/* SPDX-License-Identifier: MIT */
/* The grammar of print formats, as kernels write them:
 *
 *   print     strings { "," argument }
 *   argument  binary [ "?" argument ":" binary [ "?" … ] ]
 *   binary    operand { operator operand }          grouped as in C
 *   operand   { "-" | "+" | "!" | "~" } primary { "[" argument "]" }
 *   primary   strings | words | record | function | "(" argument ")" | cast
 *   record    ( "REC" | "(" "REC" ")" ) "->" field
 *   cast      "(" words [ "*" ] ")" operand         where a word, a string or "(" follows
 *   function  one of those in parse_function(), each with its own kind of arguments
 *   names     "{" constant "," constant "}" { "," names }
 *
 * Operators group as in C, in which kernels write them. libtraceevent 1.7.1 groups some of them otherwise, so that
 * `trace-cmd report` shows other values: docs/man/strata-ftrace.5 has the differences.
 *
 * Source: Linux include/trace/stages/stage3_trace_output.h for the functions. */
#include "schema/kernel/print_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "schema/kernel/format.h"
#include "schema/kernel/print_token.h"

#define DEPTH_MAX 100
#define OPERATORS_MAX 1000 /* of one argument: its tree may be that deep */
#define WORDS_MAX 8        /* of an atom: "const unsigned long long int" */
#define EXCERPT_MAX 40     /* characters of a token that a message shows */

#define LEVEL_BINARY_MAX 15 /* of "||" */

static const struct {
    const char *s;
    enum kernel_operator op;
    int level;
} operators[] = {
    {"*", OPERATOR_TIMES, 6},        {"/", OPERATOR_DIVIDE, 6},      {"%", OPERATOR_MODULO, 6},
    {"+", OPERATOR_PLUS, 7},         {"-", OPERATOR_MINUS, 7},       {"<<", OPERATOR_SHIFT_LEFT, 8},
    {">>", OPERATOR_SHIFT_RIGHT, 8}, {"<", OPERATOR_LESS, 9},        {"<=", OPERATOR_LESS_EQUAL, 9},
    {">", OPERATOR_MORE, 9},         {">=", OPERATOR_MORE_EQUAL, 9}, {"==", OPERATOR_EQUAL, 10},
    {"!=", OPERATOR_UNEQUAL, 10},    {"&", OPERATOR_AND_BITS, 11},   {"^", OPERATOR_XOR, 12},
    {"|", OPERATOR_OR_BITS, 13},     {"&&", OPERATOR_AND, 14},       {"||", OPERATOR_OR, 15},
};

struct parser {
    struct arena *arena;
    const struct kernel_event_format *format;
    uint8_t long_size;
    struct print_tokens t;
    unsigned depth, operators;
    int code; /* the first one; 0: none so far */
    const char *path;
    struct error *error;
};

static struct print_node *parse_argument(struct parser *p);
static struct print_node *parse_operand(struct parser *p);

/* Notes that the token is not what the grammar has here. Returns NULL. */
static void *reject(struct parser *p, const char *what)
{
    if (p->code)
        return NULL;
    p->code = -EBADMSG;
    if (p->t.kind == TOKEN_END)
        error_on_line(p->error, -EBADMSG, p->path, p->format->print_line,
                      "the print format ends too early: %s", what);
    else
        error_on_line(p->error, -EBADMSG, p->path, p->format->print_line,
                      "cannot parse the print format at '%.*s': %s",
                      (int)MIN(p->t.n, (size_t)EXCERPT_MAX), p->t.s,
                      p->t.kind == TOKEN_BAD ? p->t.error : what);
    return NULL;
}

static void *out_of_memory(struct parser *p)
{
    if (!p->code)
        p->code = -ENOMEM;
    return NULL;
}

static struct print_node *make(struct parser *p, struct print_node node)
{
    struct print_node *copy = arena_memdup(p->arena, &node, sizeof node);

    return copy ? copy : out_of_memory(p);
}

static bool is(const struct parser *p, const char *s)
{
    return print_token_is(&p->t, s);
}

static void next(struct parser *p)
{
    print_tokens_next(&p->t);
}

static bool take(struct parser *p, const char *s)
{
    if (!is(p, s))
        return false;
    next(p);
    return true;
}

static bool expect(struct parser *p, const char *s)
{
    char what[32];

    if (take(p, s))
        return true;
    snprintf(what, sizeof what, "expected '%s'", s);
    reject(p, what);
    return false;
}

/* Strings that stand side by side are one. Of single quotes there is but one. */
static const char *take_strings(struct parser *p)
{
    const char *from = p->t.s, *to = from;
    char *text, *at;

    if (p->t.kind != TOKEN_STRING)
        return reject(p, "expected a string");
    if (*from == '\'') {
        text = arena_strndup(p->arena, from + 1, p->t.n - 2);
        next(p);
        return text ? text : out_of_memory(p);
    }
    for (struct print_tokens ahead = p->t; ahead.kind == TOKEN_STRING && *ahead.s == '"';) {
        to = ahead.p;
        print_tokens_next(&ahead);
    }
    text = at = arena_alloc(p->arena, (size_t)(to - from) + 1);
    if (!text)
        return out_of_memory(p);
    for (; p->t.kind == TOKEN_STRING && *p->t.s == '"'; next(p))
        at = mempcpy(at, p->t.s + 1, p->t.n - 2);
    return text;
}

/* The name of a field, one of the event's own or, with COMMON, of those that all events have as well. */
static const struct kernel_field *take_field(struct parser *p, bool common)
{
    const struct kernel_field *field = NULL;

    if (p->t.kind == TOKEN_WORD)
        field = kernel_format_find(p->format, p->t.s, p->t.n, common);
    if (!field)
        return reject(p, "the event has no such field");
    next(p);
    return field;
}

/* What stands after "REC". */
static struct print_node *parse_record(struct parser *p)
{
    const struct kernel_field *field = expect(p, "->") ? take_field(p, true) : NULL;

    return field ? make(p, (struct print_node){.kind = PRINT_FIELD, .field = field}) : NULL;
}

/* "(field)" of a function. */
static struct print_node *parse_field_call(struct parser *p, enum print_kind kind)
{
    bool is_array = kind == PRINT_DYNAMIC_ARRAY || kind == PRINT_DYNAMIC_LENGTH;
    const struct kernel_field *field = take_field(p, !is_array);

    if (!field || !expect(p, ")"))
        return NULL;
    if (kind == PRINT_DYNAMIC_ARRAY && is(p, "["))
        return reject(p, "a dynamic array has elements once it is cast to a type");
    return make(p, (struct print_node){.kind = (uint8_t)kind, .field = field});
}

/* Whether NODE is made of numbers and words. */
static bool is_constant(const struct print_node *node)
{
    if (!node)
        return true;
    switch ((enum print_kind)node->kind) {
    case PRINT_ATOM: return true;
    case PRINT_CAST: return is_constant(node->a);
    case PRINT_OPERATION:
        return node->op != OPERATOR_INDEX && is_constant(node->a) && is_constant(node->b) &&
               is_constant(node->c);
    default: return false;
    }
}

/* The name of a value; some lists end in { -1, ((void *)0) }. */
static bool is_name(const struct print_node *node)
{
    while (node->kind == PRINT_CAST)
        node = node->a;
    return node->kind == PRINT_ATOM;
}

/* "value, name }" */
static struct print_name *parse_name(struct parser *p)
{
    struct print_name *name = arena_alloc(p->arena, sizeof *name);

    if (!name)
        return out_of_memory(p);
    *name = (struct print_name){.value = parse_argument(p)};
    if (!name->value)
        return NULL;
    if (!is_constant(name->value))
        return reject(p, "the value before it is not a constant");
    if (!expect(p, ","))
        return NULL;
    name->name = parse_operand(p);
    if (!name->name)
        return NULL;
    if (!is_name(name->name))
        return reject(p, "not preceded by a name");
    return expect(p, "}") ? name : NULL;
}

/* A list without names is "{ }": every value shows as its number. */
static bool parse_names(struct parser *p, const struct print_name **ret)
{
    struct print_name *first = NULL, *last = NULL;

    do {
        struct print_name *name;

        if (!expect(p, "{"))
            return false;
        if (!first && take(p, "}"))
            break;
        name = parse_name(p);
        if (!name)
            return false;
        if (last)
            last->next = name;
        else
            first = name;
        last = name;
    } while (take(p, ","));
    *ret = first;
    return true;
}

static struct print_node *parse_flags(struct parser *p, enum print_kind kind)
{
    struct print_node node = {.kind = (uint8_t)kind, .a = parse_argument(p)};

    if (!node.a || !expect(p, ","))
        return NULL;
    if (kind == PRINT_FLAGS) {
        node.text = take_strings(p);
        if (!node.text || !expect(p, ","))
            return NULL;
    }
    return parse_names(p, &node.names) && expect(p, ")") ? make(p, node) : NULL;
}

/* So many arguments. */
static struct print_node *parse_arguments(struct parser *p, enum print_kind kind)
{
    struct print_node node = {.kind = (uint8_t)kind, .a = parse_argument(p)};

    if (!node.a || !expect(p, ","))
        return NULL;
    node.b = parse_argument(p);
    if (!node.b)
        return NULL;
    if (kind == PRINT_ARRAY) {
        node.c = expect(p, ",") ? parse_argument(p) : NULL;
        if (!node.c)
            return NULL;
    }
    return expect(p, ")") ? make(p, node) : NULL;
}

/* "__builtin_expect(argument, word)": the argument. */
static struct print_node *parse_expect(struct parser *p, enum print_kind kind)
{
    struct print_node *node = parse_argument(p);

    (void)kind;
    if (!node || !expect(p, ","))
        return NULL;
    if (p->t.kind != TOKEN_WORD)
        return reject(p, "expected a number");
    next(p);
    return expect(p, ")") ? node : NULL;
}

static struct print_node *make_number(struct parser *p, unsigned v)
{
    char digits[16];
    const char *text;

    snprintf(digits, sizeof digits, "%u", v);
    text = arena_strdup(p->arena, digits);
    return text ? make(p, (struct print_node){.kind = PRINT_ATOM, .text = text}) : out_of_memory(p);
}

static struct print_node *parse_sizeof(struct parser *p, enum print_kind kind)
{
    unsigned size;

    (void)kind;
    if (take(p, "REC")) {
        const struct kernel_field *field = expect(p, "->") ? take_field(p, true) : NULL;

        if (!field)
            return NULL;
        if (field->flags & FIELD_IS_ARRAY)
            return reject(p, "the size of an array is not known");
        size = field->size;
    } else {
        take(p, "unsigned");
        if (take(p, "long"))
            size = take(p, "long") ? 8 : p->long_size;
        else if (take(p, "int"))
            size = 4;
        else
            return reject(p, "the size of this type is not known");
    }
    return expect(p, ")") ? make_number(p, size) : NULL;
}

/* The name of a function, and "(" after it. */
static struct print_node *parse_function(struct parser *p)
{
    static const struct {
        const char *name;
        struct print_node *(*parse)(struct parser *p, enum print_kind kind);
        enum print_kind kind;
    } functions[] = {
        {"__print_flags", parse_flags, PRINT_FLAGS},
        {"__print_symbolic", parse_flags, PRINT_SYMBOLIC},
        {"__print_hex", parse_arguments, PRINT_HEX},
        {"__print_hex_str", parse_arguments, PRINT_HEX_STRING},
        {"__print_array", parse_arguments, PRINT_ARRAY},
        {"__get_str", parse_field_call, PRINT_STRING},
        {"__get_rel_str", parse_field_call, PRINT_STRING},
        {"__get_bitmask", parse_field_call, PRINT_BITMASK},
        {"__get_rel_bitmask", parse_field_call, PRINT_BITMASK},
        {"__get_cpumask", parse_field_call, PRINT_CPUMASK},
        {"__get_rel_cpumask", parse_field_call, PRINT_CPUMASK},
        {"__get_dynamic_array", parse_field_call, PRINT_DYNAMIC_ARRAY},
        {"__get_rel_dynamic_array", parse_field_call, PRINT_DYNAMIC_ARRAY},
        {"__get_sockaddr", parse_field_call, PRINT_DYNAMIC_ARRAY},
        {"__get_sockaddr_rel", parse_field_call, PRINT_DYNAMIC_ARRAY},
        {"__get_dynamic_array_len", parse_field_call, PRINT_DYNAMIC_LENGTH},
        {"__get_rel_dynamic_array_len", parse_field_call, PRINT_DYNAMIC_LENGTH},
        {"__builtin_expect", parse_expect, PRINT_NOTHING},
        {"sizeof", parse_sizeof, PRINT_NOTHING},
    };

    for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
        if (take(p, functions[i].name)) {
            next(p);
            return functions[i].parse(p, functions[i].kind);
        }
    }
    return reject(p, "unknown function");
}

/* "VIF_PR_FMT": a macro that old kernels leave in formats, of a string and its arguments. */
static bool is_macro(const struct print_tokens *t)
{
    static const char end[] = "_PR_FMT";
    const size_t n = sizeof end - 1;

    return t->n > n && memcmp(t->s + t->n - n, end, n) == 0;
}

/* One word or more, with a blank between them. Not to be followed by "(". */
static char *take_words(struct parser *p)
{
    const char *from = p->t.s;
    struct print_tokens ahead = p->t;
    unsigned n_words = 0;
    char *text, *at;

    for (; ahead.kind == TOKEN_WORD; n_words++) {
        if (n_words == WORDS_MAX || (n_words && print_token_is(&ahead, "REC")) || is_macro(&ahead))
            return reject(p, "unexpected word");
        from = ahead.p;
        print_tokens_next(&ahead);
    }
    text = at = arena_alloc(p->arena, (size_t)(from - p->t.s) + 3); /* or " *" after them */
    if (!text)
        return out_of_memory(p);
    for (; p->t.kind == TOKEN_WORD; next(p)) {
        if (at > text)
            *at++ = ' ';
        at = mempcpy(at, p->t.s, p->t.n);
    }
    return text;
}

static struct print_node *parse_words(struct parser *p)
{
    struct print_tokens ahead = p->t;
    char *text;

    if (take(p, "REC"))
        return parse_record(p);
    print_tokens_next(&ahead);
    if (print_token_is(&ahead, "("))
        return parse_function(p);
    text = take_words(p);
    return text ? make(p, (struct print_node){.kind = PRINT_ATOM, .text = text}) : NULL;
}

static bool begins_operand(const struct parser *p)
{
    return p->t.kind == TOKEN_WORD || p->t.kind == TOKEN_STRING || is(p, "(");
}

/* Reads a type and the ")" after it; false: what is there is an expression, and nothing was read. */
static bool take_type(struct parser *p, char **ret_type)
{
    struct print_tokens before = p->t, ahead = p->t;
    bool is_pointer = false;
    char *type;

    while (ahead.kind == TOKEN_WORD && !print_token_is(&ahead, "REC"))
        print_tokens_next(&ahead);
    if (ahead.s == p->t.s)
        return false;
    if (print_token_is(&ahead, "*")) {
        is_pointer = true;
        print_tokens_next(&ahead);
    }
    if (!print_token_is(&ahead, ")"))
        return false;
    print_tokens_next(&ahead);
    p->t = ahead;
    if (!begins_operand(p) && !is_pointer) {
        p->t = before; /* a constant in parentheses */
        return false;
    }
    p->t = before;
    type = take_words(p);
    if (type && is_pointer)
        memcpy(type + strlen(type), " *", sizeof " *");
    p->t = ahead;
    *ret_type = type;
    return true;
}

/* After "(". */
static struct print_node *parse_paren(struct parser *p)
{
    struct print_tokens before = p->t;
    struct print_node *node;
    char *type;

    if (take(p, "REC") && take(p, ")"))
        return parse_record(p);
    p->t = before;
    if (take_type(p, &type)) {
        if (!type)
            return NULL;
        if (!begins_operand(p))
            return reject(p, "expected what is cast to a type");
        node = parse_operand(p);
        return node ? make(p, (struct print_node){.kind = PRINT_CAST, .text = type, .a = node})
                    : NULL;
    }
    node = parse_argument(p);
    return node && expect(p, ")") ? node : NULL;
}

static struct print_node *parse_primary(struct parser *p)
{
    struct print_node *node;
    const char *text;

    switch (p->t.kind) {
    case TOKEN_STRING:
        text = take_strings(p);
        return text ? make(p, (struct print_node){.kind = PRINT_ATOM, .text = text}) : NULL;
    case TOKEN_WORD: return parse_words(p);
    default: break;
    }
    if (!take(p, "("))
        return reject(p, "expected a value");
    node = parse_paren(p);
    if (node && begins_operand(p))
        return reject(p, "expected an operator");
    return node;
}

/* The operator of two operands that the token is; false: it is none. The lower its level, the closer it binds. */
static bool find_operator(const struct parser *p, enum kernel_operator *ret_op, int *ret_level)
{
    for (size_t i = 0; i < ARRAY_SIZE(operators) && p->t.kind == TOKEN_OPERATOR; i++) {
        if (is(p, operators[i].s)) {
            *ret_op = operators[i].op;
            *ret_level = operators[i].level;
            return true;
        }
    }
    return false;
}

/* Adds to NODE, an operand, the operators of LEVEL and below with their operands, the closest first and from the left:
 * as C does. */
static struct print_node *parse_operators(struct parser *p, struct print_node *node, int max_level)
{
    enum kernel_operator op;
    int level;

    while (node && find_operator(p, &op, &level) && level <= max_level) {
        struct print_node *right;

        if (++p->operators > OPERATORS_MAX)
            return reject(p, "too many operators");
        next(p);
        right = parse_operators(p, parse_operand(p), level - 1);
        node = right ? make(p,
                            (struct print_node){
                                .kind = PRINT_OPERATION, .op = (uint8_t)op, .a = node, .b = right})
                     : NULL;
    }
    return node;
}

/* Elements of NODE. */
static struct print_node *parse_index(struct parser *p, struct print_node *node)
{
    while (node && take(p, "[")) {
        const struct print_node *index;

        if (++p->operators > OPERATORS_MAX)
            return reject(p, "too many operators");
        index = parse_argument(p);
        if (!index || !expect(p, "]"))
            return NULL;
        node = make(p, (struct print_node){
                           .kind = PRINT_OPERATION, .op = OPERATOR_INDEX, .a = node, .b = index});
    }
    return node;
}

static struct print_node *parse_operand(struct parser *p)
{
    static const struct {
        const char *s;
        enum kernel_operator op;
    } signs[] = {
        {"-", OPERATOR_MINUS}, {"+", OPERATOR_PLUS}, {"!", OPERATOR_NOT}, {"~", OPERATOR_INVERT}};
    struct print_node *node;

    if (++p->depth > DEPTH_MAX)
        return reject(p, "nested too deeply");
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        if (!take(p, signs[i].s))
            continue;
        if (++p->operators > OPERATORS_MAX)
            return reject(p, "too many operators");
        node = parse_operand(p);
        p->depth--;
        return node ? make(p, (struct print_node){.kind = PRINT_OPERATION,
                                                  .op = (uint8_t)signs[i].op,
                                                  .b = node})
                    : NULL;
    }
    node = parse_index(p, parse_primary(p));
    p->depth--;
    return node;
}

/* The second branch of a condition may be a condition, and so on: a loop, for kernels write long ones. */
static struct print_node *parse_conditions(struct parser *p)
{
    struct print_node *whole = parse_operators(p, parse_operand(p), LEVEL_BINARY_MAX);
    struct print_node *node = whole;

    while (node && take(p, "?")) {
        const struct print_node *condition = make(p, *node);
        const struct print_node *yes;
        struct print_node *no;

        if (++p->operators > OPERATORS_MAX)
            return reject(p, "too many operators");
        if (!condition)
            return NULL;
        yes = parse_argument(p);
        if (!yes || !expect(p, ":"))
            return NULL;
        no = parse_operators(p, parse_operand(p), LEVEL_BINARY_MAX);
        *node = (struct print_node){
            .kind = PRINT_OPERATION, .op = OPERATOR_CONDITION, .a = condition, .b = yes, .c = no};
        node = no;
    }
    return node ? whole : NULL;
}

static struct print_node *parse_argument(struct parser *p)
{
    struct print_node *node;

    if (++p->depth > DEPTH_MAX)
        return reject(p, "nested too deeply");
    node = parse_conditions(p);
    p->depth--;
    return node;
}

int print_parse(struct arena *arena, const struct kernel_event_format *format, uint8_t long_size,
                const char *path, struct print_tree *ret_tree, struct error *error)
{
    struct parser p = {.arena = arena,
                       .format = format,
                       .long_size = long_size,
                       .t = {.p = format->print, .end = format->print + format->print_len},
                       .path = path,
                       .error = error};
    struct print_tree tree = {0};
    const struct print_node **last = &tree.arguments;

    next(&p);
    if (p.t.kind == TOKEN_STRING && *p.t.s == '"')
        tree.format = take_strings(&p);
    else
        reject(&p, "expected a string in double quotes");
    while (!p.code && take(&p, ",")) {
        struct print_node *argument;

        p.operators = 0;
        argument = parse_argument(&p);
        if (!argument)
            break;
        *last = argument;
        last = &argument->next;
    }
    if (!p.code && p.t.kind != TOKEN_END)
        reject(&p, "expected ',' or the end");
    if (p.code)
        return p.code;
    *ret_tree = tree;
    return 0;
}
