/* SPDX-License-Identifier: MIT */
/* The language of tables of events: names for values, and for the arguments of hypercalls. */
#include "schema/xen/table_parser.h"

#include "base/macro.h"

/* Names of values up to here are found by the value. */
#define ENUM_VALUE_MAX 4095u
#define ENUM_MORE_MAX 4096u
#define BITS 64u

/* The names that were collected become the enum's. */
int xen_close_enum(struct xen_parser *parser)
{
    struct value_names *names = parser->in_enum;
    struct arena *arena = &parser->table->arena;

    if (!names)
        return 0;
    names->names = arena_memdup(arena, parser->enum_names, names->n * sizeof *names->names);
    names->more = arena_memdup(arena, parser->enum_more, names->n_more * sizeof *names->more);
    parser->in_enum = NULL;
    return (names->names || names->n == 0) && (names->more || names->n_more == 0)
               ? 0
               : xen_no_memory(parser);
}

/* Room for names, those that NAMES has already filled in. */
static int open_enum(struct xen_parser *parser, struct value_names *names)
{
    if (!parser->enum_names)
        parser->enum_names = malloc((ENUM_VALUE_MAX + 1) * sizeof *parser->enum_names);
    if (!parser->enum_more)
        parser->enum_more = malloc(ENUM_MORE_MAX * sizeof *parser->enum_more);
    if (!parser->enum_names || !parser->enum_more)
        return xen_no_memory(parser);
    memset(parser->enum_names, 0, (ENUM_VALUE_MAX + 1) * sizeof *parser->enum_names);
    if (names->n)
        memcpy(parser->enum_names, names->names, names->n * sizeof *names->names);
    if (names->n_more)
        memcpy(parser->enum_more, names->more, names->n_more * sizeof *names->more);
    parser->in_enum = names;
    return 0;
}

int xen_parse_enum(struct xen_parser *parser, bool bits)
{
    struct value_names *names;
    size_t len;
    int r;

    xen_skip_blanks(parser);
    len = xen_word_len(parser);
    r = xen_check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    names = map_get_str(&parser->table->enums, parser->p, len);
    if (names && names->bits != bits)
        return xen_parse_error(parser, "this name is another kind of list already");
    if (!names) {
        const char *name = arena_strndup(&parser->table->arena, parser->p, len);

        names = arena_alloc(&parser->table->arena, sizeof *names);
        if (!name || !names || map_put_str(&parser->table->enums, name, len, names) < 0)
            return xen_no_memory(parser);
        names->bits = bits;
    }
    r = open_enum(parser, names);
    if (r < 0)
        return r;
    parser->p += len;
    xen_skip_blanks(parser);
    return xen_at_end(parser)
               ? 0
               : xen_parse_error(parser, "unexpected text after the name of the enum");
}

/* Puts NAME in its place among those of large values. */
static int put_more(struct xen_parser *parser, uint32_t value, const char *name)
{
    struct value_names *names = parser->in_enum;
    uint32_t at = names->n_more;

    while (at > 0 && parser->enum_more[at - 1].value >= value)
        at--;
    if (at < names->n_more && parser->enum_more[at].value == value) {
        parser->enum_more[at].name = name;
        return 0;
    }
    if (names->n_more == ENUM_MORE_MAX)
        return xen_parse_error(parser, "an enum has at most 4096 values above 4095");
    memmove(parser->enum_more + at + 1, parser->enum_more + at,
            (names->n_more - at) * sizeof *parser->enum_more);
    parser->enum_more[at] = (struct value_name){value, name};
    names->n_more++;
    return 0;
}

int xen_parse_enum_value(struct xen_parser *parser)
{
    const char *name;
    uint32_t value;
    size_t len = xen_read_number(parser->p, parser->end, &value);
    int r;

    if (len == 0)
        return xen_parse_error(parser, "expected a value of at most 32 bits");
    if (parser->in_enum->bits && value >= BITS)
        return xen_parse_error(parser, "expected a bit from 0 to 63");
    parser->p += len;
    xen_skip_blanks(parser);
    len = xen_word_len(parser);
    r = xen_check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    name = arena_strndup(&parser->table->arena, parser->p, len);
    if (!name)
        return xen_no_memory(parser);
    if (value > ENUM_VALUE_MAX) {
        r = put_more(parser, value, name);
        if (r < 0)
            return r;
    } else {
        parser->enum_names[value] = name;
        parser->in_enum->n = MAX(parser->in_enum->n, value + 1);
    }
    parser->p += len;
    xen_skip_blanks(parser);
    return xen_at_end(parser) ? 0
                              : xen_parse_error(parser, "unexpected text after the value's name");
}

/* The enum whose name stands here. */
const struct value_names *xen_find_enum(struct xen_parser *parser)
{
    size_t len = xen_word_len(parser);
    const struct value_names *names = map_get_str(&parser->table->enums, parser->p, len);

    if (!names)
        xen_parse_error(parser, "unknown enum; it must be defined above");
    parser->p += len;
    return names;
}

static int parse_argument(struct xen_parser *parser, struct xen_call *call)
{
    uint32_t number;
    size_t len = xen_read_number(parser->p, parser->end, &number);
    struct xen_argument *argument;
    int r;

    parser->p += len;
    if (len == 0 || number >= XEN_CALL_ARGUMENTS || parser->p == parser->end || *parser->p != ':')
        return xen_parse_error(parser, "expected an argument from 0 to 5, ':' and its name");
    argument = &call->arguments[number];
    parser->p++;
    len = xen_word_len(parser);
    r = xen_check_name(parser, parser->p, len);
    if (r < 0)
        return r;
    argument->name = arena_strndup(&parser->table->arena, parser->p, len);
    if (!argument->name)
        return xen_no_memory(parser);
    parser->p += len;
    if (parser->p < parser->end && *parser->p == '=') {
        parser->p++;
        argument->names = xen_find_enum(parser);
        if (!argument->names)
            return -EINVAL;
    }
    if (parser->p < parser->end && *parser->p == ',') {
        parser->p++;
        len = xen_word_len(parser);
        r = xen_check_name(parser, parser->p, len);
        if (r < 0)
            return r;
        argument->flag = arena_strndup(&parser->table->arena, parser->p, len);
        if (!argument->flag)
            return xen_no_memory(parser);
        parser->p += len;
    }
    if (parser->p < parser->end && !xen_is_blank(*parser->p) && *parser->p != '#')
        return xen_parse_error(parser, "expected a blank after the argument");
    return 0;
}

int xen_parse_call(struct xen_parser *parser)
{
    struct xen_call call = {0};
    struct xen_call *known = parser->table->calls;
    size_t len;

    xen_skip_blanks(parser);
    len = xen_read_number(parser->p, parser->end, &call.op);
    if (len == 0)
        return xen_parse_error(parser, "expected the number of a hypercall");
    parser->p += len;
    xen_skip_blanks(parser);
    while (!xen_at_end(parser)) {
        int r = parse_argument(parser, &call);
        if (r < 0)
            return r;
        xen_skip_blanks(parser);
    }
    while (known && known->op != call.op)
        known = known->next;
    if (known) {
        call.next = known->next;
        *known = call;
        return 0;
    }
    call.next = parser->table->calls;
    parser->table->calls = arena_memdup(&parser->table->arena, &call, sizeof call);
    return parser->table->calls ? 0 : xen_no_memory(parser);
}
