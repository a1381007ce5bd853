/* SPDX-License-Identifier: MIT */
#include "filter/filter.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"

enum value_kind {
    VALUE_NUMBER,
    /* Strings are not values of programs: no code is made for them until they are compared. */
    VALUE_STRING, /* of a field */
    VALUE_THREAD_NAME,
    VALUE_TEXT, /* in quotes */
};

/* What an operand is, while the program is made. */
struct value {
    uint8_t kind;
    bool is_unsigned;
    bool constant;
    bool plain; /* a field, as it is */
    uint16_t column;
    uint16_t field;
    uint16_t pattern; /* in the condition's patterns */
    uint16_t first;   /* its first instruction */
    uint64_t value;   /* a constant's */
};

struct compiler {
    const struct filter_condition *condition;
    const struct strata_field *fields;
    unsigned n_fields;
    struct filter_error *error;
    struct filter_error *warning;

    struct value values[FILTER_STACK_MAX];
    unsigned n_values;
    uint16_t branches[FILTER_STACK_MAX]; /* instructions whose aim is not known yet */
    unsigned n_branches;

    /* With room for all that the condition's nodes can become. */
    struct filter_instruction *code;
    unsigned n_code;
    uint64_t *constants;
    unsigned n_constants;
    char *patterns;
    unsigned patterns_len;
    unsigned fields_end;
    unsigned depth;
};

static void emit(struct compiler *compiler, enum filter_operation operation, unsigned a, unsigned b)
{
    compiler->code[compiler->n_code++] = (struct filter_instruction){
        .operation = (uint8_t)operation, .a = (uint8_t)a, .b = (uint16_t)b};
}

static void emit_constant(struct compiler *compiler, uint64_t value)
{
    unsigned i;

    for (i = 0; i < compiler->n_constants && compiler->constants[i] != value; i++)
        ;
    if (i == compiler->n_constants)
        compiler->constants[compiler->n_constants++] = value;
    emit(compiler, OPERATION_CONSTANT, 0, i);
}

static int push(struct compiler *compiler, struct value value)
{
    if (compiler->n_values == FILTER_STACK_MAX)
        return filter_fail(compiler->error, value.column,
                           "more than %d values wait for their operator here", FILTER_STACK_MAX);
    compiler->values[compiler->n_values++] = value;
    compiler->depth = MAX(compiler->depth, compiler->n_values);
    return 0;
}

static struct value pop(struct compiler *compiler)
{
    return compiler->values[--compiler->n_values];
}

static int push_constant(struct compiler *compiler, struct value value)
{
    value.constant = true;
    value.first = (uint16_t)compiler->n_code;
    emit_constant(compiler, value.value);
    return push(compiler, value);
}

/* ---- Names ---- */

static bool is_name(const char *name, size_t len, const char *other)
{
    return strncmp(name, other, len) == 0 && other[len] == '\0';
}

static int push_field(struct compiler *compiler, struct value value, unsigned field)
{
    const struct strata_field *f = &compiler->fields[field];

    compiler->fields_end = MAX(compiler->fields_end, field + 1);
    value.field = (uint16_t)field;
    if (f->kind == STRATA_FIELD_STRING) {
        value.kind = VALUE_STRING;
        return push(compiler, value);
    }
    value.plain = true;
    value.is_unsigned = f->size == 8 && f->kind != STRATA_FIELD_SIGNED;
    emit(compiler, f->kind == STRATA_FIELD_SIGNED ? OPERATION_LOAD_S : OPERATION_LOAD_U, field,
         64 - 8U * f->size);
    return push(compiler, value);
}

static int push_name(struct compiler *compiler, const struct filter_node *node)
{
    const char *name = compiler->condition->text + node->start;
    struct value value = {.column = node->column, .first = (uint16_t)compiler->n_code};

    for (unsigned i = 0; i < compiler->n_fields; i++)
        if (is_name(name, node->len, compiler->fields[i].name))
            return push_field(compiler, value, i);
    if (is_name(name, node->len, "thread.id")) {
        emit(compiler, OPERATION_THREAD, 0, 0);
        return push(compiler, value);
    }
    if (is_name(name, node->len, "thread.name")) {
        value.kind = VALUE_THREAD_NAME;
        return push(compiler, value);
    }
    if (is_name(name, node->len, "NULL") || is_name(name, node->len, "false"))
        return push_constant(compiler, value);
    if (is_name(name, node->len, "true")) {
        value.value = 1;
        return push_constant(compiler, value);
    }
    if (memchr(name, '.', node->len))
        return filter_fail(compiler->error, node->column,
                           "unknown '%.*s' (valid: thread.name, thread.id)",
                           MIN((int)node->len, 80), name);
    return filter_fail(compiler->error, node->column, "the event has no argument '%.*s'",
                       MIN((int)node->len, 80), name);
}

/* ---- Strings ---- */

static unsigned keep_pattern(struct compiler *compiler, const struct value *text)
{
    const char *pattern = compiler->condition->patterns + text->pattern;
    unsigned at = compiler->patterns_len;

    size_t size = strlen(pattern) + 1;

    memcpy(compiler->patterns + at, pattern, size);
    compiler->patterns_len += (unsigned)size;
    return at;
}

static int not_a_number(struct compiler *compiler, const struct value *value)
{
    return filter_fail(compiler->error, value->column,
                       value->kind == VALUE_TEXT
                           ? "a text can only be compared, by == or !=, with a string"
                           : "a string can only be compared, by == or !=, with a text in quotes");
}

/* LEFT == RIGHT, LEFT != RIGHT, where one or both are strings. */
static int compare_strings(struct compiler *compiler, struct value left, struct value right,
                           const struct filter_node *node)
{
    if (left.kind == VALUE_NUMBER || left.kind == VALUE_TEXT) {
        struct value other = left;

        left = right;
        right = other;
    }
    if (left.kind == VALUE_NUMBER || left.kind == VALUE_TEXT || right.kind == VALUE_NUMBER)
        return not_a_number(compiler, left.kind == VALUE_NUMBER ? &right : &left);
    if (left.kind == VALUE_STRING && right.kind == VALUE_STRING)
        emit(compiler, OPERATION_SAME, left.field, right.field);
    else if (right.kind != VALUE_TEXT)
        return filter_fail(compiler->error, node->column,
                           "thread.name can only be compared with a text in quotes");
    else if (left.kind == VALUE_STRING)
        emit(compiler, OPERATION_MATCH, left.field, keep_pattern(compiler, &right));
    else
        emit(compiler, OPERATION_MATCH_THREAD, 0, keep_pattern(compiler, &right));
    if (node->op == OPERATOR_NOT_EQUAL)
        emit(compiler, OPERATION_NOT, 0, 0);
    return push(compiler, (struct value){.column = left.column, .first = left.first});
}

/* ---- Numbers ---- */

static enum filter_operation binary_operation(uint8_t op, bool left_unsigned, bool right_unsigned)
{
    bool is_unsigned = left_unsigned || right_unsigned;

    switch (op) {
    case OPERATOR_MULTIPLY: return OPERATION_MULTIPLY;
    case OPERATOR_DIVIDE: return is_unsigned ? OPERATION_DIVIDE_U : OPERATION_DIVIDE_S;
    case OPERATOR_MODULO: return is_unsigned ? OPERATION_MODULO_U : OPERATION_MODULO_S;
    case OPERATOR_ADD: return OPERATION_ADD;
    case OPERATOR_SUBTRACT: return OPERATION_SUBTRACT;
    case OPERATOR_SHIFT_LEFT: return OPERATION_SHIFT_LEFT;
    case OPERATOR_SHIFT_RIGHT:
        return left_unsigned ? OPERATION_SHIFT_RIGHT_U : OPERATION_SHIFT_RIGHT_S;
    case OPERATOR_BIT_AND: return OPERATION_BIT_AND;
    case OPERATOR_BIT_XOR: return OPERATION_BIT_XOR;
    case OPERATOR_BIT_OR: return OPERATION_BIT_OR;
    default: /* a relation: they are in the same order, four of each */
        return (enum filter_operation)(OPERATION_LESS_UU + 4 * (op - OPERATOR_LESS) +
                                       (left_unsigned ? 0 : 2) + (right_unsigned ? 0 : 1));
    }
}

static uint64_t apply(enum filter_operation operation, uint64_t l, uint64_t r)
{
    switch (operation) {
#define X(name, value) \
    case OPERATION_##name: return (uint64_t)(value);
        FILTER_BINARY(X)
        FILTER_UNARY(X)
#undef X
    default: return 0;
    }
}

/* Compares FIELD and CONSTANT by OP. LEFT: FIELD is the left operand. */
static bool compares(uint8_t op, bool left, struct value field, struct value constant)
{
    const struct value *l = left ? &field : &constant;
    const struct value *r = left ? &constant : &field;

    return apply(binary_operation(op, l->is_unsigned, r->is_unsigned), l->value, r->value);
}

/* Warns if, of the field's type, no value or every value compares so. */
static void compare_range(struct compiler *compiler, uint8_t op, bool left, struct value field,
                          struct value constant)
{
    const struct strata_field *f = &compiler->fields[field.field];
    unsigned bits = f->kind == STRATA_FIELD_BOOL ? 1 : 8U * f->size;
    struct value least = field;
    struct value most = field;
    bool of_least;

    least.value = f->kind == STRATA_FIELD_SIGNED ? (uint64_t)(INT64_MIN >> (64 - bits)) : 0;
    most.value = f->kind == STRATA_FIELD_SIGNED ? (uint64_t)(INT64_MAX >> (64 - bits))
                                                : UINT64_MAX >> (64 - bits);
    of_least = compares(op, left, least, constant);
    /* What is between them is like them, but where it is equal to the constant. */
    if (of_least != compares(op, left, most, constant) || compiler->warning->column ||
        ((op == OPERATOR_EQUAL || op == OPERATOR_NOT_EQUAL) &&
         !compares(OPERATOR_LESS, true, constant, least) &&
         !compares(OPERATOR_LESS, true, most, constant)))
        return;
    (void)filter_fail(compiler->warning, constant.column, "'%s' is of the type %s: this %s holds",
                      f->name, f->type, of_least ? "always" : "never");
}

static bool is_division(enum filter_operation operation)
{
    return operation >= OPERATION_DIVIDE_U && operation <= OPERATION_MODULO_S;
}

static int binary(struct compiler *compiler, const struct filter_node *node)
{
    struct value right = pop(compiler);
    struct value left = pop(compiler);
    bool clock_map = node->op >= OPERATOR_LESS && node->op <= OPERATOR_NOT_EQUAL;
    bool shift = node->op == OPERATOR_SHIFT_LEFT || node->op == OPERATOR_SHIFT_RIGHT;
    struct value value = {.column = left.column, .first = left.first};
    enum filter_operation operation;

    if (left.kind != VALUE_NUMBER || right.kind != VALUE_NUMBER) {
        if (node->op == OPERATOR_EQUAL || node->op == OPERATOR_NOT_EQUAL)
            return compare_strings(compiler, left, right, node);
        return not_a_number(compiler, left.kind != VALUE_NUMBER ? &left : &right);
    }
    if (clock_map && left.plain && right.constant)
        compare_range(compiler, node->op, true, left, right);
    if (clock_map && right.plain && left.constant)
        compare_range(compiler, node->op, false, right, left);

    operation = binary_operation(node->op, left.is_unsigned, right.is_unsigned);
    value.is_unsigned = !clock_map && (left.is_unsigned || (right.is_unsigned && !shift));
    if (left.constant && right.constant && !is_division(operation)) {
        compiler->n_code = left.first;
        value.value = apply(operation, left.value, right.value);
        return push_constant(compiler, value);
    }
    emit(compiler, operation, 0, 0);
    return push(compiler, value);
}

static int unary(struct compiler *compiler, const struct filter_node *node)
{
    struct value value = pop(compiler);
    enum filter_operation operation = node->op == OPERATOR_NEGATE ? OPERATION_NEGATE
                                      : node->op == OPERATOR_NOT  ? OPERATION_NOT
                                                                  : OPERATION_BIT_NOT;

    if (value.kind != VALUE_NUMBER)
        return not_a_number(compiler, &value);
    value.column = node->column;
    value.plain = false;
    if (node->op == OPERATOR_PLUS)
        return push(compiler, value);
    if (node->op == OPERATOR_NOT)
        value.is_unsigned = false;
    if (value.constant) {
        compiler->n_code = value.first;
        value.value = apply(operation, value.value, 0);
        return push_constant(compiler, value);
    }
    emit(compiler, operation, 0, 0);
    return push(compiler, value);
}

/* The left side of && or || is there: what follows is run only if it has not decided. */
static int branch(struct compiler *compiler, const struct filter_node *node)
{
    const struct value *left = &compiler->values[compiler->n_values - 1];

    if (left->kind != VALUE_NUMBER)
        return not_a_number(compiler, left);
    if (compiler->n_branches == FILTER_STACK_MAX)
        return filter_fail(compiler->error, node->column, "more than %d && and || are open here",
                           FILTER_STACK_MAX);
    compiler->branches[compiler->n_branches++] = (uint16_t)compiler->n_code;
    emit(compiler, node->op == OPERATOR_AND ? OPERATION_AND : OPERATION_OR, 0, 0);
    return 0;
}

static int join(struct compiler *compiler)
{
    struct value right = pop(compiler);
    struct value left = pop(compiler);
    unsigned from = compiler->branches[--compiler->n_branches];

    if (right.kind != VALUE_NUMBER)
        return not_a_number(compiler, &right);
    emit(compiler, OPERATION_TRUTH, 0, 0);
    compiler->code[from].b = (uint16_t)compiler->n_code;
    return push(compiler, (struct value){.column = left.column, .first = left.first});
}

static int take_node(struct compiler *compiler, const struct filter_node *node)
{
    struct value value = {.column = node->column,
                          .is_unsigned = node->is_unsigned,
                          .value = node->value,
                          .pattern = node->start,
                          .first = (uint16_t)compiler->n_code};

    switch (node->kind) {
    case NODE_NUMBER: return push_constant(compiler, value);
    case NODE_NAME: return push_name(compiler, node);
    case NODE_TEXT: value.kind = VALUE_TEXT; return push(compiler, value);
    case NODE_UNARY: return unary(compiler, node);
    case NODE_BRANCH: return branch(compiler, node);
    default:
        return node->op == OPERATOR_AND || node->op == OPERATOR_OR ? join(compiler)
                                                                   : binary(compiler, node);
    }
}

/* Puts the pieces together as filter.h says. */
static int assemble(const struct compiler *compiler, struct filter_program **ret)
{
    size_t size = sizeof(struct filter_program) + compiler->n_constants * sizeof(uint64_t) +
                  compiler->n_code * sizeof(struct filter_instruction) + compiler->patterns_len;
    struct filter_program *program;

    size = (size + 7) & ~(size_t)7;
    program = calloc(1, size);
    if (!program)
        return -ENOMEM;
    program->size = (uint32_t)size;
    program->n_constants = (uint16_t)compiler->n_constants;
    program->n_instructions = (uint16_t)compiler->n_code;
    program->n_fields = (uint8_t)compiler->fields_end;
    program->depth = (uint8_t)compiler->depth;
    if (compiler->n_constants > 0)
        memcpy(program->constants, compiler->constants, compiler->n_constants * sizeof(uint64_t));
    memcpy((void *)filter_instructions(program), compiler->code,
           compiler->n_code * sizeof(struct filter_instruction));
    if (compiler->patterns_len > 0)
        memcpy((void *)filter_patterns(program), compiler->patterns, compiler->patterns_len);
    *ret = program;
    return 0;
}

int filter_compile(const struct filter_condition *condition, const struct strata_field *fields,
                   unsigned n_fields, struct filter_program **ret, struct filter_error *error,
                   struct filter_error *warning)
{
    /* A node becomes one instruction, but two where strings are unequal; one ends it all. Folding
     * constants leaves no more than there were nodes. */
    size_t n = condition->n_nodes + 1;
    _cleanup_free_ struct filter_instruction *code = calloc(2 * n, sizeof(*code));
    _cleanup_free_ uint64_t *constants = calloc(2 * n, sizeof(*constants));
    _cleanup_free_ char *patterns = malloc(strlen(condition->text) + 1);
    struct compiler compiler = {
        .condition = condition,
        .fields = fields,
        .n_fields = n_fields,
        .error = error,
        .warning = warning,
        .code = code,
        .constants = constants,
        .patterns = patterns,
    };

    if (!code || !constants || !patterns)
        return -ENOMEM;
    warning->column = 0;
    for (unsigned i = 0; i < condition->n_nodes; i++) {
        int r = take_node(&compiler, &condition->nodes[i]);

        if (r < 0)
            return r;
    }
    if (compiler.values[0].kind != VALUE_NUMBER)
        return not_a_number(&compiler, &compiler.values[0]);
    emit(&compiler, OPERATION_RETURN, 0, 0);
    return assemble(&compiler, ret);
}
