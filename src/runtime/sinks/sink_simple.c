/* SPDX-License-Identifier: MIT */
#include "runtime/sinks/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/macro.h"
#include "runtime/sinks/drain_pass.h"
#include "runtime/sinks/output.h"

/* QEMU's simpletrace, version 4, in the machine's byte order:
 *
 *   header    u64 0xffffffffffffffff, u64 0xf2b177cb0aa429b4, u64 4
 *   mapping   u64 0, u64 event id, u32 length, the event's name
 *   event     u64 1, u64 event id, u64 ns, u32 bytes from the id on, u32 pid, arguments
 *   argument  u64, signed ones sign-extended; a string: u32 length, its bytes
 *   dropped   an event with the id 0xfffffffffffffffe and one argument, how many
 *
 * An event's mapping is written before its first record. */

#define HEADER_ID UINT64_MAX
#define HEADER_MAGIC UINT64_C(0xf2b177cb0aa429b4)
#define DROPPED_ID (UINT64_MAX - 1)
#define VERSION 4

enum {
    RECORD_MAPPING = 0,
    RECORD_EVENT = 1,
};

#define BUFFER_SIZE (1U << 20)

struct simple {
    struct output output;
    uint32_t pid;
    uint8_t *at;
    uint8_t *end;
    uint8_t *note;         /* of events that this sink lost, in the buffer; NULL: there is none */
    uint64_t reported;     /* the sink's `reported` after the buffer is written */
    uint64_t mapped[1024]; /* a bit for each class id: the file has its name */
    uint8_t buffer[BUFFER_SIZE];
};

static void put(struct simple *s, const void *bytes, size_t n)
{
    memcpy(s->at, bytes, n);
    s->at += n;
}

static inline void put_u64(struct simple *s, uint64_t value)
{
    memcpy(s->at, &value, sizeof(value));
    s->at += sizeof(value);
}

static inline void put_u32(struct simple *s, uint32_t value)
{
    memcpy(s->at, &value, sizeof(value));
    s->at += sizeof(value);
}

static int simple_open(struct trace_sink *sink)
{
    _cleanup_free_ char *path = sink_path(sink);
    struct simple *s = malloc(sizeof(*s));
    const uint64_t header[] = {HEADER_ID, HEADER_MAGIC, VERSION};
    const struct iovec piece = {(void *)header, sizeof(header)};
    int r = -ENOMEM;

    if (!path || !s)
        goto fail;
    s->output = (struct output){.file = DESCRIPTOR_NONE, .may_wait = pass_may_wait};
    r = output_open(&s->output, path);
    if (r < 0)
        goto fail;
    r = output_write(&s->output, &piece, 1);
    if (r < 0) {
        output_done(&s->output);
        goto fail;
    }
    s->pid = (uint32_t)getpid();
    s->at = s->buffer;
    s->end = s->buffer + sizeof(s->buffer);
    s->note = NULL;
    s->reported = sink->reported;
    memset(s->mapped, 0, sizeof(s->mapped));
    sink->state = s;
    return 0;

fail:
    free(s);
    return r;
}

/* The size of the record at P. *RET_LOST: how many events are lost if it cannot be written: it is one, or the note
 * of so many that were dropped. */
static size_t size_of(const struct simple *s, const uint8_t *p, uint64_t *ret_lost)
{
    uint64_t type, id;
    uint32_t length;

    memcpy(&type, p, sizeof(type));
    memcpy(&id, p + 8, sizeof(id));
    *ret_lost = 0;
    if (type == RECORD_MAPPING) {
        memcpy(&length, p + 16, sizeof(length));
        return 20 + (size_t)length;
    }
    if (id != DROPPED_ID)
        *ret_lost = 1;
    else if (p != s->note)
        memcpy(ret_lost, p + 32, sizeof(*ret_lost));
    memcpy(&length, p + 24, sizeof(length));
    return 8 + (size_t)length;
}

#define CHUNK 4096

/* Writes the records for which there is space, whole, CHUNK bytes or one record at once. Returns how many events
 * are lost. */
static uint64_t write_what_fits(struct trace_sink *sink)
{
    struct simple *s = sink->state;
    uint8_t *p = s->buffer;
    uint64_t lost = 0, n;

    while (p < s->at) {
        struct iovec piece = {p, 0};

        while (p + piece.iov_len < s->at && piece.iov_len < CHUNK)
            piece.iov_len += size_of(s, p + piece.iov_len, &n);
        sink->error = output_write(&s->output, &piece, 1);
        if (sink->error < 0)
            break;
        p += piece.iov_len;
    }
    if (s->note >= p)
        s->reported = sink->reported;
    while (p < s->at) {
        p += size_of(s, p, &n);
        lost += n;
    }
    return lost;
}

static uint64_t simple_flush(struct trace_sink *sink)
{
    struct simple *s = sink->state;
    const struct iovec piece = {s->buffer, (size_t)(s->at - s->buffer)};
    uint64_t lost = 0;

    if (piece.iov_len == 0)
        return 0;
    sink->error = output_write(&s->output, &piece, 1);
    if (sink->error < 0) {
        lost = write_what_fits(sink);
        memset(s->mapped, 0, sizeof(s->mapped)); /* names may have been lost with them */
    }
    sink->reported = s->reported;
    s->at = s->buffer;
    s->note = NULL;
    return lost;
}

static void put_dropped(struct simple *s, uint64_t time, uint64_t n)
{
    put_u64(s, RECORD_EVENT);
    put_u64(s, DROPPED_ID);
    put_u64(s, time);
    put_u32(s, 32);
    put_u32(s, s->pid);
    put_u64(s, n);
}

static void put_mapping(struct simple *s, const struct record_layout *layout)
{
    put_u64(s, RECORD_MAPPING);
    put_u64(s, layout->id);
    put_u32(s, (uint32_t)layout->name_len);
    put(s, layout->name, layout->name_len);
    s->mapped[layout->id / 64] |= UINT64_C(1) << layout->id % 64;
}

static void put_arguments(struct simple *s, const struct record_layout *layout, const uint8_t *p)
{
    for (unsigned i = 0; i < layout->n_fields; i++) {
        const struct layout_field *field = &layout->fields[i];

        if (field->size) {
            put_u64(s, layout_load(field, p));
            p += field->size;
        } else {
            size_t len = strlen((const char *)p);

            put_u32(s, (uint32_t)len);
            put(s, p, len);
            p += len + 1;
        }
    }
}

static void put_event(struct simple *s, const struct record *record)
{
    uint8_t *start = s->at;
    uint32_t length;

    put_u64(s, RECORD_EVENT);
    put_u64(s, record->layout->id);
    put_u64(s, record->time);
    put_u32(s, 24 + record->size); /* unless it is another, see below */
    put_u32(s, s->pid);
    if (record->layout->all_words) {
        put(s, record->arguments, record->size);
        return;
    }
    put_arguments(s, record->layout, record->arguments);
    length = (uint32_t)(s->at - start - 8);
    memcpy(start + 24, &length, sizeof(length));
}

/* The most that a record can become, its mapping and a note of dropped ones in front of it. */
static size_t room_for(const struct record *record)
{
    if (!record->layout)
        return 2 * 40;
    return 40 + 20 + record->layout->name_len + 32 + record->size +
           (record->layout->all_words ? 0 : record->layout->n_fields * 8U);
}

static uint64_t simple_records(struct trace_sink *sink, const struct record *records, unsigned n)
{
    struct simple *s = sink->state;
    uint64_t lost = 0;

    for (unsigned i = 0; i < n; i++) {
        const struct record *record = &records[i];

        if (unlikely((size_t)(s->end - s->at) < room_for(record)))
            lost += simple_flush(sink);
        if (unlikely(sink->lost + lost > s->reported)) {
            s->note = s->at;
            put_dropped(s, record->time, sink->lost + lost - s->reported);
            s->reported = sink->lost + lost;
        }
        if (unlikely(!record->layout)) {
            put_dropped(s, record->time, record->dropped);
            continue;
        }
        if (unlikely(
                !(s->mapped[record->layout->id / 64] & UINT64_C(1) << record->layout->id % 64)))
            put_mapping(s, record->layout);
        put_event(s, record);
    }
    return lost;
}

static void simple_close(struct trace_sink *sink)
{
    struct simple *s = sink->state;

    if (!s)
        return;
    output_done(&s->output);
    free(s);
    sink->state = NULL;
}

const struct trace_sink_ops sink_simple = {
    .name = "simple",
    .path = "trace-%p",
    .open = simple_open,
    .records = simple_records,
    .flush = simple_flush,
    .close = simple_close,
};
