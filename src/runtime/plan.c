/* SPDX-License-Identifier: MIT */
#include "runtime/plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/events.h"
#include "runtime/macro.h"

/* A piece of text, and behind it one argument. */
struct plan_step {
    const char *text;
    size_t len;
    struct conversion conversion; /* kind 0: none, this was the last */
    /* By number, counted from 0; those behind the last are empty. */
    unsigned value;
    unsigned width;     /* where the conversion's is FROM_ARGUMENT */
    unsigned precision; /* likewise */
};

struct value {
    uint64_t number;
    const char *text; /* of a string, `number` bytes; else NULL */
};

#define FIELDS_MAX 256 /* their number is a byte */

/* Splits a format. Conversions that are not known stay as they are written. Returns the number of
 * steps; with STEPS NULL only counts them. TEXT gets the pieces, and is as long as the format. */
static unsigned split_format(const char *format, struct plan_step *steps, char *text)
{
    const char *p = format;
    unsigned n = 0;
    unsigned argument = 0;

    for (;;) {
        struct plan_step step = {.text = text};

        for (;;) {
            const char *behind;

            while (*p && *p != '%') {
                if (steps)
                    *text++ = *p;
                p++;
                step.len++;
            }
            if (!*p)
                break;
            behind = conversion_parse(p + 1, &step.conversion);
            if (behind && step.conversion.kind != '%') {
                p = behind;
                break;
            }
            step.conversion.kind = 0;
            if (steps)
                *text++ = '%';
            step.len++;
            p = behind ? behind : p + 1;
        }
        if (step.conversion.kind) {
            if (step.conversion.width == FROM_ARGUMENT)
                step.width = argument++;
            if (step.conversion.precision == FROM_ARGUMENT)
                step.precision = argument++;
            step.value = argument++;
        }
        if (steps)
            steps[n] = step;
        n++;
        if (!step.conversion.kind)
            return n;
    }
}

static struct plan *plan_make(const struct trace_class *class)
{
    unsigned n_steps = class->format ? split_format(class->format, NULL, NULL) : 0;
    size_t format_len = class->format ? strlen(class->format) : 0;
    size_t name_len = strlen(class->name);
    struct plan_field *fields;
    struct plan_step *steps;
    struct plan *plan;
    char *text;

    plan = malloc(sizeof(*plan) + n_steps * sizeof(*steps) + class->n_fields * sizeof(*fields) +
                  name_len + 1 + format_len);
    if (!plan)
        return NULL;
    steps = (struct plan_step *)(plan + 1);
    fields = (struct plan_field *)(steps + n_steps);
    text = (char *)(fields + class->n_fields);
    memcpy(text, class->name, name_len + 1);

    *plan = (struct plan){
        .id = class->id,
        .name = text,
        .name_len = name_len,
        .n_fields = class->n_fields,
        .all_words = true,
        .fields = fields,
        .steps = steps,
        .n_steps = n_steps,
    };
    for (unsigned i = 0; i < class->n_fields; i++) {
        fields[i].kind = class->fields[i].kind;
        fields[i].size = class->fields[i].kind == STRATA_FIELD_STRING ? 0 : class->fields[i].size;
        plan->has_strings |= fields[i].size == 0;
        plan->all_words &= fields[i].size == 8;
        plan->size += fields[i].size;
    }
    if (class->format)
        split_format(class->format, steps, text + name_len + 1);
    return plan;
}

const struct plan *plan_of(uint32_t class_id)
{
    struct trace_class *class = class_by_id(class_id);

    if (!class)
        return NULL;
    if (unlikely(!class->plan)) {
        registry_lock(); /* names and fields must not go while they are copied */
        class->plan = plan_make(class);
        registry_unlock();
    }
    return class->plan;
}

size_t plan_size(const struct plan *plan, const uint8_t *p, size_t left)
{
    size_t at = 0;

    if (likely(!plan->has_strings))
        return plan->size <= left ? plan->size : SIZE_MAX;
    for (unsigned i = 0; i < plan->n_fields; i++) {
        if (plan->fields[i].size == 0) {
            size_t len = strnlen((const char *)p + at, left - at);

            if (len == left - at)
                return SIZE_MAX;
            at += len + 1;
        } else {
            if (plan->fields[i].size > left - at)
                return SIZE_MAX;
            at += plan->fields[i].size;
        }
    }
    return at;
}

uint64_t plan_load(const struct plan_field *field, const uint8_t *p)
{
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;

    switch (field->size) {
    case 8: memcpy(&u64, p, sizeof(u64)); return u64;
    case 4:
        memcpy(&u32, p, sizeof(u32));
        return field->kind == STRATA_FIELD_SIGNED ? (uint64_t)(int32_t)u32 : u32;
    case 2:
        memcpy(&u16, p, sizeof(u16));
        return field->kind == STRATA_FIELD_SIGNED ? (uint64_t)(int16_t)u16 : u16;
    default: return field->kind == STRATA_FIELD_SIGNED ? (uint64_t)(int8_t)*p : *p;
    }
}

static void load_all(const struct plan *plan, const uint8_t *p, struct value *values)
{
    for (unsigned i = 0; i < plan->n_fields; i++) {
        if (plan->fields[i].size == 0) {
            values[i].text = (const char *)p;
            values[i].number = strlen(values[i].text);
            p += values[i].number + 1;
        } else {
            values[i].text = NULL;
            values[i].number = plan_load(&plan->fields[i], p);
            p += plan->fields[i].size;
        }
    }
}

static struct value value_of(const struct value *values, const struct plan *plan, unsigned number)
{
    return number < plan->n_fields ? values[number] : (struct value){0, NULL};
}

static void put_value(struct line *line, const struct plan *plan, const struct plan_step *step,
                      const struct value *values)
{
    struct value value = value_of(values, plan, step->value);
    struct conversion c = step->conversion;

    if (unlikely(c.width == FROM_ARGUMENT)) {
        c.width = (int)value_of(values, plan, step->width).number;
        if (c.width < 0) {
            c.flags |= FLAG_MINUS;
            c.width = c.width == INT_MIN ? INT_MAX : -c.width;
        }
    }
    if (unlikely(c.precision == FROM_ARGUMENT))
        c.precision = (int)value_of(values, plan, step->precision).number;
    /* A string is shown as one and a number as one, whatever the format says. */
    if (value.text)
        line_put_string(line, &c, value.text, value.number);
    else if (c.kind == 'p')
        line_put_pointer(line, &c, value.number);
    else
        line_put_integer(line, &c, value.number);
}

void plan_put_text(const struct plan *plan, struct line *line, const uint8_t *arguments)
{
    struct value values[FIELDS_MAX];

    line_put(line, plan->name, plan->name_len);
    if (plan->n_steps == 0)
        return;
    load_all(plan, arguments, values);
    line_put(line, " ", 1);
    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];

        line_put(line, step->text, step->len);
        if (step->conversion.kind)
            put_value(line, plan, step, values);
    }
}
