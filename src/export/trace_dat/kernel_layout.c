/* SPDX-License-Identifier: MIT */
#include "export/trace_dat/kernel_layout.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/number.h"
#include "event/spec.h"
#include "event/value.h"

#define COMMON_SIZE 8
#define RECORD_MAX 65535
/* Longer names are cut. */
#define NAME_MAX_LEN 255

/* True if the field is stored outside the fixed part. */
static bool is_loc(const struct field *field)
{
    return field->type == FIELD_STRING || field->type == FIELD_BYTES || field->type == FIELD_FLOAT;
}

static unsigned scalar_size(const struct field *field)
{
    return field->size <= 1 ? 1 : (field->size == 2 ? 2 : (field->size <= 4 ? 4 : 8));
}

static unsigned element_size(const struct field *field)
{
    return field->element == 2 || field->element == 4 || field->element == 8 ? field->element : 1;
}

/* Makes an identifier that no field before NUMBER has. */
static const char *make_name(struct arena *arena, const struct kernel_layout *layout,
                             unsigned number)
{
    const char *wanted = layout->class->fields[number].name;
    size_t size = NAME_MAX_LEN + 32;
    char *name = arena_alloc(arena, size);
    char *p = name;
    size_t len;

    if (!name)
        return NULL;
    /* `common_` is what the kernel's own fields begin with. */
    if (!(isalpha((unsigned char)*wanted) || *wanted == '_') || strncmp(wanted, "common_", 7) == 0)
        *p++ = '_';
    for (; *wanted && p < name + NAME_MAX_LEN; wanted++)
        *p++ = isalnum((unsigned char)*wanted) ? *wanted : '_';
    len = (size_t)(p - name);
    for (unsigned i = 0, n = 2; i < number; i++)
        if (strcmp(layout->places[i].name, name) == 0) {
            snprintf(name + len, size - len, "_%u", n++);
            i = UINT32_MAX; /* start over */
        }
    return name;
}

int kernel_layout_make(struct arena *arena, const struct event_class *class,
                       struct kernel_layout *ret)
{
    struct kernel_layout layout = {.class = class, .size = COMMON_SIZE};

    layout.places = arena_alloc(arena, (class->n_fields + 1) * sizeof *layout.places);
    if (!layout.places)
        return -ENOMEM;
    for (unsigned i = 0; i < class->n_fields; i++) {
        struct kernel_place *place = &layout.places[i];
        unsigned size = is_loc(&class->fields[i]) ? 4 : scalar_size(&class->fields[i]);

        place->offset = (layout.size + size - 1) & ~(size - 1);
        place->size = is_loc(&class->fields[i]) ? 0 : (uint8_t)size;
        place->name = make_name(arena, &layout, i);
        if (!place->name)
            return -ENOMEM;
        layout.size = place->offset + size;
    }
    layout.size = (layout.size + 3) & ~UINT32_C(3);
    *ret = layout;
    return 0;
}

static void put_declaration(struct text *text, const struct field *field,
                            const struct kernel_place *place)
{
    bool is_signed = field->type == FIELD_INT;

    text_put_literal(text, "\tfield:");
    switch (field->type) {
    case FIELD_STRING:
    case FIELD_FLOAT: text_printf(text, "__data_loc char[] %s", place->name); break;
    case FIELD_BYTES:
        is_signed = field->element_signed;
        /* An array of u8 would be taken for text. */
        if (element_size(field) == 1)
            text_printf(text, "__data_loc uint8_t[] %s", place->name);
        else
            text_printf(text, "__data_loc %c%u[] %s", is_signed ? 's' : 'u',
                        8 * element_size(field), place->name);
        break;
    case FIELD_POINTER:
        if (place->size == 8) {
            text_printf(text, "void * %s", place->name);
            break;
        }
        text_printf(text, "u%u %s", 8 * place->size, place->name);
        break;
    case FIELD_BOOL:
        if (place->size == 1) {
            text_printf(text, "bool %s", place->name);
            break;
        }
        text_printf(text, "u%u %s", 8 * place->size, place->name);
        break;
    default: text_printf(text, "%c%u %s", is_signed ? 's' : 'u', 8 * place->size, place->name);
    }
    text_printf(text, ";\toffset:%u;\tsize:%u;\tsigned:%d;\n", place->offset,
                place->size ? place->size : 4, is_signed);
}

/* Puts text in the quotes of a print format. Each '%' is a literal one. */
static void put_literal(struct text *text, const char *s, size_t len)
{
    for (; len > 0; s++, len--) {
        switch (*s) {
        case '"': text_put_literal(text, "\\\""); break;
        case '\\': text_put_char(text, '/'); break; /* not read back by every reader */
        case '%': text_put_literal(text, "%%"); break;
        case '\n': text_put_char(text, ' '); break;
        default: text_put_char(text, (unsigned char)*s < ' ' ? '?' : *s);
        }
    }
}

/* Puts a string in quotes, as an argument. */
static void put_quoted(struct text *text, const char *s)
{
    text_put_char(text, '"');
    for (; *s; s++)
        if (*s == '%')
            text_put_char(text, '%');
        else
            put_literal(text, s, 1);
    text_put_char(text, '"');
}

static void put_symbol(struct text *text, bool *first, uint64_t value, const char *name)
{
    if (!name)
        return;
    text_printf(text, "%s { 0x%llx, ", *first ? "" : ",", (unsigned long long)value);
    put_quoted(text, name);
    text_put_literal(text, " }");
    *first = false;
}

/* Puts `__print_symbolic` or `__print_flags` for a field whose values have names. */
static void put_named(struct text *text, const struct value_names *names, const char *field)
{
    bool first = true;

    if (names->bits)
        text_printf(text, "__print_flags(REC->%s, \"|\",", field);
    else
        text_printf(text, "__print_symbolic(REC->%s,", field);
    for (uint32_t i = 0; i < names->n && (!names->bits || i < 64); i++)
        put_symbol(text, &first, names->bits ? UINT64_C(1) << i : i, names->names[i]);
    for (uint32_t i = 0; i < names->n_more; i++)
        put_symbol(text, &first, names->more[i].value, names->more[i].name);
    text_put_char(text, ')');
}

/* Puts a character by names for printable values, because not every reader supports "%c". */
static void put_character(struct text *text, const char *field)
{
    bool first = true;

    text_printf(text, "__print_symbolic(REC->%s,", field);
    for (unsigned c = ' '; c <= '~'; c++)
        if (c != '\\')
            put_symbol(text, &first, c, (const char[]){(char)c, '\0'});
    text_put_char(text, ')');
}

static bool has_names(const struct field *field)
{
    const struct value_names *names = field->names;

    if (!names || is_loc(field))
        return false;
    for (uint32_t i = 0; i < names->n; i++)
        if (names->names[i])
            return true;
    return names->n_more > 0;
}

/* Puts the argument that shows a field as "%s", or as a number. */
static void put_argument(struct text *text, const struct field *field,
                         const struct kernel_place *place)
{
    text_put_literal(text, ", ");
    if (field->type == FIELD_STRING || field->type == FIELD_FLOAT)
        text_printf(text, "__get_str(%s)", place->name);
    else if (field->type == FIELD_BYTES && element_size(field) == 1)
        text_printf(text, "__print_hex_str(__get_dynamic_array(%s), __get_dynamic_array_len(%s))",
                    place->name, place->name);
    else if (field->type == FIELD_BYTES)
        text_printf(text,
                    "__print_array(__get_dynamic_array(%s), __get_dynamic_array_len(%s) / %u, %u)",
                    place->name, place->name, element_size(field), element_size(field));
    else
        text_printf(text, "REC->%s", place->name);
}

/* Puts "name=value name=value" for classes without a format that a kernel could have. */
static void put_list(struct text *text, const struct kernel_layout *layout)
{
    const struct event_class *class = layout->class;

    text_put_char(text, '"');
    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct field *field = &class->fields[i];

        text_put_str(text, i ? " " : "");
        put_literal(text, field->name, strlen(field->name));
        if (is_loc(field) || has_names(field))
            text_put_literal(text, "=%s");
        else if (field->type == FIELD_POINTER || field->hex)
            text_put_str(text, layout->places[i].size == 8 ? "=0x%llx" : "=0x%x");
        else if (field->type == FIELD_INT)
            text_put_str(text, layout->places[i].size == 8 ? "=%lld" : "=%d");
        else
            text_put_str(text, layout->places[i].size == 8 ? "=%llu" : "=%u");
    }
    text_put_char(text, '"');
    for (unsigned i = 0; i < class->n_fields; i++)
        if (has_names(&class->fields[i])) {
            text_put_literal(text, ", ");
            put_named(text, class->fields[i].names, layout->places[i].name);
        } else {
            put_argument(text, &class->fields[i], &layout->places[i]);
        }
}

/* Puts a conversion in the form of the kernel's print formats. */
static void put_conversion(struct text *text, const struct spec *spec)
{
    bool address = spec->conversion == 'p';

    /* What follows a "%p" there could change its meaning. */
    text_put_str(text, address ? "0x%" : "%");
    if (spec->left)
        text_put_char(text, '-');
    if (spec->zero)
        text_put_char(text, '0');
    if (spec->alternate && !address)
        text_put_char(text, '#');
    if (spec->width_star)
        text_put_char(text, '*');
    else if (spec->width && !address)
        text_printf(text, "%u", spec->width);
    if (spec->precision_star)
        text_put_literal(text, ".*");
    else if (spec->has_precision)
        text_printf(text, ".%u", spec->precision);
    if (address || (spec->length == LENGTH_LONG && spec->conversion != 's'))
        text_put_literal(text, "ll");
    else if (spec->length == LENGTH_SHORT)
        text_put_char(text, 'h');
    else if (spec->length == LENGTH_CHAR)
        text_put_literal(text, "hh");
    text_put_char(text, address ? 'x' : spec->conversion);
}

/* The number of fields that a conversion prints. */
static unsigned n_taken(const struct spec *spec)
{
    return (spec->conversion != '%' ? 1U : 0U) + (spec->width_star ? 1U : 0U) +
           (spec->precision_star ? 1U : 0U);
}

/* Puts the class's own format. -EINVAL if a kernel could not have this format over its fields; TEXT then has a part of
 * it. */
static int put_format(struct text *text, const struct kernel_layout *layout)
{
    const struct event_class *class = layout->class;
    const char *p = class->format;
    bool characters[FIELDS_MAX] = {false};
    unsigned field = 0;

    text_put_char(text, '"');
    while (*p) {
        size_t n = strcspn(p, "%");
        struct spec spec;
        const char *end;

        put_literal(text, p, n);
        p += n;
        if (!*p)
            break;
        end = spec_parse(p, &spec);
        if (!end || field + n_taken(&spec) > class->n_fields)
            return -EINVAL;
        if (spec.conversion == '%') {
            text_put_literal(text, "%%");
        } else {
            unsigned shown = field + n_taken(&spec) - 1;

            characters[shown] = spec.conversion == 'c' && !is_loc(&class->fields[shown]);
            if (is_loc(&class->fields[shown]) || characters[shown]) {
                spec.conversion = 's';
                spec.length = LENGTH_INT;
            } else if (!strchr("diuoxXp", spec.conversion)) {
                return -EINVAL;
            }
            put_conversion(text, &spec);
        }
        field += n_taken(&spec);
        p = end;
    }
    text_put_char(text, '"');
    for (unsigned i = 0; i < field; i++)
        if (characters[i]) {
            text_put_literal(text, ", ");
            put_character(text, layout->places[i].name);
        } else {
            put_argument(text, &class->fields[i], &layout->places[i]);
        }
    return 0;
}

void kernel_layout_put_format(struct text *text, const struct kernel_layout *layout, unsigned id)
{
    const struct event_class *class = layout->class;
    size_t before;

    text_put_literal(text, "name: ");
    for (const char *p = class->name; *p; p++)
        text_put_char(text, isalnum((unsigned char)*p) ? *p : '_');
    text_printf(text, "\nID: %u\nformat:\n", id);
    text_put_literal(text,
                     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
    for (unsigned i = 0; i < class->n_fields; i++)
        put_declaration(text, &class->fields[i], &layout->places[i]);
    text_put_literal(text, "\nprint fmt: ");
    before = text_len(text);
    if (!class->program || put_format(text, layout) < 0) {
        text->next = text->start + before;
        put_list(text, layout);
    }
    text_put_char(text, '\n');
}

static void store(uint8_t *p, uint64_t v, unsigned size, bool swap)
{
    switch (size) {
    case 1: *p = (uint8_t)v; break;
    case 2: store_u16(p, swap ? __builtin_bswap16((uint16_t)v) : (uint16_t)v); break;
    case 4: store_u32(p, swap ? __builtin_bswap32((uint32_t)v) : (uint32_t)v); break;
    default: store_u64(p, swap ? __builtin_bswap64(v) : v);
    }
}

/* Appends the data of a __data_loc, and returns its word. AT: the beginning of the record. */
static uint32_t put_data(struct text *text, size_t at, const struct field *field,
                         const struct value *value, bool swap)
{
    size_t offset = text_len(text) - at;
    size_t room = offset < RECORD_MAX ? RECORD_MAX - offset : 0;
    unsigned element = element_size(field);
    char real[NUMBER_MAX];
    const char *s = value->s;
    size_t len = value->present ? value->len : 0;

    if (field->type == FIELD_FLOAT) {
        double v = 0;

        memcpy(&v, &value->u, value->present ? sizeof v : 0);
        s = real;
        len = (size_t)(number_double(real, v) - real);
    }
    if (room == 0)
        return (uint32_t)RECORD_MAX;
    if (field->type == FIELD_BYTES) {
        len = MIN(len, room) / element * element;
        for (size_t i = 0; i < len; i += element) {
            uint8_t *p = (uint8_t *)text_room(text, 8);

            store(p, load_uint(s + i, element, field->swap), element, swap);
            text->next += element;
        }
        return (uint32_t)(len << 16 | offset);
    }
    len = MIN(strnlen(s, len), room - 1);
    text_put(text, s, len);
    text_put_char(text, '\0');
    return (uint32_t)((len + 1) << 16 | offset);
}

void kernel_layout_put_record(struct text *text, const struct kernel_layout *layout, unsigned id,
                              int32_t pid, const struct item *item, bool swap)
{
    const struct event_class *class = layout->class;
    size_t at = text_len(text);
    struct value values[FIELDS_MAX];
    uint8_t *record = (uint8_t *)text_room(text, layout->size);

    memset(record, 0, layout->size);
    store(record, id, 2, swap);
    store(record + 4, (uint32_t)pid, 4, swap);
    text->next += layout->size;
    item_values(item, values);
    for (unsigned i = 0; i < class->n_fields; i++) {
        const struct kernel_place *place = &layout->places[i];

        if (likely(place->size)) {
            if (values[i].present)
                store(record + place->offset, values[i].u, place->size, swap);
        } else {
            uint32_t loc = put_data(text, at, &class->fields[i], &values[i], swap);

            /* The text may have moved. */
            record = (uint8_t *)text->start + at;
            store(record + place->offset, loc, 4, swap);
        }
    }
}
