/* SPDX-License-Identifier: MIT */
#include "format/ctf/tsdl/tsdl.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "format/ctf/environment.h"
#include "format/ctf/tsdl/tsdl_parser.h"

/* ---- Blocks ---- */

/* A block's entries. VALUE is called with the token being the value and KEY what it is called; TYPE with
 * a type that is given by ":=". */
struct block {
    int (*value)(struct parser *p, const char *key, void *of);
    int (*type)(struct parser *p, const char *key, struct ctf_type *type, void *of);
    void *of;
};

static int read_entry(struct parser *p, const struct block *block)
{
    char key[64] = "";
    struct ctf_type *type;
    int r;

    if (p->token != TOKEN_WORD)
        return tsdl_wrong(p, "expected a name");
    if (p->len < sizeof key)
        memcpy(key, p->text, p->len + 1);
    r = tsdl_next(p);
    if (r < 0)
        return r;
    if (tsdl_at_mark(p, '=')) {
        r = tsdl_next(p);
        if (r >= 0 && p->token != TOKEN_WORD && p->token != TOKEN_STRING)
            return tsdl_wrong(p, "expected the value of %s", key);
        return r < 0 || !block->value ? r : block->value(p, key, block->of);
    }
    if (!tsdl_at_mark(p, MARK_IS))
        return tsdl_wrong(p, "expected '=' or ':=' after '%s'", key);
    r = tsdl_next(p);
    if (r >= 0)
        r = tsdl_read_type(p, &type, NULL);
    return r < 0 || !block->type ? r : block->type(p, key, type, block->of);
}

static int read_block(struct parser *p, const struct block *block)
{
    size_t scope = p->n_names;
    int r = tsdl_open_brace(p);

    while (r >= 0 && !tsdl_at_mark(p, '}')) {
        bool was = tsdl_at_mark(p, ';');

        r = was ? tsdl_next(p) : tsdl_read_type_statement(p, &was);
        if (r < 0 || was)
            continue;
        r = read_entry(p, block);
        if (r >= 0)
            r = tsdl_pass_over(p);
        if (r >= 0)
            r = tsdl_expect(p, ';');
    }
    p->n_names = scope;
    return r < 0 ? r : tsdl_close_brace(p);
}

static int trace_value(struct parser *p, const char *key, void *of)
{
    struct ctf_metadata *m = of;
    unsigned n = 0;

    if (strcmp(key, "byte_order") == 0) {
        enum ctf_order order;
        int r = tsdl_to_order(p, &order);

        m->big_endian = r >= 0 && order == CTF_ORDER_BE;
        return r;
    }
    if (strcmp(key, "major") == 0 || strcmp(key, "minor") == 0) {
        int64_t number = 0;
        int r = tsdl_to_number(p, &number);

        return r >= 0 && key[1] == 'a' && number != 1
                   ? tsdl_wrong(p, "unsupported version %s of CTF (supported: 1.8 and 2)", p->text)
                   : r;
    }
    if (strcmp(key, "uuid") != 0)
        return 0;
    for (const char *q = p->text; *q && n < 32; q++) {
        if (!isxdigit((unsigned char)*q))
            continue;
        m->uuid[n / 2] = (uint8_t)((unsigned)m->uuid[n / 2] << 4 | tsdl_digit(*q));
        n++;
    }
    if (n != 32)
        return tsdl_wrong(p, "invalid UUID '%s'", p->text);
    m->has_uuid = true;
    return 0;
}

/* Headers and contexts are structs. */
static int to_struct(struct parser *p, const char *key, struct ctf_type *type,
                     struct ctf_type **ret)
{
    if (type->kind != CTF_STRUCT)
        return tsdl_wrong(p, "%s is not a struct", key);
    *ret = type;
    return 0;
}

static int trace_type(struct parser *p, const char *key, struct ctf_type *type, void *of)
{
    struct ctf_metadata *m = of;

    return strcmp(key, "packet.header") == 0 ? to_struct(p, key, type, &m->packet_header) : 0;
}

static int keep_number(struct parser *p, const char *key, int64_t number)
{
    struct environment_number *kept = arena_alloc(p->arena, sizeof *kept);

    if (!kept)
        return -ENOMEM;
    *kept = (struct environment_number){p->numbers, arena_strdup(p->arena, key), number};
    p->numbers = kept;
    return kept->key ? 0 : -ENOMEM;
}

static int env_value(struct parser *p, const char *key, void *of)
{
    bool is_number = tsdl_is_number(p);
    int64_t number = 0;
    int r = is_number ? tsdl_to_number(p, &number) : 0;

    if (is_number && r >= 0)
        r = keep_number(p, key, number);
    return r < 0 ? r : ctf_environment_set(of, p->arena, key, is_number ? NULL : p->text, number);
}

static int clock_value(struct parser *p, const char *key, void *of)
{
    struct ctf_clock *clock = of;
    int64_t number = 0;
    int r;

    if (strcmp(key, "name") == 0)
        return tsdl_keep(p, &clock->name);
    if (strcmp(key, "uuid") == 0)
        return tsdl_keep(p, &clock->uuid);
    if (strcmp(key, "offset_s") == 0)
        return tsdl_to_number(p, &clock->offset_s);
    if (strcmp(key, "offset") == 0)
        return tsdl_to_number(p, &clock->offset);
    if (strcmp(key, "freq") != 0)
        return 0;
    r = tsdl_to_number(p, &number);
    if (r >= 0 && number <= 0)
        return tsdl_wrong(p, "invalid clock frequency %" PRId64, number);
    clock->hz = (uint64_t)number;
    return r;
}

static int read_clock(struct parser *p)
{
    struct ctf_clock *clock = arena_alloc(p->arena, sizeof *clock);
    struct block block = {.value = clock_value, .of = clock};
    int r;

    if (!clock)
        return -ENOMEM;
    clock->hz = 1000000000; /* the default of the format */
    r = read_block(p, &block);
    if (r >= 0 && !clock->name)
        return tsdl_wrong(p, "clock without a name");
    clock->since_1970 = clock->offset_s || clock->offset;
    clock->next = p->metadata->clocks;
    p->metadata->clocks = clock;
    return r;
}

static int to_id(struct parser *p, uint64_t *ret)
{
    int64_t number = 0;
    int r = tsdl_to_number(p, &number);

    *ret = (uint64_t)number;
    return r;
}

static int stream_value(struct parser *p, const char *key, void *of)
{
    struct ctf_stream_decl *stream = of;

    return strcmp(key, "id") == 0 ? to_id(p, &stream->id) : 0;
}

static int stream_type(struct parser *p, const char *key, struct ctf_type *type, void *of)
{
    struct ctf_stream_decl *stream = of;

    if (strcmp(key, "packet.context") == 0)
        return to_struct(p, key, type, &stream->packet_context);
    if (strcmp(key, "event.header") == 0)
        return to_struct(p, key, type, &stream->event_header);
    if (strcmp(key, "event.context") == 0)
        return to_struct(p, key, type, &stream->event_context);
    return 0;
}

static int read_stream(struct parser *p)
{
    struct ctf_stream_decl *stream = arena_alloc(p->arena, sizeof *stream);
    struct block block = {.value = stream_value, .type = stream_type, .of = stream};

    if (!stream)
        return -ENOMEM;
    stream->line = p->line;
    stream->next = p->metadata->streams;
    p->metadata->streams = stream;
    return read_block(p, &block);
}

static int event_value(struct parser *p, const char *key, void *of)
{
    struct ctf_event_decl *event = of;

    if (strcmp(key, "id") == 0)
        return to_id(p, &event->id);
    if (strcmp(key, "stream_id") == 0)
        return to_id(p, &event->stream);
    return strcmp(key, "name") == 0 ? tsdl_keep(p, &event->name) : 0;
}

static int event_type(struct parser *p, const char *key, struct ctf_type *type, void *of)
{
    struct ctf_event_decl *event = of;

    if (strcmp(key, "fields") == 0)
        return to_struct(p, key, type, &event->fields);
    if (strcmp(key, "context") == 0)
        return to_struct(p, key, type, &event->context);
    return 0;
}

static int read_event(struct parser *p)
{
    struct ctf_event_decl *event = arena_alloc(p->arena, sizeof *event);
    struct block block = {.value = event_value, .type = event_type, .of = event};
    int r;

    if (!event)
        return -ENOMEM;
    event->line = p->line;
    p->group = NULL;
    p->format = NULL;
    r = read_block(p, &block);
    if (r >= 0 && !event->name)
        return error_on_line(p->error, -EBADMSG, p->path, event->line, "event without a name");
    event->group = p->group;
    event->format = p->format;
    *p->last_event = event;
    p->last_event = &event->next;
    return r;
}

/* ---- All of it ---- */

static int read_statement(struct parser *p)
{
    struct block trace = {.value = trace_value, .type = trace_type, .of = p->metadata};
    struct block env = {.value = env_value, .of = p->metadata};
    struct ctf_type *type;
    bool was;
    int r = tsdl_read_type_statement(p, &was);

    if (r < 0 || was)
        return r;
    if (tsdl_at_word(p, "trace") || tsdl_at_word(p, "env")) {
        bool is_trace = p->text[0] == 't';

        r = tsdl_next(p);
        if (r >= 0)
            r = read_block(p, is_trace ? &trace : &env);
    } else if (tsdl_at_word(p, "clock") || tsdl_at_word(p, "stream") || tsdl_at_word(p, "event")) {
        int (*read)(struct parser *) = p->text[0] == 'c'   ? read_clock
                                       : p->text[0] == 's' ? read_stream
                                                           : read_event;

        r = tsdl_next(p);
        if (r >= 0)
            r = read(p);
    } else if (tsdl_at_word(p, "struct") || tsdl_at_word(p, "enum") || tsdl_at_word(p, "variant")) {
        r = tsdl_read_keyword(p, &type);
    } else if (tsdl_at_word(p, "callsite")) {
        r = tsdl_pass_over(p);
    } else if (!tsdl_at_mark(p, ';')) {
        return tsdl_wrong(p, "expected trace, env, clock, stream, event or a type");
    }
    return r < 0 ? r : tsdl_expect(p, ';');
}

bool ctf_tsdl_probe(const void *head, size_t n)
{
    static const char magic[] = "/* CTF 1.8";
    /* What a text without that comment begins with; LTTng 2.14 writes such texts. */
    static const char *const words[] = {"typealias", "trace",  "env",  "clock",  "stream",
                                        "event",     "struct", "enum", "variant"};
    const char *p = head, *end = p + n;

    if (n >= strlen(magic) && memcmp(head, magic, strlen(magic)) == 0)
        return true;
    while (p < end && isspace((unsigned char)*p))
        p++;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(end - p) > len && memcmp(p, words[i], len) == 0 &&
            (isspace((unsigned char)p[len]) || p[len] == '{'))
            return true;
    }
    return false;
}

int ctf_tsdl_parse(const char *path, const char *text, size_t len, struct arena *arena,
                   struct ctf_metadata *ret, struct error *error)
{
    struct ctf_metadata metadata = {.path = path, .pid = -1};
    struct parser *p = malloc(sizeof *p);
    int r = -ENOMEM;

    if (p) {
        *p = (struct parser){.path = path,
                             .at = text,
                             .end = text + len,
                             .line = 1,
                             .error = error,
                             .arena = arena,
                             .metadata = &metadata,
                             .last_event = &metadata.events};
        r = tsdl_next(p);
        while (r >= 0 && p->token != TOKEN_END)
            r = read_statement(p);
        free(p->names);
    }
    free(p);
    if (r < 0)
        return error_set(error, r, path, "out of memory");
    for (struct ctf_type *type = metadata.types; type; type = type->next)
        if (type->order == CTF_ORDER_NATIVE)
            type->order = metadata.big_endian ? CTF_ORDER_BE : CTF_ORDER_LE;
    *ret = metadata;
    return 0;
}
