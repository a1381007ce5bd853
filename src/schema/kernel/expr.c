/* SPDX-License-Identifier: MIT */
#include "schema/kernel/expr.h"

#include <ctype.h>
#include <traceevent/event-parse.h>

#include "schema/kernel/events.h"

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

struct kernel_dynamic kernel_dynamic_of(const struct tep_format_field *field)
{
    return (struct kernel_dynamic){
        .offset = (uint32_t)MAX(field->offset, 0),
        .size =
            (uint8_t)(field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8
                          ? field->size
                          : 0),
        .relative = (field->flags & TEP_FIELD_IS_RELATIVE) != 0,
    };
}

const struct tep_format_field *kernel_field_named(const struct kernel_compiler *c, const char *name)
{
    const struct tep_format *format = &c->event->format;

    for (const struct tep_format_field *f = format->common_fields; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    for (const struct tep_format_field *f = format->fields; f; f = f->next)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
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

static const struct kernel_expr *compile_atom(struct kernel_compiler *c, const char *atom)
{
    uint64_t v = strtoull(atom, NULL, 0);

    /* Some formats name a symbol of the kernel. */
    if (v == 0 && !isdigit((unsigned char)atom[0]))
        v = kernel_events_symbol_address(c->events, atom);
    return kernel_expr_const(c, v);
}

static bool is_scalar_size(int size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static const struct kernel_expr *compile_field(struct kernel_compiler *c,
                                               const struct tep_print_arg *arg)
{
    const struct tep_format_field *field = arg->field.field;

    if (!field)
        field = kernel_field_named(c, arg->field.name);
    if (!field || field->offset < 0 || !is_scalar_size(field->size))
        return &zero;
    return add(c, (struct kernel_expr){.kind = EXPR_FIELD,
                                       .offset = (uint32_t)field->offset,
                                       .size = (uint8_t)field->size});
}

static const struct kernel_expr *compile_cast(struct kernel_compiler *c,
                                              const struct tep_print_arg *arg)
{
    const struct kernel_expr *a = kernel_expr_compile(c, arg->typecast.item);
    uint64_t mask = mask_of_type(arg->typecast.type, strlen(arg->typecast.type));

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
                                                 const struct tep_print_arg *arg)
{
    const struct tep_print_arg *array = arg->op.left, *cast = NULL;
    struct kernel_expr expr = {.value = UINT64_MAX};
    const struct tep_format_field *field;

    while (array->type == TEP_PRINT_TYPE) {
        if (!cast)
            cast = array;
        array = array->typecast.item;
    }
    if (array->type == TEP_PRINT_DYNAMIC_ARRAY) {
        field = array->dynarray.field;
        if (!field)
            return &zero;
        expr.kind = EXPR_DYN_ELEMENT;
        expr.dynamic = kernel_dynamic_of(field);
        expr.size = c->long_size;
    } else if (array->type == TEP_PRINT_FIELD) {
        field = array->field.field;
        if (!field)
            field = kernel_field_named(c, array->field.name);
        if (!field || field->offset < 0)
            return &zero;
        expr.kind = EXPR_ELEMENT;
        expr.offset = (uint32_t)field->offset;
    } else {
        return &zero;
    }
    if (field->elementsize || expr.kind == EXPR_ELEMENT) {
        if (!is_scalar_size((int)MIN(field->elementsize, 9u)))
            return &zero;
        expr.size = (uint8_t)field->elementsize;
    }
    if (cast) {
        size_t len = strlen(cast->typecast.type);
        /* "u32 *": what it points to. */
        if (len > 2 && cast->typecast.type[len - 1] == '*')
            expr.value = mask_of_type(cast->typecast.type, len - 2);
    }
    expr.a = kernel_expr_compile(c, arg->op.right);
    return add(c, expr);
}

static bool find_operator(const char *s, enum kernel_operator *ret)
{
    static const struct {
        const char *s;
        enum kernel_operator op;
    } operators[] = {
        {"!", OPERATOR_NOT},          {"!=", OPERATOR_UNEQUAL}, {"~", OPERATOR_INVERT},
        {"||", OPERATOR_OR},          {"|", OPERATOR_OR_BITS},  {"&&", OPERATOR_AND},
        {"&", OPERATOR_AND_BITS},     {"<", OPERATOR_LESS},     {"<=", OPERATOR_LESS_EQUAL},
        {"<<", OPERATOR_SHIFT_LEFT},  {">", OPERATOR_MORE},     {">=", OPERATOR_MORE_EQUAL},
        {">>", OPERATOR_SHIFT_RIGHT}, {"==", OPERATOR_EQUAL},   {"-", OPERATOR_MINUS},
        {"+", OPERATOR_PLUS},         {"/", OPERATOR_DIVIDE},   {"%", OPERATOR_MODULO},
        {"*", OPERATOR_TIMES},
    };

    for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
        if (strcmp(operators[i].s, s) == 0) {
            *ret = operators[i].op;
            return true;
        }
    }
    return false;
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
    }
    return 0;
}

static const struct kernel_expr *compile_operation(struct kernel_compiler *c,
                                                   const struct tep_print_arg *arg)
{
    const struct kernel_expr *a, *b;
    enum kernel_operator op;

    if (!arg->op.op || !arg->op.left || !arg->op.right)
        return &zero;
    if (strcmp(arg->op.op, "[") == 0)
        return compile_element(c, arg);
    if (strcmp(arg->op.op, "?") == 0) {
        const struct tep_print_arg *choice = arg->op.right;

        if (choice->type != TEP_PRINT_OP || !choice->op.left || !choice->op.right)
            return &zero;
        a = kernel_expr_compile(c, arg->op.left);
        if (a->kind == EXPR_CONST)
            return kernel_expr_compile(c, a->value ? choice->op.left : choice->op.right);
        return add(c, (struct kernel_expr){.kind = EXPR_CONDITION,
                                           .a = a,
                                           .b = kernel_expr_compile(c, choice->op.left),
                                           .c = kernel_expr_compile(c, choice->op.right)});
    }
    if (!find_operator(arg->op.op, &op))
        return &zero;
    a = kernel_expr_compile(c, arg->op.left);
    b = kernel_expr_compile(c, arg->op.right);
    if (a->kind == EXPR_CONST && b->kind == EXPR_CONST)
        return kernel_expr_const(c, operate(op, a->value, b->value));
    return add(c, (struct kernel_expr){.kind = EXPR_OPERATION, .op = (uint8_t)op, .a = a, .b = b});
}

const struct kernel_expr *kernel_expr_compile(struct kernel_compiler *c,
                                              const struct tep_print_arg *arg)
{
    if (!arg)
        return &zero;
    switch (arg->type) {
    case TEP_PRINT_ATOM: return arg->atom.atom ? compile_atom(c, arg->atom.atom) : &zero;
    case TEP_PRINT_FIELD: return compile_field(c, arg);
    case TEP_PRINT_TYPE: return compile_cast(c, arg);
    case TEP_PRINT_OP: return compile_operation(c, arg);
    case TEP_PRINT_DYNAMIC_ARRAY:
    case TEP_PRINT_DYNAMIC_ARRAY_LEN:
        if (!arg->dynarray.field)
            return &zero;
        return add(c, (struct kernel_expr){.kind = arg->type == TEP_PRINT_DYNAMIC_ARRAY
                                                       ? EXPR_DYN_PLACE
                                                       : EXPR_DYN_LENGTH,
                                           .dynamic = kernel_dynamic_of(arg->dynarray.field)});
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
