/* SPDX-License-Identifier: MIT */
/* The compiled print format of a kernel event, run over an event. */
#include "base/number.h"
#include "event/program.h"
#include "event/value.h"
#include "schema/kernel/events.h"
#include "schema/kernel/format.h"
#include "schema/kernel/net.h"
#include "schema/kernel/string_arg.h"
#include "schema/kernel/text.h"

#define FAMILY_IPV4 2
#define FAMILY_IPV6 10

/* A width or precision from the arguments, as in printf. */
static struct spec with_star(const struct spec *original, const struct kernel_expr *star,
                             const struct kernel_run *run)
{
    struct spec spec = *original;
    int64_t v = (int32_t)kernel_expr_eval(star, run);

    if (spec.precision_star) {
        spec.has_precision = v >= 0;
        spec.precision = (uint16_t)MIN(MAX(v, 0), 1024);
    } else {
        spec.left |= v < 0;
        spec.width = (uint16_t)MIN(v < 0 ? -v : v, 1024);
    }
    return spec;
}

static void put_symbol(uint64_t address, bool with_offset, struct kernel_events *events,
                       struct text *text)
{
    uint64_t start;
    size_t len;
    const char *name = kernel_events_symbol(events, address, &len, &start);

    if (!name) {
        text_put_literal(text, "0x");
        text_put_hex(text, address);
        return;
    }
    text_put_safe(text, name, len);
    if (with_offset) {
        text_put_literal(text, "+0x");
        text_put_hex(text, address - start);
    }
}

/* SIZE bytes of the event at OFFSET; zeros where it ends before. */
static const uint8_t *bytes_at(const struct kernel_run *run, uint32_t offset, uint32_t size)
{
    static const uint8_t zeros[16];

    if (offset > run->size || size > run->size - offset)
        return zeros;
    return run->data + offset;
}

static void put_sockaddr(const struct kernel_op *op, const struct kernel_run *run,
                         struct text *text)
{
    uint32_t offset = op->offset, len = op->size;
    const uint8_t *p;
    uint16_t family;

    if (op->is_dynamic)
        kernel_dynamic_find(&op->dynamic, run, &offset, &len);
    if (offset > run->size)
        return;
    len = MIN(len, run->size - offset);
    if (len < 2)
        return;
    p = run->data + offset;
    family = load_u16_swap(p, run->swap);
    if (family == FAMILY_IPV4) {
        if (len < 16) {
            text_put_literal(text, "INVALIDIPv4");
            return;
        }
        kernel_put_ipv4(p + 4, !op->capital, op->reverse, text);
    } else if (family == FAMILY_IPV6) {
        if (len < 28) {
            text_put_literal(text, "INVALIDIPv6");
            return;
        }
        if (op->flag_p)
            text_put_char(text, '[');
        if (op->flag_c)
            kernel_put_ipv6_short(p + 8, text);
        else
            kernel_put_ipv6(p + 8, op->capital, text);
        if (op->flag_p)
            text_put_char(text, ']');
    } else {
        return;
    }
    if (op->flag_p) {
        text_put_char(text, ':');
        text_put_u64(text, (uint64_t)p[2] << 8 | p[3]);
    }
}

static void put_bytes(const struct kernel_op *op, const struct kernel_run *run, struct text *text)
{
    /* A negative count is all there is. */
    uint32_t wanted = op->star ? (uint32_t)kernel_expr_eval(op->star, run) : 1;
    uint32_t offset, len;

    kernel_dynamic_find(&op->dynamic, run, &offset, &len);
    len = MIN(len, wanted);
    for (uint32_t i = 0; i < len; i++) {
        char *p = text_room(text, 2 + NUMBER_MAX);

        if (i && op->separator)
            *p++ = op->separator;
        text->next = number_hex_byte(p, run->data[offset + i]);
    }
}

static bool is_printable(const char *s, size_t len)
{
    for (size_t i = 0; i < len && s[i]; i++)
        if (((uint8_t)s[i] < ' ' && !(s[i] >= '\t' && s[i] <= '\r')) || (uint8_t)s[i] >= 0x7f)
            return false;
    return true;
}

static void put_raw_array(const struct kernel_op *op, const struct kernel_run *run,
                          struct text *text)
{
    uint32_t offset = op->offset, len = op->size;
    const char *s;

    if (op->field_flags & FIELD_IS_DYNAMIC)
        kernel_dynamic_find(&op->dynamic, run, &offset, &len);
    if (offset > run->size)
        len = 0;
    else
        len = MIN(len, run->size - offset);
    s = (const char *)run->data + (len ? offset : 0);
    if (op->field_flags & FIELD_IS_STRING && is_printable(s, len)) {
        text_put_safe(text, s, strnlen(s, len));
        return;
    }
    text_put_literal(text, "ARRAY[");
    for (uint32_t i = 0; i < len; i++) {
        char *p = text_room(text, 2 + NUMBER_MAX);

        if (i) {
            *p++ = ',';
            *p++ = ' ';
        }
        text->next = number_hex_byte(p, (uint8_t)s[i]);
    }
    text_put_char(text, ']');
}

static void put_raw(const struct kernel_op *op, const struct kernel_run *run, struct text *text)
{
    static const struct spec narrow = {.conversion = 'd', .width = 2, .length = LENGTH_SHORT};
    uint64_t v;

    if (op->field_flags & FIELD_IS_ARRAY) {
        put_raw_array(op, run, text);
        return;
    }
    v = op->size == 1 || op->size == 2 || op->size == 4 || op->size == 8
            ? kernel_load(run, op->offset, op->size)
            : 0;
    if (op->field_flags & FIELD_IS_POINTER ||
        (op->field_flags & FIELD_IS_LONG &&
         (!(op->field_flags & FIELD_IS_SIGNED) || op->size == 4))) {
        text_put_literal(text, "0x");
        text_put_hex(text, v);
    } else if (!(op->field_flags & FIELD_IS_SIGNED)) {
        text_put_u64(text, v);
    } else if (op->size == 2) {
        spec_put_integer(&narrow, v, text);
    } else if (op->size == 1 || op->size == 4) {
        text_put_i64(text, sign_extend(v, op->size));
    } else {
        text_put_i64(text, (int64_t)v);
    }
}

/* What is not a plain number. */
static void put_special(const struct kernel_text *code, const struct kernel_op *op,
                        const struct kernel_run *run, uint64_t v, struct text *text)
{
    const struct spec *spec = &op->spec;
    struct spec changed;

    if (op->star && op->kind != KOP_BYTES) {
        changed = with_star(spec, op->star, run);
        spec = &changed;
    }
    switch ((enum kernel_op_kind)op->kind) {
    case KOP_LITERAL:
    case KOP_SIGNED:
    case KOP_UNSIGNED:
    case KOP_HEX:
    case KOP_HEX_MINIMUM:
    case KOP_SPEC: spec_put_integer(spec, v, text); break;
    case KOP_SYMBOL: put_symbol(v, false, code->events, text); break;
    case KOP_SYMBOL_OFFSET: put_symbol(v, true, code->events, text); break;
    case KOP_POINTER:
        if (v == 0) {
            text_put_literal(text, "(nil)"); /* as glibc writes it */
            break;
        }
        text_put_literal(text, "0x");
        text_put_hex(text, v);
        break;
    case KOP_STRING:
        kernel_string_arg_put(op->string_arg, spec, op->last, run, code->events,
                              kernel_events_facts(code->events)->big_endian, text);
        break;
    case KOP_MAC:
        kernel_put_mac(bytes_at(run, op->offset, 6), op->separator, op->reverse, text);
        break;
    case KOP_IPV4:
        kernel_put_ipv4(bytes_at(run, op->offset, 4), !op->capital, op->reverse, text);
        break;
    case KOP_IPV6:
        if (op->flag_c)
            kernel_put_ipv6_short(bytes_at(run, op->offset, 16), text);
        else
            kernel_put_ipv6(bytes_at(run, op->offset, 16), op->capital, text);
        break;
    case KOP_SOCKADDR: put_sockaddr(op, run, text); break;
    case KOP_UUID:
        kernel_put_uuid(bytes_at(run, op->offset, 16), op->reverse, op->capital, text);
        break;
    case KOP_BYTES: put_bytes(op, run, text); break;
    case KOP_RAW: put_raw(op, run, text); break;
    }
}

static inline uint64_t load_direct(const uint8_t *p, unsigned size, bool swap)
{
    if (likely(size == 8))
        return load_u64_swap(p, swap);
    if (likely(size == 4))
        return load_u32_swap(p, swap);
    return load_uint(p, size, swap);
}

/* What an operation may write before a special one asks for its own room. */
#define OP_ROOM (KERNEL_LITERAL_MAX + TEXT_UNIT + NUMBER_MAX)

static _hot_ void run_ops(const struct kernel_text *code, const struct kernel_run *run,
                          struct text *text)
{
    const struct kernel_op *end = code->ops + code->n_ops;
    bool whole = run->size >= code->least_size;
    char *p = text->next;

    for (const struct kernel_op *op = code->ops; op < end; op++) {
        uint64_t v = 0;

        if (unlikely((size_t)(text->end - p) < OP_ROOM)) {
            text->next = p;
            p = text_room(text, OP_ROOM);
        }
        p = text_copy_units(p, op->literal, op->literal_len);
        if (likely(op->direct && whole))
            v = load_direct(run->data + op->offset, op->direct, run->swap);
        else if (op->value)
            v = kernel_expr_eval(op->value, run);

        switch ((enum kernel_op_kind)op->kind) {
        case KOP_LITERAL: break;
        case KOP_SIGNED:
            p = number_sdec(p, (int64_t)(v << op->unused_bits) >> op->unused_bits);
            break;
        case KOP_UNSIGNED: p = number_dec(p, v << op->unused_bits >> op->unused_bits); break;
        case KOP_HEX: p = number_hex(p, v << op->unused_bits >> op->unused_bits); break;
        case KOP_HEX_MINIMUM:
            p = number_hex_minimum(p, v << op->unused_bits >> op->unused_bits, op->minimum);
            break;
        default:
            text->next = p;
            put_special(code, op, run, v, text);
            p = text->next;
            break;
        }
    }
    text->next = p;
}

/* Takes the arguments of a trace_printk() apart. Those that the event is too short for are 0 or "". */
static void read_slots(const struct kernel_text *code, uint32_t offset,
                       const struct kernel_run *run, struct kernel_slot *slots)
{
    for (unsigned i = 0; i < code->n_slots; i++) {
        const struct kernel_slot_layout *layout = &code->slots[i];
        struct kernel_slot *slot = &slots[i];
        bool is_string = layout->kind == SLOT_STRING;
        uint32_t align = MIN(layout->size, 4);

        *slot = (struct kernel_slot){0};
        /* The kernel writes pointers that need more than the number out as text, lately; text begins
         * with what can be printed, an address hardly ever does. */
        if (layout->kind == SLOT_POINTER && offset < run->size)
            is_string = run->data[offset] >= ' ' && run->data[offset] < 0x7f;
        if (is_string) {
            slot->s = "";
            if (offset >= run->size)
                continue;
            slot->s = (const char *)run->data + offset;
            slot->len = (uint32_t)strnlen(slot->s, run->size - offset);
            offset += slot->len + 1;
            continue;
        }
        offset = (offset + align - 1) / align * align;
        slot->v = kernel_load(run, offset, layout->size);
        if (layout->is_signed)
            slot->v = (uint64_t)sign_extend(slot->v, layout->size);
        offset += layout->size;
    }
}

/* The symbol that the kernel's trace_printk() was called in, then its text. */
static void put_packed(const struct kernel_text *code, struct kernel_run *run, struct text *text)
{
    uint64_t format = kernel_load(run, code->format_offset, code->format_size);
    const struct kernel_text *inner = kernel_events_packed(code->events, format);
    struct kernel_slot slots[KERNEL_SLOTS_MAX];

    put_symbol(kernel_load(run, code->ip_offset, code->ip_size), false, code->events, text);
    text_put_literal(text, ": ");
    if (!inner) {
        text_put_literal(text, "(NO FORMAT FOUND at ");
        text_put_hex(text, format);
        text_put_char(text, ')');
        return;
    }
    read_slots(inner, code->buf_offset, run, slots);
    run->slots = slots;
    run_ops(inner, run, text);
    run->slots = NULL;
}

static void put_stack(const struct kernel_text *code, const struct item *item, struct text *text)
{
    const struct field *caller = &item->class->fields[1];
    struct value v = item_value(item, 1);

    for (uint32_t i = 0; i + caller->element <= v.len; i += caller->element) {
        if (i)
            text_put_char(text, ' ');
        text_put_literal(text, "=> ");
        put_symbol(load_uint(v.s + i, caller->element, caller->swap), false, code->events, text);
    }
}

void kernel_text_put(const struct item *item, struct text *text)
{
    const struct kernel_text *code = item->class->reader_data;
    struct kernel_run run = {.data = item->payload, .size = item->size, .swap = code->swap};

    if (unlikely(code->is_packed_event))
        put_packed(code, &run, text);
    else if (unlikely(code->is_stack))
        put_stack(code, item, text);
    else
        run_ops(code, &run, text);
}
