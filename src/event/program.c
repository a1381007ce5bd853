/* SPDX-License-Identifier: MIT */
/* Compiles printf-style format strings to operations (event/program_code.h). */
#include "event/program.h"

#include <string.h>

#include "base/number.h"
#include "event/program_code.h"

/* What a conversion with a width or precision may write. */
#define SPEC_MAX 2200

static int add_op(struct program_compiler *c, struct op op)
{
    if (c->n_ops == c->capacity) {
        unsigned capacity = c->capacity ? c->capacity * 2 : 16;
        struct op *bigger = realloc(c->ops, capacity * sizeof *c->ops);
        if (!bigger)
            return -ENOMEM;
        c->ops = bigger;
        c->capacity = capacity;
    }
    op.literal_len = c->literal_len;
    memcpy(op.literal, c->literal, sizeof op.literal);
    c->literal_len = 0;
    c->ops[c->n_ops++] = op;
    return 0;
}

int program_add_literal(struct program_compiler *c, const char *s, size_t len)
{
    while (len > 0) {
        size_t n;

        if (c->literal_len == sizeof c->literal) {
            int r = add_op(c, (struct op){.kind = OP_LITERAL});
            if (r < 0)
                return r;
        }
        n = MIN(len, sizeof c->literal - c->literal_len);
        memcpy(c->literal + c->literal_len, s, n);
        c->literal_len = (uint8_t)(c->literal_len + n);
        s += n;
        len -= n;
    }
    return 0;
}

/* Control characters are escaped as in strings, so that an event is one line: a few of QEMU's formats contain a
 * newline, and the name of a field in CTF 2 may. */
int program_add_text(struct program_compiler *c, const char *s, size_t len)
{
    struct text safe = TEXT_IN_MEMORY;
    int r;

    text_put_safe(&safe, s, len);
    r = safe.error ? safe.error : program_add_literal(c, safe.start, text_len(&safe));
    text_done(&safe);
    return r;
}

static enum op_load load_of(const struct field *field)
{
    if (field->place != PLACE_FIXED || field->storage != STORE_SCALAR ||
        field->offset > UINT32_MAX - field->size)
        return LOAD_VALUE;
    if (field->bits)
        return field->size == 4 && !field->swap && field->type != FIELD_INT ? LOAD_BITS
                                                                            : LOAD_SCALAR;
    if (field->size == 8)
        return field->swap ? LOAD_U64_SWAP : LOAD_U64;
    if (field->size == 1 && field->type != FIELD_INT)
        return LOAD_U8;
    if (field->swap)
        return LOAD_SCALAR;
    if (field->size == 4)
        return field->type == FIELD_INT ? LOAD_I32 : LOAD_U32;
    return field->size == 2 && field->type != FIELD_INT ? LOAD_U16 : LOAD_SCALAR;
}

/* Whether the values that OP loads have names, one each. */
static bool is_named(const struct op *op, const struct field *field)
{
    return op->kind == OP_VALUE && op->load != LOAD_VALUE && field->type != FIELD_BYTES &&
           field->names && !field->names->bits;
}

/* Makes the names of FIELD for the operation that is added next. -ENOMEM. */
static int add_names(struct program_compiler *c, const struct field *field)
{
    const struct value_names *of = field->names;
    uint32_t n = MIN(of->n, (uint32_t)OP_NAMES_MAX);
    struct op_name *names = arena_alloc(c->arena, n * sizeof *names);
    struct op_names *bigger = realloc(c->names, (c->n_names + 1) * sizeof *bigger);
    struct text text = TEXT_IN_MEMORY;
    int r;

    if (bigger)
        c->names = bigger;
    if (!bigger || !names)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++) {
        text.next = text.start;
        if (of->names[i])
            text_put_safe_str(&text, of->names[i]);
        names[i] = (struct op_name){0};
        if (text.start && text_len(&text) > 0 && text_len(&text) <= OP_NAME_MAX) {
            names[i].len = (uint8_t)text_len(&text);
            memcpy(names[i].text, text.start, names[i].len);
        }
    }
    r = text.error;
    text_done(&text);
    c->names[c->n_names++] = (struct op_names){names, n};
    return r;
}

int program_add_field(struct program_compiler *c, unsigned field, struct op op)
{
    const struct field *of = &c->class->fields[field];

    op.field = (uint8_t)field;
    op.load = (uint8_t)(op.n_stars ? LOAD_VALUE : load_of(of));
    op.offset = of->offset;
    if (op.load == LOAD_BITS && (op.kind == OP_UNSIGNED || op.kind == OP_VALUE) &&
        op.unused_bits <= 64u - of->bits) {
        op.minimum = of->shift;
        op.unused_bits = (uint8_t)(64 - of->bits);
    } else if (op.load == LOAD_BITS) {
        op.load = LOAD_SCALAR;
    }
    if (is_named(&op, of)) {
        int r;

        op.spec = (uint8_t)c->n_names;
        r = add_names(c, of);
        if (r < 0)
            return r;
    }
    return add_op(c, op);
}

static bool is_plain(const struct spec *spec)
{
    return !spec->left && !spec->plus && !spec->space && !spec->alternate && !spec->zero &&
           !spec->width && !spec->has_precision && !spec->width_star;
}

/* "%08x": zeros up to a number of digits, nothing else. */
static bool is_zero_padded_hex(const struct spec *spec)
{
    return spec->conversion == 'x' && spec->zero && spec->width <= 16 && !spec->left &&
           !spec->alternate && !spec->has_precision && !spec->width_star;
}

static enum op_kind kind_of(const struct spec *spec)
{
    bool plain = is_plain(spec);

    switch (spec->conversion) {
    case 's': return plain ? OP_STRING : OP_SPEC_STRING;
    case 'd':
    case 'i': return plain ? OP_SIGNED : OP_SPEC;
    case 'u': return plain ? OP_UNSIGNED : OP_SPEC;
    case 'p': return plain ? OP_POINTER : OP_SPEC;
    case 'x':
        if (plain)
            return OP_HEX;
        return is_zero_padded_hex(spec) ? OP_HEX_MINIMUM : OP_SPEC;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A': return OP_SPEC_FLOAT;
    default: return OP_SPEC;
    }
}

static bool is_number(enum field_type type)
{
    return type != FIELD_STRING && type != FIELD_BYTES;
}

static int add_conversion(struct program_compiler *c, const struct spec *spec)
{
    unsigned n_stars = (unsigned)spec->width_star + (unsigned)spec->precision_star;
    struct op op = {.kind = (uint8_t)kind_of(spec), .n_stars = (uint8_t)n_stars};
    struct spec *specs;
    const struct field *field;
    unsigned number;

    if (c->field + n_stars >= c->class->n_fields)
        return -EINVAL;
    for (unsigned i = 0; i < n_stars; i++)
        if (!is_number(c->class->fields[c->field++].type))
            return -EINVAL;

    field = &c->class->fields[c->field];
    if ((spec->conversion == 's') != (field->type == FIELD_STRING) ||
        (op.kind == OP_SPEC_FLOAT) != (field->type == FIELD_FLOAT) || field->type == FIELD_BYTES)
        return -EINVAL;

    specs = realloc(c->specs, (c->n_specs + 1) * sizeof *specs);
    if (!specs)
        return -ENOMEM;
    c->specs = specs;
    op.spec = (uint8_t)c->n_specs;
    c->specs[c->n_specs++] = *spec;
    number = c->field++;
    op.minimum = (uint8_t)MIN(spec->width, 16);
    op.unused_bits = (uint8_t)(64 - 8 * spec_size(spec));
    return program_add_field(c, number, op);
}

/* The most text that an operation may write; strings count only their literal part. */
static unsigned op_room(const struct op *op)
{
    switch (op->kind) {
    case OP_LITERAL:
    case OP_STRING:
    case OP_SPEC_STRING:
    case OP_SPEC_FLOAT: return TEXT_UNIT;
    case OP_VALUE: return TEXT_UNIT + OP_NAME_MAX;
    case OP_SPEC: return TEXT_UNIT + SPEC_MAX;
    default: return TEXT_UNIT + 2 + NUMBER_MAX;
    }
}

static bool ends_segment(const struct op *op)
{
    return op->kind == OP_STRING || op->kind >= OP_SPEC;
}

static void plan_room(struct program_compiler *c)
{
    for (unsigned i = 0; i < c->n_ops;) {
        unsigned first = i;
        unsigned room = 0;

        do {
            room += op_room(&c->ops[i]);
            i++;
        } while (i < c->n_ops && !ends_segment(&c->ops[i - 1]) &&
                 room + op_room(&c->ops[i]) <= TEXT_ROOM_MAX);
        c->ops[first].room = (uint16_t)room;
    }
}

static int compile_format(struct program_compiler *c)
{
    const char *p = c->class->format;
    int r = 0;

    while (*p && r == 0) {
        size_t len = strcspn(p, "%");
        struct spec spec;

        r = program_add_text(c, p, len);
        p += len;
        if (r < 0 || *p == '\0')
            break;
        p = spec_parse(p, &spec);
        if (!p)
            return -EINVAL;
        r = spec.conversion == '%' ? program_add_literal(c, "%", 1) : add_conversion(c, &spec);
    }
    return r;
}

static enum op_code code_of(const struct op *op, const struct field *field)
{
    bool is_u64 = op->load == LOAD_U64;
    /* A conversion of 32 bits reads these as its own sign says. */
    bool is_32 = (op->load == LOAD_U32 || op->load == LOAD_I32) && op->unused_bits == 32;
    bool is_u32 = is_32 || (op->load == LOAD_U32 && op->unused_bits < 32);

    switch (op->kind) {
    case OP_LITERAL: return CODE_LITERAL;
    case OP_UNSIGNED:
        switch ((enum op_load)op->load) {
        case LOAD_U64_SWAP: return CODE_UNSIGNED_U64_SWAP;
        case LOAD_U16: return op->unused_bits <= 48 ? CODE_UNSIGNED_U16 : CODE_OTHER;
        case LOAD_U8: return CODE_UNSIGNED_U8;
        case LOAD_BITS: return CODE_UNSIGNED_BITS;
        default: return is_u64 ? CODE_UNSIGNED_U64 : is_u32 ? CODE_UNSIGNED_U32 : CODE_OTHER;
        }
    case OP_HEX: return is_u64 ? CODE_HEX_U64 : is_u32 ? CODE_HEX_U32 : CODE_OTHER;
    case OP_SIGNED:
        if (is_32 || (op->load == LOAD_I32 && op->unused_bits < 32))
            return CODE_SIGNED_I32;
        return is_u64 ? CODE_SIGNED_U64 : CODE_OTHER;
    case OP_HEX_MINIMUM: return is_u64 ? CODE_HEX_MINIMUM_U64 : CODE_OTHER;
    case OP_VALUE: return is_named(op, field) ? CODE_NAMED : CODE_OTHER;
    default: return CODE_OTHER;
    }
}

int program_finish(struct program_compiler *c, int r, bool needs_all,
                   const struct text_program **ret_program)
{
    struct text_program *program = NULL;
    struct spec *specs = NULL;
    struct op_names *names = NULL;

    if (r == 0 && c->literal_len)
        r = add_op(c, (struct op){.kind = OP_LITERAL});
    if (r == 0) {
        plan_room(c);
        program = arena_alloc(c->arena, sizeof *program + c->n_ops * sizeof *c->ops);
        specs = arena_memdup(c->arena, c->specs, c->n_specs * sizeof *specs);
        names = arena_memdup(c->arena, c->names, c->n_names * sizeof *names);
        r = program && specs && names ? 0 : -ENOMEM;
    }
    if (r == 0) {
        program->fields = c->class->fields;
        program->specs = specs;
        program->names = names;
        program->n_ops = c->n_ops;
        program->needs_all = needs_all;
        for (unsigned i = 0; i < c->n_ops; i++) {
            struct op *op = &c->ops[i];

            op->code = (uint8_t)code_of(op, &c->class->fields[op->field]);
            if (op->kind == OP_LITERAL)
                continue;
            if (op->load == LOAD_VALUE)
                program->needs_values = true;
            else
                program->least_size =
                    MAX(program->least_size, op->offset + c->class->fields[op->field].size);
        }
        if (c->n_ops)
            memcpy(program->ops, c->ops, c->n_ops * sizeof *c->ops);
        *ret_program = program;
    }
    free(c->ops);
    free(c->specs);
    free(c->names);
    return r;
}

int program_compile(struct arena *arena, const struct event_class *class,
                    const struct text_program **ret_program)
{
    struct program_compiler c = {.arena = arena, .class = class};

    if (class->n_fields > FIELDS_MAX)
        return -EINVAL;
    return program_finish(&c, compile_format(&c), false, ret_program);
}
