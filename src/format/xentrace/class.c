/* SPDX-License-Identifier: MIT */
#include "format/xentrace/class.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/number.h"
#include "event/program.h"
#include "event/xen_vcpu.h"
#include "format/xentrace/record.h"
#include "format/xentrace/xentrace.h"

_Static_assert(XENTRACE_KNOWN_CALLS == 1 << (32 - 24), "the hash in xentrace_call() has 8 bits");
_Static_assert(XENTRACE_KNOWN == 1 << (32 - 20), "the hash in xentrace_class() has 12 bits");

static void put_words(const uint8_t *p, uint32_t size, struct text *text)
{
    for (uint32_t at = 0; at + 4 <= size; at += 4) {
        if (at)
            text_put_char(text, ' ');
        text_put_literal(text, "0x");
        text->next = number_hex_fixed(text_room(text, NUMBER_MAX), load_le32(p + at), 8);
    }
}

/* The words as they are. */
static void put_unknown(const struct item *item, struct text *text)
{
    put_words(item->payload, item->size, text);
}

/* The class of many numbers: its text has the number too. */
static void put_any_unknown(const struct item *item, struct text *text)
{
    text_put_literal(text, "event=0x");
    text_put_hex(text, item->reader_word);
    if (item->size)
        text_put_char(text, ' ');
    put_words(item->payload, item->size, text);
}

/* Word 0: the number of the call in bits 0-19; bits 20-31 say in two bits for each of six arguments
 * whether it is there: 0 no, 1 as one word, 2 as two words. The words follow. */
static void put_hypercall(const struct item *item, struct text *text)
{
    const struct field *op_field = &item->class->fields[0];
    const struct xen_call *call = NULL;
    const uint8_t *p = item->payload;
    const uint8_t *end = p + item->size;
    uint32_t word;
    uint32_t op;

    if (item->size < 4)
        return;
    word = load_le32(p);
    p += 4;
    op = word & 0xfffff;
    text_put_literal(text, "op=");
    if (!op_field->names || !value_put_named(op_field->names, op, text))
        text_put_u64(text, op);
    for (const struct xen_call *c = item->class->reader_data; c && !call; c = c->next)
        call = c->op == op ? c : NULL;
    for (unsigned i = 0; i < XEN_CALL_ARGUMENTS; i++) {
        const struct xen_argument *argument = call ? &call->arguments[i] : NULL;
        unsigned words = word >> (20 + 2 * i) & 3;
        uint64_t v;

        if (words == 0)
            continue;
        text_put_char(text, ' ');
        if (argument && argument->name) {
            text_put_str(text, argument->name);
        } else {
            text_put_char(text, 'a');
            text_put_u64(text, i);
        }
        text_put_char(text, '=');
        if (words == 3 || 4 * words > (size_t)(end - p)) {
            /* The rest cannot be distinguished. */
            text_put_char(text, '?');
            p = end;
            continue;
        }
        v = words == 1 ? load_le32(p) : load_le64(p);
        p += 4 * words;
        if (argument && argument->names && value_put_named(argument->names, v, text))
            continue;
        if (argument && argument->name) {
            text_put_u64(text, v);
        } else {
            text_put_literal(text, "0x");
            text_put_hex(text, v);
        }
    }
}

int xentrace_classes_open(struct xentrace_classes *classes, struct catalogue *catalogue,
                          const struct xen_table *table, xen_version version, enum xen_cpu cpu,
                          uint64_t cpu_hz, const char *path, struct error *error)
{
    struct origin origin = {
        .layer = LAYER_HYPERVISOR,
        .format = "xentrace",
        .path = arena_strdup(&catalogue->arena, path),
        .clock = {.name = "tsc", .hz = cpu_hz},
        .put_vcpu = xen_vcpu_put,
    };
    int r;

    classes->catalogue = catalogue;
    classes->version = version;
    classes->cpu = cpu;
    classes->table = table;
    classes->origin = origin.path ? catalogue_add_origin(catalogue, &origin) : NULL;
    if (!classes->origin)
        return error_set(error, -ENOMEM, path, "out of memory");
    if (!table) {
        r = xen_table_built_in(&classes->built_in, error);
        if (r < 0)
            return r;
        classes->table = &classes->built_in;
    }
    return 0;
}

void xentrace_classes_done(struct xentrace_classes *classes)
{
    xen_table_done(&classes->built_in);
    map_done(&classes->by_event);
    map_done(&classes->by_call);
    map_done(&classes->by_name);
}

static enum xentrace_tracks tracks_of(uint32_t event)
{
    /* 0x21001 | old << 8 | new << 4; state 0 is running. */
    if ((event & ~(uint32_t)0xff0) == 0x21001) {
        if ((event & 0xf0) == 0)
            return TRACKS_RUNNING;
        return (event & 0xf00) == 0 ? TRACKS_LEAVING : TRACKS_NOTHING;
    }
    switch (event) {
    case XEN_CONTINUE_RUNNING: return TRACKS_RUNNING;
    case XEN_SWITCH: return TRACKS_SWITCH;
    case XEN_SWITCH_INFCONT: return TRACKS_CONTINUES;
    default: return TRACKS_NOTHING;
    }
}

bool xentrace_tells_vcpu(uint32_t header)
{
    return tracks_of(xentrace_event(header)) != TRACKS_NOTHING;
}

/* Two words, domain and vCPU. */
static int32_t vcpu_of_words(const uint8_t *p)
{
    uint32_t domain = load_le32(p);
    uint32_t vcpu = load_le32(p + 4);

    return domain <= INT16_MAX && vcpu <= UINT16_MAX ? (int32_t)(domain << 16 | vcpu)
                                                     : VCPU_UNKNOWN;
}

void xentrace_track_vcpu(enum xentrace_tracks tracks, struct item *item, int32_t *vcpu)
{
    const uint8_t *p = item->payload;

    switch (tracks) {
    case TRACKS_NOTHING:
    case TRACKS_CALL: break;
    case TRACKS_RUNNING:
        if (item->size >= 4)
            item->vcpu = *vcpu = xentrace_vcpu(load_le32(p));
        break;
    case TRACKS_LEAVING:
        /* Comes after the switch that named the next one. */
        if (item->size >= 4)
            item->vcpu = xentrace_vcpu(load_le32(p));
        break;
    case TRACKS_SWITCH:
        if (item->size >= 16) {
            item->vcpu = vcpu_of_words(p);
            *vcpu = vcpu_of_words(p + 8);
        }
        break;
    case TRACKS_CONTINUES:
        if (item->size >= 8)
            item->vcpu = *vcpu = vcpu_of_words(p);
        break;
    }
}

/* A copy of names that lives as long as the catalogue. */
static const struct value_names *copy_names(struct arena *arena, const struct value_names *names)
{
    struct value_names *copy = arena_memdup(arena, names, sizeof *names);
    const char **list = arena_alloc(arena, (names->n + 1) * sizeof *list);
    struct value_name *more = arena_alloc(arena, (names->n_more + 1) * sizeof *more);

    if (!copy || !list || !more)
        return NULL;
    for (uint32_t i = 0; i < names->n; i++) {
        list[i] = names->names[i] ? arena_strdup(arena, names->names[i]) : NULL;
        if (names->names[i] && !list[i])
            return NULL;
    }
    for (uint32_t i = 0; i < names->n_more; i++) {
        more[i] =
            (struct value_name){names->more[i].value, arena_strdup(arena, names->more[i].name)};
        if (!more[i].name)
            return NULL;
    }
    copy->names = list;
    copy->more = more;
    return copy;
}

/* What the arguments of hypercalls are called, as a list that lives as long as the catalogue. */
static int copy_calls(struct xentrace_classes *classes)
{
    struct arena *arena = &classes->catalogue->arena;

    if (classes->calls)
        return 0;
    for (const struct xen_call *call = classes->table->calls; call; call = call->next) {
        struct xen_call *copy = arena_memdup(arena, call, sizeof *call);

        for (unsigned i = 0; copy && i < XEN_CALL_ARGUMENTS; i++) {
            struct xen_argument *argument = &copy->arguments[i];

            if (!argument->name)
                continue;
            argument->name = arena_strdup(arena, argument->name);
            if (argument->names)
                argument->names = copy_names(arena, argument->names);
            if (!argument->name || (call->arguments[i].names && !argument->names))
                return -ENOMEM;
        }
        if (!copy)
            return -ENOMEM;
        copy->next = classes->calls;
        classes->calls = copy;
    }
    return 0;
}

/* All words from word FIRST on, as they are. */
static struct field words_field(const char *name, uint32_t first)
{
    return (struct field){
        .name = name,
        .c_type = "uint32_t []",
        .type = FIELD_BYTES,
        .place = PLACE_FIXED,
        .storage = STORE_TO_END,
        .offset = 4 * first,
        .element = 4,
        .hex = true,
        .swap = XENTRACE_SWAPPED,
    };
}

/* The table may be gone before the catalogue: all strings are copied. */
static struct field *copy_fields(struct arena *arena, const struct xen_event *event)
{
    struct field *fields = arena_alloc(arena, (event->n_fields + 1) * sizeof *fields);

    for (unsigned i = 0; fields && i < event->n_fields; i++) {
        fields[i] = event->fields[i];
        fields[i].swap = XENTRACE_SWAPPED;
        fields[i].name = arena_strdup(arena, fields[i].name);
        if (!fields[i].name)
            return NULL;
        if (fields[i].names) {
            fields[i].names = copy_names(arena, fields[i].names);
            if (!fields[i].names)
                return NULL;
        }
    }
    return fields;
}

/* MORE: of records with more words than the table knows of, which are shown as they are. */
static int add_event(struct xentrace_classes *classes, const struct xen_event *event, bool more,
                     struct event_class **ret_class)
{
    struct arena *arena = &classes->catalogue->arena;
    struct field *fields = copy_fields(arena, event);
    struct event_class class = {
        .name = arena_strdup(arena, event->name),
        .group = xen_event_group(event->id),
        .origin = classes->origin,
        .fields = fields,
        .n_fields = event->n_fields,
        .id = event->id,
        .format = event->format ? arena_strdup(arena, event->format) : NULL,
        .declared_in = event->file ? arena_strdup(arena, event->file) : NULL,
        .declared_line = event->line,
    };

    if (!class.name || !fields || (event->format && !class.format) ||
        (event->file && !class.declared_in))
        return -ENOMEM;
    /* With addresses of 32 bits and of 64, with or without what a newer version adds. */
    class.variant_of = map_get_str(&classes->by_name, class.name, strlen(class.name));
    if (more)
        fields[class.n_fields++] = words_field("more", event->words);
    if ((event->id == XEN_HYPERCALL_V2 || event->id == XEN_HYPERCALL_SUBCALL) &&
        event->n_fields > 0 && !event->format) {
        if (copy_calls(classes) < 0)
            return -ENOMEM;
        class.put_text = put_hypercall;
        class.reader_data = classes->calls;
    }
    return catalogue_add(classes->catalogue, &class, ret_class);
}

static int add_unknown(struct xentrace_classes *classes, uint32_t id,
                       struct event_class **ret_class)
{
    struct field words = words_field("words", 0);
    char name[32];
    struct event_class class = {
        .group = xen_event_group(id),
        .origin = classes->origin,
        .fields = arena_memdup(&classes->catalogue->arena, &words, sizeof words),
        .n_fields = 1,
        .id = id,
        .put_text = put_unknown,
    };

    if (!class.fields)
        return -ENOMEM;
    /* A hostile file must not fill the memory with classes. */
    if (classes->n_unknown == XENTRACE_UNKNOWN_MAX) {
        class.id = 0;
        class.group = "other";
        class.put_text = put_any_unknown;
        class.name = "unknown";
    } else {
        /* The numbers of a guest's own events are its own to choose. */
        if ((id & 0x0ffff000) == XEN_CLASS_GUEST)
            snprintf(name, sizeof name, "guest_0x%" PRIx32, id & 0xfff);
        else
            snprintf(name, sizeof name, "unknown_0x%" PRIx32, id);
        class.name = arena_strdup(&classes->catalogue->arena, name);
        if (!class.name)
            return -ENOMEM;
        classes->n_unknown++;
    }
    return catalogue_add(classes->catalogue, &class, ret_class);
}

static const struct event_class *find_or_add(struct xentrace_classes *classes, uint32_t header)
{
    uint32_t id = xentrace_event(header);
    const struct xen_event *event =
        xen_table_find(classes->table, id, xentrace_words(header), classes->version, classes->cpu);
    bool more = event && xentrace_words(header) > event->words;
    /* Numbers of events are below any pointer's, whose lowest bit is never set. */
    uint64_t key = event ? (uintptr_t)event | more : id;
    struct event_class *class = map_get(&classes->by_event, key);
    int r;

    if (class)
        return class;
    if (!event && classes->unknown)
        return classes->unknown;
    r = event ? add_event(classes, event, more, &class) : add_unknown(classes, id, &class);
    if (r < 0 || (event && !class->variant_of &&
                  map_put_str(&classes->by_name, class->name, strlen(class->name), class) < 0))
        return NULL;
    if (!event && class->id == 0) {
        classes->unknown = class;
        return class;
    }
    return map_put(&classes->by_event, key, class) < 0 ? NULL : class;
}

const struct xentrace_known *xentrace_class_slow(struct xentrace_classes *classes, uint32_t header)
{
    uint32_t key = header & 0x7fffffff;
    uint32_t event = xentrace_event(header);
    struct xentrace_known *known = &classes->known[key * 0x9e3779b1u >> 20];
    const struct event_class *class;

    /* These were not before 4.19. Lines that ask for a version hold from here on. */
    if (classes->version == 0 && (event == XEN_SVM_EXIT || event == XEN_SVM_EXIT64)) {
        classes->version = 419;
        for (size_t i = 0; i < XENTRACE_KNOWN; i++)
            classes->known[i].key = 0;
        for (size_t i = 0; i < XENTRACE_KNOWN_CALLS; i++)
            classes->known_calls[i].key = 0;
    }
    class = find_or_add(classes, header);
    if (!class)
        return NULL;
    *known = (struct xentrace_known){.key = key, .tracks = tracks_of(event), .class = class};
    if (class->put_text == put_hypercall && xentrace_words(header) > 0)
        known->tracks = TRACKS_CALL;
    return known;
}

/* The fields of a hypercall whose first word is WORD. 0: all of its N words are not known by name, or
 * not even how long they are. */
static unsigned call_fields(const struct event_class *any, uint32_t word, unsigned n,
                            struct field *fields)
{
    const struct xen_call *call = any->reader_data;
    unsigned n_fields = 0;
    unsigned at = 1;

    while (call && call->op != (word & 0xfffff))
        call = call->next;
    fields[n_fields++] = any->fields[0];
    for (unsigned i = 0; i < XEN_CALL_ARGUMENTS; i++) {
        unsigned words = word >> (20 + 2 * i) & 3;

        if (words == 0)
            continue;
        if (words == 3 || !call || !call->arguments[i].name)
            return 0;
        fields[n_fields] = (struct field){
            .name = call->arguments[i].name,
            .c_type = words == 1 ? "uint32_t" : "uint64_t",
            .type = FIELD_UINT,
            .place = PLACE_FIXED,
            .storage = STORE_SCALAR,
            .offset = 4 * at,
            .size = 4 * words,
            .names = call->arguments[i].names,
            .swap = XENTRACE_SWAPPED,
        };
        n_fields++;
        if (call->arguments[i].flag) {
            fields[n_fields] = fields[n_fields - 1];
            fields[n_fields - 1].bits = 31;
            fields[n_fields].name = call->arguments[i].flag;
            fields[n_fields].names = NULL;
            fields[n_fields].shift = 31;
            fields[n_fields].bits = 1;
            n_fields++;
        }
        at += words;
    }
    return at == n ? n_fields : 0;
}

/* Hypercalls whose arguments all have names are of classes of their own, with these as fields. There are
 * as many of them as the table has names; all others stay of the class ANY. */
static const struct event_class *find_or_add_call(struct xentrace_classes *classes,
                                                  const struct event_class *any, uint32_t word,
                                                  unsigned n)
{
    struct arena *arena = &classes->catalogue->arena;
    /* Those without arguments are all alike. */
    uint64_t key = any->id << 32 | (word >> 20 ? word : 0);
    struct event_class *found = map_get(&classes->by_call, key);
    struct field fields[1 + 2 * XEN_CALL_ARGUMENTS];
    struct event_class class = *any;

    class.n_fields = call_fields(any, word, n, fields);
    if (class.n_fields == 0)
        return any;
    if (found)
        return found;
    class.fields = arena_memdup(arena, fields, class.n_fields * sizeof *fields);
    class.put_text = NULL;
    class.variant_of = any;
    if (!class.fields || catalogue_add(classes->catalogue, &class, &found) < 0 ||
        map_put(&classes->by_call, key, found) < 0)
        return NULL;
    return found;
}

const struct event_class *xentrace_call_slow(struct xentrace_classes *classes,
                                             const struct xentrace_known *known, uint32_t word)
{
    struct xentrace_known_call *call =
        &classes->known_calls[(word ^ known->key) * 0x9e3779b1u >> 24];
    const struct event_class *class =
        find_or_add_call(classes, known->class, word, xentrace_words(known->key));

    if (class)
        *call = (struct xentrace_known_call){known->key, word, class};
    return class;
}
