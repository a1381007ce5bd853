/* SPDX-License-Identifier: MIT */
#include "format/ctf/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/value.h"
#include "format/ctf/references.h"
#include "schema/trace_events/c_type.h"

#define NAME_MAX_LEN 200
#define LABELS_MAX 256 /* values that can have names */
/* Of all streams together, up to the highest of each: as many entries are allocated. */
#define EVENT_IDS_MAX (64 * (CTF_ID_MAX + 1))

struct maker {
    struct ctf_metadata *metadata;
    bool exported;
    struct catalogue *catalogue;
    struct error *error;
    const struct ctf_stream_class *stream; /* whose classes are made */
    const struct ctf_class *class;         /* that is made */
    struct map by_name; /* exported: the first class of each name, after its origin's address */
    struct ctf_scopes scopes;
    uint64_t n_event_ids; /* of all streams so far */
    /* The class at hand. */
    struct field fields[FIELDS_MAX];
    unsigned n_fields;
    bool after_variable; /* a field before has a variable length */
    uint32_t offset;     /* bytes up to there */
    char prefix[NAME_MAX_LEN + 1];
};

#define wrong(m, at, ...) error_on_line((m)->error, -EBADMSG, (m)->metadata->path, at, __VA_ARGS__)

/* ---- Fields ---- */

static const char *type_name(const struct ctf_type *type)
{
    static const char *const names[2][4] = {{"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
                                            {"int8_t", "int16_t", "int32_t", "int64_t"}};

    if (type->kind == CTF_FLOAT)
        return type->size == 32 ? "float" : "double";
    return names[type->is_signed][__builtin_ctz(ctf_made_element(type))];
}

/* The labels of an enum, as far as they are of small values. */
static int set_labels(struct maker *m, struct ctf_type *type, struct field *field)
{
    struct arena *arena = &m->catalogue->arena;
    struct value_names *names;
    const char **labels;
    int64_t last = -1;

    field->names = type->labels;
    if (field->names)
        return 0;
    for (uint32_t i = 0; i < type->n_ranges; i++)
        if (type->ranges[i].low >= 0 && type->ranges[i].high < LABELS_MAX)
            last = MAX(last, type->ranges[i].high);
    if (last < 0)
        return 0;
    names = arena_alloc(arena, sizeof *names);
    labels = arena_alloc(arena, (size_t)(last + 1) * sizeof *labels);
    if (!names || !labels)
        return -ENOMEM;
    for (uint32_t i = 0; i < type->n_ranges; i++)
        for (int64_t v = type->ranges[i].low;
             type->ranges[i].low >= 0 && v <= type->ranges[i].high && v <= last; v++)
            if (!labels[v])
                labels[v] = type->ranges[i].label;
    *names = (struct value_names){labels, (uint32_t)last + 1};
    type->labels = field->names = names;
    return 0;
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

static int add_field(struct maker *m, const struct ctf_member *member, bool direct)
{
    struct ctf_type *type = member->type;
    const struct ctf_type *number = type->element ? type->element : type;
    struct field *field = &m->fields[m->n_fields];
    char name[2 * NAME_MAX_LEN + 2];
    int r = 0;

    if (m->n_fields == FIELDS_MAX)
        return wrong(m, member->line, "more than %d fields in an event", FIELDS_MAX);
    *field = (struct field){.storage = STORE_SCALAR};
    field->type = number->is_signed ? FIELD_INT : FIELD_UINT;
    field->size = direct ? number->size / 8 : 8;
    field->hex = number->base == 16;
    field->swap =
        direct && (number->order == CTF_ORDER_BE) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    if (type->kind == CTF_STRING || (type->element && number->text && number->size == 8)) {
        field->type = FIELD_STRING;
        field->storage = STORE_NUL_ENDED;
        field->size = 0;
        field->swap = false;
        field->c_type = "const char *";
    } else if (type->element) {
        field->type = FIELD_BYTES;
        field->storage = STORE_COUNTED;
        field->element = (uint8_t)ctf_made_element(number);
        field->element_signed = number->is_signed;
        field->size = 0;
        field->c_type = type_name(number);
    } else {
        field->type = type->kind == CTF_FLOAT ? FIELD_FLOAT : field->type;
        field->c_type = type_name(type);
        field->c_size = (uint8_t)ctf_made_element(type);
        if (type->kind == CTF_ENUM)
            r = set_labels(m, type, field);
    }
    if (member->c_type)
        refine(field, member->c_type);
    snprintf(name, sizeof name, "%s%s", m->prefix, member->name);
    field->name = arena_strdup(&m->catalogue->arena, name);
    if (r < 0 || !field->name)
        return -ENOMEM;
    field->place = m->after_variable ? PLACE_AFTER_PREVIOUS : PLACE_FIXED;
    field->offset = m->after_variable ? 0 : m->offset;
    m->offset += field->size;
    m->after_variable = m->after_variable || field->storage != STORE_SCALAR;
    m->n_fields++;
    return 0;
}

static int add_fields(struct maker *m, const struct ctf_type *type, bool context, bool direct)
{
    size_t len = strlen(m->prefix);
    int r = 0;

    for (uint32_t i = 0; type && i < type->n_members && r >= 0; i++) {
        const struct ctf_member *member = &type->members[i];

        if (member->type->kind == CTF_VARIANT)
            return wrong(m, member->line, "variant '%s': variants are supported in headers only",
                         member->name);
        if (member->type->kind == CTF_STRUCT) {
            if (len + strlen(member->name) + 2 > sizeof m->prefix)
                return wrong(m, member->line, "field name too long");
            snprintf(m->prefix + len, sizeof m->prefix - len, "%s.", member->name);
            r = add_fields(m, member->type, context, direct);
            m->prefix[len] = '\0';
        } else if (strlen(member->name) > NAME_MAX_LEN) {
            return wrong(m, member->line, "field name too long");
        } else if (ctf_in_payload(member, context)) {
            r = add_field(m, member, direct);
        }
    }
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
        case CTF_STRING: break;
        case CTF_FLOAT:
            if (of->size != 64)
                return false; /* fall through */
        case CTF_INTEGER:
        case CTF_ENUM:
            if (of->align != 8 || of->size < 8 || (of->size & (of->size - 1)))
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

static bool has_role(const struct ctf_type *type, enum ctf_role role)
{
    for (uint32_t i = 0; type && i < type->n_members; i++) {
        const struct ctf_type *of = type->members[i].type;

        if (type->members[i].role == role)
            return true;
        if ((of->kind == CTF_STRUCT || of->kind == CTF_VARIANT) && has_role(of, role))
            return true;
    }
    return false;
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

static bool has_vcpu_name(const struct ctf_type *type)
{
    for (uint32_t i = 0; type && i < type->n_members; i++)
        if (type->members[i].role == CTF_ROLE_VCPU && type->members[i].type->kind == CTF_STRING)
            return true;
    return false;
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

static int make_class(struct maker *m, struct ctf_class *class)
{
    bool is_perf = m->metadata->tracer && strcmp(m->metadata->tracer, "perf") == 0;
    const struct ctf_event_decl *decl = class->decl;
    const struct origin *origin = m->stream->decl->origin;
    struct event_class made = {
        .name = decl->name, .origin = origin, .id = decl->id, .format = decl->format};
    int r;

    if (decl->group && strncmp(decl->name, decl->group, strlen(decl->group)) == 0 &&
        decl->name[strlen(decl->group)] == ':') {
        made.group = decl->group;
        made.name += strlen(decl->group) + 1;
    } else if (is_perf && split_name(m, &made) < 0) {
        return -ENOMEM;
    }
    m->class = class;
    m->n_fields = 0;
    m->offset = 0;
    m->after_variable = false;
    class->direct = !has_members(m->stream->decl->event_context) && !has_members(decl->context) &&
                    (!decl->fields || is_direct(decl->fields));
    snprintf(m->prefix, sizeof m->prefix, "context.");
    r = add_fields(m, m->stream->decl->event_context, true, class->direct);
    if (r >= 0)
        r = add_fields(m, decl->context, true, class->direct);
    m->prefix[0] = '\0';
    if (r >= 0)
        r = add_fields(m, decl->fields, false, class->direct);
    if (r < 0)
        return r;
    class->size = m->offset;
    class->strings = m->after_variable;
    made.n_fields = m->n_fields;
    made.fields = arena_memdup(&m->catalogue->arena, m->fields, m->n_fields * sizeof *m->fields);
    if (!made.fields && m->n_fields)
        return -ENOMEM;
    /* perf has no contexts; what would be there is in front of the fields. */
    class->thread = is_perf ? event_class_field(&made, "perf_tid") : -1;
    return m->exported ? add_variant(m, &made, &class->class)
                       : catalogue_add(m->catalogue, &made, &class->class);
}

/* ---- Streams ---- */

static bool is_integer(const struct ctf_member *member, uint8_t role, uint32_t size, uint32_t align)
{
    const struct ctf_type *type = member->type;

    return member->role == role && type->kind == CTF_INTEGER && type->size == size &&
           type->align == align && !type->is_signed;
}

static bool is_word_header(const struct ctf_type *type)
{
    return type && type->align == 64 && type->n_members == 2 &&
           is_integer(&type->members[0], CTF_ROLE_ID, 16, 64) &&
           is_integer(&type->members[1], CTF_ROLE_TIMESTAMP, 48, 8) &&
           type->members[0].type->order == type->members[1].type->order;
}

/* The clock of the time stamps in TYPE. */
static const struct ctf_clock *clock_of(const struct ctf_type *type)
{
    const struct ctf_clock *clock = NULL;

    for (uint32_t i = 0; type && i < type->n_members && !clock; i++) {
        const struct ctf_type *of = type->members[i].type;

        if (of->kind == CTF_STRUCT || of->kind == CTF_VARIANT)
            clock = clock_of(of);
        else
            clock = of->clock;
    }
    return clock;
}

static int make_clock(struct maker *m, struct ctf_layout *layout)
{
    for (uint32_t i = 0; i < layout->n_streams; i++) {
        const struct ctf_stream_decl *decl = layout->streams[i].decl;
        const struct ctf_clock *clock = clock_of(decl->event_header);

        if (!clock)
            clock = m->metadata->clocks; /* the only one, or the last */
        if (i && clock != layout->clock)
            return wrong(m, decl->line, "streams with different clocks are not supported");
        layout->clock = clock;
        if (decl->event_header && !has_role(decl->event_header, CTF_ROLE_TIMESTAMP))
            return wrong(m, decl->line, "the events of the stream have no timestamp");
    }
    return 0;
}

static int make_stream(struct maker *m, struct ctf_stream_class *stream)
{
    const struct ctf_stream_decl *decl = stream->decl;
    uint64_t n = 0;
    int r = 0;

    stream->word_header = is_word_header(decl->event_header);
    for (const struct ctf_event_decl *e = stream->events; e; e = e->next_of_stream) {
        if (e->id > CTF_ID_MAX)
            return wrong(m, e->line, "event id %" PRIu64 " is too large (maximum %d)", e->id,
                         CTF_ID_MAX);
        n = MAX(n, e->id + 1);
    }
    m->n_event_ids += n;
    if (m->n_event_ids > EVENT_IDS_MAX)
        return wrong(m, decl->line,
                     "the highest event ids of all streams come to more than %d together",
                     EVENT_IDS_MAX);
    stream->classes = arena_alloc(&m->catalogue->arena, (n + 1) * sizeof *stream->classes);
    if (!stream->classes)
        return -ENOMEM;
    stream->n_classes = (uint32_t)n;
    stream->vcpu_names = has_vcpu_name(decl->event_context); /* of exports before 0.2 */
    m->stream = stream;
    for (const struct ctf_event_decl *e = stream->events; e && r >= 0; e = e->next_of_stream) {
        if (stream->classes[e->id].class)
            return wrong(m, e->line, "duplicate event id %" PRIu64, e->id);
        m->scopes.n = 0;
        stream->classes[e->id].decl = e;
        r = ctf_scopes_enter(&m->scopes, m->metadata->packet_header);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, decl->packet_context);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, decl->event_header);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, decl->event_context);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, e->context);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, e->fields);
        if (r >= 0)
            r = make_class(m, &stream->classes[e->id]);
        stream->vcpu_names = stream->vcpu_names || has_vcpu_name(e->context);
    }
    return r;
}

/* Headers of streams without events have references too. */
static int resolve_headers(struct maker *m, const struct ctf_stream_decl *decl)
{
    int r;

    m->scopes.n = 0;
    r = ctf_scopes_enter(&m->scopes, m->metadata->packet_header);
    if (r >= 0)
        r = ctf_scopes_enter(&m->scopes, decl->packet_context);
    if (r >= 0)
        r = ctf_scopes_enter(&m->scopes, decl->event_header);
    return r < 0 ? r : ctf_scopes_enter(&m->scopes, decl->event_context);
}

static int compare_streams(const void *a, const void *b)
{
    const struct ctf_stream_decl *one = (*(struct ctf_stream_class *const *)a)->decl;
    const struct ctf_stream_decl *other = (*(struct ctf_stream_class *const *)b)->decl;

    if (one->id != other->id)
        return one->id < other->id ? -1 : 1;
    return one->line < other->line ? -1 : one->line > other->line;
}

struct ctf_stream_class *ctf_layout_find(const struct ctf_layout *layout, uint64_t id)
{
    uint32_t begin = 0, end = layout->n_streams;

    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;

        if (layout->by_id[middle]->decl->id == id)
            return layout->by_id[middle];
        if (layout->by_id[middle]->decl->id < id)
            begin = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* The streams, and which events each has. */
static int find_streams(struct maker *m, struct ctf_layout *layout)
{
    struct arena *arena = &m->catalogue->arena;
    uint32_t n = 0;

    for (const struct ctf_stream_decl *s = m->metadata->streams; s; s = s->next)
        n++;
    layout->streams = arena_alloc(arena, (n + 1) * sizeof *layout->streams);
    layout->by_id = arena_alloc(arena, (n + 1) * sizeof(struct ctf_stream_class *));
    if (!layout->streams || !layout->by_id)
        return -ENOMEM;
    for (const struct ctf_stream_decl *s = m->metadata->streams; s; s = s->next) {
        layout->streams[layout->n_streams] = (struct ctf_stream_class){.decl = s};
        layout->by_id[layout->n_streams] = &layout->streams[layout->n_streams];
        layout->n_streams++;
    }
    qsort(layout->by_id, n, sizeof(struct ctf_stream_class *), compare_streams);
    for (uint32_t i = 1; i < n; i++)
        if (layout->by_id[i]->decl->id == layout->by_id[i - 1]->decl->id)
            return wrong(m, layout->by_id[i]->decl->line, "duplicate stream id %" PRIu64,
                         layout->by_id[i]->decl->id);
    for (struct ctf_event_decl *e = m->metadata->events; e; e = e->next) {
        struct ctf_stream_class *stream = ctf_layout_find(layout, e->stream);

        e->next_of_stream = NULL;
        if (!stream)
            continue;
        if (stream->last_event)
            stream->last_event->next_of_stream = e;
        else
            stream->events = e;
        stream->last_event = e;
    }
    return 0;
}

int ctf_layout_make(struct ctf_metadata *metadata, bool exported, struct catalogue *catalogue,
                    struct ctf_layout *ret, struct error *error)
{
    struct maker *m = calloc(1, sizeof *m);
    struct ctf_layout layout = {0};
    int r = -ENOMEM;

    if (m) {
        m->metadata = metadata;
        m->exported = exported;
        m->catalogue = catalogue;
        m->error = error;
        m->scopes = (struct ctf_scopes){.metadata = metadata, .exported = exported, .error = error};
        r = find_streams(m, &layout);
        for (uint32_t i = 0; i < layout.n_streams && r >= 0; i++) {
            r = resolve_headers(m, layout.streams[i].decl);
            if (r >= 0)
                r = make_stream(m, &layout.streams[i]);
        }
        if (r >= 0)
            r = make_clock(m, &layout);
        map_done(&m->by_name);
    }
    free(m);
    if (r < 0)
        return error_set(error, r, metadata->path, "out of memory");
    *ret = layout;
    return 0;
}
