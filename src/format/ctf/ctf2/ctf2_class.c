/* SPDX-License-Identifier: MIT */
/* The field classes of CTF 2. */
#include <inttypes.h>
#include <string.h>

#include "base/encoding.h"
#include "format/ctf/ctf2/ctf2_parser.h"
#include "format/ctf/type_limits.h"

static int read_class(struct ctf2_parser *p, const json_t *class, unsigned depth,
                      struct ctf_type **ret);

/* ---- What several classes have ---- */

static int new_type(struct ctf2_parser *p, const struct ctf_type *like, struct ctf_type **ret)
{
    if (p->n_types++ == TYPES_MAX)
        return ctf2_wrong(p, "more than %u field classes", TYPES_MAX);
    *ret = arena_memdup(p->arena, like, sizeof *like);
    if (!*ret)
        return -ENOMEM;
    (*ret)->next = p->metadata->types;
    p->metadata->types = *ret;
    return 0;
}

/* ---- Numbers ---- */

static int read_bits(struct ctf2_parser *p, const json_t *class, unsigned depth,
                     struct ctf_type *type)
{
    (void)depth;
    type->base = 16;
    return ctf2_get_bits(p, class, type);
}

static int read_bit_map(struct ctf2_parser *p, const json_t *class, unsigned depth,
                        struct ctf_type *type)
{
    int r = read_bits(p, class, depth, type);

    type->kind = CTF_ENUM;
    type->is_flags = true;
    return r < 0 ? r : ctf2_get_labels(p, json_object_get(class, "flags"), type);
}

static int read_boolean(struct ctf2_parser *p, const json_t *class, unsigned depth,
                        struct ctf_type *type)
{
    (void)depth;
    type->is_bool = true;
    return ctf2_get_bits(p, class, type);
}

/* Base, mappings and roles. */
static int get_integer(struct ctf2_parser *p, const json_t *class, struct ctf_type *type)
{
    const json_t *mappings = json_object_get(class, "mappings");
    int64_t base = 10;
    int r = ctf2_get_integer(p, class, "preferred-display-base", false, 2, &base);

    type->base = (uint8_t)MIN(base, 16);
    if (r >= 0 && json_object_size(mappings)) {
        type->kind = CTF_ENUM;
        r = ctf2_get_labels(p, mappings, type);
    }
    return r < 0 ? r : ctf2_get_role(p, class, type);
}

static int read_unsigned(struct ctf2_parser *p, const json_t *class, unsigned depth,
                         struct ctf_type *type)
{
    int r = ctf2_get_bits(p, class, type);

    (void)depth;
    return r < 0 ? r : get_integer(p, class, type);
}

static int read_signed(struct ctf2_parser *p, const json_t *class, unsigned depth,
                       struct ctf_type *type)
{
    type->is_signed = true;
    return read_unsigned(p, class, depth, type);
}

static int read_variable(struct ctf2_parser *p, const json_t *class, unsigned depth,
                         struct ctf_type *type)
{
    (void)depth;
    type->is_variable = true;
    type->size = 64;
    type->align = 8;
    type->order = CTF_ORDER_LE;
    return get_integer(p, class, type);
}

static int read_variable_signed(struct ctf2_parser *p, const json_t *class, unsigned depth,
                                struct ctf_type *type)
{
    type->is_signed = true;
    return read_variable(p, class, depth, type);
}

static int read_float(struct ctf2_parser *p, const json_t *class, unsigned depth,
                      struct ctf_type *type)
{
    int r = ctf2_get_bits(p, class, type);

    (void)depth;
    type->kind = CTF_FLOAT;
    if (r >= 0 && type->size != 32 && type->size != 64)
        return ctf2_wrong(p, "'%s': unsupported float of %u bits (32 and 64 are supported)",
                          p->member, type->size);
    return r;
}

/* ---- Texts and bytes ---- */

static int get_encoding(struct ctf2_parser *p, const json_t *class, uint8_t *ret)
{
    static const char *const names[] = {
        [ENCODING_UTF_8] = "utf-8",        [ENCODING_UTF_16_LE] = "utf-16le",
        [ENCODING_UTF_16_BE] = "utf-16be", [ENCODING_UTF_32_LE] = "utf-32le",
        [ENCODING_UTF_32_BE] = "utf-32be",
    };
    const char *name = names[ENCODING_UTF_8];
    int r = ctf2_get_string(p, class, "encoding", false, &name);

    for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i], name) == 0) {
            *ret = (uint8_t)i;
            return 0;
        }
    return r < 0 ? r : ctf2_wrong(p, "'%s': unknown encoding '%s'", p->member, name);
}

static int read_string(struct ctf2_parser *p, const json_t *class, unsigned depth,
                       struct ctf_type *type)
{
    (void)depth;
    type->kind = CTF_STRING;
    type->align = 8;
    return get_encoding(p, class, &type->encoding);
}

/* The length of an array: static, or another field's value. */
static int get_length(struct ctf2_parser *p, const json_t *class, bool dynamic,
                      struct ctf_type *type)
{
    int64_t length = 0;
    int r;

    type->kind = dynamic ? CTF_SEQUENCE : CTF_ARRAY;
    if (dynamic)
        return ctf2_get_location(p, class, "length-field-location", type);
    r = ctf2_get_integer(p, class, "length", true, 0, &length);
    type->length = (uint64_t)length;
    return r;
}

/* An array of bytes. */
static int get_bytes(struct ctf2_parser *p, const json_t *class, const struct ctf_type *byte,
                     struct ctf_type *type)
{
    bool dynamic = strncmp(json_string_value(json_object_get(class, "type")), "dynamic", 7) == 0;
    int r = new_type(p, byte, &type->element);

    type->align = 8;
    return r < 0 ? r : get_length(p, class, dynamic, type);
}

static const struct ctf_type a_byte = {.kind = CTF_INTEGER,
                                       .size = 8,
                                       .align = 8,
                                       .order = CTF_ORDER_LE,
                                       .whole = true,
                                       .base = 16,
                                       .weight = 1};

static int read_characters(struct ctf2_parser *p, const json_t *class, unsigned depth,
                           struct ctf_type *type)
{
    struct ctf_type byte = a_byte;
    int r = get_encoding(p, class, &byte.encoding);

    (void)depth;
    byte.text = true;
    return r < 0 ? r : get_bytes(p, class, &byte, type);
}

static int read_blob(struct ctf2_parser *p, const json_t *class, unsigned depth,
                     struct ctf_type *type)
{
    int r = get_bytes(p, class, &a_byte, type);

    (void)depth;
    type->is_blob = true;
    return r < 0 ? r : ctf2_get_role(p, class, type);
}

/* ---- What has classes inside ---- */

static int check_size(struct ctf2_parser *p, const struct ctf_type *type)
{
    return type->depth > DEPTH_MAX || type->weight > WEIGHT_MAX
               ? ctf2_wrong(p, "'%s': structure too large", p->member)
               : 0;
}

static int read_array(struct ctf2_parser *p, const json_t *class, unsigned depth,
                      struct ctf_type *type)
{
    bool dynamic = strncmp(json_string_value(json_object_get(class, "type")), "dynamic", 7) == 0;
    int r = get_length(p, class, dynamic, type);

    if (r >= 0)
        r = ctf2_get_align(p, class, "minimum-alignment", &type->align);
    if (r >= 0)
        r = read_class(p, json_object_get(class, "element-field-class"), depth + 1, &type->element);
    if (r < 0)
        return r;
    type->align = MAX(type->align, type->element->align);
    type->depth = type->element->depth + 1;
    type->weight = type->element->weight;
    return check_size(p, type);
}

/* The class FIELD_CLASS as a member of TYPE. */
static int add_member(struct ctf2_parser *p, struct ctf_type *type, const char *name,
                      const json_t *field_class, unsigned depth)
{
    struct ctf_member *member = &type->members[type->n_members];
    const char *outer = p->member;
    int r;

    member->name = arena_strdup(p->arena, name);
    if (!member->name)
        return -ENOMEM;
    p->member = member->name;
    r = read_class(p, field_class, depth + 1, &member->type);
    p->member = outer;
    if (r < 0)
        return r;
    member->line = p->line;
    member->role = member->type->role;
    type->n_members++;
    type->depth = MAX(type->depth, member->type->depth + 1);
    type->weight += member->type->weight;
    return check_size(p, type);
}

static int make_members(struct ctf2_parser *p, struct ctf_type *type, size_t n)
{
    if (n > WEIGHT_MAX)
        return ctf2_wrong(p, "'%s': more than %d members", p->member, WEIGHT_MAX);
    type->members = arena_alloc(p->arena, (n + 1) * sizeof *type->members);
    return type->members ? 0 : -ENOMEM;
}

/* What contexts call the thread, the CPU and so on, has no role in CTF 2: its name tells, as in CTF 1.8. */
static void set_named_role(const struct ctf2_parser *p, struct ctf_member *member)
{
    enum ctf_role role = ctf_role_of(member->name);

    if ((p->scope == SCOPE_PACKET_CONTEXT || p->scope == SCOPE_EVENT) &&
        member->role == CTF_ROLE_NONE && (role == CTF_ROLE_CPU || role >= CTF_ROLE_TID) &&
        !(role == CTF_ROLE_TASK_NAME &&
          (member->type->encoding || (member->type->element && member->type->element->encoding))))
        member->role = (uint8_t)role;
}

/* Names are unique in a structure: fields are found by them. */
static int check_unique(struct ctf2_parser *p, struct map *names, const char *name)
{
    size_t len = strlen(name);

    if (map_get_str(names, name, len))
        return ctf2_wrong(p, "'%s': two members are called '%s'", p->member, name);
    return map_put_str(names, name, len, names);
}

static int read_struct(struct ctf2_parser *p, const json_t *class, unsigned depth,
                       struct ctf_type *type)
{
    const json_t *members = json_object_get(class, "member-classes");
    size_t n = json_array_size(members);
    struct map names = {0};
    int r = ctf2_get_align(p, class, "minimum-alignment", &type->align);

    type->kind = CTF_STRUCT;
    if (r >= 0)
        r = make_members(p, type, n);
    for (size_t i = 0; i < n && r >= 0; i++) {
        const json_t *member = json_array_get(members, i);
        const char *name = NULL;

        r = ctf2_get_string(p, member, "name", true, &name);
        if (r >= 0)
            r = check_unique(p, &names, name);
        if (r >= 0)
            r = add_member(p, type, name, json_object_get(member, "field-class"), depth);
        if (r < 0)
            break;
        set_named_role(p, &type->members[i]);
        type->align = MAX(type->align, type->members[i].type->align);
    }
    map_done(&names);
    return r;
}

struct options {
    struct ctf_choice *choices;
    uint32_t n, member;
};

static int put_choice(struct ctf2_parser *p, void *arg, int64_t low, int64_t high)
{
    struct options *options = arg;

    (void)p;
    options->choices[options->n++] =
        (struct ctf_choice){.low = low, .high = high, .member = options->member};
    return 0;
}

static int read_variant(struct ctf2_parser *p, const json_t *class, unsigned depth,
                        struct ctf_type *type)
{
    const json_t *list = json_object_get(class, "options");
    size_t n = json_array_size(list), n_ranges = 0;
    struct options options = {0};
    int r = ctf2_get_location(p, class, "selector-field-location", type);

    type->kind = CTF_VARIANT;
    if (r >= 0)
        r = make_members(p, type, n);
    for (size_t i = 0; i < n; i++)
        n_ranges +=
            json_array_size(json_object_get(json_array_get(list, i), "selector-field-ranges"));
    options.choices = arena_alloc(p->arena, (n_ranges + 1) * sizeof *options.choices);
    if (!options.choices)
        return -ENOMEM;
    for (size_t i = 0; i < n && r >= 0; i++) {
        const json_t *option = json_array_get(list, i);
        const char *name = "";

        options.member = (uint32_t)i;
        r = ctf2_get_string(p, option, "name", false, &name);
        if (r >= 0)
            r = ctf2_for_ranges(p, json_object_get(option, "selector-field-ranges"), false,
                                &options, put_choice);
        if (r >= 0)
            r = add_member(p, type, name, json_object_get(option, "field-class"), depth);
    }
    type->choices = options.choices;
    type->n_choices = options.n;
    return r;
}

/* A variant of the class, and of nothing where no range has the selector's value. */
static int read_optional(struct ctf2_parser *p, const json_t *class, unsigned depth,
                         struct ctf_type *type)
{
    static const struct ctf_type nothing = {.kind = CTF_STRUCT, .align = 1, .weight = 1};
    const json_t *ranges = json_object_get(class, "selector-field-ranges");
    struct options options = {.member = 0};
    struct ctf_member *absent;
    int r = ctf2_get_location(p, class, "selector-field-location", type);

    type->kind = CTF_VARIANT;
    type->is_optional = true;
    if (r >= 0)
        r = make_members(p, type, 2);
    if (r >= 0)
        r = add_member(p, type, "", json_object_get(class, "field-class"), depth);
    if (r < 0)
        return r;
    options.choices =
        arena_alloc(p->arena, (json_array_size(ranges) + 1) * sizeof *options.choices);
    if (!options.choices)
        return -ENOMEM;
    /* Of a boolean: any value but 0, which is as good as ~0 for an unsigned number. */
    r = ranges ? ctf2_for_ranges(p, ranges, false, &options, put_choice)
               : put_choice(p, &options, 1, -1);
    type->choices = options.choices;
    type->n_choices = options.n;
    absent = &type->members[type->n_members++];
    *absent = (struct ctf_member){.name = "", .line = p->line};
    return r < 0 ? r : new_type(p, &nothing, &absent->type);
}

/* ---- Any class ---- */

static const struct {
    const char *type;
    int (*read)(struct ctf2_parser *p, const json_t *class, unsigned depth, struct ctf_type *type);
} classes[] = {
    {"fixed-length-unsigned-integer", read_unsigned},
    {"fixed-length-signed-integer", read_signed},
    {"fixed-length-boolean", read_boolean},
    {"fixed-length-bit-array", read_bits},
    {"fixed-length-bit-map", read_bit_map},
    {"fixed-length-floating-point-number", read_float},
    {"variable-length-unsigned-integer", read_variable},
    {"variable-length-signed-integer", read_variable_signed},
    {"null-terminated-string", read_string},
    {"static-length-string", read_characters},
    {"dynamic-length-string", read_characters},
    {"static-length-blob", read_blob},
    {"dynamic-length-blob", read_blob},
    {"static-length-array", read_array},
    {"dynamic-length-array", read_array},
    {"structure", read_struct},
    {"variant", read_variant},
    {"optional", read_optional},
};

/* A field class, or the name of an alias. */
static int read_class(struct ctf2_parser *p, const json_t *class, unsigned depth,
                      struct ctf_type **ret)
{
    struct ctf_type like = {.line = p->line, .align = 1, .base = 10, .weight = 1};
    const char *type = NULL;
    int r;

    if (json_is_string(class)) {
        const json_t *alias =
            map_get_str(&p->aliases, json_string_value(class), json_string_length(class));

        if (!alias)
            return ctf2_wrong(p, "'%s': undeclared field class '%s'", p->member,
                              json_string_value(class));
        class = alias;
    }
    if (!json_is_object(class))
        return ctf2_wrong(p, "'%s' has no field class", p->member);
    if (depth > DEPTH_MAX)
        return ctf2_wrong(p, "'%s': structures nested too deeply", p->member);
    r = ctf2_get_string(p, class, "type", true, &type);
    if (r < 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
        if (strcmp(classes[i].type, type) == 0) {
            r = classes[i].read(p, class, depth, &like);
            return r < 0 ? r : new_type(p, &like, ret);
        }
    return ctf2_wrong(p, "'%s': unknown type of field class '%s'", p->member, type);
}

int ctf2_read_root(struct ctf2_parser *p, const json_t *object, const char *key,
                   enum ctf2_scope scope, struct ctf_type **ret)
{
    const json_t *class = json_object_get(object, key);
    int r;

    if (!class)
        return 0;
    p->scope = scope;
    p->member = key;
    r = read_class(p, class, 0, ret);
    if (r >= 0 && (*ret)->kind != CTF_STRUCT)
        return ctf2_wrong(p, "'%s' is not a structure", key);
    return r;
}
