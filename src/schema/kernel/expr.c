/* SPDX-License-Identifier: MIT */
#include "schema/kernel/expr.h"

#include <ctype.h>

#include "schema/kernel/events.h"
#include "schema/kernel/format.h"

static const struct kernel_expr zero = {.kind = EXPR_CONST};

static const struct kernel_expr *add(struct kernel_compiler *c, struct kernel_expr expr)
{
    const struct kernel_expr *copy = arena_memdup(c->arena, &expr, sizeof expr);

    if (!copy) {
        c->out_of_memory = true;
        return &zero;
    }
    return copy;
}

const struct kernel_expr *kernel_expr_const(struct kernel_compiler *c, uint64_t v)
{
    return add(c, (struct kernel_expr){.kind = EXPR_CONST, .value = v});
}

const struct kernel_expr *kernel_expr_slot(struct kernel_compiler *c, unsigned slot)
{
    return add(c, (struct kernel_expr){.kind = EXPR_SLOT, .offset = slot});
}

static bool is_scalar_size(uint32_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

struct kernel_dynamic kernel_dynamic_of(const struct kernel_field *field)
{
    return (struct kernel_dynamic){
        .offset = field->offset,
        .size = (uint8_t)(is_scalar_size(field->size) ? field->size : 0),
        .relative = (field->flags & FIELD_IS_RELATIVE) != 0,
    };
}

/* What a cast to TYPE leaves of a number. */
static uint64_t mask_of_type(const char *type, size_t len)
{
    static const struct {
        const char *name;
        uint64_t mask;
    } types[] = {
        {"u8", UINT8_MAX},   {"s8", UINT8_MAX},   {"char", UINT8_MAX},
        {"u16", UINT16_MAX}, {"s16", UINT16_MAX}, {"short", UINT16_MAX},
        {"u32", UINT32_MAX}, {"s32", UINT32_MAX}, {"int", UINT32_MAX},
    };
    static const char without_sign[] = "unsigned ";
    const size_t n = sizeof without_sign - 1;

    if (len > n && memcmp(type, without_sign, n) == 0) {
        type += n;
        len -= n;
    }
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strlen(types[i].name) == len && memcmp(types[i].name, type, len) == 0)
            return types[i].mask;
    return UINT64_MAX;
}

bool kernel_word_value(const char *word, int64_t *ret)
{
    static const struct {
        const char *name;
        int64_t v;
    } known[] = {
        {"HI_SOFTIRQ", 0},         {"TIMER_SOFTIRQ", 1},     {"NET_TX_SOFTIRQ", 2},
        {"NET_RX_SOFTIRQ", 3},     {"BLOCK_SOFTIRQ", 4},     {"IRQ_POLL_SOFTIRQ", 5},
        {"TASKLET_SOFTIRQ", 6},    {"SCHED_SOFTIRQ", 7},     {"HRTIMER_SOFTIRQ", 8},
        {"RCU_SOFTIRQ", 9},        {"HRTIMER_NORESTART", 0}, {"HRTIMER_RESTART", 1},
        {"PARAVIRT_LAZY_NONE", 0}, {"PARAVIRT_LAZY_MMU", 1}, {"PARAVIRT_LAZY_CPU", 2},
        {"XEN_MC_FL_NONE", 0},     {"XEN_MC_FL_BATCH", 1},   {"XEN_MC_FL_ARGS", 2},
        {"XEN_MC_FL_CALLBACK", 3}, {"XEN_MC_XE_OK", 0},      {"XEN_MC_XE_BAD_OP", 1},
        {"XEN_MC_XE_NO_SPACE", 2},
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        if (strcmp(known[i].name, word) == 0) {
            *ret = known[i].v;
            return true;
        }
    }
    return false;
}

static const struct kernel_expr *compile_atom(struct kernel_compiler *c, const char *atom)
{
    uint64_t v = strtoull(atom, NULL, 0);
    int64_t named;

    if (v != 0 || isdigit((unsigned char)atom[0]))
        return kernel_expr_const(c, v);
    if (kernel_word_value(atom, &named))
        v = (uint64_t)named;
    else /* a symbol of the kernel, perhaps */
        v = kernel_events_symbol_address(c->events, atom);
    return kernel_expr_const(c, v);
}

static const struct kernel_expr *compile_field(struct kernel_compiler *c,
                                               const struct kernel_field *field)
{
    if (!is_scalar_size(field->size))
        return &zero;
    return add(c, (struct kernel_expr){
                      .kind = EXPR_FIELD, .offset = field->offset, .size = (uint8_t)field->size});
}

static const struct kernel_expr *compile_cast(struct kernel_compiler *c,
                                              const struct print_node *node)
{
    const struct kernel_expr *a = kernel_expr_compile(c, node->a);
    uint64_t mask = mask_of_type(node->text, strlen(node->text));

    if (mask == UINT64_MAX)
        return a;
    if (a->kind == EXPR_CONST)
        return kernel_expr_const(c, a->value & mask);
    if (a->kind == EXPR_FIELD && mask >> (8 * a->size - 1) != 0)
        return a; /* it is no wider than the type */
    return add(c, (struct kernel_expr){.kind = EXPR_MASK, .a = a, .value = mask});
}

/* REC->array[i], ((type *)__get_dynamic_array(x))[i] */
static const struct kernel_expr *compile_element(struct kernel_compiler *c,
                                                 const struct print_node *node)
{
    const struct print_node *array = node->a, *cast = NULL;
    struct kernel_expr expr = {.value = UINT64_MAX};
    const struct kernel_field *field;

    while (array->kind == PRINT_CAST) {
        if (!cast)
            cast = array;
        array = array->a;
    }
    field = array->field;
    if (array->kind == PRINT_DYNAMIC_ARRAY) {
        expr.kind = EXPR_DYN_ELEMENT;
        expr.dynamic = kernel_dynamic_of(field);
        expr.size = c->long_size;
    } else if (array->kind == PRINT_FIELD) {
        expr.kind = EXPR_ELEMENT;
        expr.offset = field->offset;
    } else {
        return &zero;
    }
    if (field->element_size || expr.kind == EXPR_ELEMENT) {
        if (!is_scalar_size(field->element_size))
            return &zero;
        expr.size = (uint8_t)field->element_size;
    }
    if (cast) {
        size_t len = strlen(cast->text);
        /* "u32 *": what it points to. */
        if (len > 2 && cast->text[len - 1] == '*')
            expr.value = mask_of_type(cast->text, len - 2);
    }
    expr.a = kernel_expr_compile(c, node->b);
    if (expr.kind == EXPR_ELEMENT && expr.value == UINT64_MAX && expr.a->kind == EXPR_CONST &&
        expr.size > 0 && expr.a->value < field->size / expr.size) {
        expr.kind = EXPR_FIELD;
        expr.offset += (uint32_t)expr.a->value * expr.size;
    }
    return add(c, expr);
}

static uint64_t operate(enum kernel_operator op, uint64_t a, uint64_t b)
{
    switch (op) {
    case OPERATOR_NOT: return !b;
    case OPERATOR_INVERT: return ~b;
    case OPERATOR_OR: return a || b;
    case OPERATOR_OR_BITS: return a | b;
    case OPERATOR_AND: return a && b;
    case OPERATOR_AND_BITS: return a & b;
    case OPERATOR_LESS: return a < b;
    case OPERATOR_LESS_EQUAL: return a <= b;
    case OPERATOR_SHIFT_LEFT: return a << (b & 63);
    case OPERATOR_MORE: return a > b;
    case OPERATOR_MORE_EQUAL: return a >= b;
    case OPERATOR_SHIFT_RIGHT: return a >> (b & 63);
    case OPERATOR_EQUAL: return a == b;
    case OPERATOR_UNEQUAL: return a != b;
    case OPERATOR_MINUS: return a - b;
    case OPERATOR_PLUS: return a + b;
    case OPERATOR_DIVIDE: return b ? a / b : 0;
    case OPERATOR_MODULO: return b ? a % b : 0;
    case OPERATOR_TIMES: return a * b;
    case OPERATOR_XOR: return a ^ b;
    case OPERATOR_CONDITION:
    case OPERATOR_INDEX: break; /* which are expressions of their own kind */
    }
    return 0;
}

static int64_t operate_signed(enum kernel_operator op, int64_t a, int64_t b)
{
    switch (op) {
    case OPERATOR_SHIFT_RIGHT: return a >> (b & 63);
    case OPERATOR_LESS: return a < b;
    case OPERATOR_LESS_EQUAL: return a <= b;
    case OPERATOR_MORE: return a > b;
    case OPERATOR_MORE_EQUAL: return a >= b;
    default: return (int64_t)operate(op, (uint64_t)a, (uint64_t)b);
    }
}

int64_t kernel_constant(const struct print_node *node)
{
    if (!node)
        return 0;
    switch ((enum print_kind)node->kind) {
    case PRINT_ATOM: return strtoll(node->text, NULL, 0);
    case PRINT_CAST:
        return (int64_t)((uint64_t)kernel_constant(node->a) &
                         mask_of_type(node->text, strlen(node->text)));
    case PRINT_OPERATION:
        if (node->op == OPERATOR_CONDITION)
            return kernel_constant(kernel_constant(node->a) ? node->b : node->c);
        return operate_signed((enum kernel_operator)node->op, kernel_constant(node->a),
                              kernel_constant(node->b));
    default: return 0;
    }
}

static const struct kernel_expr *compile_condition(struct kernel_compiler *c,
                                                   const struct print_node *node)
{
    const struct kernel_expr *a = kernel_expr_compile(c, node->a);

    if (a->kind == EXPR_CONST)
        return kernel_expr_compile(c, a->value ? node->b : node->c);
    return add(c, (struct kernel_expr){.kind = EXPR_CONDITION,
                                       .a = a,
                                       .b = kernel_expr_compile(c, node->b),
                                       .c = kernel_expr_compile(c, node->c)});
}

static const struct kernel_expr *compile_operation(struct kernel_compiler *c,
                                                   const struct print_node *node)
{
    enum kernel_operator op = (enum kernel_operator)node->op;
    const struct kernel_expr *a, *b;

    if (op == OPERATOR_INDEX)
        return compile_element(c, node);
    if (op == OPERATOR_CONDITION)
        return compile_condition(c, node);
    a = kernel_expr_compile(c, node->a);
    b = kernel_expr_compile(c, node->b);
    if ((op == OPERATOR_DIVIDE || op == OPERATOR_MODULO) && b->kind == EXPR_CONST && b->value == 0)
        c->divides_by_zero = true;
    if (a->kind == EXPR_CONST && b->kind == EXPR_CONST)
        return kernel_expr_const(c, operate(op, a->value, b->value));
    return add(c, (struct kernel_expr){.kind = EXPR_OPERATION, .op = (uint8_t)op, .a = a, .b = b});
}

const struct kernel_expr *kernel_expr_compile(struct kernel_compiler *c,
                                              const struct print_node *node)
{
    if (!node)
        return &zero;
    switch ((enum print_kind)node->kind) {
    case PRINT_ATOM: return compile_atom(c, node->text);
    case PRINT_FIELD: return compile_field(c, node->field);
    case PRINT_CAST: return compile_cast(c, node);
    case PRINT_OPERATION: return compile_operation(c, node);
    case PRINT_DYNAMIC_ARRAY:
    case PRINT_DYNAMIC_LENGTH:
        return add(c,
                   (struct kernel_expr){.kind = node->kind == PRINT_DYNAMIC_ARRAY ? EXPR_DYN_PLACE
                                                                                  : EXPR_DYN_LENGTH,
                                        .dynamic = kernel_dynamic_of(node->field)});
    default: return &zero;
    }
}

void kernel_dynamic_find(const struct kernel_dynamic *dynamic, const struct kernel_run *run,
                         uint32_t *ret_offset, uint32_t *ret_len)
{
    uint64_t offset = 0, len = 0, word;

    if (dynamic->offset <= run->size && dynamic->size <= run->size - dynamic->offset &&
        dynamic->size != 0) {
        word = load_uint(run->data + dynamic->offset, dynamic->size, run->swap);
        offset = word & 0xffff;
        len = dynamic->size == 2 ? run->size - MIN(offset, run->size) : (word >> 16) & 0xffff;
        if (dynamic->relative)
            offset += dynamic->offset + dynamic->size;
    }
    if (offset > run->size)
        offset = len = 0;
    *ret_offset = (uint32_t)offset;
    *ret_len = (uint32_t)(len > run->size - offset ? 0 : len);
}

uint64_t kernel_expr_eval_slowly(const struct kernel_expr *expr, const struct kernel_run *run)
{
    uint32_t offset, len;
    uint64_t a;

    switch ((enum kernel_expr_kind)expr->kind) {
    case EXPR_CONST: return expr->value;
    case EXPR_FIELD: return kernel_load(run, expr->offset, expr->size);
    case EXPR_MASK: return kernel_expr_eval(expr->a, run) & expr->value;
    case EXPR_ELEMENT:
        a = kernel_expr_eval(expr->a, run);
        if (a > run->size)
            return 0;
        return kernel_load(run, expr->offset + a * expr->size, expr->size) & expr->value;
    case EXPR_DYN_ELEMENT:
        a = kernel_expr_eval(expr->a, run);
        kernel_dynamic_find(&expr->dynamic, run, &offset, &len);
        if (a > run->size)
            return 0;
        /* The index counts bytes here: so do the tools of the field. */
        return kernel_load(run, offset + a, expr->size) & expr->value;
    case EXPR_DYN_LENGTH: kernel_dynamic_find(&expr->dynamic, run, &offset, &len); return len;
    case EXPR_DYN_PLACE: kernel_dynamic_find(&expr->dynamic, run, &offset, &len); return offset;
    case EXPR_CONDITION:
        return kernel_expr_eval(kernel_expr_eval(expr->a, run) ? expr->b : expr->c, run);
    case EXPR_OPERATION:
        return operate((enum kernel_operator)expr->op, kernel_expr_eval(expr->a, run),
                       kernel_expr_eval(expr->b, run));
    case EXPR_SLOT: return run->slots[expr->offset].v;
    }
    return 0;
}
