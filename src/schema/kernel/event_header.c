/* SPDX-License-Identifier: MIT */
#include "schema/kernel/event_header.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/macro.h"
#include "event/value.h"
#include "schema/kernel/net.h"

#define HEADER_SIZE 8
#define FLAG_LITTLE_ENDIAN 2
#define FLAG_EXTENSION 4
#define FLAGS_KNOWN 7
#define KIND_CHAIN 0x8000
#define KIND_METADATA 1
#define KIND_ACTIVITY 2
#define ACTIVITY_SIZE 16
/* Of one kernel: each takes memory, and what a trace has is not to be trusted. */
#define CLASSES_MAX 4096u
#define METADATA_MAX ((size_t)16 << 20) /* bytes of all */

/* Parts of an event that not all have. */
enum part {
    PART_VERSION = 1, /* with the id */
    PART_TAG = 2,
    PART_ACTIVITY = 4,
    PART_RELATED = 8,
    PART_SWAP = 16,
};

struct header {
    uint8_t version, opcode, level;
    uint16_t id, tag;
    unsigned parts;
    bool swap;
    const uint8_t *metadata;
    size_t metadata_len;
    const uint8_t *activity;
    const uint8_t *values;
    size_t values_len;
};

static const char *const level_names[] = {NULL,      "critical_error", "error",
                                          "warning", "information",    "verbose"};
static const struct value_names levels = {.names = level_names, .n = ARRAY_SIZE(level_names)};
static const char *const opcode_names[] = {
    "info",      "activity_start", "activity_stop", "collection_start", "collection_stop",
    "extension", "reply",          "resume",        "suspend",          "send",
};
static const struct value_name opcode_receive[] = {{0xf0, "receive"}};
static const struct value_names opcodes = {
    .names = opcode_names, .n = ARRAY_SIZE(opcode_names), .n_more = 1, .more = opcode_receive};

void eh_events_init(struct eh_events *events)
{
    *events = (struct eh_events){.key = TEXT_IN_MEMORY};
}

void eh_events_done(struct eh_events *events)
{
    map_done(&events->classes);
    map_done(&events->by_name);
    arena_done(&events->arena);
    text_done(&events->key);
}

/* ---- Tracepoints ---- */

/* A number in lower-case hexadecimal, of DIGITS or fewer. NULL: there is none. */
static const char *read_hex(const char *p, unsigned digits, uint64_t *ret)
{
    uint64_t v = 0;
    unsigned n = 0;

    for (;; p++, n++) {
        if (*p >= '0' && *p <= '9')
            v = v << 4 | (uint64_t)(*p - '0');
        else if (*p >= 'a' && *p <= 'f')
            v = v << 4 | (uint64_t)(*p - 'a' + 10);
        else
            break;
    }
    *ret = v;
    return n > 0 && n <= digits ? p : NULL;
}

/* Parses PROVIDER_L<level>K<keyword>[<options>], and an optional .<id>, by which kernels from 6.9 on distinguish
 * tracepoints with the same name. Returns the length of the provider; 0: not such a name. */
static size_t read_name(const char *name, struct eh_point *point)
{
    const char *dot = strrchr(name, '.');
    const char *under = strrchr(name, '_');
    const char *p = under;
    uint64_t level;

    if (!p || p == name || p[1] != 'L')
        return 0;
    p = read_hex(p + 2, 2, &level);
    if (!p || *p != 'K')
        return 0;
    p = read_hex(p + 1, 16, &point->keyword);
    while (p && *p && p != dot) {
        bool is_option = *p >= 'A' && *p <= 'Z';

        for (p++; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z');)
            p++;
        if (!is_option)
            return 0;
    }
    point->level = (uint8_t)level;
    return p ? (size_t)(under - name) : 0;
}

int eh_point_find(struct arena *arena, const struct event_class *class, uint16_t id,
                  struct eh_point *ret)
{
    static const struct {
        const char *name;
        uint8_t size, offset;
    } known[] = {{"eventheader_flags", 1, 0},
                 {"version", 1, 1},
                 {"id", 2, 2},
                 {"tag", 2, 4},
                 {"opcode", 1, 6},
                 {"level", 1, 7}};
    size_t len;

    if (class->n_fields < ARRAY_SIZE(known))
        return 0;
    for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
        const struct field *field = &class->fields[i];

        if (strcmp(field->name, known[i].name) != 0 || field->size != known[i].size ||
            field->storage != STORE_SCALAR ||
            field->offset != class->fields[0].offset + known[i].offset)
            return 0;
    }
    *ret = (struct eh_point){.offset = class->fields[0].offset, .id = id};
    len = read_name(class->name, ret);
    if (len == 0)
        return 0;
    ret->provider = arena_strndup(arena, class->name, len);
    return ret->provider ? 1 : -ENOMEM;
}

/* ---- The header and its extensions ---- */

/* NULL: HEADER is filled; else what is wrong. */
static const char *read_extensions(struct header *header, const uint8_t *p, const uint8_t *end)
{
    uint16_t kind = KIND_CHAIN;

    while (kind & KIND_CHAIN) {
        uint16_t size;

        if (end - p < 4)
            return "an extension that is cut off";
        size = load_u16_swap(p, header->swap);
        kind = load_u16_swap(p + 2, header->swap);
        p += 4;
        if (size > end - p)
            return "an extension that is cut off";
        switch (kind & ~KIND_CHAIN) {
        case 0: return "an extension of kind 0";
        case KIND_METADATA:
            if (header->metadata)
                return "two extensions with metadata";
            header->metadata = p;
            header->metadata_len = size;
            break;
        case KIND_ACTIVITY:
            if (header->activity || (size != ACTIVITY_SIZE && size != 2 * ACTIVITY_SIZE))
                return "an activity of another size, or two";
            header->activity = p;
            header->parts |= PART_ACTIVITY | (size > ACTIVITY_SIZE ? PART_RELATED : 0u);
            break;
        default: break;
        }
        p += size;
    }
    header->values = p;
    header->values_len = (size_t)(end - p);
    return header->metadata ? NULL : "no metadata";
}

static const char *read_header(const struct eh_point *point, const uint8_t *p, size_t size,
                               struct header *header)
{
    *header = (struct header){0};
    if (size < HEADER_SIZE)
        return "a header that is cut off";
    header->swap =
        ((p[0] & FLAG_LITTLE_ENDIAN) == 0) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    header->version = p[1];
    header->id = load_u16_swap(p + 2, header->swap);
    header->tag = load_u16_swap(p + 4, header->swap);
    header->opcode = p[6];
    header->level = p[7];
    if (p[0] & ~FLAGS_KNOWN)
        return "unknown flags";
    if (header->level != point->level)
        return "another level than the tracepoint";
    header->parts = (header->id || header->version ? PART_VERSION : 0u) |
                    (header->tag ? PART_TAG : 0u) | (header->swap ? PART_SWAP : 0u);
    if (!(p[0] & FLAG_EXTENSION))
        return "no metadata";
    return read_extensions(header, p + HEADER_SIZE, p + size);
}

/* ---- Classes ---- */

struct maker {
    struct arena *arena;
    struct field fields[FIELDS_MAX];
    unsigned n_fields;
    unsigned common;
    bool after_variable;
};

static bool has_name(const struct maker *m, const char *name)
{
    for (unsigned i = 0; i < m->n_fields; i++)
        if (strcmp(m->fields[i].name, name) == 0)
            return true;
    return false;
}

/* A field called NAME after PREFIX, or with a "_" behind it, where there is one of the name. */
static struct field *add_field(struct maker *m, const char *prefix, const char *name,
                               enum eh_kind kind, unsigned size)
{
    struct field *field = &m->fields[m->n_fields];
    char full[1024 + FIELDS_MAX];

    snprintf(full, 1024, "%s%s", prefix, *name ? name : "_");
    while (has_name(m, full))
        memcpy(full + strlen(full), "_", 2);
    *field = (struct field){.name = arena_strdup(m->arena, full),
                            .storage = STORE_SCALAR,
                            .size = 8,
                            .c_size = (uint8_t)size};
    if (!field->name)
        return NULL;
    switch (kind) {
    case EH_KIND_UINT: field->type = FIELD_UINT; break;
    case EH_KIND_INT: field->type = FIELD_INT; break;
    case EH_KIND_BOOL: field->type = FIELD_BOOL; break;
    case EH_KIND_FLOAT: field->type = FIELD_FLOAT; break;
    case EH_KIND_TEXT:
    case EH_KIND_JSON: field->type = FIELD_STRING; break;
    case EH_KIND_BYTES:
    case EH_KIND_NUMBERS: field->type = FIELD_BYTES; break;
    }
    if (field->type == FIELD_STRING || field->type == FIELD_BYTES) {
        field->storage = STORE_COUNTED;
        field->size = field->c_size = 0;
        field->json = kind == EH_KIND_JSON;
    }
    if (kind == EH_KIND_NUMBERS)
        field->element = (uint8_t)size;
    field->place = m->after_variable ? PLACE_AFTER_PREVIOUS : PLACE_FIXED;
    field->offset = m->after_variable ? 0 : m->common + 8 * m->n_fields;
    m->after_variable |= field->storage == STORE_COUNTED;
    m->n_fields++;
    return field;
}

static const char *c_type(enum eh_kind kind, unsigned size, bool is_signed)
{
    static const char *const types[2][9] = {
        {[1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"},
        {[1] = "int8_t", [2] = "int16_t", [4] = "int32_t", [8] = "int64_t"},
    };

    switch (kind) {
    case EH_KIND_BOOL: return "bool";
    case EH_KIND_FLOAT: return size == 4 ? "float" : "double";
    case EH_KIND_TEXT: return "const char *";
    case EH_KIND_JSON: return "json";
    case EH_KIND_BYTES: return "uint8_t";
    default: return types[is_signed][size];
    }
}

static int add_node(struct maker *m, const char *prefix, const struct eh_node *node)
{
    struct eh_node one = *node;
    enum eh_kind kind = eh_kind_of(node);
    unsigned size = eh_value_size(node);
    struct field *field = add_field(m, prefix, node->name, kind, size);
    bool is_signed;

    if (!field)
        return -ENOMEM;
    one.is_array = false;
    is_signed = eh_kind_of(&one) == EH_KIND_INT;
    field->hex = node->format == EH_HEX && (kind == EH_KIND_UINT || kind == EH_KIND_NUMBERS);
    if (kind == EH_KIND_NUMBERS) {
        field->element_signed = is_signed;
        field->element_base10 = !field->hex;
    }
    field->c_type = c_type(kind, size, is_signed);
    return 0;
}

/* The fields of the nodes from AT to END. */
static int add_nodes(struct maker *m, const struct eh_layout *layout, const char *prefix,
                     unsigned at, unsigned end)
{
    int r = 0;

    for (; at < end && r >= 0; at = layout->nodes[at].end) {
        const struct eh_node *node = &layout->nodes[at];
        char inner[1024];

        if (node->encoding != EH_STRUCT || node->is_array) {
            r = add_node(m, prefix, node);
            continue;
        }
        snprintf(inner, sizeof inner, "%s%s.", prefix, node->name);
        r = add_nodes(m, layout, inner, at + 1, node->end);
    }
    return r;
}

static struct field *add_header_field(struct maker *m, const char *name, enum eh_kind kind,
                                      unsigned size)
{
    struct field *field = add_field(m, "", name, kind, size);

    if (field)
        field->c_type = c_type(kind, size, false);
    return field;
}

/* What the event has besides its own fields, in the order of put_header(). */
static int add_header(struct maker *m, const struct eh_point *point, unsigned parts)
{
    struct field *field = add_header_field(m, "level", EH_KIND_UINT, 1);
    bool ok = field;

    if (ok)
        field->names = &levels;
    field = ok ? add_header_field(m, "opcode", EH_KIND_UINT, 1) : NULL;
    ok = field;
    if (ok)
        field->names = &opcodes;
    if (ok && point->keyword) {
        field = add_header_field(m, "keyword", EH_KIND_UINT, 8);
        ok = field;
        if (ok)
            field->hex = true;
    }
    if (ok && parts & PART_VERSION)
        ok = add_header_field(m, "id", EH_KIND_UINT, 2) &&
             add_header_field(m, "version", EH_KIND_UINT, 1);
    if (ok && parts & PART_TAG)
        ok = add_header_field(m, "tag", EH_KIND_UINT, 2);
    if (ok && parts & PART_ACTIVITY)
        ok = add_header_field(m, "activity_id", EH_KIND_TEXT, 0);
    if (ok && parts & PART_RELATED)
        ok = add_header_field(m, "related_activity_id", EH_KIND_TEXT, 0);
    return ok ? 0 : -ENOMEM;
}

static void put_u64(struct text *made, uint64_t v)
{
    text_put(made, (const char *)&v, sizeof v);
}

static void put_activity(struct text *made, const uint8_t *p)
{
    uint32_t len = 36;

    text_put(made, (const char *)&len, sizeof len);
    kernel_put_uuid(p, false, false, made);
}

static void put_header(const struct eh_point *point, const struct header *header, struct text *made)
{
    put_u64(made, header->level);
    put_u64(made, header->opcode);
    if (point->keyword)
        put_u64(made, point->keyword);
    if (header->parts & PART_VERSION) {
        put_u64(made, header->id);
        put_u64(made, header->version);
    }
    if (header->parts & PART_TAG)
        put_u64(made, header->tag);
    if (header->parts & PART_ACTIVITY)
        put_activity(made, header->activity);
    if (header->parts & PART_RELATED)
        put_activity(made, header->activity + ACTIVITY_SIZE);
}

/* The class of an event as HEADER has it; its reader_data is its layout. -EBADMSG: WHY. */
static int make_class(struct eh_events *events, struct catalogue *catalogue,
                      const struct eh_point *point, const struct event_class *tracepoint,
                      const struct header *header, unsigned common, struct event_class **ret,
                      const char **ret_why)
{
    struct arena *arena = &catalogue->arena;
    struct event_class class = {.origin = tracepoint->origin,
                                .group = tracepoint->group,
                                .declared_in = tracepoint->declared_in};
    struct maker m = {.arena = arena, .common = common};
    struct eh_layout *layout = arena_alloc(arena, sizeof *layout);
    char *name;
    size_t len;
    int r = layout ? eh_layout_parse(arena, header->metadata, header->metadata_len, header->swap,
                                     layout, ret_why)
                   : -ENOMEM;

    if (r >= 0)
        r = add_nodes(&m, layout, "", 0, layout->n_nodes);
    if (r >= 0)
        r = add_header(&m, point, header->parts);
    if (r < 0)
        return r;
    len = strlen(point->provider) + 1 + strlen(layout->name);
    name = arena_alloc(arena, len + 1);
    class.fields = arena_memdup(arena, m.fields, m.n_fields * sizeof *m.fields);
    if (!class.fields || !name)
        return -ENOMEM;
    snprintf(name, len + 1, "%s:%s", point->provider, layout->name);
    class.name = name;
    class.n_fields = m.n_fields;
    class.reader_data = layout;
    class.variant_of = map_get_str(&events->by_name, name, len);
    r = catalogue_add(catalogue, &class, ret);
    return r < 0 || class.variant_of ? r : map_put_str(&events->by_name, name, len, *ret);
}

/* By what the class of an event is found. */
static void make_key(struct text *key, const struct eh_point *point, const struct header *header)
{
    uint8_t begin[3] = {(uint8_t)point->id, (uint8_t)(point->id >> 8), (uint8_t)header->parts};

    key->next = key->start;
    text_put(key, (const char *)begin, sizeof begin);
    text_put(key, (const char *)header->metadata, header->metadata_len);
}

static int find_class(struct eh_events *events, struct catalogue *catalogue,
                      const struct eh_point *point, const struct event_class *tracepoint,
                      const struct header *header, unsigned common, const struct event_class **ret,
                      const char **ret_why)
{
    struct text *key = &events->key;
    struct event_class *class;
    const char *kept;
    int r;

    make_key(key, point, header);
    if (key->error)
        return -ENOMEM;
    *ret = map_get_str(&events->classes, key->start, text_len(key));
    if (likely(*ret && *ret != tracepoint))
        return 0;
    if (*ret) {
        *ret_why = "invalid metadata";
        return -EBADMSG;
    }
    if (events->classes.used == CLASSES_MAX || events->n_kept + text_len(key) > METADATA_MAX) {
        *ret_why = "more different events than can be told apart";
        return -EBADMSG;
    }
    r = make_class(events, catalogue, point, tracepoint, header, common, &class, ret_why);
    if (r < 0 && r != -EBADMSG)
        return r;
    kept = arena_memdup(&events->arena, key->start, text_len(key));
    events->n_kept += text_len(key);
    *ret = r < 0 ? tracepoint : class;
    /* Metadata that cannot be parsed are not parsed again. */
    if (!kept || map_put_str(&events->classes, kept, text_len(key), (void *)(uintptr_t)*ret) < 0)
        return -ENOMEM;
    return r;
}

static int note_bad(struct eh_events *events, const struct event_class *tracepoint, const char *why)
{
    if (events->n_bad++ == 0) {
        snprintf(events->bad_name, sizeof events->bad_name, "%s", tracepoint->name);
        events->bad_why = why;
    }
    return 0;
}

int eh_event_decode(struct eh_events *events, struct catalogue *catalogue,
                    const struct eh_point *point, const struct event_class *tracepoint,
                    const uint8_t *record, size_t size, unsigned common, struct text *made,
                    const struct event_class **ret_class)
{
    const char *why = NULL;
    struct header header;
    int r;

    if (size < point->offset || common > point->offset)
        return note_bad(events, tracepoint, "a header that is cut off");
    why = read_header(point, record + point->offset, size - point->offset, &header);
    if (why)
        return note_bad(events, tracepoint, why);
    r = find_class(events, catalogue, point, tracepoint, &header, common, ret_class, &why);
    if (r >= 0) {
        text_put(made, (const char *)record, common);
        r = eh_values_put((*ret_class)->reader_data, header.values, header.values_len, header.swap,
                          made);
        why = "values that do not fit the metadata";
    }
    if (r == -EBADMSG)
        return note_bad(events, tracepoint, why);
    if (r < 0)
        return r;
    put_header(point, &header, made);
    return made->error ? made->error : 1;
}
