/* SPDX-License-Identifier: MIT */
/* The conversions of a pointer: %p and the letters after it, which name symbols, addresses of networks, and bytes. */

#include <stdio.h>
#include <string.h>

#include "schema/kernel/events.h"
#include "schema/kernel/text_compile.h"

size_t kernel_pointer_letters(const char *p)
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
static bool ipv4_is_reversed(const struct kernel_text_compiler *c, char letter)
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
static int add_wrong_kind(struct kernel_text_compiler *c, const char *what,
                          const struct print_node *node)
{
    char buf[64];
    int n = snprintf(buf, sizeof buf, "%s %d", what, node ? node->kind : PRINT_ATOM);

    return kernel_text_add_literal(c, buf, (size_t)n);
}

/* %pI4, %pI6, %pM, %pU: SIZE bytes of a field; another size prints an error instead. */
static int add_bytes_of_field(struct kernel_text_compiler *c, struct kernel_op op, uint32_t size,
                              const char *wrong, struct kernel_argument arg)
{
    const struct print_node *node = without_casts(arg.node);

    if (!node || node->kind != PRINT_FIELD)
        return add_wrong_kind(c, "ARG TYPE NOT FIELD BUT", node);
    if (node->field->size != size)
        return kernel_text_add_literal(c, wrong, strlen(wrong));
    op.offset = node->field->offset;
    return kernel_text_add_op(c, op);
}

static int add_sockaddr(struct kernel_text_compiler *c, const char *letters,
                        struct kernel_argument arg)
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
        return kernel_text_add_op(c, op);
    }
    if (node && node->kind == PRINT_FIELD) {
        op.offset = node->field->offset;
        op.size = node->field->size;
        return kernel_text_add_op(c, op);
    }
    return add_wrong_kind(c, "ARG NOT FIELD NOR DYNAMIC ARRAY BUT TYPE", node);
}

static int add_dump(struct kernel_text_compiler *c, const char *letters, struct kernel_argument arg,
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
    return kernel_text_add_op(c, op);
}

int kernel_text_add_pointer(struct kernel_text_compiler *c, const char *letters,
                            struct kernel_argument arg, const struct kernel_expr *star)
{
    struct kernel_op op = {0};
    char l = letters[0];

    /* Of a packed format these come as text, see SLOT_POINTER. */
    if (!arg.node && l && strchr("MmIiUh", l))
        return kernel_text_add_string(c, &(struct spec){.conversion = 's'}, arg, NULL);
    switch (l) {
    case 'F':
    case 'S':
    case 'f':
    case 's':
        op.kind = l == 'F' || l == 'S' ? KOP_SYMBOL_OFFSET : KOP_SYMBOL;
        op.value = kernel_text_number(c, arg);
        kernel_text_make_direct(c, &op);
        return kernel_text_add_op(c, op);
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
        op.value = kernel_text_number(c, arg);
        kernel_text_make_direct(c, &op);
        return kernel_text_add_op(c, op);
    }
}
