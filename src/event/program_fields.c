/* SPDX-License-Identifier: MIT */
/* Compiles the text of classes without a format, "name=value name=value", to operations (event/program_code.h). */
#include <string.h>

#include "event/program.h"
#include "event/program_code.h"

/* "0x" is literal text before the number. */
static int add_number(struct program_compiler *c, unsigned number)
{
    const struct field *field = &c->class->fields[number];
    struct op op = {.kind = OP_UNSIGNED};
    int r = 0;

    if (field->hex || field->type == FIELD_POINTER) {
        op.kind = OP_HEX;
        r = program_add_literal(c, "0x", 2);
    } else if (field->type == FIELD_INT) {
        op.kind = OP_SIGNED;
    }
    /* A negative number in hexadecimal reads as the declared type's own width. */
    if (field->hex && field->type == FIELD_INT)
        op.unused_bits = (uint8_t)(64 - 8 * MIN(field->c_size ? field->c_size : field->size, 8u));
    return r < 0 ? r : program_add_field(c, number, op);
}

static int add_value(struct program_compiler *c, unsigned number)
{
    const struct field *field = &c->class->fields[number];
    int r;

    if (field->type == FIELD_STRING && field->json)
        return program_add_field(c, number, (struct op){.kind = OP_STRING});
    if (field->type == FIELD_STRING) {
        r = program_add_literal(c, "\"", 1);
        if (r == 0)
            r = program_add_field(c, number, (struct op){.kind = OP_STRING});
        return r < 0 ? r : program_add_literal(c, "\"", 1);
    }
    if (field->names || field->type == FIELD_BYTES || field->type == FIELD_FLOAT ||
        field->type == FIELD_BOOL)
        return program_add_field(c, number, (struct op){.kind = OP_VALUE});
    return add_number(c, number);
}

int program_compile_fields(struct arena *arena, const struct event_class *class,
                           const struct text_program **ret_program)
{
    struct program_compiler c = {.arena = arena, .class = class};
    int r = 0;

    for (unsigned i = 0; i < class->n_fields && r == 0; i++) {
        const char *name = class->fields[i].name;

        if (i)
            r = program_add_literal(&c, " ", 1);
        if (r == 0)
            r = program_add_text(&c, name, strlen(name));
        if (r == 0)
            r = program_add_literal(&c, "=", 1);
        if (r == 0)
            r = add_value(&c, i);
    }
    return program_finish(&c, r, true, ret_program);
}
