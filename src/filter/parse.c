/* SPDX-License-Identifier: MIT */
#include "filter/internal.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

#define NO_OPERATOR 0xff /* a value, or something in parentheses */

struct parser {
    struct filter_lexer lexer;
    struct filter_token token; /* the next one */
    struct filter_condition *condition;
    unsigned nesting;
};

static size_t column_of(const struct parser *parser, const struct filter_token *token)
{
    return (size_t)(token->start - parser->lexer.text) + 1;
}

static int advance(struct parser *parser)
{
    return filter_lex(&parser->lexer, &parser->token);
}

static void add(struct parser *parser, enum filter_node_kind kind, const struct filter_token *token,
                uint8_t op)
{
    parser->condition->nodes[parser->condition->n_nodes++] = (struct filter_node){
        .kind = (uint8_t)kind,
        .op = op,
        .is_unsigned = token->is_unsigned,
        .column = (uint16_t)column_of(parser, token),
        .start = (uint16_t)(kind == NODE_TEXT ? token->pattern : column_of(parser, token) - 1),
        .len = (uint16_t)token->len,
        .value = token->value,
    };
}

static void warn(struct parser *parser, const struct filter_token *token, const char *text)
{
    struct filter_error *warning = &parser->condition->warning;

    if (!warning->column)
        (void)filter_fail(warning, column_of(parser, token), "%s", text);
}

/* The higher, the closer it binds. */
static unsigned precedence(uint8_t op)
{
    static const uint8_t precedences[] = {
        [OPERATOR_MULTIPLY] = 10,     [OPERATOR_DIVIDE] = 10,  [OPERATOR_MODULO] = 10,
        [OPERATOR_ADD] = 9,           [OPERATOR_SUBTRACT] = 9, [OPERATOR_SHIFT_LEFT] = 8,
        [OPERATOR_SHIFT_RIGHT] = 8,   [OPERATOR_LESS] = 7,     [OPERATOR_LESS_EQUAL] = 7,
        [OPERATOR_GREATER] = 7,       [OPERATOR_EQUAL] = 6,    [OPERATOR_NOT_EQUAL] = 6,
        [OPERATOR_GREATER_EQUAL] = 7, [OPERATOR_BIT_AND] = 5,  [OPERATOR_BIT_XOR] = 4,
        [OPERATOR_BIT_OR] = 3,        [OPERATOR_AND] = 2,      [OPERATOR_OR] = 1,
    };

    return precedences[op];
}

static bool is_relation(uint8_t op)
{
    return op >= OPERATOR_LESS && op <= OPERATOR_NOT_EQUAL;
}

static int parse_binary(struct parser *parser, unsigned closest, uint8_t *ret);

static int deeper(struct parser *parser)
{
    if (++parser->nesting <= FILTER_NESTING_MAX)
        return 0;
    return filter_fail(parser->lexer.error, column_of(parser, &parser->token),
                       "more than %d parentheses and signs are open", FILTER_NESTING_MAX);
}

static int parse_parentheses(struct parser *parser)
{
    struct filter_token open = parser->token;
    uint8_t op;
    int r = deeper(parser);

    if (r >= 0)
        r = advance(parser);
    if (r >= 0)
        r = parse_binary(parser, 1, &op);
    if (r < 0)
        return r;
    parser->nesting--;
    if (parser->token.kind == TOKEN_END)
        return filter_fail(parser->lexer.error, column_of(parser, &open),
                           "'(' is not closed by ')'");
    if (parser->token.kind != TOKEN_CLOSE)
        return filter_fail(parser->lexer.error, column_of(parser, &parser->token),
                           "an operator or ')' belongs in front of '%.*s'",
                           (int)MIN(parser->token.len, (size_t)40), parser->token.start);
    return advance(parser);
}

static int parse_value(struct parser *parser)
{
    struct filter_token token = parser->token;
    uint8_t op;
    int r;

    switch (token.kind) {
    case TOKEN_NUMBER: add(parser, NODE_NUMBER, &token, 0); return advance(parser);
    case TOKEN_NAME: add(parser, NODE_NAME, &token, 0); return advance(parser);
    case TOKEN_TEXT: add(parser, NODE_TEXT, &token, 0); return advance(parser);
    case TOKEN_OPEN: return parse_parentheses(parser);
    case TOKEN_NOT:
    case TOKEN_BIT_NOT: op = token.op; break;
    case TOKEN_OPERATOR:
        op = token.op == OPERATOR_SUBTRACT ? OPERATOR_NEGATE : OPERATOR_PLUS;
        if (token.op == OPERATOR_SUBTRACT || token.op == OPERATOR_ADD)
            break;
        /* fallthrough */
    default:
        if (token.kind == TOKEN_END)
            return filter_fail(parser->lexer.error, column_of(parser, &token),
                               "a value is missing at the end");
        return filter_fail(parser->lexer.error, column_of(parser, &token),
                           "a value is missing in front of '%.*s'", (int)token.len, token.start);
    }
    r = deeper(parser);
    if (r >= 0)
        r = advance(parser);
    if (r >= 0)
        r = parse_value(parser);
    if (r < 0)
        return r;
    parser->nesting--;
    add(parser, NODE_UNARY, &token, op);
    return 0;
}

/* gcc's -Wparentheses: what is C's meaning, but seldom the writer's. */
static void warn_of_precedence(struct parser *parser, const struct filter_token *token,
                               uint8_t left, uint8_t right)
{
    if (token->op >= OPERATOR_BIT_AND && token->op <= OPERATOR_BIT_OR &&
        (is_relation(left) || is_relation(right)))
        warn(parser, token,
             "as in C, '&', '^' and '|' bind less than comparisons: write (flags & 1) == 0");
    if (is_relation(token->op) && is_relation(left))
        warn(parser, token, "as in C, a < b < c compares c with 0 or 1: write a < b && b < c");
}

/* What binds at least as CLOSE. *RET: its outermost operator. */
static int parse_binary(struct parser *parser, unsigned close, uint8_t *ret)
{
    uint8_t left = NO_OPERATOR;
    int r = parse_value(parser);

    while (r >= 0 && parser->token.kind == TOKEN_OPERATOR &&
           precedence(parser->token.op) >= close) {
        struct filter_token token = parser->token;
        uint8_t right;

        if (token.op == OPERATOR_AND || token.op == OPERATOR_OR)
            add(parser, NODE_BRANCH, &token, token.op);
        r = advance(parser);
        if (r >= 0)
            r = parse_binary(parser, precedence(token.op) + 1, &right);
        if (r < 0)
            return r;
        warn_of_precedence(parser, &token, left, right);
        add(parser, NODE_BINARY, &token, token.op);
        left = token.op;
    }
    if (r >= 0)
        *ret = left;
    return r;
}

static int parse_whole(struct parser *parser)
{
    const struct filter_token *token = &parser->token;
    uint8_t op;
    int r = advance(parser);

    if (r < 0)
        return r;
    if (token->kind == TOKEN_END)
        return filter_fail(parser->lexer.error, 1, "the condition is empty");
    r = parse_binary(parser, 1, &op);
    if (r < 0 || token->kind == TOKEN_END)
        return r;
    if (token->kind == TOKEN_BIT_NOT)
        return filter_fail(parser->lexer.error, column_of(parser, token),
                           "'~' is not an operator; use '==', which accepts patterns");
    return filter_fail(parser->lexer.error, column_of(parser, token),
                       token->kind == TOKEN_CLOSE ? "'%.*s' closes nothing"
                                                  : "an operator is missing in front of '%.*s'",
                       (int)MIN(token->len, (size_t)40), token->start);
}

int filter_parse(const char *text, struct filter_condition **ret, struct filter_error *error)
{
    size_t len = strlen(text);
    _cleanup_free_ struct filter_condition *condition = NULL;
    struct parser parser;
    char *copy;
    int r;

    if (len > FILTER_TEXT_MAX)
        return filter_fail(error, FILTER_TEXT_MAX + 1, "a condition has at most %d bytes",
                           FILTER_TEXT_MAX);
    /* No byte makes more than one node, nor more than one byte of a pattern. */
    condition = malloc(sizeof(*condition) + (len + 1) * sizeof(*condition->nodes) + 2 * (len + 1));
    if (!condition)
        return -ENOMEM;
    copy = (char *)(condition->nodes + len + 1);
    memcpy(copy, text, len + 1);
    *condition = (struct filter_condition){.text = copy, .patterns = copy + len + 1};
    parser = (struct parser){
        .lexer = {.text = copy, .at = copy, .patterns = copy + len + 1, .error = error},
        .condition = condition,
    };
    r = parse_whole(&parser);
    if (r < 0)
        return r;
    *ret = condition;
    condition = NULL;
    return 0;
}
