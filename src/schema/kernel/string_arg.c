/* SPDX-License-Identifier: MIT */
#include "schema/kernel/string_arg.h"

#include <ctype.h>

#include "base/number.h"
#include "event/program.h"
#include "schema/kernel/events.h"
#include "schema/kernel/format.h"

size_t kernel_literal_clean(const char *s, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    char *p = out;

    for (size_t i = 0; i < len; i++) {
        uint8_t ch = (uint8_t)s[i];

        if (ch == '\n') {
            *p++ = ' ';
        } else if ((ch < 0x20 && ch != '\t') || ch == 0x7f) {
            *p++ = '\\';
            *p++ = 'x';
            *p++ = digits[ch >> 4];
            *p++ = digits[ch & 15];
        } else {
            *p++ = s[i];
        }
    }
    return (size_t)(p - out);
}

/* A copy of S in the arena, fit for output. "" when memory is out. */
static const char *keep(struct kernel_compiler *c, const char *s, uint32_t *ret_len)
{
    size_t len = strlen(s);
    _cleanup_free_ char *clean = malloc(4 * len + 1);
    const char *copy = NULL;

    if (clean) {
        len = kernel_literal_clean(s, len, clean);
        copy = arena_strndup(c->arena, clean, len);
    }
    if (!copy) {
        c->out_of_memory = true;
        len = 0;
        copy = "";
    }
    *ret_len = (uint32_t)len;
    return copy;
}

/* The number of an entry of __print_flags() or __print_symbolic(). Negative numbers and names whose value is not known are
 * -1: so do the tools of the field. */
static int64_t value_of_name(const struct print_node *node)
{
    int64_t v;

    while (node->kind == PRINT_CAST)
        node = node->a;
    if (node->kind != PRINT_ATOM)
        return MAX(kernel_constant(node), -1);
    if (isdigit((unsigned char)node->text[0]))
        return (int64_t)strtoull(node->text, NULL, 0);
    return kernel_word_value(node->text, &v) ? v : -1;
}

static void compile_names(struct kernel_compiler *c, const struct print_name *list,
                          struct kernel_string_arg *string_arg)
{
    struct kernel_name *names;
    uint32_t n = 0;

    for (const struct print_name *l = list; l; l = l->next)
        n++;
    names = arena_alloc(c->arena, MAX(n, 1u) * sizeof *names);
    if (!names) {
        c->out_of_memory = true;
        return;
    }
    string_arg->names = names;
    string_arg->n_names = n;
    for (; list; list = list->next, names++) {
        const struct print_node *name = list->name;

        while (name->kind == PRINT_CAST)
            name = name->a;
        names->v = value_of_name(list->value);
        names->s = keep(c, name->text, &names->len);
    }
}

/* Where the bytes lie that __print_hex() and __print_array() show; false: nowhere. */
static bool compile_place(const struct print_node *node, struct kernel_string_arg *string_arg)
{
    if (node->kind == PRINT_DYNAMIC_ARRAY) {
        string_arg->is_dynamic = true;
        string_arg->dynamic = kernel_dynamic_of(node->field);
        return true;
    }
    if (node->kind != PRINT_FIELD)
        return false;
    string_arg->offset = node->field->offset;
    return true;
}

static void compile_field(const struct kernel_compiler *c, const struct kernel_field *field,
                          struct kernel_string_arg *string_arg)
{
    string_arg->kind = STRING_ARG_ARRAY;
    if (!(field->flags & FIELD_IS_ARRAY) && field->size == c->long_size)
        string_arg->kind = STRING_ARG_ADDRESS;
    string_arg->offset = field->offset;
    string_arg->size = field->size;
}

static bool compile_choice(struct kernel_compiler *c, const struct print_node *node,
                           struct kernel_string_arg *string_arg)
{
    string_arg->kind = STRING_ARG_CHOICE;
    string_arg->yes = kernel_string_arg_compile(c, node->b);
    string_arg->no = kernel_string_arg_compile(c, node->c);
    return string_arg->yes && string_arg->no;
}

const struct kernel_string_arg *kernel_string_arg_compile(struct kernel_compiler *c,
                                                          const struct print_node *node)
{
    struct kernel_string_arg string_arg = {.kind = STRING_ARG_NOTHING};

    switch ((enum print_kind)node->kind) {
    case PRINT_ATOM:
        string_arg.kind = STRING_ARG_LITERAL;
        string_arg.s = keep(c, node->text, &string_arg.len);
        break;
    case PRINT_FIELD: compile_field(c, node->field, &string_arg); break;
    case PRINT_FLAGS:
        string_arg.kind = STRING_ARG_FLAGS;
        string_arg.a = kernel_expr_compile(c, node->a);
        string_arg.s = keep(c, node->text, &string_arg.len);
        compile_names(c, node->names, &string_arg);
        break;
    case PRINT_SYMBOLIC:
        string_arg.kind = STRING_ARG_NAMED;
        string_arg.a = kernel_expr_compile(c, node->a);
        compile_names(c, node->names, &string_arg);
        break;
    case PRINT_HEX:
    case PRINT_HEX_STRING:
        if (!compile_place(node->a, &string_arg))
            break;
        string_arg.kind = STRING_ARG_HEX;
        string_arg.a = kernel_expr_compile(c, node->b);
        string_arg.s = " ";
        string_arg.len = node->kind == PRINT_HEX ? 1 : 0;
        break;
    case PRINT_ARRAY:
        if (!compile_place(node->a, &string_arg))
            break;
        string_arg.kind = STRING_ARG_NUMBERS;
        string_arg.a = kernel_expr_compile(c, node->b);
        string_arg.b = kernel_expr_compile(c, node->c);
        break;
    case PRINT_STRING:
    case PRINT_BITMASK:
    case PRINT_CPUMASK:
        string_arg.kind = node->kind == PRINT_STRING    ? STRING_ARG_DYNAMIC
                          : node->kind == PRINT_BITMASK ? STRING_ARG_BITMASK
                                                        : STRING_ARG_CPUMASK;
        string_arg.dynamic = kernel_dynamic_of(node->field);
        break;
    case PRINT_OPERATION:
        if (node->op != OPERATOR_CONDITION)
            break;
        string_arg.a = kernel_expr_compile(c, node->a);
        if (string_arg.a->kind == EXPR_CONST)
            return kernel_string_arg_compile(c, string_arg.a->value ? node->b : node->c);
        if (!compile_choice(c, node, &string_arg))
            return NULL;
        break;
    default: break;
    }
    if (c->out_of_memory)
        return NULL;
    return arena_memdup(c->arena, &string_arg, sizeof string_arg);
}

static bool is_plain(const struct spec *spec)
{
    return spec->width == 0 && !spec->has_precision;
}

static void put_string(const struct spec *spec, const char *s, size_t len, bool last,
                       struct text *text)
{
    if (last && len > 0 && s[len - 1] == '\n')
        len--;
    if (likely(is_plain(spec)))
        text_put_safe(text, s, len);
    else
        spec_put_string(spec, s, len, text);
}

static void put_rest(uint64_t v, struct text *text)
{
    char *p = text_room(text, 2 + NUMBER_MAX);

    *p++ = '0';
    *p++ = 'x';
    text->next = number_hex(p, v);
}

static void put_name(const struct spec *spec, const struct kernel_name *name, struct text *text)
{
    if (likely(is_plain(spec)))
        text_put(text, name->s, name->len);
    else
        spec_put_string(spec, name->s, name->len, text);
}

static void put_flags(const struct kernel_string_arg *string_arg, const struct spec *spec,
                      uint64_t v, struct text *text)
{
    bool first = true;

    for (uint32_t i = 0; i < string_arg->n_names; i++) {
        const struct kernel_name *name = &string_arg->names[i];

        if (v == 0 && name->v < 0) {
            put_name(spec, name, text);
            break;
        }
        if (name->v > 0 && (v & (uint64_t)name->v) == (uint64_t)name->v) {
            if (!first)
                text_put(text, string_arg->s, string_arg->len);
            put_name(spec, name, text);
            first = false;
            v &= ~(uint64_t)name->v;
        }
    }
    if (v) {
        if (!first)
            text_put(text, string_arg->s, string_arg->len);
        put_rest(v, text);
    }
}

static void put_named(const struct kernel_string_arg *string_arg, const struct spec *spec,
                      uint64_t v, struct text *text)
{
    for (uint32_t i = 0; i < string_arg->n_names; i++) {
        if ((uint64_t)string_arg->names[i].v == v) {
            put_name(spec, &string_arg->names[i], text);
            return;
        }
    }
    put_rest(v, text);
}

/* Where a dump begins, and how many bytes of the event there are from there on. */
static const uint8_t *find_place(const struct kernel_string_arg *string_arg,
                                 const struct kernel_run *run, size_t *ret_left)
{
    uint32_t offset = string_arg->offset, len;

    if (string_arg->is_dynamic)
        kernel_dynamic_find(&string_arg->dynamic, run, &offset, &len);
    if (offset > run->size)
        offset = run->size;
    *ret_left = run->size - offset;
    return run->data + offset;
}

static void put_hex_dump(const struct kernel_string_arg *string_arg, const struct kernel_run *run,
                         struct text *text)
{
    uint32_t wanted = (uint32_t)kernel_expr_eval(string_arg->a, run);
    size_t left;
    const uint8_t *p = find_place(string_arg, run, &left);

    /* The count is an int where it is used; a negative one is none. */
    if (wanted > INT32_MAX)
        return;
    left = MIN(left, (size_t)wanted);
    for (size_t i = 0; i < left; i++) {
        char *out = text_room(text, 2 + NUMBER_MAX);

        if (i && string_arg->len)
            *out++ = ' ';
        text->next = number_hex_byte(out, p[i]);
    }
}

static void put_numbers(const struct kernel_string_arg *string_arg, const struct kernel_run *run,
                        struct text *text)
{
    uint32_t count = (uint32_t)kernel_expr_eval(string_arg->a, run);
    uint32_t size = (uint32_t)kernel_expr_eval(string_arg->b, run);
    size_t left;
    const uint8_t *p = find_place(string_arg, run, &left);
    bool bad = size != 1 && size != 2 && size != 4 && size != 8;
    uint32_t step = bad ? 1 : size;

    /* The count is an int where it is used; a negative one is none. */
    if (count > INT32_MAX)
        count = 0;
    text_put_char(text, '{');
    for (uint32_t i = 0; i < count && left >= step; i++, p += step, left -= step) {
        if (i)
            text_put_char(text, ',');
        if (unlikely(bad)) {
            text_put_literal(text, "BAD SIZE:");
            text_put_i64(text, (int32_t)size);
            text_put_char(text, ' ');
            size = 1; /* the first is in the message, the rest are shown as bytes */
            bad = false;
        }
        text_put_literal(text, "0x");
        text_put_hex(text, load_uint(p, step, run->swap));
    }
    text_put_char(text, '}');
}

static uint8_t mask_byte(const uint8_t *p, uint32_t len, uint32_t i, bool big_endian)
{
    return big_endian ? p[len - 1 - i] : p[i];
}

/* "ff,00000001": words of 32 bits, the highest first. */
static void put_bitmask(const uint8_t *p, uint32_t len, bool big_endian, struct text *text)
{
    for (uint32_t i = len; i-- > 0;) {
        char *out = text_room(text, 2 + NUMBER_MAX);

        out = number_hex_byte(out, mask_byte(p, len, i, big_endian));
        if (i > 0 && i % 4 == 0)
            *out++ = ',';
        text->next = out;
    }
}

/* "0-3,7" */
static void put_cpumask(const uint8_t *p, uint32_t len, bool big_endian, struct text *text)
{
    uint32_t n_bits = len * 8;
    bool first = true;

    for (uint32_t bit = 0; bit < n_bits;) {
        uint32_t begin = bit;
        char *out;

        if (!(mask_byte(p, len, bit / 8, big_endian) >> (bit % 8) & 1)) {
            bit++;
            continue;
        }
        while (bit < n_bits && mask_byte(p, len, bit / 8, big_endian) >> (bit % 8) & 1)
            bit++;
        out = text_room(text, NUMBER_MAX * 2);
        if (!first)
            *out++ = ',';
        first = false;
        out = number_dec(out, begin);
        if (bit > begin + 1) {
            *out++ = '-';
            out = number_dec(out, bit - 1);
        }
        text->next = out;
    }
}

static void put_address(const struct kernel_string_arg *string_arg, const struct kernel_run *run,
                        struct kernel_events *events, struct text *text)
{
    uint64_t address = kernel_load(run, string_arg->offset, string_arg->size);
    size_t len;
    const char *s = kernel_events_printk(events, address, &len);

    if (s)
        text_put_safe(text, s, len);
    else
        text_put_hex(text, address);
}

/* Masks have a width now and then; only then is a buffer of their own needed. */
static void put_mask(const struct kernel_string_arg *string_arg, const struct spec *spec,
                     const struct kernel_run *run, bool big_endian, struct text *text)
{
    struct text own = TEXT_IN_MEMORY;
    struct text *out = is_plain(spec) ? text : &own;
    uint32_t offset, len;

    kernel_dynamic_find(&string_arg->dynamic, run, &offset, &len);
    if (string_arg->kind == STRING_ARG_BITMASK)
        put_bitmask(run->data + offset, len, big_endian, out);
    else
        put_cpumask(run->data + offset, len, big_endian, out);
    if (out == &own) {
        spec_put_string(spec, own.start ? own.start : "", text_len(&own), text);
        text_done(&own);
    }
}

void kernel_string_arg_put(const struct kernel_string_arg *string_arg, const struct spec *spec,
                           bool last, const struct kernel_run *run, struct kernel_events *events,
                           bool big_endian, struct text *text)
{
    const struct kernel_slot *slot;
    uint32_t offset, len;
    size_t symbol_len;
    uint64_t start;
    const char *s;

    switch ((enum kernel_string_arg_kind)string_arg->kind) {
    case STRING_ARG_NOTHING: return;
    case STRING_ARG_LITERAL: put_string(spec, string_arg->s, string_arg->len, last, text); return;
    case STRING_ARG_ADDRESS: put_address(string_arg, run, events, text); return;
    case STRING_ARG_ARRAY:
        if (string_arg->offset > run->size)
            return;
        len = run->size - string_arg->offset;
        if (string_arg->size)
            len = MIN(len, string_arg->size);
        s = (const char *)run->data + string_arg->offset;
        put_string(spec, s, strnlen(s, len), last, text);
        return;
    case STRING_ARG_DYNAMIC:
        kernel_dynamic_find(&string_arg->dynamic, run, &offset, &len);
        if (len == 0)
            return;
        s = (const char *)run->data + offset;
        put_string(spec, s, strnlen(s, len), last, text);
        return;
    case STRING_ARG_FLAGS:
        put_flags(string_arg, spec, kernel_expr_eval(string_arg->a, run), text);
        return;
    case STRING_ARG_NAMED:
        put_named(string_arg, spec, kernel_expr_eval(string_arg->a, run), text);
        return;
    case STRING_ARG_SYMBOL:
        s = kernel_events_symbol(events, kernel_expr_eval(string_arg->a, run), &symbol_len, &start);
        if (s)
            put_string(spec, s, (uint32_t)symbol_len, last, text);
        return;
    case STRING_ARG_HEX: put_hex_dump(string_arg, run, text); return;
    case STRING_ARG_NUMBERS: put_numbers(string_arg, run, text); return;
    case STRING_ARG_BITMASK:
    case STRING_ARG_CPUMASK: put_mask(string_arg, spec, run, big_endian, text); return;
    case STRING_ARG_CHOICE:
        kernel_string_arg_put(kernel_expr_eval(string_arg->a, run) ? string_arg->yes
                                                                   : string_arg->no,
                              spec, last, run, events, big_endian, text);
        return;
    case STRING_ARG_SLOT:
        slot = &run->slots[string_arg->offset];
        if (slot->s)
            put_string(spec, slot->s, slot->len, last, text);
        else
            put_rest(slot->v, text);
        return;
    }
}
