/* SPDX-License-Identifier: MIT */
#include "schema/kernel/text.h"

#include <stdio.h>

#include "base/number.h"
#include "schema/kernel/events.h"
#include "schema/kernel/format.h"
#include "schema/kernel/print_parse.h"
#include "schema/kernel/string_arg.h"
#include "schema/kernel/text_compile.h"

/* One conversion is no longer than this ("%-*.*llx" and the letters after a %p). */
#define CONVERSION_MAX 31

static struct kernel_argument take_argument(struct kernel_text_compiler *c)
{
    struct kernel_argument arg = {0};

    if (!c->format) {
        arg.there = c->slot < c->n_slots;
        arg.slot = c->slot++;
        return arg;
    }
    if (c->node) {
        arg.there = true;
        arg.node = c->node;
        c->node = c->node->next;
    }
    return arg;
}

const struct kernel_expr *kernel_text_number(struct kernel_text_compiler *c,
                                             struct kernel_argument arg)
{
    return arg.node ? kernel_expr_compile(&c->base, arg.node)
                    : kernel_expr_slot(&c->base, arg.slot);
}

int kernel_text_add_op(struct kernel_text_compiler *c, struct kernel_op op)
{
    if (c->n_ops == c->capacity) {
        unsigned capacity = c->capacity ? c->capacity * 2 : 16;
        struct kernel_op *bigger = realloc(c->ops, capacity * sizeof *c->ops);
        if (!bigger)
            return -ENOMEM;
        c->ops = bigger;
        c->capacity = capacity;
    }
    op.literal_len = (uint16_t)c->literal_len;
    if (c->literal_len) {
        char *padded = arena_alloc(c->base.arena, c->literal_len + TEXT_UNIT);
        if (!padded)
            return -ENOMEM;
        /* Line breaks have been kept so far, to know the one at the end. */
        for (size_t i = 0; i < c->literal_len; i++)
            padded[i] = c->literal[i] == '\n' ? ' ' : c->literal[i];
        op.literal = padded;
    }
    c->literal_len = 0;
    c->ops[c->n_ops++] = op;
    return 0;
}

int kernel_text_add_literal(struct kernel_text_compiler *c, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        /* A cleaned character is up to four long. */
        if (c->literal_len + 4 > KERNEL_LITERAL_MAX) {
            int r = kernel_text_add_op(c, (struct kernel_op){.kind = KOP_LITERAL});
            if (r < 0)
                return r;
        }
        if (s[i] == '\n')
            c->literal[c->literal_len++] = '\n';
        else
            c->literal_len += kernel_literal_clean(s + i, 1, c->literal + c->literal_len);
    }
    return 0;
}

void kernel_text_make_direct(struct kernel_text_compiler *c, struct kernel_op *op)
{
    const struct kernel_expr *e = op->value;

    if (e->kind != EXPR_FIELD)
        return;
    op->direct = e->size;
    op->offset = e->offset;
    c->least_size = MAX(c->least_size, e->offset + e->size);
}

static bool has_flags(const struct spec *spec)
{
    return spec->left || spec->plus || spec->space || spec->alternate || spec->has_precision ||
           spec->width_star;
}

static enum kernel_op_kind kind_of_number(const struct spec *spec)
{
    if (has_flags(spec))
        return KOP_SPEC;
    if (spec->conversion == 'x' && spec->zero && spec->width <= 16)
        return KOP_HEX_MINIMUM;
    if (spec->width)
        return KOP_SPEC;
    switch (spec->conversion) {
    case 'd':
    case 'i': return KOP_SIGNED;
    case 'u': return KOP_UNSIGNED;
    case 'x': return KOP_HEX;
    default: return KOP_SPEC;
    }
}

static int add_number(struct kernel_text_compiler *c, const struct spec *spec,
                      struct kernel_argument arg, const struct kernel_expr *star)
{
    struct kernel_op op = {
        .kind = (uint8_t)kind_of_number(spec),
        .minimum = (uint8_t)MIN(spec->width, 16),
        .unused_bits = (uint8_t)(64 - 8 * spec_size(spec)),
        .value = kernel_text_number(c, arg),
        .star = star,
        .spec = *spec,
    };

    kernel_text_make_direct(c, &op);
    return kernel_text_add_op(c, op);
}

int kernel_text_add_string(struct kernel_text_compiler *c, const struct spec *spec,
                           struct kernel_argument arg, const struct kernel_expr *star)
{
    struct kernel_op op = {.kind = KOP_STRING, .star = star, .spec = *spec};

    if (arg.node) {
        op.string_arg = kernel_string_arg_compile(&c->base, arg.node);
    } else {
        const struct kernel_string_arg string_arg = {.kind = STRING_ARG_SLOT, .offset = arg.slot};
        op.string_arg = arena_memdup(c->base.arena, &string_arg, sizeof string_arg);
    }
    if (!op.string_arg)
        return -ENOMEM;
    return kernel_text_add_op(c, op);
}

/* Compiles the conversion at P ('%' is there) and moves *RET_P to its end. */
static int compile_conversion(struct kernel_text_compiler *c, const char *p, const char **ret_p)
{
    const struct kernel_expr *star = NULL;
    char conversion[CONVERSION_MAX + 1];
    const char *start = p++;
    struct kernel_argument arg;
    struct spec spec;
    size_t len;

    p += strspn(p, "#hlLzZ.0123456789-+");
    while (*p == '*') {
        arg = take_argument(c);
        if (!arg.there || star) {
            c->failed = true;
            return 0;
        }
        star = kernel_text_number(c, arg);
        p++;
        p += strspn(p, "#hlLzZ.0123456789-+");
    }

    len = (size_t)(p + 1 - start);
    if (len > CONVERSION_MAX)
        goto fail;
    memcpy(conversion, start, len);
    conversion[len] = '\0';
    for (char *q = conversion; *q; q++)
        if (*q == 'Z')
            *q = 'z';

    switch (*p) {
    case 'p':
        arg = take_argument(c);
        if (!arg.there)
            goto fail;
        len = kernel_pointer_letters(p + 1);
        *ret_p = p + 1 + len;
        memset(conversion, 0, sizeof conversion);
        memcpy(conversion, p + 1, MIN(len, (size_t)CONVERSION_MAX));
        return kernel_text_add_pointer(c, conversion, arg, star);
    case 'c':
    case 'd':
    case 'i':
    case 'o':
    case 's':
    case 'u':
    case 'x':
    case 'X': break;
    case '\0': goto fail;
    default:
        /* It has no argument: shown as it is. */
        *ret_p = p + 1;
        return kernel_text_add_literal(c, (const char[]){'>', *p, '<'}, 3);
    }

    arg = take_argument(c);
    if (!arg.there || !spec_parse(conversion, &spec))
        goto fail;
    *ret_p = p + 1;
    if (spec.conversion == 's')
        return kernel_text_add_string(c, &spec, arg, star);
    /* Before Linux 5.9 the function tracers have %lx where later ones have %ps. */
    if (c->is_function && strcmp(conversion, "%lx") == 0)
        return kernel_text_add_pointer(c, "s", arg, star);
    return add_number(c, &spec, arg, star);
fail:
    c->failed = true;
    return 0;
}

static int compile_format(struct kernel_text_compiler *c, const char *p)
{
    int r = 0;

    while (*p && r == 0 && !c->failed) {
        if (*p == '\\' && p[1] != '\0') {
            char ch = p[1] == 'n' ? '\n' : p[1] == 't' ? '\t' : p[1] == 'r' ? '\r' : p[1];
            r = kernel_text_add_literal(c, &ch, 1);
            p += 2;
        } else if (*p == '%' && p[1] == '%') {
            r = kernel_text_add_literal(c, "%", 1);
            p += 2;
        } else if (*p == '%') {
            r = compile_conversion(c, p, &p);
        } else {
            r = kernel_text_add_literal(c, p, 1);
            p++;
        }
    }
    if (r == 0 && !c->failed && c->base.out_of_memory)
        r = -ENOMEM;
    return r;
}

/* What is shown of events whose print format cannot be parsed: the fields. */
static int compile_fields(struct kernel_text_compiler *c)
{
    static const char failed[] = "[FAILED TO PARSE]";
    int r;

    c->n_ops = 0;
    c->literal_len = 0;
    c->least_size = 0;
    r = kernel_text_add_literal(c, failed, sizeof failed - 1);
    for (unsigned i = c->format->n_common; i < c->format->n_fields && r == 0; i++) {
        const struct kernel_field *f = &c->format->fields[i];
        struct kernel_op op = {.kind = KOP_RAW,
                               .offset = f->offset,
                               .size = f->size,
                               .dynamic = kernel_dynamic_of(f),
                               .field_flags = f->flags};

        r = kernel_text_add_literal(c, " ", 1);
        if (r == 0)
            r = kernel_text_add_literal(c, f->name, strlen(f->name));
        if (r == 0)
            r = kernel_text_add_literal(c, "=", 1);
        if (r == 0)
            r = kernel_text_add_op(c, op);
    }
    return r;
}

/* Takes the line break off the text's end, now or when the event is there. */
static int finish(struct kernel_text_compiler *c)
{
    int r = 0;

    if (c->literal_len && c->literal[c->literal_len - 1] == '\n' && --c->literal_len == 0)
        return 0;
    if (c->literal_len)
        r = kernel_text_add_op(c, (struct kernel_op){.kind = KOP_LITERAL});
    else if (c->n_ops)
        c->ops[c->n_ops - 1].last = true;
    return r;
}

static int make_text(struct kernel_text_compiler *c, const struct kernel_text **ret_text,
                     const struct kernel_text *head)
{
    struct kernel_text *text;
    int r = finish(c);

    if (r < 0)
        return r;
    text = arena_alloc(c->base.arena, sizeof *text + c->n_ops * sizeof *c->ops);
    if (!text)
        return -ENOMEM;
    *text = *head;
    text->events = c->base.events;
    text->swap = kernel_events_facts(c->base.events)->swap;
    text->least_size = c->least_size;
    text->n_ops = c->n_ops;
    if (c->n_ops)
        memcpy(text->ops, c->ops, c->n_ops * sizeof *c->ops);
    *ret_text = text;
    return 0;
}

static const struct kernel_field *find(const struct kernel_text_compiler *c, const char *name)
{
    return kernel_format_find(c->format, name, strlen(name), true);
}

static bool is_of_function_tracer(const char *name)
{
    return strcmp(name, "function") == 0 || strncmp(name, "funcgraph_", 10) == 0 ||
           strncmp(name, "fgraph_", 7) == 0;
}

/* A trace_printk() of the kernel: its format is found by the event, see text_run.c. */
static int compile_packed_event(struct kernel_text_compiler *c, const char *path,
                                const struct kernel_text **ret_text, struct error *error)
{
    const struct kernel_field *ip = find(c, "ip");
    const struct kernel_field *format = find(c, "fmt");
    const struct kernel_field *buf = find(c, "buf");
    struct kernel_text head = {.is_packed_event = true};

    if (!ip || !format || !buf) {
        c->failed = true;
        error_set(error, -EBADMSG, path, "a trace_printk() has no fields ip, fmt and buf");
        return 0;
    }
    head.ip_offset = ip->offset;
    head.ip_size = (uint8_t)(ip->size == 4 ? 4 : 8);
    head.format_offset = format->offset;
    head.format_size = (uint8_t)(format->size == 4 ? 4 : 8);
    head.buf_offset = buf->offset;
    return make_text(c, ret_text, &head);
}

/* A stack trace of the kernel: an event of ftrace's own. */
static bool is_stack(const struct kernel_event_format *format)
{
    const struct kernel_field *size, *caller;

    if (strcmp(format->name, "kernel_stack") != 0 || format->n_fields != format->n_common + 2)
        return false;
    size = &format->fields[format->n_common];
    caller = size + 1;
    return strcmp(size->name, "size") == 0 && size->size == 4 && !(size->flags & FIELD_IS_ARRAY) &&
           strcmp(caller->name, "caller") == 0 && caller->flags & FIELD_IS_ARRAY &&
           !(caller->flags & FIELD_IS_DYNAMIC) &&
           (caller->element_size == 4 || caller->element_size == 8);
}

/* The events of ftrace's own had print formats without arguments once: those are the fields. */
static const struct print_node *fields_as_arguments(struct kernel_text_compiler *c,
                                                    struct arena *scratch)
{
    const struct kernel_event_format *format = c->format;
    unsigned n = format->n_fields - format->n_common;
    struct print_node *nodes = arena_alloc(scratch, MAX(n, 1u) * sizeof *nodes);

    if (!nodes) {
        c->base.out_of_memory = true;
        return NULL;
    }
    for (unsigned i = 0; i < n; i++)
        nodes[i] = (struct print_node){.kind = PRINT_FIELD,
                                       .field = &format->fields[format->n_common + i],
                                       .next = i + 1 < n ? &nodes[i + 1] : NULL};
    return n ? nodes : NULL;
}

/* Parses and compiles the print format; `failed` is set if it is not understood. */
static int compile_print(struct kernel_text_compiler *c, struct arena *scratch, bool is_ftrace,
                         const char *path, struct error *error)
{
    const struct kernel_event_format *format = c->format;
    struct print_tree tree = {0};
    int r;

    if (!format->print)
        r = error_set(error, -EBADMSG, path, "no line \"print fmt:\"");
    else
        r = print_parse(scratch, format, c->base.long_size, path, &tree, error);
    if (r == -EBADMSG) {
        c->failed = true;
        return 0;
    }
    if (r < 0)
        return r;
    c->node = tree.arguments;
    if (is_ftrace && !c->node)
        c->node = fields_as_arguments(c, scratch);
    r = compile_format(c, tree.format);
    if (r == 0 && c->failed)
        error_on_line(
            error, -EBADMSG, path, format->print_line,
            "cannot parse the print format: a conversion is invalid or lacks its argument");
    if (r == 0 && c->base.divides_by_zero && !c->failed) {
        c->failed = true;
        error_on_line(error, -EBADMSG, path, format->print_line,
                      "cannot parse the print format: division by zero");
    }
    return r;
}

int kernel_text_compile(struct arena *arena, struct arena *scratch, struct kernel_events *events,
                        const struct kernel_event_format *format, bool is_ftrace, const char *path,
                        const struct kernel_text **ret_text, struct error *error)
{
    struct kernel_text_compiler c = {
        .base = {.arena = arena,
                 .events = events,
                 .long_size = kernel_events_facts(events)->long_size},
        .format = format,
        .is_function = is_ftrace && is_of_function_tracer(format->name),
    };
    const struct kernel_text *text = NULL;
    int r = 0;

    if (is_ftrace && strcmp(format->name, "bprint") == 0)
        r = compile_packed_event(&c, path, &text, error);
    else if (is_ftrace && is_stack(format))
        r = make_text(&c, &text, &(struct kernel_text){.is_stack = true});
    else
        r = compile_print(&c, scratch, is_ftrace, path, error);
    if (r == 0 && !text) {
        if (c.failed)
            r = compile_fields(&c);
        if (r == 0)
            r = make_text(&c, &text, &(struct kernel_text){0});
    }
    free(c.ops);
    if (r == 0)
        *ret_text = text;
    return r;
}

int kernel_text_compile_packed(struct arena *arena, struct kernel_events *events,
                               const char *format, size_t len, const struct kernel_text **ret_text)
{
    struct kernel_text_compiler c = {.base = {.arena = arena,
                                              .events = events,
                                              .long_size = kernel_events_facts(events)->long_size}};
    _cleanup_free_ char *copy = strndup(format, len);
    struct kernel_text head = {0};
    int r;

    if (!copy)
        return -ENOMEM;
    r = kernel_slots_plan(copy, c.base.long_size, head.slots, &head.n_slots);
    if (r < 0)
        return r;
    c.n_slots = head.n_slots;
    r = compile_format(&c, copy);
    if (r == 0 && c.failed)
        r = -EINVAL;
    if (r == 0)
        r = make_text(&c, ret_text, &head);
    free(c.ops);
    return r;
}

static bool is_hex(const struct kernel_op *op)
{
    switch (op->kind) {
    case KOP_HEX:
    case KOP_HEX_MINIMUM: return true;
    case KOP_SPEC: return op->spec.conversion == 'x' || op->spec.conversion == 'X';
    default: return false;
    }
}

void kernel_text_mark_hex(const struct kernel_text *text, struct field *fields, unsigned n_fields)
{
    for (uint32_t i = 0; i < text->n_ops; i++) {
        const struct kernel_op *op = &text->ops[i];

        for (unsigned k = 0; op->direct && is_hex(op) && k < n_fields; k++)
            if (fields[k].storage == STORE_SCALAR && fields[k].place == PLACE_FIXED &&
                fields[k].offset == op->offset)
                fields[k].hex = true;
    }
}

bool kernel_text_is_stack(const struct kernel_text *text)
{
    return text->is_stack;
}
