/* SPDX-License-Identifier: MIT */
#include "schema/kernel/names.h"

#include <string.h>

#include "base/text.h"
#include "event/kernel_event.h"
#include "event/program.h"
#include "event/value.h"
#include "schema/kernel/events.h"
#include "schema/kernel/string_arg.h"

/* The fields that an expression or a string argument reads. */
struct looked_at {
    const struct kernel_expr *field; /* NULL: at nothing but constants */
    bool other; /* at more than one field, or at something other than a field */
};

static bool is_same_field(const struct kernel_expr *a, const struct kernel_expr *b)
{
    return a->offset == b->offset && a->size == b->size;
}

static void look_at_expr(const struct kernel_expr *expr, struct looked_at *at)
{
    if (!expr || at->other)
        return;
    switch ((enum kernel_expr_kind)expr->kind) {
    case EXPR_CONST: return;
    case EXPR_FIELD:
        if (at->field && !is_same_field(at->field, expr))
            at->other = true;
        at->field = expr;
        return;
    case EXPR_MASK: look_at_expr(expr->a, at); return;
    case EXPR_CONDITION:
    case EXPR_OPERATION:
        look_at_expr(expr->a, at);
        look_at_expr(expr->b, at);
        look_at_expr(expr->c, at);
        return;
    default: at->other = true;
    }
}

static void look_at_more(struct looked_at *at, const struct looked_at *more)
{
    if (more->other || (at->field && more->field && !is_same_field(at->field, more->field)))
        at->other = true;
    if (more->field)
        at->field = more->field;
}

/* Whether PIECE shows names: something else than nothing, whatever the field holds. */
static bool shows_names(const struct kernel_string_arg *string_arg, struct looked_at *at)
{
    struct looked_at yes = {0}, no = {0};

    switch ((enum kernel_string_arg_kind)string_arg->kind) {
    case STRING_ARG_LITERAL: return string_arg->len > 0;
    case STRING_ARG_SYMBOL:
    case STRING_ARG_FLAGS:
    case STRING_ARG_NAMED: look_at_expr(string_arg->a, at); return true;
    case STRING_ARG_CHOICE:
        if (!shows_names(string_arg->yes, &yes) || !shows_names(string_arg->no, &no))
            return false;
        /* Another field may choose between two lists of names of one field: AMD's and Intel's reasons of VM exits. */
        if (!yes.field || !no.field || !is_same_field(yes.field, no.field))
            look_at_expr(string_arg->a, at);
        look_at_more(at, &yes);
        look_at_more(at, &no);
        return true;
    default: return false;
    }
}

/* Whether the value that PIECE shows of an event has a name. */
static bool has_name(const struct kernel_string_arg *string_arg, struct kernel_events *events,
                     const struct kernel_run *run)
{
    uint64_t v, start;
    size_t len;

    switch ((enum kernel_string_arg_kind)string_arg->kind) {
    case STRING_ARG_LITERAL: return true;
    case STRING_ARG_CHOICE:
        return has_name(kernel_expr_eval(string_arg->a, run) ? string_arg->yes : string_arg->no,
                        events, run);
    default: break;
    }
    v = kernel_expr_eval(string_arg->a, run);
    if (string_arg->kind == STRING_ARG_SYMBOL)
        return kernel_events_symbol(events, v, &len, &start) != NULL;
    for (uint32_t i = 0; i < string_arg->n_names; i++) {
        int64_t name = string_arg->names[i].v;

        if (string_arg->kind == STRING_ARG_NAMED
                ? (uint64_t)name == v
                : (v == 0 && name < 0) || (name > 0 && (v & (uint64_t)name) == (uint64_t)name))
            return true;
    }
    return false;
}

/* By a table of names, which the kernel's format has not. */
static bool put_value_name(const struct item *item, unsigned field, struct text *text)
{
    const struct value_names *names = item->class->fields[field].names;
    const char *name = names ? value_name(names, item_value(item, field).u) : NULL;

    if (name)
        text_put_str(text, name);
    return name != NULL;
}

static bool put_name(const struct item *item, unsigned field, struct text *text)
{
    static const struct spec plain;
    const struct kernel_text *code = item->class->reader_data;
    const struct kernel_string_arg *string_arg = code->names[field];
    struct kernel_run run = {.data = item->payload, .size = item->size, .swap = code->swap};

    if (!string_arg)
        return put_value_name(item, field, text);
    if (!has_name(string_arg, code->events, &run))
        return false;
    kernel_string_arg_put(string_arg, &plain, false, &run, code->events,
                          kernel_events_facts(code->events)->big_endian, text);
    return true;
}

/* The field of CLASS that AT alone looks at; -1: none. */
static int field_of(const struct event_class *class, const struct looked_at *at)
{
    for (unsigned i = 0; at->field && !at->other && i < class->n_fields; i++) {
        const struct field *field = &class->fields[i];

        if (field->place == PLACE_FIXED && field->storage == STORE_SCALAR &&
            field->offset == at->field->offset && field->size == at->field->size)
            return (int)i;
    }
    return -1;
}

int kernel_names_find(struct arena *arena, struct kernel_text *text, struct event_class *class,
                      struct field *fields)
{
    const struct kernel_string_arg **names = NULL;
    bool *named = NULL;

    for (uint32_t i = 0; i < text->n_ops; i++) {
        const struct kernel_op *op = &text->ops[i];
        const struct kernel_string_arg *shown = op->string_arg;
        struct looked_at at = {0};
        int field;

        if (op->kind == KOP_SYMBOL && strcmp(class->group, "ftrace") == 0) {
            const struct kernel_string_arg symbol = {.kind = STRING_ARG_SYMBOL, .a = op->value};

            shown = arena_memdup(arena, &symbol, sizeof symbol);
            if (!shown)
                return -ENOMEM;
        } else if (op->kind != KOP_STRING) {
            continue;
        }
        if (!shows_names(shown, &at))
            continue;
        field = field_of(class, &at);
        if (field < 0)
            continue;
        if (!names) {
            names = arena_alloc(arena, class->n_fields * sizeof(*names));
            named = arena_alloc(arena, class->n_fields);
            if (!names || !named)
                return -ENOMEM;
        }
        /* The first one; what follows says more of the same. */
        if (!names[field])
            names[field] = shown;
        named[field] = true;
    }
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (names && names[i])
            continue;
        fields[i].names = kernel_event_value_names(class, &fields[i]);
        if (named && fields[i].names)
            named[i] = true;
    }
    text->names = names;
    class->put_name = names ? put_name : NULL;
    class->named_fields = named;
    return 0;
}
