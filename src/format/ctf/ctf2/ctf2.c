/* SPDX-License-Identifier: MIT */
/* The fragments of CTF 2's metadata. */
#include "format/ctf/ctf2/ctf2.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf/ctf2/ctf2_parser.h"
#include "format/ctf/environment.h"

#define RECORD_SEPARATOR '\x1e'

int ctf2_get_string(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                    const char **ret)
{
    const json_t *value = json_object_get(object, key);

    if (!value && !required)
        return 0;
    if (!json_is_string(value))
        return ctf2_wrong(p, "'%s' is %s", key, value ? "not a string" : "missing");
    *ret = json_string_value(value);
    return 0;
}

int ctf2_get_integer(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                     int64_t least, int64_t *ret)
{
    const json_t *value = json_object_get(object, key);

    if (!value && !required)
        return 0;
    if (!json_is_integer(value))
        return ctf2_wrong(p, "'%s' is %s", key, value ? "not an integer" : "missing");
    if (json_integer_value(value) < least)
        return ctf2_wrong(p, "invalid '%s' %lld", key, (long long)json_integer_value(value));
    *ret = json_integer_value(value);
    return 0;
}

/* A copy of the string KEY; NULL: there is none. */
static int keep_string(struct ctf2_parser *p, const json_t *object, const char *key, bool required,
                       const char **ret)
{
    const char *s = NULL;
    int r = ctf2_get_string(p, object, key, required, &s);

    if (r < 0 || !s)
        return r;
    *ret = arena_strdup(p->arena, s);
    return *ret ? 0 : -ENOMEM;
}

static int read_uuid(struct ctf2_parser *p, const json_t *uuid)
{
    struct ctf_metadata *m = p->metadata;

    if (json_array_size(uuid) != sizeof m->uuid)
        return ctf2_wrong(p, "'uuid' is not an array of 16 integers");
    for (size_t i = 0; i < sizeof m->uuid; i++) {
        const json_t *byte = json_array_get(uuid, i);

        if (!json_is_integer(byte) || json_integer_value(byte) < 0 ||
            json_integer_value(byte) > 255)
            return ctf2_wrong(p, "'uuid' is not an array of 16 integers");
        m->uuid[i] = (uint8_t)json_integer_value(byte);
    }
    m->has_uuid = true;
    return 0;
}

static int read_preamble(struct ctf2_parser *p, json_t *fragment)
{
    const json_t *uuid = json_object_get(fragment, "uuid");
    json_t *extensions = json_object_get(fragment, "extensions");
    int64_t version = 0;
    int r = ctf2_get_integer(p, fragment, "version", true, 0, &version);

    if (r < 0)
        return r;
    if (version != 2)
        return ctf2_wrong(p, "CTF %" PRId64 " is not supported", version);
    if (p->has_preamble)
        return ctf2_wrong(p, "a second preamble");
    p->has_preamble = true;
    if (json_object_size(extensions))
        return ctf2_wrong(p, "the extension '%s' is not supported",
                          json_object_iter_key(json_object_iter(extensions)));
    return uuid ? read_uuid(p, uuid) : 0;
}

static int read_alias(struct ctf2_parser *p, json_t *fragment)
{
    json_t *class = json_object_get(fragment, "field-class");
    const char *name = NULL;
    int r = ctf2_get_string(p, fragment, "name", true, &name);

    if (r < 0)
        return r;
    if (json_is_string(class))
        class = map_get_str(&p->aliases, json_string_value(class), json_string_length(class));
    if (!json_is_object(class))
        return ctf2_wrong(p, "the alias '%s' has no field class", name);
    name = arena_strdup(p->arena, name);
    if (!name)
        return -ENOMEM;
    if (map_get_str(&p->aliases, name, strlen(name)))
        return ctf2_wrong(p, "a second alias '%s'", name);
    r = map_put_str(&p->aliases, name, strlen(name), class);
    if (r >= 0)
        json_incref(class);
    return r;
}

/* The first packet header's magic tells the byte order by which packets are found after damage. */
static void set_order(struct ctf_metadata *m)
{
    const struct ctf_type *header = m->packet_header;

    for (uint32_t i = 0; header && i < header->n_members; i++)
        if (header->members[i].role == CTF_ROLE_MAGIC)
            m->big_endian = header->members[i].type->order == CTF_ORDER_BE;
}

static int read_trace(struct ctf2_parser *p, json_t *fragment)
{
    json_t *environment = json_object_get(fragment, "environment");
    const char *key;
    json_t *value;
    int r;

    if (p->metadata->streams)
        return ctf2_wrong(p, "a trace class after a data stream class");
    r = ctf2_read_root(p, fragment, "packet-header-field-class", SCOPE_PACKET_HEADER,
                       &p->metadata->packet_header);
    set_order(p->metadata);
    json_object_foreach(environment, key, value)
    {
        if (r >= 0)
            r = ctf_environment_set(p->metadata, p->arena, key, json_string_value(value),
                                    json_integer_value(value));
    }
    return r;
}

static int read_clock(struct ctf2_parser *p, json_t *fragment)
{
    struct ctf_clock *clock = arena_alloc(p->arena, sizeof *clock);
    const json_t *offset = json_object_get(fragment, "offset-from-origin");
    const json_t *origin = json_object_get(fragment, "origin");
    int64_t hz = 0;
    int r;

    if (!clock)
        return -ENOMEM;
    r = keep_string(p, fragment, "id", true, &clock->id);
    if (r >= 0) {
        clock->name = clock->id;
        r = keep_string(p, fragment, "name", false, &clock->name);
    }
    if (r >= 0)
        r = keep_string(p, fragment, "uid", false, &clock->uuid);
    if (r >= 0)
        r = ctf2_get_integer(p, fragment, "frequency", true, 1, &hz);
    if (r >= 0)
        r = ctf2_get_integer(p, offset, "seconds", false, INT64_MIN, &clock->offset_s);
    if (r >= 0)
        r = ctf2_get_integer(p, offset, "cycles", false, 0, &clock->offset);
    if (r < 0)
        return r;
    clock->hz = (uint64_t)hz;
    clock->since_1970 =
        json_is_string(origin) && strcmp(json_string_value(origin), "unix-epoch") == 0;
    clock->next = p->metadata->clocks;
    p->metadata->clocks = clock;
    return 0;
}

static int find_clock(struct ctf2_parser *p, json_t *fragment)
{
    const char *id = NULL;
    int r = ctf2_get_string(p, fragment, "default-clock-class-id", false, &id);

    p->clock = r >= 0 && id ? p->metadata->clocks : NULL;
    while (p->clock && strcmp(p->clock->id, id) != 0)
        p->clock = p->clock->next;
    return r >= 0 && id && !p->clock ? ctf2_wrong(p, "undeclared clock class '%s'", id) : r;
}

static int read_stream(struct ctf2_parser *p, json_t *fragment)
{
    struct ctf_stream_decl *stream = arena_alloc(p->arena, sizeof *stream);
    int64_t id = 0;
    int r;

    if (!stream)
        return -ENOMEM;
    stream->line = p->line;
    r = find_clock(p, fragment);
    if (r >= 0)
        r = ctf2_get_integer(p, fragment, "id", false, 0, &id);
    if (r >= 0)
        r = ctf2_read_root(p, fragment, "packet-context-field-class", SCOPE_PACKET_CONTEXT,
                           &stream->packet_context);
    if (r >= 0)
        r = ctf2_read_root(p, fragment, "event-record-header-field-class", SCOPE_EVENT_HEADER,
                           &stream->event_header);
    if (r >= 0)
        r = ctf2_read_root(p, fragment, "event-record-common-context-field-class", SCOPE_EVENT,
                           &stream->event_context);
    stream->id = (uint64_t)id;
    stream->next = p->metadata->streams;
    p->metadata->streams = stream;
    return r;
}

static int read_event(struct ctf2_parser *p, json_t *fragment)
{
    struct ctf_event_decl *event = arena_alloc(p->arena, sizeof *event);
    int64_t id = 0, stream = 0;
    char name[40];
    int r;

    if (!event)
        return -ENOMEM;
    event->line = p->line;
    r = ctf2_get_integer(p, fragment, "id", false, 0, &id);
    if (r >= 0)
        r = ctf2_get_integer(p, fragment, "data-stream-class-id", false, 0, &stream);
    if (r >= 0)
        r = keep_string(p, fragment, "name", false, &event->name);
    if (r >= 0)
        r = ctf2_read_root(p, fragment, "specific-context-field-class", SCOPE_EVENT,
                           &event->context);
    if (r >= 0)
        r = ctf2_read_root(p, fragment, "payload-field-class", SCOPE_EVENT, &event->fields);
    if (r < 0)
        return r;
    event->id = (uint64_t)id;
    event->stream = (uint64_t)stream;
    if (!event->name) {
        snprintf(name, sizeof name, "event_%" PRId64, id);
        event->name = arena_strdup(p->arena, name);
    }
    *p->last_event = event;
    p->last_event = &event->next;
    return event->name ? 0 : -ENOMEM;
}

static int read_fragment(struct ctf2_parser *p, json_t *fragment)
{
    static const struct {
        const char *type;
        int (*read)(struct ctf2_parser *p, json_t *fragment);
    } types[] = {
        {"preamble", read_preamble},        {"field-class-alias", read_alias},
        {"trace-class", read_trace},        {"clock-class", read_clock},
        {"data-stream-class", read_stream}, {"event-record-class", read_event},
    };
    const char *type = NULL;
    int r;

    if (!json_is_object(fragment))
        return ctf2_wrong(p, "the fragment is not an object");
    r = ctf2_get_string(p, fragment, "type", true, &type);
    if (r < 0)
        return r;
    if (!p->has_preamble && strcmp(type, "preamble") != 0)
        return ctf2_wrong(p, "the first fragment is not a preamble");
    p->clock = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (strcmp(type, types[i].type) == 0)
            return types[i].read(p, fragment);
    return ctf2_wrong(p, "unknown type of fragment '%s'", type);
}

static uint32_t count_lines(const char *text, size_t len)
{
    uint32_t n = 0;

    for (const char *end = text + len; (text = memchr(text, '\n', (size_t)(end - text))); text++)
        n++;
    return n;
}

/* The JSON text from AT to END, which begins in p->line. */
static int read_text(struct ctf2_parser *p, const char *at, const char *end)
{
    json_error_t why;
    json_t *fragment;
    int r;

    fragment = ctf2_load(at, end, &why);
    if (!fragment && json_error_code(&why) == json_error_out_of_memory)
        return -ENOMEM;
    if (!fragment) {
        p->line += why.line > 0 ? (uint32_t)why.line - 1 : 0;
        return ctf2_wrong(p, "not JSON: %s", why.text);
    }
    r = read_fragment(p, fragment);
    json_decref(fragment);
    return r;
}

bool ctf2_probe(const void *head, size_t n)
{
    const char *p = head;
    size_t i = 1;

    if (n < 2 || p[0] != RECORD_SEPARATOR)
        return false;
    while (i < n && (p[i] == ' ' || p[i] == '\t' || p[i] == '\r' || p[i] == '\n'))
        i++;
    return i == n || p[i] == '{';
}

static void free_aliases(struct ctf2_parser *p)
{
    uint64_t key;
    size_t i = 0;
    void *alias;

    while (map_next(&p->aliases, &i, &key, &alias))
        json_decref(alias);
    map_done(&p->aliases);
}

int ctf2_parse(const char *path, const char *text, size_t len, struct arena *arena,
               struct ctf_metadata *ret, struct error *error)
{
    struct ctf_metadata metadata = {.path = path, .pid = -1, .version = 2};
    struct ctf2_parser parser = {.path = path,
                                 .line = 1,
                                 .error = error,
                                 .arena = arena,
                                 .metadata = &metadata,
                                 .last_event = &metadata.events};
    const char *end = text + len;
    uint32_t line = 1;
    int r = 0;

    while (r >= 0 && text < end) {
        const char *next = memchr(text + 1, RECORD_SEPARATOR, (size_t)(end - text) - 1);

        next = next ? next : end;
        parser.line = line;
        if (*text != RECORD_SEPARATOR)
            r = ctf2_wrong(&parser, "not a record separator before the first fragment");
        else
            r = read_text(&parser, text + 1, next);
        line += count_lines(text, (size_t)(next - text));
        text = next;
    }
    free_aliases(&parser);
    if (r < 0)
        return error_set(error, r, path, "out of memory");
    *ret = metadata;
    return 0;
}
