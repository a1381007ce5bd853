/* SPDX-License-Identifier: MIT */
/* The basic types of TSDL, which are made of attributes: integer, floating_point and string. */

#include <inttypes.h>
#include <string.h>

#include "format/ctf/tsdl/tsdl_parser.h"

int tsdl_new_type(struct parser *p, const struct ctf_type *like, struct ctf_type **ret)
{
    struct ctf_type *type = arena_memdup(p->arena, like, sizeof *like);

    if (!type)
        return -ENOMEM;
    type->next = p->metadata->types;
    p->metadata->types = type;
    *ret = type;
    return 0;
}

int tsdl_to_align(struct parser *p, uint32_t *ret)
{
    int64_t n = 0;
    int r = tsdl_to_number(p, &n);

    if (r < 0)
        return r;
    if (n <= 0 || n > ALIGN_MAX || (n & (n - 1)))
        return tsdl_wrong(p, "invalid alignment of %" PRId64 " bits", n);
    *ret = (uint32_t)n;
    return 0;
}

static int to_bits(struct parser *p, uint32_t *ret)
{
    int64_t n = 0;
    int r = tsdl_to_number(p, &n);

    if (r < 0)
        return r;
    if (n < 1 || n > 64)
        return tsdl_wrong(p, "invalid size of %" PRId64 " bits (1 to 64 are supported)", n);
    *ret = (uint32_t)n;
    return 0;
}

int tsdl_to_order(struct parser *p, enum ctf_order *ret)
{
    if (tsdl_at_word(p, "le"))
        *ret = CTF_ORDER_LE;
    else if (tsdl_at_word(p, "be") || tsdl_at_word(p, "network"))
        *ret = CTF_ORDER_BE;
    else if (tsdl_at_word(p, "native"))
        *ret = CTF_ORDER_NATIVE;
    else
        return tsdl_wrong(p, "invalid byte order '%s' (examples: le, be)", p->text);
    return 0;
}

static uint8_t to_base(const struct parser *p)
{
    static const char *const hex[] = {"16", "hexadecimal", "hex", "x", "X", "p"};
    static const char *const octal[] = {"8", "octal", "oct", "o"};

    for (size_t i = 0; i < ARRAY_SIZE(hex); i++)
        if (strcmp(p->text, hex[i]) == 0)
            return 16;
    for (size_t i = 0; i < ARRAY_SIZE(octal); i++)
        if (strcmp(p->text, octal[i]) == 0)
            return 8;
    return 10;
}

/* "clock.NAME.value" */
static int to_clock(struct parser *p, const struct ctf_clock **ret)
{
    size_t len = p->len;

    if (len > 12 && strncmp(p->text, "clock.", 6) == 0 && strcmp(p->text + len - 6, ".value") == 0)
        for (const struct ctf_clock *c = p->metadata->clocks; c; c = c->next)
            if (strlen(c->name) == len - 12 && memcmp(c->name, p->text + 6, len - 12) == 0) {
                *ret = c;
                return 0;
            }
    return tsdl_wrong(p, "undeclared clock '%s'", p->text);
}

struct attributes {
    struct ctf_type type;
    uint32_t exponent, mantissa;
};

static int set_attribute(struct parser *p, const char *key, struct attributes *a)
{
    if (strcmp(key, "size") == 0)
        return to_bits(p, &a->type.size);
    if (strcmp(key, "align") == 0)
        return tsdl_to_align(p, &a->type.align);
    if (strcmp(key, "byte_order") == 0)
        return tsdl_to_order(p, &a->type.order);
    if (strcmp(key, "map") == 0)
        return to_clock(p, &a->type.clock);
    if (strcmp(key, "exp_dig") == 0)
        return to_bits(p, &a->exponent);
    if (strcmp(key, "mant_dig") == 0)
        return to_bits(p, &a->mantissa);
    if (strcmp(key, "signed") == 0)
        a->type.is_signed =
            tsdl_at_word(p, "true") || tsdl_at_word(p, "TRUE") || tsdl_at_word(p, "1");
    else if (strcmp(key, "encoding") == 0)
        a->type.text = p->text[0] != 'n' && p->text[0] != 'N'; /* "none" */
    else if (strcmp(key, "base") == 0)
        a->type.base = to_base(p);
    return 0;
}

/* "{ KEY = VALUE; … }" after integer, floating_point and string. */
static int read_attributes(struct parser *p, struct attributes *a)
{
    int r = tsdl_open_brace(p);

    while (r >= 0 && !tsdl_at_mark(p, '}')) {
        char key[32] = "";

        if (tsdl_at_mark(p, ';')) {
            r = tsdl_next(p);
            continue;
        }
        if (p->token != TOKEN_WORD)
            return tsdl_wrong(p, "expected an attribute");
        if (p->len < sizeof key)
            memcpy(key, p->text, p->len + 1);
        r = tsdl_next(p);
        if (r >= 0)
            r = tsdl_expect(p, '=');
        if (r >= 0)
            r = set_attribute(p, key, a);
        if (r >= 0)
            r = tsdl_pass_over(p);
        if (r >= 0)
            r = tsdl_expect(p, ';');
    }
    return r < 0 ? r : tsdl_close_brace(p);
}

int tsdl_read_basic(struct parser *p, enum ctf_kind kind, struct ctf_type **ret)
{
    struct attributes a = {.type = {.kind = kind, .line = p->line, .base = 10, .weight = 1}};
    int r = tsdl_next(p);

    if (r >= 0 && (kind != CTF_STRING || tsdl_at_mark(p, '{')))
        r = read_attributes(p, &a);
    if (r < 0)
        return r;
    if (kind == CTF_FLOAT) {
        a.type.size = a.exponent + a.mantissa;
        if (!(a.exponent == 8 && a.mantissa == 24) && !(a.exponent == 11 && a.mantissa == 53))
            return tsdl_wrong(
                p, "unsupported floating_point of %u and %u bits (float and double are supported)",
                a.exponent, a.mantissa);
    }
    if (kind == CTF_STRING)
        a.type.align = 8;
    else if (a.type.size == 0)
        return tsdl_wrong(p, "integer without a size");
    else if (a.type.align == 0)
        a.type.align = a.type.size % 8 ? 1 : 8;
    a.type.whole = a.type.size >= 8 && (a.type.size & (a.type.size - 1)) == 0;
    return tsdl_new_type(p, &a.type, ret);
}
