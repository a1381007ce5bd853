/* SPDX-License-Identifier: MIT */
/* The events of a packet. */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "event/value.h"
#include "event/xen_vcpu.h"
#include "format/ctf/reader.h"

/* ---- Payloads that are made ---- */

static uint8_t *make_room(struct ctf *c, size_t size)
{
    uint8_t *p = c->made + c->made_len;

    if (size > c->made_room - c->made_len)
        return NULL;
    c->made_len += size;
    return p;
}

static int make_number(void *arg, const struct ctf_member *member, uint64_t value)
{
    struct ctf *c = arg;
    uint8_t *p;

    if (!ctf_in_payload(member, c->in_context)) {
        if (member->role == CTF_ROLE_CPU)
            c->event_cpu = (int32_t)value;
        else if (member->role == CTF_ROLE_TID)
            c->event_tid = (int32_t)value;
        else if (member->role == CTF_ROLE_VCPU)
            c->event_vcpu = (int32_t)value;
        return 0;
    }
    p = make_room(c, 8);
    if (!p)
        return -ENOBUFS;
    store_u64(p, value);
    return 0;
}

static int put_text(struct ctf *c, const char *text, size_t len)
{
    uint8_t *p = make_room(c, len + 1);

    if (!p)
        return -ENOBUFS;
    memcpy(p, text, len);
    p[len] = '\0';
    return 0;
}

/* A text that is not in UTF-8. */
static _cold_ int put_converted(struct ctf *c, enum encoding encoding, const char *text, size_t len)
{
    c->scratch.next = c->scratch.start;
    encoded_put(encoding, text, len, &c->scratch);
    return c->scratch.error
               ? -ENOMEM
               : put_text(c, c->scratch.start ? c->scratch.start : "", text_len(&c->scratch));
}

static int make_text(void *arg, const struct ctf_member *member, const char *text, uint64_t len)
{
    struct ctf *c = arg;
    enum encoding encoding = ctf_encoding_of(member->type);

    if (c->in_context && member->role == CTF_ROLE_VCPU)
        return len && xen_vcpu_parse(text, (size_t)len, &c->event_vcpu) < 0 ? -EBADMSG : 0;
    if (!ctf_in_payload(member, c->in_context)) {
        c->heard.name = text;
        c->heard.name_len = len;
        return 0;
    }
    return likely(encoding == ENCODING_UTF_8) ? put_text(c, text, (size_t)len)
                                              : put_converted(c, encoding, text, (size_t)len);
}

static int make_array(void *arg, const struct ctf_member *member, uint64_t n)
{
    struct ctf *c = arg;
    uint8_t *p;

    if (!ctf_in_payload(member, c->in_context))
        return 0;
    p = make_room(c, 4);
    if (!p)
        return -ENOBUFS;
    store_u32(p, (uint32_t)(n * ctf_made_element(member->type->element)));
    return 0;
}

static int make_element(void *arg, const struct ctf_member *member, uint64_t value)
{
    struct ctf *c = arg;
    unsigned size = ctf_made_element(member->type->element);
    uint8_t *p;

    if (!ctf_in_payload(member, c->in_context))
        return 0;
    p = make_room(c, size);
    if (!p)
        return -ENOBUFS;
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        value <<= 64 - 8 * size;
    memcpy(p, &value, size);
    return 0;
}

static int make_choice(void *arg, uint32_t number)
{
    struct ctf *c = arg;

    if (c->shape)
        c->shape = c->shape->next[number];
    return 0;
}

/* What is JSON: text. */
static int make_json(void *arg, struct ctf_cursor *cursor, const struct ctf_member *member)
{
    struct ctf *c = arg;
    int r;

    if (!ctf_in_payload(member, c->in_context))
        return ctf_pass(cursor, member);
    c->scratch.next = c->scratch.start;
    r = ctf_walk_json(cursor, member, &c->scratch);
    return r < 0 ? r : put_text(c, c->scratch.start, text_len(&c->scratch));
}

/* Walks contexts and fields at CURSOR. */
static int make_payload(struct ctf *c, struct ctf_cursor *cursor, const struct ctf_class *class)
{
    struct ctf_visitor visitor = {.number = make_number,
                                  .text = make_text,
                                  .array = make_array,
                                  .element = make_element,
                                  .choice = make_choice,
                                  .whole = make_json,
                                  .arg = c,
                                  .whole_variants = class->whole_variants};
    const struct ctf_type *context = c->class->decl->event_context;
    int r = 0;

    c->event = class;
    c->shape = class->shape;
    c->heard.name_len = 0;
    c->in_context = true;
    if (context)
        r = ctf_walk(cursor, context, &visitor);
    if (r >= 0 && class->decl->context)
        r = ctf_walk(cursor, class->decl->context, &visitor);
    c->in_context = false;
    if (r >= 0 && class->whole_fields)
        r = make_json(c, cursor, &(struct ctf_member){.type = class->decl->fields});
    else if (r >= 0 && class->decl->fields)
        r = ctf_walk(cursor, class->decl->fields, &visitor);
    return r;
}

/* ---- Records ---- */

static int no_such_event(struct ctf *c, uint64_t id)
{
    return ctf_damaged(c, "unknown event id %" PRIu64 ": the metadata does not declare it", id);
}

static int cut_event(struct ctf *c)
{
    return ctf_damaged(c, "the packet ends in the middle of an event");
}

/* One record of any kind. Returns as the above; -ENOBUFS: no room for its payload. */
int ctf_walk_record(struct ctf *c, unsigned *n)
{
    const struct ctf_stream_class *stream = c->class;
    struct ctf_cursor cursor = ctf_cursor_of(c);
    struct item *item = &c->items[*n];
    uint64_t ticks = c->heard.ticks;
    size_t made = c->made_len;
    const struct ctf_class *class;
    size_t size = 0;
    uint64_t id = 0;
    int r;

    c->event_tid = c->tid;
    c->event_cpu = c->cpu;
    c->event_vcpu = VCPU_UNKNOWN;
    c->heard.has = 0;
    r = ctf_walk_header(c, &cursor, stream->decl->event_header);
    if (r >= 0) {
        id = ctf_has(&c->heard, CTF_ROLE_ID) ? c->heard.values[CTF_ROLE_ID] : 0;
        if (id >= stream->n_classes || !stream->classes[id].class) {
            c->heard.ticks = ticks;
            return no_such_event(c, id);
        }
        class = &stream->classes[id];
        if (!class->direct) {
            r = make_payload(c, &cursor, class);
            *item = (struct item){.payload = c->made + made};
            size = c->made_len - made;
        } else {
            cursor.position = (cursor.position + 7) & ~UINT64_C(7);
            *item = (struct item){.payload = cursor.base + (cursor.position - cursor.origin) / 8};
            r = cursor.position > cursor.end ? -EAGAIN : 0;
            if (r >= 0)
                size =
                    ctf_size_of(class, item->payload, (size_t)((cursor.end - cursor.position) / 8));
            if (size == SIZE_MAX)
                r = -EAGAIN;
            if (r >= 0)
                cursor.position += 8 * (uint64_t)size;
        }
    }
    if (r >= 0 && cursor.position == c->position)
        r = ctf_damaged(c, "event of size 0");
    if (r < 0) {
        c->heard.ticks = ticks;
        c->made_len = made;
        if (r == -EAGAIN)
            return cursor.end < c->content ? 0 : cut_event(c);
        if (r == -E2BIG)
            return ctf_damaged(c, "array of structures of more than %zu bytes as text",
                               CTF_JSON_MAX);
        return r == -EBADMSG
                   ? ctf_damaged(c, "event with an invalid variant, array, byte order or vCPU")
                   : r;
    }
    c->event_comm = c->comm;
    if (!class->direct && c->heard.name_len) {
        r = ctf_note_thread(c, c->event_tid, c->heard.name, c->heard.name_len, &c->event_comm);
        if (r < 0)
            return r;
    }
    if (unlikely(!ctf_has_time(c->trace, c->heard.ticks)))
        return ctf_time_is_damaged(c, c->heard.ticks);
    item->time = stream->has_times ? ctf_to_ns(c->trace, c->heard.ticks) : TIME_UNKNOWN;
    if (c->trace->strata)
        item->time = MAX(item->time, c->last);
    item->origin = ctf_origin_of(c);
    item->class = class->shape ? c->shape->class : class->class;
    item->size = (uint32_t)size;
    item->cpu = c->event_cpu;
    item->pid = c->event_tid;
    item->vcpu = c->event_vcpu;
    item->comm = c->event_comm;
    item->kind = ITEM_EVENT;
    item->before_loss = false;
    if (class->thread >= 0)
        item->pid = (int32_t)item_value(item, (unsigned)class->thread).u;
    c->last = item->time;
    (*n)++;
    ctf_move_to(c, cursor.position);
    return 1;
}
