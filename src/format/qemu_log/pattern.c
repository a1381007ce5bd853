/* SPDX-License-Identifier: MIT */
/* Format strings compiled to the steps of a pattern. */
#include <string.h>

#include "base/bytes.h"
#include "event/value.h"
#include "format/qemu_log/steps.h"

struct compiler {
    struct arena *arena;
    const struct event_class *class;
    struct step *steps;
    unsigned n_steps;
    unsigned field;
    bool in_literal; /* the step made last is a literal that more text may join */
    bool multiline;
    char *literals; /* room for all of the format's text */
    char *literals_end;
};

static void add_literal(struct compiler *c, const char *s, size_t len)
{
    struct step *step;

    if (len == 0)
        return;
    if (!c->in_literal) {
        c->steps[c->n_steps++] = (struct step){.kind = STEP_LITERAL, .literal = c->literals_end};
        c->in_literal = true;
    }
    step = &c->steps[c->n_steps - 1];
    memcpy(c->literals_end, s, len);
    c->literals_end += len;
    step->len += (uint32_t)len;
    if (memchr(s, '\n', len))
        c->multiline = true;
}

static bool is_counted_string(const struct field *field)
{
    return field->type == FIELD_STRING && field->storage == STORE_COUNTED && !field->swap;
}

static bool is_scalar(const struct field *field)
{
    return field->type != FIELD_STRING && field->storage == STORE_SCALAR && field->size == 8 &&
           field->bits == 0 && !field->swap;
}

/* Which step reads SPEC strictly; STEP_LOOSE for what is too rare to have one of its own. */
static enum step_kind number_kind(const struct spec *spec, unsigned *ret_min_digits)
{
    unsigned min_digits = 1;

    if (spec->left || spec->plus || spec->space || spec->alternate || spec->width_star ||
        spec->precision_star)
        return STEP_LOOSE;
    if (spec->conversion == 'p')
        return spec->width || spec->has_precision || spec->zero ? STEP_LOOSE : STEP_POINTER;

    if (spec->has_precision) {
        if (spec->precision == 0 || spec->width > spec->precision)
            return STEP_LOOSE;
        min_digits = spec->precision;
    } else if (spec->width > 1) {
        if (!spec->zero)
            return STEP_LOOSE;
        min_digits = spec->width;
    }
    if (min_digits > 16)
        return STEP_LOOSE;

    *ret_min_digits = min_digits;
    switch (spec->conversion) {
    case 'x': return STEP_HEX;
    case 'X': return STEP_HEX_UPPER;
    case 'u': return STEP_UNSIGNED;
    case 'd':
    case 'i': return min_digits == 1 ? STEP_SIGNED : STEP_LOOSE;
    default: return STEP_LOOSE;
    }
}

static int add_conversion(struct compiler *c, const struct spec *spec)
{
    struct step step = {.width_field = NO_FIELD, .precision_field = NO_FIELD, .spec = *spec};
    unsigned min_digits = 1;
    const struct field *field;

    if (spec->width_star)
        step.width_field = (uint16_t)c->field++;
    if (spec->precision_star)
        step.precision_field = (uint16_t)c->field++;
    step.field = (uint16_t)c->field++;
    if (c->field > c->class->n_fields)
        return -EINVAL;
    for (unsigned i = c->field - 1; i < c->field; i++)
        if (!is_scalar(&c->class->fields[i]) && !is_counted_string(&c->class->fields[i]))
            return -EINVAL;
    if ((step.width_field != NO_FIELD && !is_scalar(&c->class->fields[step.width_field])) ||
        (step.precision_field != NO_FIELD && !is_scalar(&c->class->fields[step.precision_field])))
        return -EINVAL;

    field = &c->class->fields[step.field];
    step.size = (uint8_t)spec_size(spec);
    step.c_size = field->c_size ? field->c_size : 8;
    step.is_signed = field->type == FIELD_INT;
    step.is_bool = field->type == FIELD_BOOL;

    if (strchr("aAeEfFgG", spec->conversion) || field->type == FIELD_FLOAT)
        return -EINVAL;
    if (spec->conversion == 's') {
        if (!is_counted_string(field))
            return -EINVAL;
        step.kind = STEP_STRING;
        step.plain = spec->width == 0 && !spec->width_star && !spec->has_precision;
    } else if (spec->conversion == 'c') {
        if (!is_scalar(field) || spec->width || spec->width_star || spec->precision_star)
            return -EINVAL;
        step.kind = STEP_CHAR;
    } else {
        if (!is_scalar(field))
            return -EINVAL;
        step.kind = (uint8_t)number_kind(spec, &min_digits);
        step.min_digits = (uint8_t)min_digits;
    }
    c->steps[c->n_steps++] = step;
    c->in_literal = false;
    return 0;
}

static bool is_digit_of(const struct step *step, char c)
{
    bool hex = step->kind == STEP_HEX || step->kind == STEP_HEX_UPPER ||
               step->kind == STEP_POINTER || step->kind == STEP_LOOSE;

    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

/* What each step must know about the next one. */
static void look_ahead(struct compiler *c)
{
    for (unsigned i = 0; i < c->n_steps; i++) {
        struct step *step = &c->steps[i];
        const struct step *next = i + 1 < c->n_steps ? step + 1 : NULL;

        if (step->kind == STEP_LITERAL) {
            uint8_t mask[8] = {0};
            uint8_t head[8] = {0};
            size_t n = MIN(step->len, 8);

            memset(mask, 0xff, n);
            memcpy(head, step->literal, n);
            step->head = load_u64(head);
            step->head_mask = load_u64(mask);
        } else {
            step->shrinks =
                next && (next->kind != STEP_LITERAL || is_digit_of(step, next->literal[0]));
        }
    }
}

static int compile_format(struct compiler *c, const char *format, const char *end)
{
    const char *p = format;

    while (p < end) {
        const char *percent = memchr(p, '%', (size_t)(end - p));
        struct spec spec;
        int r;

        add_literal(c, p, (size_t)((percent ? percent : end) - p));
        if (!percent)
            break;
        p = spec_parse(percent, &spec);
        if (!p)
            return -EINVAL;
        if (spec.conversion == '%') {
            add_literal(c, "%", 1);
            continue;
        }
        r = add_conversion(c, &spec);
        if (r < 0)
            return r;
    }
    return 0;
}

int log_pattern_compile(struct arena *arena, const struct event_class *class,
                        const struct log_pattern **ret_pattern)
{
    struct compiler c = {.arena = arena, .class = class};
    const char *format = class->format ? class->format : "";
    struct log_pattern *pattern;
    size_t len;
    int r;

    /* Declared without a format, an event prints nothing: right when it has nothing to print. */
    if (class->n_fields > FIELDS_MAX || (class->format ? !class->program : class->n_fields > 0))
        return -EINVAL;

    len = strlen(format);
    /* A conversion has at least two characters, and so has what makes a literal of its own. */
    c.steps = calloc(len + 1, sizeof *c.steps);
    c.literals = c.literals_end = arena_alloc(arena, len + 1);
    if (!c.steps || !c.literals) {
        free(c.steps);
        return -ENOMEM;
    }

    r = compile_format(&c, format, format + len);
    if (r < 0)
        goto out;
    look_ahead(&c);

    pattern = arena_alloc(arena, sizeof *pattern + c.n_steps * sizeof *c.steps);
    if (!pattern) {
        r = -ENOMEM;
        goto out;
    }
    pattern->n_steps = (uint16_t)c.n_steps;
    pattern->n_taken = (uint16_t)c.field;
    pattern->multiline = c.multiline;
    pattern->fields = class->fields;
    memcpy(pattern->steps, c.steps, c.n_steps * sizeof *c.steps);
    *ret_pattern = pattern;
out:
    free(c.steps);
    return r;
}

bool log_pattern_is_multiline(const struct log_pattern *pattern)
{
    return pattern->multiline;
}
