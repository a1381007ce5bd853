/* SPDX-License-Identifier: MIT */
/* Event classes: the fields of an event, and its combinations of choices. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "event/kernel_event.h"
#include "format/ctf/decode.h"
#include "format/ctf/layout_internal.h"
#include "schema/trace_events/c_type.h"

#define LABELS_MAX 256 /* values that can have names */

static const char *type_name(const struct ctf_type *type)
{
    static const char *const names[2][4] = {{"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
                                            {"int8_t", "int16_t", "int32_t", "int64_t"}};

    if (type->kind == CTF_FLOAT)
        return type->size == 32 ? "float" : "double";
    return names[type->is_signed][__builtin_ctz(ctf_made_element(type))];
}

/* The names of bits; where several have one, the first. */
static int set_flags(struct maker *m, struct ctf_type *type, struct field *field)
{
    struct arena *arena = &m->catalogue->arena;
    struct value_names *names = arena_alloc(arena, sizeof *names);
    const char **labels = arena_alloc(arena, type->size * sizeof *labels);

    if (!names || !labels)
        return -ENOMEM;
    for (uint32_t i = 0; i < type->n_ranges; i++)
        for (int64_t bit = MAX(type->ranges[i].low, 0);
             bit <= type->ranges[i].high && bit < type->size; bit++)
            if (!labels[bit])
                labels[bit] = type->ranges[i].label;
    *names = (struct value_names){.names = labels, .n = type->size, .bits = true};
    type->labels = field->names = names;
    return 0;
}

static int compare_names(const void *pa, const void *pb)
{
    const struct value_name *a = pa, *b = pb;

    return a->value < b->value ? -1 : a->value > b->value;
}

/* Labels of single values from names->n on; where several are of one value, any. */
static int set_more_labels(struct arena *arena, const struct ctf_type *type,
                           struct value_names *names)
{
    struct value_name *more;
    uint32_t n = 0;

    for (uint32_t i = 0; i < type->n_ranges; i++)
        n += type->ranges[i].low == type->ranges[i].high &&
             (uint64_t)type->ranges[i].low >= names->n;
    if (n == 0)
        return 0;
    more = arena_alloc(arena, n * sizeof *more);
    if (!more)
        return -ENOMEM;
    for (uint32_t i = 0; i < type->n_ranges; i++)
        if (type->ranges[i].low == type->ranges[i].high &&
            (uint64_t)type->ranges[i].low >= names->n)
            more[names->n_more++] =
                (struct value_name){(uint64_t)type->ranges[i].low, type->ranges[i].label};
    qsort(more, n, sizeof *more, compare_names);
    names->more = more;
    return 0;
}

/* The labels of an enum: of any single value, and of ranges of small values. */
static int set_labels(struct maker *m, struct ctf_type *type, struct field *field)
{
    struct arena *arena = &m->catalogue->arena;
    struct value_names *names;
    const char **labels;
    int64_t last = -1;

    field->names = type->labels;
    if (field->names)
        return 0;
    if (type->is_flags)
        return set_flags(m, type, field);
    for (uint32_t i = 0; i < type->n_ranges; i++)
        if (type->ranges[i].low >= 0 && type->ranges[i].high < LABELS_MAX)
            last = MAX(last, type->ranges[i].high);
    if (type->n_ranges == 0)
        return 0;
    names = arena_alloc(arena, sizeof *names);
    labels = arena_alloc(arena, (size_t)(last + 2) * sizeof *labels);
    if (!names || !labels)
        return -ENOMEM;
    for (uint32_t i = 0; i < type->n_ranges; i++)
        for (int64_t v = type->ranges[i].low;
             type->ranges[i].low >= 0 && v <= type->ranges[i].high && v <= last; v++)
            if (!labels[v])
                labels[v] = type->ranges[i].label;
    *names = (struct value_names){.names = labels, .n = (uint32_t)(last + 1)};
    type->labels = field->names = names;
    return set_more_labels(arena, type, names);
}

/* What libstrata says of the type beyond what the language can. */
static void refine(struct field *field, const char *c_type)
{
    struct c_type c = c_type_parse(c_type, strlen(c_type));

    field->c_type = c_type;
    if (field->type != FIELD_INT && field->type != FIELD_UINT)
        return;
    if (c.is_pointer) {
        field->type = FIELD_POINTER;
        field->hex = true;
    } else if (c.is_bool) {
        field->type = FIELD_BOOL;
    }
}

/* A field of TYPE that is called NAME after the prefix; of MEMBER, which has its C type. */
static int add_field(struct maker *m, const char *name, const struct ctf_member *member,
                     bool direct)
{
    struct ctf_type *type = member->type;
    const struct ctf_type *number = type->element ? type->element : type;
    struct field *field = &m->fields[m->n_fields];
    char full[2 * NAME_MAX_LEN + 2];
    int r = 0;

    if (m->n_fields == FIELDS_MAX)
        return layout_wrong(m, member->line, "more than %d fields in an event", FIELDS_MAX);
    *field = (struct field){.storage = STORE_SCALAR};
    field->type = number->is_signed ? FIELD_INT : FIELD_UINT;
    field->size = direct ? number->size / 8 : 8;
    field->hex = number->base == 16;
    field->swap =
        direct && (number->order == CTF_ORDER_BE) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    field->json = type->kind == CTF_VARIANT || type->kind == CTF_STRUCT ||
                  (type->element && !ctf_is_plain_element(type->element));
    if (field->json || type->kind == CTF_STRING ||
        (type->element && number->text && number->size == 8)) {
        field->type = FIELD_STRING;
        field->storage = STORE_NUL_ENDED;
        field->size = 0;
        field->swap = false;
        field->hex = false;
        field->c_type = field->json ? "json" : "const char *";
    } else if (type->element) {
        field->type = FIELD_BYTES;
        field->storage = STORE_COUNTED;
        field->element = type->is_blob ? 0 : (uint8_t)ctf_made_element(number);
        field->element_signed = number->is_signed;
        field->element_base10 = !field->hex && !type->is_blob;
        field->size = 0;
        field->c_type = type_name(number);
    } else {
        field->type = type->kind == CTF_FLOAT ? FIELD_FLOAT
                      : type->is_bool         ? FIELD_BOOL
                                              : field->type;
        field->c_type = type_name(type);
        field->c_size = (uint8_t)ctf_made_element(type);
        if (type->kind == CTF_ENUM)
            r = set_labels(m, type, field);
    }
    if (member->c_type)
        refine(field, member->c_type);
    snprintf(full, sizeof full, "%s%s", m->prefix, name);
    field->name = arena_strdup(&m->catalogue->arena, full);
    if (r < 0 || !field->name)
        return -ENOMEM;
    field->place = m->after_variable ? PLACE_AFTER_PREVIOUS : PLACE_FIXED;
    field->offset = m->after_variable ? 0 : m->offset;
    m->offset += field->size;
    m->after_variable = m->after_variable || field->storage != STORE_SCALAR;
    m->n_fields++;
    return 0;
}

/* The member that a variant is in this layout: what was chosen for it, or the first. -E2BIG: too many are met. */
static int choose(struct maker *m, const struct ctf_type *variant, const struct ctf_member **ret)
{
    struct choices *choices = &m->choices;
    unsigned i = choices->n_met++;

    if (i == CHOICES_MAX)
        return -E2BIG;
    if (i == choices->n) {
        choices->member[i] = 0;
        choices->n++;
    }
    choices->n_members[i] = variant->n_members;
    *ret = variant->n_members ? &variant->members[choices->member[i]] : NULL;
    return 0;
}

static int add_fields(struct maker *m, const struct ctf_type *type, bool context, bool direct);

/* Adds the fields of MEMBER, called NAME: its own name, or the name of the variant to which it belongs. */
static int add_member(struct maker *m, const char *name, const struct ctf_member *member,
                      bool context, bool direct)
{
    const struct ctf_member *chosen;
    size_t len = strlen(m->prefix);
    int r;

    if (member->type->kind == CTF_VARIANT && !m->choices.whole) {
        r = choose(m, member->type, &chosen);
        return r < 0 || !chosen ? r : add_member(m, name, chosen, context, direct);
    }
    if (strlen(name) > NAME_MAX_LEN ||
        (member->type->kind == CTF_STRUCT && len + strlen(name) + 2 > sizeof m->prefix))
        return layout_wrong(m, member->line, "field name too long");
    if (member->type->kind == CTF_STRUCT) {
        memcpy(m->prefix + len, name, strlen(name));
        memcpy(m->prefix + len + strlen(name), ".", 2);
        r = add_fields(m, member->type, context, direct);
        m->prefix[len] = '\0';
        return r;
    }
    return ctf_in_payload(member, context) ? add_field(m, name, member, direct) : 0;
}

static int add_fields(struct maker *m, const struct ctf_type *type, bool context, bool direct)
{
    int r = 0;

    for (uint32_t i = 0; type && i < type->n_members && r >= 0; i++)
        r = add_member(m, type->members[i].name, &type->members[i], context, direct);
    return r;
}

/* Whether the payload can be lent as it lies in the stream. */
static bool is_direct(const struct ctf_type *type)
{
    if (type->align > 8)
        return false;
    for (uint32_t i = 0; i < type->n_members; i++) {
        const struct ctf_type *of = type->members[i].type;

        switch (of->kind) {
        case CTF_STRING:
            if (of->encoding != ENCODING_UTF_8)
                return false;
            break;
        case CTF_FLOAT:
            if (of->size != 64)
                return false; /* fall through */
        case CTF_INTEGER:
        case CTF_ENUM:
            if (of->align != 8 || !of->whole)
                return false;
            break;
        default: return false;
        }
    }
    return true;
}

static bool has_members(const struct ctf_type *type)
{
    return type && type->n_members;
}

/* An export declares an event once for each of the layouts that its records have. */
static int add_variant(struct maker *m, struct event_class *made, struct event_class **ret)
{
    const char *name = m->class->decl->name;
    size_t len = sizeof made->origin + strlen(name);
    char *key = arena_alloc(&m->catalogue->arena, len);
    int r;

    if (!key)
        return -ENOMEM;
    memcpy(key, &made->origin, sizeof made->origin);
    memcpy(key + sizeof made->origin, name, len - sizeof made->origin);
    made->variant_of = map_get_str(&m->by_name, key, len);
    r = catalogue_add(m->catalogue, made, ret);
    return r < 0 || made->variant_of ? r : map_put_str(&m->by_name, key, len, *ret);
}

/* The name "GROUP:NAME" of an event of the kernel that perf recorded, as both. */
static int split_name(struct maker *m, struct event_class *class)
{
    const char *colon = strchr(class->name, ':');

    if (!colon || colon == class->name || colon[1] == '\0')
        return 0;
    class->group = arena_strndup(&m->catalogue->arena, class->name, (size_t)(colon - class->name));
    class->name = colon + 1;
    return class->group ? 0 : -ENOMEM;
}

/* Lists the fields of the event, with what its variants are by m->choices. -E2BIG: as choose(). */
static int list_fields(struct maker *m, const struct ctf_class *class)
{
    const struct ctf_event_decl *decl = class->decl;
    int r;

    m->n_fields = 0;
    m->offset = 0;
    m->after_variable = false;
    m->choices.n_met = 0;
    snprintf(m->prefix, sizeof m->prefix, "context.");
    r = add_fields(m, m->stream->decl->event_context, true, class->direct);
    if (r >= 0)
        r = add_fields(m, decl->context, true, class->direct);
    m->prefix[0] = '\0';
    if (r >= 0 && class->whole_fields)
        return add_field(m, "fields",
                         &(struct ctf_member){.type = decl->fields, .line = decl->line}, false);
    return r < 0 ? r : add_fields(m, decl->fields, false, class->direct);
}

/* A class of LIKE with the fields that are listed. */
static int add_class(struct maker *m, struct event_class made, struct event_class **ret)
{
    for (unsigned i = 0; i < m->n_fields; i++)
        if (!m->fields[i].names)
            m->fields[i].names = kernel_event_value_names(&made, &m->fields[i]);
    made.n_fields = m->n_fields;
    made.fields = arena_memdup(&m->catalogue->arena, m->fields, m->n_fields * sizeof *m->fields);
    if (!made.fields && m->n_fields)
        return -ENOMEM;
    if (m->exported)
        return add_variant(m, &made, ret);
    made.variant_of = m->class->class;
    return catalogue_add(m->catalogue, &made, ret);
}

/* The next combination of choices, of those that the last list of fields has met. False: there was no other. */
static bool next_choices(struct choices *choices)
{
    for (choices->n = choices->n_met; choices->n; choices->n--)
        if (++choices->member[choices->n - 1] < choices->n_members[choices->n - 1])
            return true;
    return false;
}

static int add_shape(struct maker *m, struct ctf_class *class, struct event_class *made)
{
    struct arena *arena = &m->catalogue->arena;
    struct ctf_shape **at = &class->shape;

    for (unsigned i = 0;; i++) {
        if (!*at)
            *at = arena_alloc(arena, sizeof **at);
        if (!*at)
            return -ENOMEM;
        if (i == m->choices.n_met || m->choices.n_members[i] == 0)
            break;
        if (!(*at)->next)
            (*at)->next = arena_alloc(arena, m->choices.n_members[i] * sizeof(struct ctf_shape *));
        if (!(*at)->next)
            return -ENOMEM;
        at = &(*at)->next[m->choices.member[i]];
    }
    (*at)->class = made;
    return 0;
}

/* Whether classes differ by what is in TYPE: a variant outside of arrays. */
static bool has_variant(const struct ctf_type *type)
{
    for (uint32_t i = 0; type && i < type->n_members; i++) {
        const struct ctf_type *of = type->members[i].type;

        if (of->kind == CTF_VARIANT || (of->kind == CTF_STRUCT && has_variant(of)))
            return true;
    }
    return false;
}

/* How many fields TYPE has at most. */
static unsigned count_fields(const struct ctf_type *type)
{
    unsigned n = 0;

    for (uint32_t i = 0; type && i < type->n_members; i++) {
        const struct ctf_type *of = type->members[i].type;
        bool is_compound = of->kind == CTF_STRUCT || of->kind == CTF_VARIANT;
        unsigned some = is_compound ? count_fields(of) : 1;

        n = type->kind == CTF_VARIANT ? MAX(n, some) : n + some;
    }
    return n;
}

/* How many combinations of choices the event has, up to one more than there may be. */
static int count_shapes(struct maker *m, const struct ctf_class *class, unsigned *ret)
{
    const struct ctf_event_decl *decl = class->decl;
    unsigned n = 0;
    int r;

    *ret = 1;
    if (!has_variant(m->stream->decl->event_context) && !has_variant(decl->context) &&
        (class->whole_fields || !has_variant(decl->fields)))
        return 0;
    m->choices = (struct choices){0};
    do {
        r = list_fields(m, class);
        n++;
    } while (r >= 0 && n <= CTF_SHAPES_MAX && next_choices(&m->choices));
    *ret = r == -E2BIG ? CTF_SHAPES_MAX + 1 : n;
    return r == -E2BIG ? 0 : r;
}

int layout_make_class(struct maker *m, struct ctf_class *class)
{
    bool is_perf = m->metadata->tracer && strcmp(m->metadata->tracer, "perf") == 0;
    const struct ctf_event_decl *decl = class->decl;
    struct event_class *added = NULL;
    struct event_class made = {.name = decl->name,
                               .origin = m->stream->decl->origin,
                               .id = decl->id,
                               .format = decl->format};
    unsigned n = 0;
    int r;

    if (decl->group && strncmp(decl->name, decl->group, strlen(decl->group)) == 0 &&
        decl->name[strlen(decl->group)] == ':') {
        made.group = decl->group;
        made.name += strlen(decl->group) + 1;
    } else if (is_perf && split_name(m, &made) < 0) {
        return -ENOMEM;
    }
    m->class = class;
    class->whole_fields = count_fields(m->stream->decl->event_context) +
                              count_fields(decl->context) + count_fields(decl->fields) >
                          FIELDS_MAX;
    class->direct = !class->whole_fields && !has_members(m->stream->decl->event_context) &&
                    !has_members(decl->context) && (!decl->fields || is_direct(decl->fields));
    r = count_shapes(m, class, &n);
    if (r >= 0 && (n > CTF_SHAPES_MAX || m->n_shapes + n - 1 > CTF_ALL_SHAPES_MAX)) {
        class->whole_variants = true;
        n = 1;
    }
    m->n_shapes += n - 1;
    m->choices = (struct choices){.whole = class->whole_variants};
    while (r >= 0) {
        r = list_fields(m, class);
        if (r >= 0)
            r = add_class(m, made, &added);
        if (r >= 0 && n > 1)
            r = add_shape(m, class, added);
        if (r < 0)
            break;
        if (!class->class)
            class->class = added;
        if (!next_choices(&m->choices))
            break;
    }
    if (r < 0)
        return r;
    class->size = m->offset;
    class->strings = m->after_variable;
    /* perf has no contexts; what would be there is in front of the fields. */
    class->thread = is_perf ? event_class_field(class->class, "perf_tid") : -1;
    return 0;
}
