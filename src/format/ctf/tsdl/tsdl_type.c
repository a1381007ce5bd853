/* SPDX-License-Identifier: MIT */
/* The types of TSDL. */
#include <string.h>

#include "format/ctf/tsdl/tsdl_parser.h"

/* ---- Names of types ---- */

static struct ctf_type *find(const struct parser *p, enum space space, const char *text)
{
    for (size_t i = p->n_names; i > 0; i--)
        if (p->names[i - 1].space == space && strcmp(p->names[i - 1].text, text) == 0)
            return p->names[i - 1].type;
    return NULL;
}

static int declare(struct parser *p, enum space space, const char *text, struct ctf_type *type)
{
    if (p->n_names == p->names_room) {
        size_t room = p->names_room ? p->names_room * 2 : 64;
        struct name *bigger = realloc(p->names, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        p->names = bigger;
        p->names_room = room;
    }
    p->names[p->n_names++] = (struct name){space, text, type};
    return 0;
}

/* ---- Types ---- */

struct members {
    struct ctf_member *members;
    uint32_t n, room;
};

static int add_member(struct parser *p, struct members *list, struct ctf_type *type,
                      const char *name)
{
    struct ctf_member *bigger;

    if (list->n == WEIGHT_MAX)
        return tsdl_wrong(p, "more than %d members", WEIGHT_MAX);
    if (list->n == list->room) {
        list->room = list->room ? list->room * 2 : 16;
        bigger = realloc(list->members, list->room * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        list->members = bigger;
    }
    name += name[0] == '_';
    list->members[list->n++] = (struct ctf_member){
        .name = name, .type = type, .line = type->line, .role = (uint8_t)ctf_role_of(name)};
    return 0;
}

/* "{ TYPE NAME; … }" */
static int read_members(struct parser *p, struct ctf_type *type)
{
    struct members list = {0};
    size_t scope = p->n_names;
    int r = tsdl_open_brace(p);

    while (r >= 0 && !tsdl_at_mark(p, '}')) {
        struct ctf_type *member;
        const char *name = NULL;
        bool was = tsdl_at_mark(p, ';');

        r = was ? tsdl_next(p) : tsdl_read_type_statement(p, &was);
        if (r < 0 || was)
            continue;
        p->c_type = NULL;
        r = tsdl_read_type(p, &member, &name);
        if (r >= 0 && !name)
            r = tsdl_wrong(p, "member without a name");
        if (r >= 0)
            r = add_member(p, &list, member, name);
        if (r >= 0)
            r = tsdl_expect(p, ';');
        if (r < 0)
            break;
        list.members[list.n - 1].c_type = p->c_type;
        if (type->kind == CTF_VARIANT) /* a name of the metadata's own */
            list.members[list.n - 1].role = CTF_ROLE_NONE;
        p->c_type = NULL;
        type->align = type->kind == CTF_STRUCT ? MAX(type->align, member->align) : 1;
        type->depth = MAX(type->depth, member->depth + 1);
        type->weight += member->weight;
        if (type->depth > DEPTH_MAX || type->weight > WEIGHT_MAX)
            r = tsdl_wrong(p, "struct too large");
    }
    p->n_names = scope;
    if (r >= 0) {
        type->n_members = list.n;
        type->members = arena_memdup(p->arena, list.members, list.n * sizeof *list.members);
        r = type->members || list.n == 0 ? tsdl_close_brace(p) : -ENOMEM;
    }
    free(list.members);
    return r;
}

/* "<tag>" of a variant. */
static int read_tag(struct parser *p, const char **ret)
{
    int r = tsdl_next(p);

    if (r >= 0 && p->token != TOKEN_WORD)
        return tsdl_wrong(p, "expected the name of an enum after '<'");
    if (r >= 0)
        r = tsdl_keep(p, ret);
    if (r >= 0)
        r = tsdl_next(p);
    return r < 0 ? r : tsdl_expect(p, '>');
}

/* "align(N)" after a struct. */
static int read_align(struct parser *p, struct ctf_type *type)
{
    uint32_t align = 1;
    int r = tsdl_next(p);

    if (r >= 0)
        r = tsdl_expect(p, '(');
    if (r >= 0)
        r = tsdl_to_align(p, &align);
    if (r >= 0)
        r = tsdl_next(p);
    if (r < 0)
        return r;
    type->align = MAX(type->align, align);
    return tsdl_expect(p, ')');
}

/* The type of this name that was declared before, or a new one when its braces follow. */
static int read_compound(struct parser *p, enum ctf_kind kind, struct ctf_type **ret)
{
    enum space space = kind == CTF_STRUCT ? SPACE_STRUCT : SPACE_VARIANT;
    struct ctf_type type = {.kind = kind, .line = p->line, .align = 1, .weight = 1};
    const char *name = NULL;
    const char *tag = NULL;
    int r = tsdl_next(p);

    if (r >= 0 && p->token == TOKEN_WORD) {
        r = tsdl_keep(p, &name);
        if (r >= 0)
            r = tsdl_next(p);
    }
    if (r >= 0 && kind == CTF_VARIANT && tsdl_at_mark(p, '<'))
        r = read_tag(p, &tag);
    if (r < 0)
        return r;
    if (tsdl_at_mark(p, '{')) {
        r = read_members(p, &type);
    } else {
        const struct ctf_type *known = name ? find(p, space, name) : NULL;

        if (!known)
            return tsdl_wrong(p, "undeclared %s '%s'", kind == CTF_STRUCT ? "struct" : "variant",
                              name ? name : "");
        type = *known;
        name = NULL;
    }
    if (r >= 0 && kind == CTF_STRUCT && tsdl_at_word(p, "align"))
        r = read_align(p, &type);
    if (tag)
        type.reference = tag;
    if (r >= 0)
        r = tsdl_new_type(p, &type, ret);
    return r < 0 || !name ? r : declare(p, space, name, *ret);
}

/* "{ LABEL, LABEL = VALUE, LABEL = LOW ... HIGH }" */
static int read_labels(struct parser *p, struct ctf_type *type)
{
    struct ctf_range *ranges = NULL;
    uint32_t room = 0;
    int64_t value = 0;
    int r = tsdl_open_brace(p);

    while (r >= 0 && !tsdl_at_mark(p, '}')) {
        struct ctf_range range = {.low = value};

        if (p->token != TOKEN_WORD && p->token != TOKEN_STRING) {
            r = tsdl_wrong(p, "expected a label of the enum");
            break;
        }
        r = tsdl_keep(p, &range.label);
        if (r >= 0)
            r = tsdl_next(p);
        if (r >= 0 && tsdl_at_mark(p, '=')) {
            r = tsdl_next(p);
            if (r >= 0)
                r = tsdl_to_number(p, &range.low);
            if (r >= 0)
                r = tsdl_next(p);
        }
        range.high = range.low;
        if (r >= 0 && tsdl_at_mark(p, MARK_UP_TO)) {
            r = tsdl_next(p);
            if (r >= 0)
                r = tsdl_to_number(p, &range.high);
            if (r >= 0)
                r = tsdl_next(p);
        }
        if (r >= 0 && type->n_ranges == room) {
            struct ctf_range *bigger;

            room = room ? room * 2 : 16;
            bigger = realloc(ranges, room * sizeof *ranges);
            r = bigger ? 0 : -ENOMEM;
            ranges = bigger ? bigger : ranges;
        }
        if (r < 0 || !ranges)
            break;
        ranges[type->n_ranges++] = range;
        value = (int64_t)((uint64_t)range.high + 1);
        if (!tsdl_at_mark(p, '}'))
            r = tsdl_expect(p, ',');
    }
    if (r >= 0) {
        type->ranges = arena_memdup(p->arena, ranges, type->n_ranges * sizeof *ranges);
        r = type->ranges || type->n_ranges == 0 ? tsdl_close_brace(p) : -ENOMEM;
    }
    free(ranges);
    return r;
}

static int read_enum(struct parser *p, struct ctf_type **ret)
{
    uint32_t line = p->line;
    struct ctf_type *container = NULL;
    struct ctf_type type;
    const char *name = NULL;
    int r = tsdl_next(p);

    if (r >= 0 && p->token == TOKEN_WORD) {
        r = tsdl_keep(p, &name);
        if (r >= 0)
            r = tsdl_next(p);
    }
    if (r >= 0 && !tsdl_at_mark(p, ':') && !tsdl_at_mark(p, '{')) {
        *ret = name ? find(p, SPACE_ENUM, name) : NULL;
        return *ret ? 0 : tsdl_wrong(p, "undeclared enum '%s'", name ? name : "");
    }
    if (r >= 0 && tsdl_at_mark(p, ':')) {
        r = tsdl_next(p);
        if (r >= 0)
            r = tsdl_read_type(p, &container, NULL);
    } else if (r >= 0) {
        container = find(p, SPACE_ALIAS, "int");
    }
    if (r < 0)
        return r;
    if (!container || container->kind != CTF_INTEGER)
        return tsdl_wrong(p, "enum that is not based on an integer");
    type = *container;
    type.kind = CTF_ENUM;
    type.line = line;
    r = read_labels(p, &type);
    if (r >= 0)
        r = tsdl_new_type(p, &type, ret);
    return r < 0 || !name ? r : declare(p, SPACE_ENUM, name, *ret);
}

/* A type that has a word of the language in front. *RET stays NULL: it has not. */
int tsdl_read_keyword(struct parser *p, struct ctf_type **ret)
{
    *ret = NULL;
    if (tsdl_at_word(p, "integer"))
        return tsdl_read_basic(p, CTF_INTEGER, ret);
    if (tsdl_at_word(p, "floating_point"))
        return tsdl_read_basic(p, CTF_FLOAT, ret);
    if (tsdl_at_word(p, "string"))
        return tsdl_read_basic(p, CTF_STRING, ret);
    if (tsdl_at_word(p, "struct"))
        return read_compound(p, CTF_STRUCT, ret);
    if (tsdl_at_word(p, "variant"))
        return read_compound(p, CTF_VARIANT, ret);
    if (tsdl_at_word(p, "enum"))
        return read_enum(p, ret);
    return 0;
}

/* Reads the words of a named type; if a member is wanted, the last word is the member's name. */
static int read_words(struct parser *p, struct ctf_type **ret, const char **ret_name)
{
    char words[256] = "";
    size_t len = 0;
    size_t last = 0; /* where the last word begins */
    int r = 0;

    while (r >= 0 && p->token == TOKEN_WORD) {
        if (strcmp(p->text, "const") != 0) {
            if (len + 1 + p->len >= sizeof words)
                return tsdl_wrong(p, "type name with too many words");
            if (len)
                words[len++] = ' ';
            last = len;
            memcpy(words + len, p->text, p->len + 1);
            len += p->len;
        }
        r = tsdl_next(p);
    }
    if (r < 0)
        return r;
    if (len == 0)
        return tsdl_wrong(p, "expected a type");
    if (ret_name) {
        *ret_name = arena_strdup(p->arena, words + last);
        if (!*ret_name)
            return -ENOMEM;
        words[last ? last - 1 : 0] = '\0';
    }
    *ret = find(p, SPACE_ALIAS, words);
    return *ret ? 0 : tsdl_wrong(p, "undeclared type '%s'", words);
}

/* The number of the environment that the token names, "env.KEY". NULL: none. */
static const struct environment_number *find_number(const struct parser *p)
{
    static const char scope[] = "env.";
    const struct environment_number *number = p->numbers;

    if (strncmp(p->text, scope, strlen(scope)) != 0)
        return NULL;
    while (number && strcmp(number->key, p->text + strlen(scope)) != 0)
        number = number->next;
    return number;
}

/* "[N]" or "[NAME]", any number of times; the first is of the whole. */
static int read_dimensions(struct parser *p, unsigned depth, struct ctf_type **type)
{
    struct ctf_type array = {.kind = CTF_ARRAY, .line = p->line, .weight = 1};
    const struct environment_number *number = NULL;
    int64_t n = 0;
    int r = tsdl_next(p);

    if (r >= 0 && p->token != TOKEN_WORD)
        return tsdl_wrong(p, "expected the length of an array");
    if (r >= 0)
        number = find_number(p);
    if (r >= 0 && (number || tsdl_is_number(p))) {
        if (number)
            n = number->number;
        else
            r = tsdl_to_number(p, &n);
        if (r >= 0 && n < 0)
            r = tsdl_wrong(p, "array of negative length");
        array.length = (uint64_t)n;
    } else if (r >= 0) {
        array.kind = CTF_SEQUENCE;
        r = tsdl_keep(p, &array.reference);
    }
    if (r >= 0)
        r = tsdl_next(p);
    if (r >= 0)
        r = tsdl_expect(p, ']');
    if (r >= 0 && tsdl_at_mark(p, '['))
        r = depth < DEPTH_MAX ? read_dimensions(p, depth + 1, type)
                              : tsdl_wrong(p, "array of too many dimensions");
    if (r < 0)
        return r;
    array.element = *type;
    array.align = (*type)->align;
    array.weight = (*type)->weight;
    array.depth = (*type)->depth + 1;
    return tsdl_new_type(p, &array, type);
}

/* A type and, with RET_NAME, the name of what has it, which is NULL when there is none. */
int tsdl_read_type(struct parser *p, struct ctf_type **ret, const char **ret_name)
{
    int r;

    while (tsdl_at_word(p, "const")) {
        r = tsdl_next(p);
        if (r < 0)
            return r;
    }
    r = tsdl_read_keyword(p, ret);
    if (r < 0)
        return r;
    if (!*ret)
        r = read_words(p, ret, ret_name);
    else if (ret_name && p->token == TOKEN_WORD) {
        r = tsdl_keep(p, ret_name);
        if (r >= 0)
            r = tsdl_next(p);
    }
    return r >= 0 && ret_name && tsdl_at_mark(p, '[') ? read_dimensions(p, 1, ret) : r;
}

/* Statements that only give types their names. */
int tsdl_read_type_statement(struct parser *p, bool *ret_was)
{
    struct ctf_type *type;
    const char *name = NULL;
    char words[256] = "";
    size_t len = 0;
    int r;

    *ret_was = true;
    if (tsdl_at_word(p, "typedef")) {
        r = tsdl_next(p);
        if (r >= 0)
            r = tsdl_read_type(p, &type, &name);
        if (r >= 0 && !name)
            r = tsdl_wrong(p, "typedef without a name");
        if (r >= 0)
            r = declare(p, SPACE_ALIAS, name, type);
        return r < 0 ? r : tsdl_expect(p, ';');
    }
    if (!tsdl_at_word(p, "typealias")) {
        *ret_was = false;
        return 0;
    }
    r = tsdl_next(p);
    if (r >= 0)
        r = tsdl_read_type(p, &type, NULL);
    if (r >= 0)
        r = tsdl_expect(p, MARK_IS);
    while (r >= 0 && p->token == TOKEN_WORD) {
        if (len + 1 + p->len >= sizeof words)
            return tsdl_wrong(p, "name with too many words");
        if (len)
            words[len++] = ' ';
        memcpy(words + len, p->text, p->len + 1);
        len += p->len;
        r = tsdl_next(p);
    }
    if (r < 0)
        return r;
    name = arena_strdup(p->arena, words);
    if (!name)
        return -ENOMEM;
    r = declare(p, SPACE_ALIAS, name, type);
    return r < 0 ? r : tsdl_expect(p, ';');
}
