/* SPDX-License-Identifier: MIT */
/* Compiles printf-style format strings to operations.
 *
 * An operation is a piece of literal text and the conversion after it, so a format of N conversions has
 * at most N + 1 operations. Plain conversions ("%d", "0x%x", "%s") have their own operations;
 * conversions with flags, widths or precisions share one that interprets the spec.
 *
 * Room is reserved once per segment: a run of operations whose output is bounded and fits in
 * TEXT_ROOM_MAX. A string ends a segment, because its length is known only from the event. */
#include "event/program.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"

enum op_kind {
    OP_LITERAL, /* no conversion */
    OP_UNSIGNED,
    OP_SIGNED,
    OP_HEX,
    OP_HEX_MINIMUM, /* zeros up to `minimum` digits: "%016x" */
    OP_POINTER,
    OP_STRING,
    OP_SPEC,
    OP_SPEC_STRING,
    OP_SPEC_FLOAT,
};

/* Literals are stored in multiples of TEXT_UNIT and copied so. */
#define LITERAL_MAX 512
/* What a conversion with a width or precision may write. */
#define SPEC_MAX 2200

struct op {
    uint8_t kind;
    uint8_t minimum;
    uint8_t unused_bits; /* of 64, above the size that the conversion reads */
    bool direct;         /* the field is a plain 8-byte scalar at `offset` */
    uint16_t field;
    uint16_t room; /* not 0: a segment of this many bytes begins here */
    uint16_t literal_len;
    uint16_t n_stars; /* fields before `field` that give width and precision */
    uint32_t offset;
    const char *literal;
    struct spec spec;
};

struct text_program {
    uint32_t n_ops;
    bool all_direct; /* no operation needs the values decoded first */
    struct op ops[];
};

struct compiler {
    struct arena *arena;
    const struct event_class *class;
    struct op *ops;
    unsigned n_ops;
    unsigned capacity;
    unsigned field;
    char literal[LITERAL_MAX];
    size_t literal_len;
};

static int add_op(struct compiler *c, struct op op)
{
    if (c->n_ops == c->capacity) {
        unsigned capacity = c->capacity ? c->capacity * 2 : 16;
        struct op *bigger = realloc(c->ops, capacity * sizeof *c->ops);
        if (!bigger)
            return -ENOMEM;
        c->ops = bigger;
        c->capacity = capacity;
    }

    op.literal_len = (uint16_t)c->literal_len;
    if (c->literal_len) {
        char *padded = arena_alloc(c->arena, c->literal_len + TEXT_UNIT);
        if (!padded)
            return -ENOMEM;
        memcpy(padded, c->literal, c->literal_len);
        op.literal = padded;
    }
    c->literal_len = 0;
    c->ops[c->n_ops++] = op;
    return 0;
}

static int add_literal(struct compiler *c, const char *s, size_t len)
{
    while (len > 0) {
        size_t n = MIN(len, LITERAL_MAX - c->literal_len);

        memcpy(c->literal + c->literal_len, s, n);
        c->literal_len += n;
        s += n;
        len -= n;
        if (c->literal_len == LITERAL_MAX) {
            int r = add_op(c, (struct op){.kind = OP_LITERAL});
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* Adds literal text of the format. Control characters are escaped as in strings, so that an event is
 * one line: a few of QEMU's formats contain a newline. */
static int add_text(struct compiler *c, const char *s, size_t len)
{
    struct text safe = TEXT_IN_MEMORY;
    int r;

    text_put_safe(&safe, s, len);
    r = safe.error ? safe.error : add_literal(c, safe.start, text_len(&safe));
    text_done(&safe);
    return r;
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

static int add_conversion(struct compiler *c, const struct spec *spec)
{
    unsigned n_stars = (unsigned)spec->width_star + (unsigned)spec->precision_star;
    struct op op = {.kind = (uint8_t)kind_of(spec), .spec = *spec, .n_stars = (uint16_t)n_stars};
    const struct field *field;

    if (c->field + n_stars >= c->class->n_fields)
        return -EINVAL;
    for (unsigned i = 0; i < n_stars; i++)
        if (!is_number(c->class->fields[c->field++].type))
            return -EINVAL;

    field = &c->class->fields[c->field];
    if ((spec->conversion == 's') != (field->type == FIELD_STRING) ||
        (op.kind == OP_SPEC_FLOAT) != (field->type == FIELD_FLOAT) || field->type == FIELD_BYTES)
        return -EINVAL;

    op.field = (uint16_t)c->field++;
    op.minimum = (uint8_t)MIN(spec->width, 16);
    op.unused_bits = (uint8_t)(64 - 8 * spec_size(spec));
    op.direct = field->place == PLACE_FIXED && field->storage == STORE_SCALAR && field->size == 8 &&
                field->bits == 0 && !field->swap && n_stars == 0;
    op.offset = field->offset;
    return add_op(c, op);
}

/* The most text that an operation may write; strings count only their literal part. */
static unsigned op_room(const struct op *op)
{
    unsigned literal = (op->literal_len + TEXT_UNIT - 1u) / TEXT_UNIT * TEXT_UNIT;

    switch (op->kind) {
    case OP_LITERAL:
    case OP_STRING:
    case OP_SPEC_STRING:
    case OP_SPEC_FLOAT: return literal;
    case OP_SPEC: return literal + SPEC_MAX;
    default: return literal + 2 + NUMBER_MAX;
    }
}

static bool ends_segment(const struct op *op)
{
    return op->kind == OP_STRING || op->kind >= OP_SPEC;
}

static void plan_room(struct compiler *c)
{
    for (unsigned i = 0; i < c->n_ops;) {
        unsigned first = i;
        unsigned room = 0;

        do {
            room += op_room(&c->ops[i]);
            i++;
        } while (i < c->n_ops && !ends_segment(&c->ops[i - 1]) &&
                 room + op_room(&c->ops[i]) <= TEXT_ROOM_MAX);
        c->ops[first].room = (uint16_t)MAX(room, 1);
    }
}

static int compile_format(struct compiler *c)
{
    const char *p = c->class->format;
    int r = 0;

    while (*p && r == 0) {
        size_t len = strcspn(p, "%");
        struct spec spec;

        r = add_text(c, p, len);
        p += len;
        if (r < 0 || *p == '\0')
            break;
        p = spec_parse(p, &spec);
        if (!p)
            return -EINVAL;
        r = spec.conversion == '%' ? add_literal(c, "%", 1) : add_conversion(c, &spec);
    }
    if (r == 0 && c->literal_len)
        r = add_op(c, (struct op){.kind = OP_LITERAL});
    return r;
}

int program_compile(struct arena *arena, const struct event_class *class,
                    const struct text_program **ret_program)
{
    struct compiler c = {.arena = arena, .class = class};
    struct text_program *program;
    int r;

    if (class->n_fields > FIELDS_MAX)
        return -EINVAL;

    r = compile_format(&c);
    if (r < 0)
        goto out;
    plan_room(&c);

    program = arena_alloc(arena, sizeof *program + c.n_ops * sizeof *c.ops);
    if (!program) {
        r = -ENOMEM;
        goto out;
    }
    program->n_ops = c.n_ops;
    program->all_direct = true;
    for (unsigned i = 0; i < c.n_ops; i++)
        if (c.ops[i].kind != OP_LITERAL && !c.ops[i].direct)
            program->all_direct = false;
    if (c.n_ops)
        memcpy(program->ops, c.ops, c.n_ops * sizeof *c.ops);
    *ret_program = program;
out:
    free(c.ops);
    return r;
}

static inline char *put_pointer(char *p, uint64_t v)
{
    if (unlikely(v == 0)) {
        memcpy(p, "(nil)", 5); /* as glibc writes it */
        return p + 5;
    }
    memcpy(p, "0x", 2);
    return number_hex(p + 2, v);
}

static void put_float(const struct spec *spec, uint64_t bits, struct text *text)
{
    char format[] = {'%', '.', '*', spec->conversion, '\0'};
    char buf[512];
    double d;
    int n;

    memcpy(&d, &bits, sizeof d);
    n = snprintf(buf, sizeof buf, format, spec->has_precision ? MIN(spec->precision, 40) : 6, d);
    spec_put_string(&(struct spec){.width = spec->width, .left = spec->left}, buf,
                    MIN((size_t)MAX(n, 0), sizeof buf - 1), text);
}

/* Resolves width and precision from the arguments, as printf does. */
static struct spec with_stars(const struct op *op, const struct value *stars)
{
    struct spec spec = op->spec;

    if (spec.width_star) {
        int64_t width = (int32_t)stars->i;
        spec.left |= width < 0;
        spec.width = (uint16_t)MIN(width < 0 ? -width : width, 1024);
        stars++;
    }
    if (spec.precision_star) {
        int64_t precision = (int32_t)stars->i;
        spec.has_precision = precision >= 0;
        spec.precision = (uint16_t)MIN(MAX(precision, 0), 1024);
    }
    return spec;
}

/* What is not a plain number. */
static void put_special(const struct op *op, const struct value *values, uint64_t u,
                        struct text *text)
{
    const struct value *value = &values[op->field]; /* not used for a direct field */
    struct spec spec = op->spec;

    if (op->n_stars)
        spec = with_stars(op, value - op->n_stars);
    switch (op->kind) {
    case OP_STRING: text_put_safe(text, value->s, value->len); break;
    case OP_SPEC_STRING: spec_put_string(&spec, value->s, value->len, text); break;
    case OP_SPEC_FLOAT: put_float(&spec, u, text); break;
    default: spec_put_integer(&spec, u, text); break;
    }
}

void program_run(const struct text_program *program, const struct item *item, struct text *text)
{
    struct value values[FIELDS_MAX];
    const struct op *end = program->ops + program->n_ops;
    char *p = text->next;

    if (!program->all_direct)
        item_values(item, values);

    for (const struct op *op = program->ops; op < end; op++) {
        uint64_t v;

        if (op->room) {
            text->next = p;
            p = text_room(text, op->room);
        }
        p = text_copy_units(p, op->literal, op->literal_len);
        if (op->kind == OP_LITERAL)
            continue;

        if (!op->direct)
            v = values[op->field].u;
        else if (likely(item->size >= 8 && op->offset <= item->size - 8))
            v = load_u64(item->payload + op->offset);
        else
            v = 0;

        switch (op->kind) {
        case OP_UNSIGNED: p = number_dec(p, v << op->unused_bits >> op->unused_bits); break;
        case OP_SIGNED:
            p = number_sdec(p, (int64_t)(v << op->unused_bits) >> op->unused_bits);
            break;
        case OP_HEX: p = number_hex(p, v << op->unused_bits >> op->unused_bits); break;
        case OP_HEX_MINIMUM:
            p = number_hex_minimum(p, v << op->unused_bits >> op->unused_bits, op->minimum);
            break;
        case OP_POINTER: p = put_pointer(p, v); break;
        default:
            text->next = p;
            put_special(op, values, v, text);
            p = text->next;
            break;
        }
    }
    text->next = p;
}
