/* SPDX-License-Identifier: MIT */
#include "format/ctf/layout.h"

#include <inttypes.h>
#include <string.h>

#include "base/macro.h"
#include "format/ctf/layout_internal.h"

/* Of all streams together, up to the highest of each: as many entries are allocated. */
#define EVENT_IDS_MAX (64 * (CTF_ID_MAX + 1))

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

static bool has_vcpu_name(const struct ctf_type *type)
{
    for (uint32_t i = 0; type && i < type->n_members; i++)
        if (type->members[i].role == CTF_ROLE_VCPU && type->members[i].type->kind == CTF_STRING)
            return true;
    return false;
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
            return layout_wrong(m, decl->line, "streams with different clocks are not supported");
        layout->clock = clock;
    }
    return 0;
}

static int make_stream(struct maker *m, struct ctf_stream_class *stream)
{
    const struct ctf_stream_decl *decl = stream->decl;
    uint64_t n = 0;
    int r = 0;

    stream->has_times = decl->event_header && has_role(decl->event_header, CTF_ROLE_TIMESTAMP);
    if (stream->has_times)
        ctf_header_make(decl->event_header, &stream->header);
    for (const struct ctf_event_decl *e = stream->events; e; e = e->next_of_stream) {
        if (e->id > CTF_ID_MAX)
            return layout_wrong(m, e->line, "event id %" PRIu64 " is too large (maximum %d)", e->id,
                                CTF_ID_MAX);
        n = MAX(n, e->id + 1);
    }
    m->n_event_ids += n;
    if (m->n_event_ids > EVENT_IDS_MAX)
        return layout_wrong(m, decl->line,
                            "the highest event ids of all streams come to more than %d together",
                            EVENT_IDS_MAX);
    stream->classes = arena_alloc(&m->catalogue->arena, (size_t)(n + 1) * sizeof *stream->classes);
    if (!stream->classes)
        return -ENOMEM;
    stream->n_classes = (uint32_t)n;
    stream->vcpu_names = has_vcpu_name(decl->event_context); /* of exports before 0.2 */
    m->stream = stream;
    for (const struct ctf_event_decl *e = stream->events; e && r >= 0; e = e->next_of_stream) {
        if (stream->classes[e->id].class)
            return layout_wrong(m, e->line, "duplicate event id %" PRIu64, e->id);
        m->scopes.n = 0;
        stream->classes[e->id].decl = e;
        r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_PACKET_HEADER, m->metadata->packet_header);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_PACKET_CONTEXT, decl->packet_context);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_EVENT_HEADER, decl->event_header);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_EVENT_CONTEXT, decl->event_context);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_CONTEXT, e->context);
        if (r >= 0)
            r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_FIELDS, e->fields);
        if (r >= 0)
            r = layout_make_class(m, &stream->classes[e->id]);
        stream->vcpu_names = stream->vcpu_names || has_vcpu_name(e->context);
    }
    return r;
}

/* Headers of streams without events have references too. */
static int resolve_headers(struct maker *m, const struct ctf_stream_decl *decl)
{
    int r;

    m->scopes.n = 0;
    r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_PACKET_HEADER, m->metadata->packet_header);
    if (r >= 0)
        r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_PACKET_CONTEXT, decl->packet_context);
    if (r >= 0)
        r = ctf_scopes_enter(&m->scopes, CTF_ORIGIN_EVENT_HEADER, decl->event_header);
    return r < 0 ? r : ctf_scopes_enter(&m->scopes, CTF_ORIGIN_EVENT_CONTEXT, decl->event_context);
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
            return layout_wrong(m, layout->by_id[i]->decl->line, "duplicate stream id %" PRIu64,
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

/* Whether all that is in a packet begins at a byte, though the alignment of some of it does not ask for that. */
static bool is_of_bytes(const struct ctf_metadata *metadata)
{
    for (const struct ctf_type *type = metadata->types; type; type = type->next) {
        bool is_number =
            type->kind == CTF_INTEGER || type->kind == CTF_ENUM || type->kind == CTF_FLOAT;

        if (is_number && type->size % 8)
            return false;
        /* An array of these is text, or not, by its alignment (ctf_is_text_element()). */
        if (type->text && type->align < 8)
            return false;
    }
    return true;
}

/* So that the payloads of such a trace can be lent. */
static void align_to_bytes(struct ctf_metadata *metadata)
{
    if (is_of_bytes(metadata))
        for (struct ctf_type *type = metadata->types; type; type = type->next)
            type->align = MAX(type->align, 8U);
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
        m->scopes = (struct ctf_scopes){
            .metadata = metadata, .arena = &catalogue->arena, .exported = exported, .error = error};
        align_to_bytes(metadata);
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
