/* SPDX-License-Identifier: MIT */
#include "schema/kernel/text.h"

#include <stdio.h>

#include "base/number.h"
#include "schema/kernel/events.h"
#include "schema/kernel/format.h"
#include "schema/kernel/print_parse.h"
#include "schema/kernel/string_arg.h"

/* One conversion is no longer than this ("%-*.*llx" and the letters after a %p). */
#define CONVERSION_MAX 31

struct compiler {
    struct kernel_compiler base;
    struct kernel_op *ops; /* malloc */
    unsigned n_ops, capacity;
    const struct kernel_event_format *format; /* NULL: packed */
    const struct print_node *node;            /* the next argument, of an event's format */
    unsigned slot, n_slots;                   /* the next one, of a packed format */
    uint32_t least_size;
    bool failed;
    char literal[KERNEL_LITERAL_MAX];
    size_t literal_len;
};

/* An argument taken from the list: one of the two. */
struct argument {
    const struct print_node *node;
    unsigned slot;
    bool there;
};

static struct argument take_argument(struct compiler *c)
{
    struct argument arg = {0};

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

static const struct kernel_expr *number_of(struct compiler *c, struct argument arg)
{
    return arg.node ? kernel_expr_compile(&c->base, arg.node)
                    : kernel_expr_slot(&c->base, arg.slot);
}

static int add_op(struct compiler *c, struct kernel_op op)
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

static int add_literal(struct compiler *c, const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        /* A cleaned character is up to four long. */
        if (c->literal_len + 4 > KERNEL_LITERAL_MAX) {
            int r = add_op(c, (struct kernel_op){.kind = KOP_LITERAL});
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

/* A number that is a plain field, or a cast of one, is read without the detour of an expression. */
static void make_direct(struct compiler *c, struct kernel_op *op)
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

static int add_number(struct compiler *c, const struct spec *spec, struct argument arg,
                      const struct kernel_expr *star)
{
    struct kernel_op op = {
        .kind = (uint8_t)kind_of_number(spec),
        .minimum = (uint8_t)MIN(spec->width, 16),
        .unused_bits = (uint8_t)(64 - 8 * spec_size(spec)),
        .value = number_of(c, arg),
        .star = star,
        .spec = *spec,
    };

    make_direct(c, &op);
    return add_op(c, op);
}

static int add_string(struct compiler *c, const struct spec *spec, struct argument arg,
                      const struct kernel_expr *star)
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
    return add_op(c, op);
}

/* How many of the letters after "%p" belong to the conversion. */
static size_t pointer_letters(const char *p)
{
    size_t n = 1;

    switch (*p) {
    case 'F':
    case 'f':
    case 'S':
    case 's': return 1;
    case 'M':
    case 'm': return p[1] == 'R' || p[1] == 'F' ? 2 : 1;
    case 'U': return p[1] && strchr("LlBb", p[1]) ? 2 : 1;
    case 'h': return p[1] && strchr("CDN", p[1]) ? 2 : 1;
    case 'I':
    case 'i': break;
    default: return 0;
    }
    switch (p[1]) {
    case '4': return p[2] && strchr("hnlb", p[2]) ? 3 : 2;
    case '6': return p[2] == 'c' ? 3 : 2;
    case 'S':
        n = 2;
        while (p[n] && strchr("pfs", p[n]))
            n++;
        if (p[n] && strchr("hnlb", p[n]))
            n++;
        if (p[n] == 'c')
            n++;
        return n;
    default: return 1;
    }
}

/* Whether the four bytes of an IPv4 address are to be shown from the last on. */
static bool ipv4_is_reversed(const struct compiler *c, char letter)
{
    if (letter == 'h')
        return !kernel_events_facts(c->base.events)->big_endian;
    return letter == 'l';
}

/* What NODE is a cast of. */
static const struct print_node *without_casts(const struct print_node *node)
{
    while (node && node->kind == PRINT_CAST)
        node = node->a;
    return node;
}

/* What the field's tools print for an argument of the wrong kind; of a packed format there are but numbers. */
static int add_wrong_kind(struct compiler *c, const char *what, const struct print_node *node)
{
    char buf[64];
    int n = snprintf(buf, sizeof buf, "%s %d", what, node ? node->kind : PRINT_ATOM);

    return add_literal(c, buf, (size_t)n);
}

/* %pI4, %pI6, %pM, %pU: SIZE bytes of a field; another size prints an error instead. */
static int add_bytes_of_field(struct compiler *c, struct kernel_op op, uint32_t size,
                              const char *wrong, struct argument arg)
{
    const struct print_node *node = without_casts(arg.node);

    if (!node || node->kind != PRINT_FIELD)
        return add_wrong_kind(c, "ARG TYPE NOT FIELD BUT", node);
    if (node->field->size != size)
        return add_literal(c, wrong, strlen(wrong));
    op.offset = node->field->offset;
    return add_op(c, op);
}

static int add_sockaddr(struct compiler *c, const char *letters, struct argument arg)
{
    struct kernel_op op = {.kind = KOP_SOCKADDR, .capital = letters[0] == 'I'};
    const struct print_node *node = without_casts(arg.node);

    letters += 2;
    if (op.capital && *letters == 'p') {
        op.flag_p = true;
        letters++;
    }
    if (op.capital && *letters == 'c') {
        op.flag_c = true;
        letters++;
    }
    op.reverse = ipv4_is_reversed(c, *letters);

    if (node && node->kind == PRINT_DYNAMIC_ARRAY) {
        op.is_dynamic = true;
        op.dynamic = kernel_dynamic_of(node->field);
        return add_op(c, op);
    }
    if (node && node->kind == PRINT_FIELD) {
        op.offset = node->field->offset;
        op.size = node->field->size;
        return add_op(c, op);
    }
    return add_wrong_kind(c, "ARG NOT FIELD NOR DYNAMIC ARRAY BUT TYPE", node);
}

static int add_dump(struct compiler *c, const char *letters, struct argument arg,
                    const struct kernel_expr *star)
{
    struct kernel_op op = {.kind = KOP_BYTES, .star = star, .separator = ' ', .is_dynamic = true};

    if (letters[1] == 'C')
        op.separator = ':';
    else if (letters[1] == 'D')
        op.separator = '-';
    else if (letters[1] == 'N')
        op.separator = '\0';
    if (!arg.node || arg.node->kind != PRINT_DYNAMIC_ARRAY)
        return add_wrong_kind(c, "ARG TYPE NOT FIELD BUT", arg.node);
    op.dynamic = kernel_dynamic_of(arg.node->field);
    return add_op(c, op);
}

static int add_pointer(struct compiler *c, const char *letters, struct argument arg,
                       const struct kernel_expr *star)
{
    struct kernel_op op = {0};
    char l = letters[0];

    /* Of a packed format these come as text, see SLOT_POINTER. */
    if (!arg.node && l && strchr("MmIiUh", l))
        return add_string(c, &(struct spec){.conversion = 's'}, arg, NULL);
    switch (l) {
    case 'F':
    case 'S':
    case 'f':
    case 's':
        op.kind = l == 'F' || l == 'S' ? KOP_SYMBOL_OFFSET : KOP_SYMBOL;
        op.value = number_of(c, arg);
        make_direct(c, &op);
        return add_op(c, op);
    case 'M':
    case 'm':
        op.kind = KOP_MAC;
        op.separator = l == 'm' ? '\0' : letters[1] == 'F' ? '-' : ':';
        op.reverse = letters[1] == 'R';
        return add_bytes_of_field(c, op, 6, "INVALIDMAC", arg);
    case 'I':
    case 'i':
        op.capital = l == 'I';
        if (letters[1] == '4') {
            op.kind = KOP_IPV4;
            op.reverse = ipv4_is_reversed(c, letters[2]);
            return add_bytes_of_field(c, op, 4, "INVALIDIPv4", arg);
        }
        if (letters[1] == '6') {
            op.kind = KOP_IPV6;
            op.flag_c = op.capital && letters[2] == 'c';
            return add_bytes_of_field(c, op, 16, "INVALIDIPv6", arg);
        }
        return letters[1] == 'S' ? add_sockaddr(c, letters, arg) : 0;
    case 'U':
        op.kind = KOP_UUID;
        op.capital = letters[1] == 'L' || letters[1] == 'B';
        op.reverse = letters[1] == 'L' || letters[1] == 'l';
        return add_bytes_of_field(c, op, 16, "INVALIDUUID", arg);
    case 'h': return add_dump(c, letters, arg, star);
    default:
        op.kind = KOP_POINTER;
        op.value = number_of(c, arg);
        make_direct(c, &op);
        return add_op(c, op);
    }
}

/* Compiles the conversion at P ('%' is there) and moves *RET_P to its end. */
static int compile_conversion(struct compiler *c, const char *p, const char **ret_p)
{
    const struct kernel_expr *star = NULL;
    char conversion[CONVERSION_MAX + 1];
    const char *start = p++;
    struct argument arg;
    struct spec spec;
    size_t len;

    p += strspn(p, "#hlLzZ.0123456789-+");
    while (*p == '*') {
        arg = take_argument(c);
        if (!arg.there || star) {
            c->failed = true;
            return 0;
        }
        star = number_of(c, arg);
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
        len = pointer_letters(p + 1);
        *ret_p = p + 1 + len;
        memset(conversion, 0, sizeof conversion);
        memcpy(conversion, p + 1, MIN(len, (size_t)CONVERSION_MAX));
        return add_pointer(c, conversion, arg, star);
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
        return add_literal(c, (const char[]){'>', *p, '<'}, 3);
    }

    arg = take_argument(c);
    if (!arg.there || !spec_parse(conversion, &spec))
        goto fail;
    *ret_p = p + 1;
    if (spec.conversion == 's')
        return add_string(c, &spec, arg, star);
    return add_number(c, &spec, arg, star);
fail:
    c->failed = true;
    return 0;
}

static int compile_format(struct compiler *c, const char *p)
{
    int r = 0;

    while (*p && r == 0 && !c->failed) {
        if (*p == '\\' && p[1] != '\0') {
            char ch = p[1] == 'n' ? '\n' : p[1] == 't' ? '\t' : p[1] == 'r' ? '\r' : p[1];
            r = add_literal(c, &ch, 1);
            p += 2;
        } else if (*p == '%' && p[1] == '%') {
            r = add_literal(c, "%", 1);
            p += 2;
        } else if (*p == '%') {
            r = compile_conversion(c, p, &p);
        } else {
            r = add_literal(c, p, 1);
            p++;
        }
    }
    if (r == 0 && !c->failed && c->base.out_of_memory)
        r = -ENOMEM;
    return r;
}

/* What is shown of events whose print format cannot be parsed: the fields. */
static int compile_fields(struct compiler *c)
{
    static const char failed[] = "[FAILED TO PARSE]";
    int r;

    c->n_ops = 0;
    c->literal_len = 0;
    c->least_size = 0;
    r = add_literal(c, failed, sizeof failed - 1);
    for (unsigned i = c->format->n_common; i < c->format->n_fields && r == 0; i++) {
        const struct kernel_field *f = &c->format->fields[i];
        struct kernel_op op = {.kind = KOP_RAW,
                               .offset = f->offset,
                               .size = f->size,
                               .dynamic = kernel_dynamic_of(f),
                               .field_flags = f->flags};

        r = add_literal(c, " ", 1);
        if (r == 0)
            r = add_literal(c, f->name, strlen(f->name));
        if (r == 0)
            r = add_literal(c, "=", 1);
        if (r == 0)
            r = add_op(c, op);
    }
    return r;
}

/* Takes the line break off the text's end, now or when the event is there. */
static int finish(struct compiler *c)
{
    int r = 0;

    if (c->literal_len && c->literal[c->literal_len - 1] == '\n' && --c->literal_len == 0)
        return 0;
    if (c->literal_len)
        r = add_op(c, (struct kernel_op){.kind = KOP_LITERAL});
    else if (c->n_ops)
        c->ops[c->n_ops - 1].last = true;
    return r;
}

static int make_text(struct compiler *c, const struct kernel_text **ret_text,
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

static const struct kernel_field *find(const struct compiler *c, const char *name)
{
    return kernel_format_find(c->format, name, strlen(name), true);
}

/* A trace_printk() of the kernel: its format is found by the event, see text_run.c. */
static int compile_packed_event(struct compiler *c, const char *path,
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
static const struct print_node *fields_as_arguments(struct compiler *c, struct arena *scratch)
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
static int compile_print(struct compiler *c, struct arena *scratch, bool is_ftrace,
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
    struct compiler c = {
        .base = {.arena = arena,
                 .events = events,
                 .long_size = kernel_events_facts(events)->long_size},
        .format = format,
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

/* How the arguments of FORMAT lie in a packed trace_printk(), by the kernel's bstr_printf(). */
static int plan_slots(const char *p, uint8_t long_size, struct kernel_slot_layout *slots,
                      unsigned *ret_n)
{
    unsigned n = 0;

    for (; *p; p++) {
        struct kernel_slot_layout slot = {.kind = SLOT_NUMBER, .size = 4};
        const char *start;

        if (*p != '%')
            continue;
        start = ++p;
        for (; *p && strchr("#hlLzZ.0123456789-+ *", *p); p++) {
            if (*p == '*') {
                if (n == KERNEL_SLOTS_MAX)
                    return -EINVAL;
                slots[n++] = (struct kernel_slot_layout){.size = 4, .is_signed = true};
            }
        }
        switch (*p) {
        case '%': continue;
        case 's': slot.kind = SLOT_STRING; break;
        case 'p':
            slot.size = long_size;
            /* What these name is printed from the number; all else the kernel writes as text. */
            if ((p[1] >= 'a' && p[1] <= 'z') || (p[1] >= 'A' && p[1] <= 'Z'))
                slot.kind = strchr("sSxKefFB", p[1]) ? SLOT_NUMBER : SLOT_POINTER;
            break;
        case 'c': slot.size = 1; break;
        case 'd':
        case 'i':
            slot.is_signed = true;
            /* fall through */
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            for (const char *q = start; q < p; q++) {
                if (*q == 'h')
                    slot.size = slot.size == 2 ? 1 : 2;
                else if (*q == 'l')
                    slot.size = q[1] == 'l' ? 8 : MAX(slot.size, long_size);
                else if (*q == 'z' || *q == 'Z')
                    slot.size = long_size;
                else if (*q == 'L')
                    slot.size = 8;
            }
            break;
        case '\0': return -EINVAL;
        default: continue;
        }
        if (n == KERNEL_SLOTS_MAX)
            return -EINVAL;
        slots[n++] = slot;
    }
    *ret_n = n;
    return 0;
}

int kernel_text_compile_packed(struct arena *arena, struct kernel_events *events,
                               const char *format, size_t len, const struct kernel_text **ret_text)
{
    struct compiler c = {.base = {.arena = arena,
                                  .events = events,
                                  .long_size = kernel_events_facts(events)->long_size}};
    _cleanup_free_ char *copy = strndup(format, len);
    struct kernel_text head = {0};
    int r;

    if (!copy)
        return -ENOMEM;
    r = plan_slots(copy, c.base.long_size, head.slots, &head.n_slots);
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
