/* SPDX-License-Identifier: MIT */
/* Events whose headers are known (header.h) and whose payloads are the bytes of the stream: most of all streams. */
#include <string.h>

#include "event/value.h"
#include "format/ctf/reader.h"

size_t ctf_size_of_strings(const struct ctf_class *of, const uint8_t *p, size_t left)
{
    const struct event_class *class = of->class;
    size_t size = 0;

    for (unsigned i = 0; i < class->n_fields; i++) {
        if (class->fields[i].storage == STORE_NUL_ENDED) {
            size_t len = strnlen((const char *)p + size, left - size);

            if (len == left - size)
                return SIZE_MAX;
            size += len + 1;
        } else {
            if (class->fields[i].size > left - size)
                return SIZE_MAX;
            size += class->fields[i].size;
        }
    }
    return size;
}

_hot_ int ctf_walk_records(struct ctf *c, unsigned *n)
{
    const struct ctf_trace *trace = c->trace;
    const struct ctf_stream_class *stream = c->class;
    const struct ctf_header *header = &stream->header;
    const struct origin *origin = ctf_origin_of(c);
    uint64_t align = MAX(header->align, 8U) - 1;
    uint64_t there = c->origin + 8 * (uint64_t)input_buffered(&c->in);
    const uint8_t *end = input_at(&c->in) + (MIN(there, c->content) - c->origin) / 8;
    struct item *item = c->items + *n;
    const struct item *items_end = c->items + RUN_MAX - LOSSES_MAX;
    uint64_t position = c->position;
    int r = 2;

    /* Only a packet's first event may begin inside of a byte. */
    while (item < items_end && position % 8 == 0) {
        const uint8_t *p = input_at(&c->in) + (((position + align) & ~align) - c->origin) / 8;
        const struct ctf_header_form *form;
        const struct ctf_class *class;
        uint64_t id, ticks;
        size_t size;

        /* The last ones before the end of what is there are left to the other way. */
        if (unlikely(p > end || (size_t)(end - p) < header->bytes))
            break;
        form = ctf_header_form(header, p);
        if (unlikely(!form))
            break;
        id = ctf_place_read(&form->id, p);
        if (unlikely(id >= stream->n_classes || !stream->classes[id].direct))
            break;
        class = &stream->classes[id];
        ticks = c->heard.ticks;
        if (likely(form->time.size))
            ticks +=
                (ctf_place_read(&form->time, p) - ticks) & ~UINT64_C(0) >> (64 - form->time.size);
        p += (form->size + 7) / 8;
        if (unlikely(p > end || !ctf_has_time(trace, ticks)))
            break;
        size = ctf_size_of(class, p, (size_t)(end - p));
        if (unlikely(size == SIZE_MAX))
            break;
        c->heard.ticks = ticks;
        c->last = trace->strata ? MAX(ctf_to_ns(trace, ticks), c->last) : ctf_to_ns(trace, ticks);
        *item = (struct item){
            .time = c->last,
            .origin = origin,
            .class = class->class,
            .payload = p,
            .size = (uint32_t)size,
            .cpu = c->cpu,
            .pid = c->tid,
            .vcpu = VCPU_UNKNOWN,
            .comm = c->comm,
            .kind = ITEM_EVENT,
        };
        if (unlikely(class->thread >= 0))
            item->pid = (int32_t)item_value(item, (unsigned)class->thread).u;
        item++;
        position = c->origin + 8 * (uint64_t)(p + size - input_at(&c->in));
    }
    if (item > c->items + *n)
        r = 1;
    *n = (unsigned)(item - c->items);
    ctf_move_to(c, position);
    return r;
}
