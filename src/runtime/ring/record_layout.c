/* SPDX-License-Identifier: MIT */
#include "runtime/ring/record_layout.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/events.h"
#include "runtime/macro.h"

/* A piece of text, and behind it one argument. */
struct layout_step {
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
static unsigned split_format(const char *format, struct layout_step *steps, char *text)
{
    const char *p = format;
    unsigned n = 0;
    unsigned argument = 0;

    for (;;) {
        struct layout_step step = {.text = text};

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

static struct record_layout *plan_make(const struct trace_class *class)
{
    unsigned n_steps = class->format ? split_format(class->format, NULL, NULL) : 0;
    size_t format_len = class->format ? strlen(class->format) : 0;
    size_t name_len = strlen(class->name);
    struct layout_field *fields;
    struct layout_step *steps;
    struct record_layout *layout;
    char *text;

    layout = malloc(sizeof(*layout) + n_steps * sizeof(*steps) + class->n_fields * sizeof(*fields) +
                    name_len + 1 + format_len);
    if (!layout)
        return NULL;
    steps = (struct layout_step *)(layout + 1);
    fields = (struct layout_field *)(steps + n_steps);
    text = (char *)(fields + class->n_fields);
    memcpy(text, class->name, name_len + 1);

    *layout = (struct record_layout){
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
        layout->has_strings |= fields[i].size == 0;
        layout->all_words &= fields[i].size == 8;
        layout->size += fields[i].size;
    }
    if (class->format)
        split_format(class->format, steps, text + name_len + 1);
    return layout;
}

const struct record_layout *layout_of(uint32_t class_id)
{
    struct trace_class *class = class_by_id(class_id);

    if (!class)
        return NULL;
    if (unlikely(!class->layout)) {
        registry_lock(); /* names and fields must not go while they are copied */
        class->layout = plan_make(class);
        registry_unlock();
    }
    return class->layout;
}

size_t layout_size(const struct record_layout *layout, const uint8_t *p, size_t left)
{
    size_t at = 0;

    if (likely(!layout->has_strings))
        return layout->size <= left ? layout->size : SIZE_MAX;
    for (unsigned i = 0; i < layout->n_fields; i++) {
        if (layout->fields[i].size == 0) {
            size_t len = strnlen((const char *)p + at, left - at);

            if (len == left - at)
                return SIZE_MAX;
            at += len + 1;
        } else {
            if (layout->fields[i].size > left - at)
                return SIZE_MAX;
            at += layout->fields[i].size;
        }
    }
    return at;
}

size_t layout_measure(uint32_t class_id, const uint8_t *p, size_t left)
{
    const struct trace_class *class = class_by_id(class_id);
    size_t at = 0;

    if (!class)
        return SIZE_MAX;
    registry_lock();
    for (unsigned i = 0; i < class->n_fields && at != SIZE_MAX; i++) {
        bool is_string = class->fields[i].kind == STRATA_FIELD_STRING;
        size_t size =
            is_string ? strnlen((const char *)p + at, left - at) + 1 : class->fields[i].size;

        at = size > left - at ? SIZE_MAX : at + size;
    }
    registry_unlock();
    return at;
}

uint64_t layout_load(const struct layout_field *field, const uint8_t *p)
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

static void load_all(const struct record_layout *layout, const uint8_t *p, struct value *values)
{
    for (unsigned i = 0; i < layout->n_fields; i++) {
        if (layout->fields[i].size == 0) {
            values[i].text = (const char *)p;
            values[i].number = strlen(values[i].text);
            p += values[i].number + 1;
        } else {
            values[i].text = NULL;
            values[i].number = layout_load(&layout->fields[i], p);
            p += layout->fields[i].size;
        }
    }
}

static struct value value_of(const struct value *values, const struct record_layout *layout,
                             unsigned number)
{
    return number < layout->n_fields ? values[number] : (struct value){0, NULL};
}

static void put_value(struct line *line, const struct record_layout *layout,
                      const struct layout_step *step, const struct value *values)
{
    struct value value = value_of(values, layout, step->value);
    struct conversion c = step->conversion;

    if (unlikely(c.width == FROM_ARGUMENT)) {
        c.width = (int)value_of(values, layout, step->width).number;
        if (c.width < 0) {
            c.flags |= FLAG_MINUS;
            c.width = c.width == INT_MIN ? INT_MAX : -c.width;
        }
    }
    if (unlikely(c.precision == FROM_ARGUMENT))
        c.precision = (int)value_of(values, layout, step->precision).number;
    /* A string is shown as one and a number as one, whatever the format says. */
    if (value.text)
        line_put_string(line, &c, value.text, (size_t)value.number);
    else if (c.kind == 'p')
        line_put_pointer(line, &c, value.number);
    else
        line_put_integer(line, &c, value.number);
}

void layout_put_text(const struct record_layout *layout, struct line *line,
                     const uint8_t *arguments)
{
    struct value values[FIELDS_MAX];

    line_put(line, layout->name, layout->name_len);
    if (layout->n_steps == 0)
        return;
    load_all(layout, arguments, values);
    line_put(line, " ", 1);
    for (unsigned i = 0; i < layout->n_steps; i++) {
        const struct layout_step *step = &layout->steps[i];

        line_put(line, step->text, step->len);
        if (step->conversion.kind)
            put_value(line, layout, step, values);
    }
}
