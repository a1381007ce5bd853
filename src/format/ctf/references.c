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

/* "NAME" or "NAME.NAME", in what was read before. */
static struct ctf_member *find_reference(const struct ctf_scopes *scopes, const char *path)
{
    static const char *const roots[] = {
        "trace.packet.header.",  "stream.packet.context.", "stream.event.header.",
        "stream.event.context.", "event.context.",         "event.fields.",
    };
    struct ctf_member *member = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
        if (strncmp(path, roots[i], strlen(roots[i])) == 0) {
            path += strlen(roots[i]);
            break;
        }
    for (unsigned i = scopes->n; i > 0 && !member; i--)
        member = find_member(scopes->types[i - 1], scopes->seen[i - 1], path, strcspn(path, "."));
    for (path += strcspn(path, "."); member && *path == '.'; path += strcspn(path, ".")) {
        const struct ctf_type *type = member->type;

        path++;
        member = type->kind == CTF_STRUCT
                     ? find_member(type, type->n_members, path, strcspn(path, "."))
                     : NULL;
    }
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
    if (type->kind == CTF_VARIANT ? target->type->kind != CTF_ENUM
                                  : target->type->kind != CTF_INTEGER || target->type->is_signed)
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
    if (strncmp(target->name + (target->name[0] == '_'), name, strlen(name)) == 0)
        target->length =
            strcmp(target->name + (target->name[0] == '_') + strlen(name), "_length") == 0;
    return 0;
}

static int resolve(struct ctf_scopes *scopes, const struct ctf_type *type);

/* What TYPE, of the member called NAME, refers to, and what is in it. */
static int resolve_type(struct ctf_scopes *scopes, struct ctf_type *type, const char *name)
{
    int r = 0;

    if (type->kind == CTF_VARIANT || type->kind == CTF_SEQUENCE)
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

        if (member->role == CTF_ROLE_VCPU && !scopes->exported)
            member->role = CTF_ROLE_NONE;
        r = resolve_type(scopes, member->type, member->name);
        /* The members of a variant do not see each other. */
        scopes->seen[scope] = type->kind == CTF_VARIANT ? 0 : i + 1;
    }
    scopes->n = scope;
    return r;
}

int ctf_scopes_enter(struct ctf_scopes *scopes, const struct ctf_type *type)
{
    int r;

    if (!type)
        return 0;
    r = resolve(scopes, type);
    if (r < 0)
        return r;
    scopes->types[scopes->n] = type;
    scopes->seen[scopes->n] = type->n_members;
    scopes->n++;
    return 0;
}
