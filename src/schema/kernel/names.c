/* SPDX-License-Identifier: MIT */
#include "schema/kernel/names.h"

#include "event/program.h"
#include "schema/kernel/events.h"
#include "schema/kernel/piece.h"

/* What an expression or a piece looks at. */
struct looked_at {
    const struct kernel_expr *field; /* NULL: at nothing but constants */
    bool other;                      /* at more than one field, or at what is no field */
};

static void look_at_expr(const struct kernel_expr *expr, struct looked_at *at)
{
    if (!expr || at->other)
        return;
    switch ((enum kernel_expr_kind)expr->kind) {
    case EXPR_CONST: return;
    case EXPR_FIELD:
        if (at->field && (at->field->offset != expr->offset || at->field->size != expr->size))
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

/* Whether PIECE shows names: something else than nothing, whatever the field holds. */
static bool shows_names(const struct kernel_piece *piece, struct looked_at *at)
{
    switch ((enum kernel_piece_kind)piece->kind) {
    case PIECE_LITERAL: return piece->len > 0;
    case PIECE_FLAGS:
    case PIECE_NAMED: look_at_expr(piece->a, at); return true;
    case PIECE_CHOICE:
        look_at_expr(piece->a, at);
        return shows_names(piece->yes, at) && shows_names(piece->no, at);
    default: return false;
    }
}

/* Whether the value that PIECE shows of an event has a name. */
static bool has_name(const struct kernel_piece *piece, const struct kernel_run *run)
{
    uint64_t v;

    switch ((enum kernel_piece_kind)piece->kind) {
    case PIECE_LITERAL: return true;
    case PIECE_CHOICE:
        return has_name(kernel_expr_eval(piece->a, run) ? piece->yes : piece->no, run);
    default: break;
    }
    v = kernel_expr_eval(piece->a, run);
    for (uint32_t i = 0; i < piece->n_names; i++) {
        int64_t name = piece->names[i].v;

        if (piece->kind == PIECE_NAMED
                ? (uint64_t)name == v
                : (v == 0 && name < 0) || (name > 0 && (v & (uint64_t)name) == (uint64_t)name))
            return true;
    }
    return false;
}

static bool put_name(const struct item *item, unsigned field, struct text *text)
{
    static const struct spec plain;
    const struct kernel_text *code = item->class->reader_data;
    const struct kernel_piece *piece = code->names[field];
    struct kernel_run run = {.data = item->payload, .size = item->size, .swap = code->swap};

    if (!piece || !has_name(piece, &run))
        return false;
    kernel_piece_put(piece, &plain, false, &run, code->events,
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

int kernel_names_find(struct arena *arena, struct kernel_text *text, struct event_class *class)
{
    const struct kernel_piece **names = NULL;

    for (uint32_t i = 0; i < text->n_ops; i++) {
        const struct kernel_op *op = &text->ops[i];
        struct looked_at at = {0};
        int field;

        if (op->kind != KOP_PIECE || !shows_names(op->piece, &at))
            continue;
        field = field_of(class, &at);
        if (field < 0)
            continue;
        if (!names) {
            names = arena_alloc(arena, class->n_fields * sizeof(*names));
            if (!names)
                return -ENOMEM;
            memset(names, 0, class->n_fields * sizeof(*names));
        }
        /* The first one; what follows says more of the same. */
        if (!names[field])
            names[field] = op->piece;
    }
    text->names = names;
    class->put_name = names ? put_name : NULL;
    return 0;
}
