/* SPDX-License-Identifier: MIT */
/* The text of an event, by the program of its class. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "event/program.h"
#include "event/program_code.h"

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
static struct spec with_stars(struct spec spec, const struct value *stars)
{
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

/* VALUE of an integer by its name if it has one. */
static void put_value(const struct field *field, const struct value *value, struct text *text)
{
    if (field->type == FIELD_BYTES || !field->names ||
        !value_put_named(field->names, value->u, text))
        value_put(field, value, text);
}

/* What is not a plain number: VALUE of an operation, after STARS. */
static void put_special(const struct text_program *program, const struct op *op,
                        const struct value *value, const struct value *stars, struct text *text)
{
    struct spec spec;

    if (op->kind == OP_STRING) {
        text_put_safe(text, value->s, value->len);
        return;
    }
    if (op->kind == OP_VALUE) {
        put_value(&program->fields[op->field], value, text);
        return;
    }
    spec = program->specs[op->spec];
    if (op->n_stars)
        spec = with_stars(spec, stars);
    switch (op->kind) {
    case OP_SPEC_STRING: spec_put_string(&spec, value->s, value->len, text); break;
    case OP_SPEC_FLOAT: put_float(&spec, value->u, text); break;
    default: spec_put_integer(&spec, value->u, text); break;
    }
}

static inline uint64_t load_bits(const struct op *op, const uint8_t *p)
{
    return (uint64_t)load_u32(p) >> op->minimum << op->unused_bits >> op->unused_bits;
}

/* The number of a field that is there. */
static inline uint64_t load(const struct text_program *program, const struct op *op,
                            const uint8_t *p)
{
    switch ((enum op_load)op->load) {
    case LOAD_U32: return load_u32(p);
    case LOAD_I32: return (uint64_t)(int32_t)load_u32(p);
    case LOAD_U64_SWAP: return __builtin_bswap64(load_u64(p));
    case LOAD_U16: return load_u16(p);
    case LOAD_U8: return *p;
    case LOAD_BITS: return load_bits(op, p);
    case LOAD_SCALAR: return field_load(&program->fields[op->field], p);
    case LOAD_U64:
    case LOAD_VALUE: break;
    }
    return load_u64(p);
}

/* Reads the values of all fields. False: one is missing, and the text needs all. */
static bool read_values(const struct text_program *program, const struct item *item,
                        struct value *values)
{
    bool all = true;

    item_values(item, values);
    for (unsigned i = 0; i < item->class->n_fields; i++) {
        if (values[i].present)
            continue;
        all = false;
        /* For formats: 0 or "". */
        if (item->class->fields[i].type != FIELD_STRING)
            values[i].u = 0;
    }
    return all || !program->needs_all;
}

/* Any operation; V is the number of a field that is there. */
static char *run_op(const struct text_program *program, const struct op *op, uint64_t v,
                    const struct value *values, char *p, struct text *text)
{
    switch ((enum op_kind)op->kind) {
    case OP_LITERAL: break;
    case OP_UNSIGNED: return number_dec(p, v << op->unused_bits >> op->unused_bits);
    case OP_SIGNED: return number_sdec(p, (int64_t)(v << op->unused_bits) >> op->unused_bits);
    case OP_HEX: return number_hex(p, v << op->unused_bits >> op->unused_bits);
    case OP_HEX_MINIMUM:
        return number_hex_minimum(p, v << op->unused_bits >> op->unused_bits, op->minimum);
    case OP_POINTER: return put_pointer(p, v);
    case OP_STRING:
    case OP_SPEC:
    case OP_SPEC_STRING:
    case OP_SPEC_FLOAT:
    case OP_VALUE:
        text->next = p;
        put_special(program, op,
                    op->load == LOAD_VALUE ? &values[op->field]
                                           : &(struct value){.u = v, .present = true},
                    op->n_stars ? &values[op->field - op->n_stars] : NULL, text);
        return text->next;
    }
    return p;
}

/* The name of V or, most often where it has none, a decimal number. */
static inline char *put_name(const struct text_program *program, const struct op *op, uint64_t v,
                             char *p, struct text *text)
{
    const struct op_names *names = &program->names[op->spec];
    const struct field *field = &program->fields[op->field];
    const struct op_name *name = v < names->n ? &names->names[v] : NULL;

    if (name && name->len) {
        memcpy(p, name->text, sizeof name->text);
        return p + name->len;
    }
    if (field->type == FIELD_UINT && !field->hex && !value_name(field->names, v))
        return number_dec(p, v);
    return run_op(program, op, v, NULL, p, text);
}

_hot_ bool program_run(const struct text_program *program, const struct item *item,
                       struct text *text)
{
    struct value values[FIELDS_MAX];
    const struct op *end = program->ops + program->n_ops;
    bool whole = item->size >= program->least_size;
    char *p;

    if (unlikely(program->needs_values || !whole) && !read_values(program, item, values))
        return false;
    p = text->next;
    for (const struct op *op = program->ops; op < end; op++) {
        const uint8_t *at = item->payload + op->offset;
        uint64_t v;

        if (op->room) {
            text->next = p;
            p = text_room(text, op->room);
        }
        memcpy(p, op->literal, sizeof op->literal);
        p += op->literal_len;
        switch (likely(whole) ? (enum op_code)op->code : CODE_OTHER) {
        case CODE_LITERAL: break;
        case CODE_UNSIGNED_U8: p = number_dec(p, *at); break;
        case CODE_UNSIGNED_U16: p = number_dec(p, load_u16(at)); break;
        case CODE_UNSIGNED_BITS: p = number_dec(p, load_bits(op, at)); break;
        case CODE_UNSIGNED_U32: p = number_dec(p, load_u32(at)); break;
        case CODE_UNSIGNED_U64_SWAP:
            p = number_dec(p,
                           __builtin_bswap64(load_u64(at)) << op->unused_bits >> op->unused_bits);
            break;
        case CODE_UNSIGNED_U64:
            p = number_dec(p, load_u64(at) << op->unused_bits >> op->unused_bits);
            break;
        case CODE_SIGNED_I32: p = number_sdec(p, (int32_t)load_u32(at)); break;
        case CODE_SIGNED_U64:
            p = number_sdec(p, (int64_t)(load_u64(at) << op->unused_bits) >> op->unused_bits);
            break;
        case CODE_HEX_U32: p = number_hex(p, load_u32(at)); break;
        case CODE_HEX_U64:
            p = number_hex(p, load_u64(at) << op->unused_bits >> op->unused_bits);
            break;
        case CODE_HEX_MINIMUM_U64:
            p = number_hex_minimum(p, load_u64(at) << op->unused_bits >> op->unused_bits,
                                   op->minimum);
            break;
        case CODE_NAMED: p = put_name(program, op, load(program, op, at), p, text); break;
        case CODE_OTHER:
            v = whole && op->load != LOAD_VALUE ? load(program, op, at) : values[op->field].u;
            p = run_op(program, op, v, values, p, text);
            break;
        }
    }
    text->next = p;
    return true;
}
