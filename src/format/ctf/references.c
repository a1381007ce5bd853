/* SPDX-License-Identifier: MIT */
#include "format/ctf/references.h"

#include <string.h>

#include "base/macro.h"

#define wrong(scopes, at, ...) \
    error_on_line((scopes)->error, -EBADMSG, (scopes)->metadata->path, at, __VA_ARGS__)

static struct ctf_member *find_member(const struct ctf_type *type, uint32_t n, const char *name,
                                      size_t len)
{
    if (len && name[0] == '_') {
        name++;
        len--;
    }
    for (uint32_t i = n; i > 0; i--) {
        struct ctf_member *member = &type->members[i - 1];

        if (strlen(member->name) == len && memcmp(member->name, name, len) == 0)
            return member;
    }
    return NULL;
}

/* PATH, "NAME" or "NAME.NAME", in what was read before of scope I and, if it is in the struct that is being read there, of
 * the scopes after it. */
static struct ctf_member *find_in_scope(const struct ctf_scopes *scopes, unsigned i,
                                        const char *path)
{
    size_t len = strcspn(path, ".");
    const struct ctf_type *type = scopes->types[i];
    struct ctf_member *member = find_member(type, scopes->seen[i], path, len);

    for (path += len; member && *path == '.'; path += strcspn(path, ".")) {
        path++;
        type = member->type;
        member = type->kind == CTF_STRUCT
                     ? find_member(type, type->n_members, path, strcspn(path, "."))
                     : NULL;
    }
    return member;
}

/* The same, of an absolute path: the struct that is being read may be named. */
static struct ctf_member *find_from_root(const struct ctf_scopes *scopes,
                                         enum ctf_location_origin origin, const char *path)
{
    unsigned i = 0;

    while (i < scopes->n && scopes->origins[i] != origin)
        i++;
    for (; i < scopes->n; i++) {
        const struct ctf_type *type = scopes->types[i];
        struct ctf_member *member = find_in_scope(scopes, i, path);
        size_t len = strcspn(path, ".");
        uint32_t seen = scopes->seen[i];

        if (member || path[len] == '\0' || i + 1 == scopes->n || seen == type->n_members ||
            type->members[seen].type != scopes->types[i + 1] ||
            scopes->types[i + 1]->kind != CTF_STRUCT || !find_member(type, seen + 1, path, len))
            return member;
        path += len + 1;
    }
    return NULL;
}

static struct ctf_member *find_reference(const struct ctf_scopes *scopes, const char *path)
{
    static const char *const roots[] = {
        [CTF_ORIGIN_PACKET_HEADER] = "trace.packet.header.",
        [CTF_ORIGIN_PACKET_CONTEXT] = "stream.packet.context.",
        [CTF_ORIGIN_EVENT_HEADER] = "stream.event.header.",
        [CTF_ORIGIN_EVENT_CONTEXT] = "stream.event.context.",
        [CTF_ORIGIN_CONTEXT] = "event.context.",
        [CTF_ORIGIN_FIELDS] = "event.fields.",
    };
    struct ctf_member *member = NULL;

    for (size_t i = CTF_ORIGIN_PACKET_HEADER; i < ARRAY_SIZE(roots); i++)
        if (strncmp(path, roots[i], strlen(roots[i])) == 0)
            return find_from_root(scopes, (enum ctf_location_origin)i, path + strlen(roots[i]));
    for (unsigned i = scopes->n; i > 0 && !member; i--)
        member = find_in_scope(scopes, i - 1, path);
    return member;
}

/* Which member each label of the tag chooses: the one of the same name. */
static int set_choices(struct ctf_scopes *scopes, struct ctf_type *type, const struct ctf_type *tag,
                       const char *name)
{
    struct ctf_choice *choices;
    uint32_t n = 0;

    if (type->tag == tag)
        return 0;
    choices = arena_alloc(scopes->arena, (tag->n_ranges + 1) * sizeof *choices);
    if (!choices)
        return -ENOMEM;
    for (uint32_t i = 0; i < tag->n_ranges; i++) {
        const struct ctf_range *range = &tag->ranges[i];
        const struct ctf_member *member =
            find_member(type, type->n_members, range->label, strlen(range->label));

        if (member)
            choices[n++] = (struct ctf_choice){.low = range->low,
                                               .high = range->high,
                                               .member = (uint32_t)(member - type->members)};
    }
    if (type->tag && (type->tag->is_signed != tag->is_signed || type->n_choices != n ||
                      memcmp(type->choices, choices, n * sizeof *choices) != 0))
        return wrong(scopes, type->line,
                     "variant '%s' is used in several places, where '%s' is different enums", name,
                     type->reference);
    type->tag = tag;
    type->choices = choices;
    type->n_choices = n;
    return 0;
}

/* A length that is called NAME_length is not shown. */
static void note_length(struct ctf_member *target, const char *name)
{
    const char *called = target->name + (target->name[0] == '_');

    if (strncmp(called, name, strlen(name)) == 0)
        target->length = strcmp(called + strlen(name), "_length") == 0;
}

static bool is_count(const struct ctf_type *type)
{
    return (type->kind == CTF_INTEGER || type->kind == CTF_ENUM) && !type->is_signed;
}

static int resolve_reference(struct ctf_scopes *scopes, struct ctf_type *type, const char *name)
{
    const char *what = type->kind == CTF_VARIANT ? "the tag of variant" : "the length of sequence";
    struct ctf_member *target;

    if (!type->reference)
        return wrong(scopes, type->line, "variant '%s' has no tag", name);
    target = find_reference(scopes, type->reference);
    if (!target)
        return wrong(scopes, type->line, "%s '%s', '%s', is not declared before it", what, name,
                     type->reference);
    if (type->kind == CTF_VARIANT ? target->type->kind != CTF_ENUM : !is_count(target->type))
        return wrong(scopes, type->line, "%s '%s', '%s', is not an %s", what, name, type->reference,
                     type->kind == CTF_VARIANT ? "enum" : "unsigned integer");
    /* A type that is used in two places may find its reference in each. */
    if (type->slot && target->slot && type->slot != target->slot)
        return wrong(scopes, type->line,
                     "'%s' is used in several places, where '%s' is different fields", name,
                     type->reference);
    if (!target->slot)
        target->slot = type->slot ? type->slot : ++scopes->metadata->n_slots;
    type->slot = target->slot;
    if (type->kind == CTF_VARIANT)
        return set_choices(scopes, type, target->type, name);
    note_length(target, name);
    return 0;
}

/* ---- Locations of CTF 2 ---- */

/* Gives TYPE the slot of MEMBER, to which its location leads. */
static int mark(struct ctf_scopes *scopes, struct ctf_type *type, struct ctf_member *member,
                const char *name)
{
    const struct ctf_type *target = member->type;
    bool is_number = target->kind == CTF_INTEGER || target->kind == CTF_ENUM;

    if (!is_number || target->is_flags || (target->is_bool && !type->is_optional) ||
        (type->kind == CTF_SEQUENCE && target->is_signed) ||
        (type->tag && type->tag->is_signed != target->is_signed))
        return wrong(scopes, type->line, "'%s': '%s' cannot be its length or selector", name,
                     type->reference);
    if (type->slot && member->slot && type->slot != member->slot)
        return wrong(scopes, type->line, "'%s': '%s' is several fields, which others refer to",
                     name, type->reference);
    if (!member->slot)
        member->slot = type->slot ? type->slot : ++scopes->metadata->n_slots;
    type->slot = member->slot;
    type->tag = target;
    if (type->kind == CTF_SEQUENCE)
        note_length(member, name);
    return 0;
}

/* Marks what the N NAMES lead to from MEMBER: of a variant in each of its options. */
static int mark_from(struct ctf_scopes *scopes, struct ctf_type *type, struct ctf_member *member,
                     const char *const *names, uint32_t n, const char *name)
{
    const struct ctf_type *in = member->type;
    int r = 0;

    while (n && in->element)
        in = in->element; /* the one that is being read */
    if (in->kind == CTF_VARIANT) {
        for (uint32_t i = 0; r >= 0 && i < in->n_members - in->is_optional; i++)
            if (n == 0 || in->members[i].type->kind == CTF_STRUCT ||
                in->members[i].type->kind == CTF_VARIANT)
                r = mark_from(scopes, type, &in->members[i], names, n, name);
        return r;
    }
    if (n == 0)
        return mark(scopes, type, member, name);
    for (uint32_t i = 0; in->kind == CTF_STRUCT && i < in->n_members; i++)
        if (strcmp(in->members[i].name, names[0]) == 0)
            return mark_from(scopes, type, &in->members[i], names + 1, n - 1, name);
    return 0;
}

/* The scope that a location begins in; its first names may be steps out of it. -1: none. */
static int first_scope(const struct ctf_scopes *scopes, const struct ctf_location *location,
                       uint32_t *ret_steps)
{
    int i = (int)scopes->n - 1;

    *ret_steps = 0;
    if (location->origin != CTF_ORIGIN_NONE) {
        while (i >= 0 && scopes->origins[i] != location->origin)
            i--;
        return i;
    }
    while (i >= 0 && scopes->types[i]->kind != CTF_STRUCT)
        i--;
    for (; *ret_steps < location->n && !location->names[*ret_steps]; ++*ret_steps) {
        do {
            if (i < 0 || scopes->origins[i] != CTF_ORIGIN_NONE)
                return -1;
            i--;
        } while (scopes->types[i]->kind != CTF_STRUCT);
    }
    return i;
}

static int resolve_location(struct ctf_scopes *scopes, struct ctf_type *type, const char *name)
{
    const struct ctf_location *location = type->location;
    uint32_t steps;
    int scope = first_scope(scopes, location, &steps);
    uint32_t n = location->n - steps - 1;
    const struct ctf_type *in = scope < 0 ? NULL : scopes->types[scope];
    int r = 0;

    for (uint32_t i = steps; i < location->n; i++)
        if (!location->names[i])
            in = NULL;
    /* The member that is being read may have it, too. */
    for (uint32_t i = 0; in && r >= 0 && i < in->n_members && i <= scopes->seen[scope]; i++)
        if (strcmp(in->members[i].name, location->names[steps]) == 0)
            r = mark_from(scopes, type, &in->members[i], location->names + steps + 1, n, name);
    if (r >= 0 && !type->slot)
        return wrong(scopes, type->line, "'%s': its length or selector '%s' is not before it", name,
                     type->reference);
    return r;
}

/* ---- What is inside ---- */

static int resolve(struct ctf_scopes *scopes, const struct ctf_type *type);

/* What TYPE, of the member called NAME, refers to, and what is in it. */
static int resolve_type(struct ctf_scopes *scopes, struct ctf_type *type, const char *name)
{
    int r = 0;

    if (type->location)
        r = resolve_location(scopes, type, name);
    else if (type->kind == CTF_VARIANT || type->kind == CTF_SEQUENCE)
        r = resolve_reference(scopes, type, name);
    if (r >= 0 && type->element)
        r = resolve_type(scopes, type->element, name);
    if (r >= 0 && (type->kind == CTF_STRUCT || type->kind == CTF_VARIANT))
        r = resolve(scopes, type);
    return r;
}

/* The members of a struct or variant. */
static int resolve(struct ctf_scopes *scopes, const struct ctf_type *type)
{
    unsigned scope = scopes->n;
    int r = 0;

    if (scope == CTF_SCOPES_MAX)
        return wrong(scopes, type->line, "structs nested too deeply");
    scopes->types[scope] = type;
    scopes->seen[scope] = 0;
    scopes->n++;
    for (uint32_t i = 0; i < type->n_members && r >= 0; i++) {
        struct ctf_member *member = &type->members[i];

        scopes->origins[scope + 1] = CTF_ORIGIN_NONE;
        if (member->role == CTF_ROLE_VCPU && !scopes->exported)
            member->role = CTF_ROLE_NONE;
        r = resolve_type(scopes, member->type, member->name);
        /* The members of a variant do not see each other. */
        scopes->seen[scope] = type->kind == CTF_VARIANT ? 0 : i + 1;
    }
    scopes->n = scope;
    return r;
}

int ctf_scopes_enter(struct ctf_scopes *scopes, enum ctf_location_origin origin,
                     const struct ctf_type *type)
{
    int r;

    if (!type)
        return 0;
    if (scopes->n == CTF_SCOPES_MAX)
        return wrong(scopes, type->line, "structs nested too deeply");
    scopes->origins[scopes->n] = (uint8_t)origin;
    r = resolve(scopes, type);
    if (r < 0)
        return r;
    scopes->types[scopes->n] = type;
    scopes->seen[scopes->n] = type->n_members;
    scopes->n++;
    return 0;
}
