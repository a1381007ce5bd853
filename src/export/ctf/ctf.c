/* SPDX-License-Identifier: MIT */
/* Writes a trace in the Common Trace Format 1.8. It is a directory with `metadata`, a file `SOURCE_CPU` for each CPU of
 * each source, and `SOURCE` for events without a CPU. All is in this machine's byte order and without padding:
 *
 *   packet   u32 magic 0xc1fc1fc1, u32 stream class
 *            u64 time of its first event, u64 of its last, u64 size in bits, twice, u64 number of the
 *            packet, u64 events discarded so far, u32 source, u32 CPU (of a CPU's file)
 *   event    u32 class, u64 time
 *            context of the stream: i32 thread, its name and a NUL (each where the source has such)
 *            context of the event, where it has a vCPU: i32, or the vCPU's name and a NUL where vCPUs of
 *            the source have names
 *            fields: integers of 1, 2, 4 or 8 bytes, doubles, text and a NUL, u32 number of elements
 *            and the elements
 *
 * The number of a stream class is its source's number times 2, plus 1 if it has CPUs. The event classes of a stream are
 * numbered from 0.
 *
 * Times are nanoseconds of the export's clock, counted from the clock's offset. A loss ends the packet before it and
 * makes a packet without events, whose count of discarded events is higher by the loss. So readers show the loss
 * between its begin and its end. If the size of a loss is unknown, one packet number is skipped. A missing field is 0
 * or empty.
 *
 * Times in a file must not decrease. The few events that were too late to be put in order get the time of the previous
 * event.
 *
 * Memory holds one packet per file. All packets are written when their sizes add up to 32 MiB. Each file is opened
 * again for each packet, so one descriptor is enough for any number of CPUs. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "event/class_map.h"
#include "event/value.h"
#include "export/bounds.h"
#include "export/ctf/names.h"
#include "export/ctf/tsdl.h"
#include "export/export.h"
#include "export/put_binary.h"

#define MAGIC UINT32_C(0xc1fc1fc1)
#define PACKET_ENOUGH ((size_t)64 * 1024)
#define BUFFERED_MAX ((size_t)32 * 1024 * 1024)
#define HEAD_MAX 64

/* An event class of the trace becomes several classes of a stream: with 0 to MISSING_MAX missing fields at its end, and
 * with or without a vCPU. CTF cannot express an unknown value. */
#define MISSING_MAX 7u
#define VARIANTS (2 * (MISSING_MAX + 1))

struct stream {
    const struct origin *origin;
    struct stream *next; /* all streams */
    struct text events;  /* of the packet that is being filled */
    unsigned source;     /* number of the origin */
    int32_t cpu;
    uint64_t begin, last; /* time of the packet's first event, and of the stream's last event */
    uint64_t n_packets;
    uint64_t discarded;
};

/* A stream class: an origin, with or without CPUs. */
struct stream_class {
    bool declared;
    /* By class->index: the number of each variant, from 1; 0 if not declared. */
    uint32_t (*ids)[VARIANTS];
    unsigned n_classes;
    uint32_t n_ids;
};

struct ctf {
    struct sink sink;
    const struct export_options *options;
    int dir;
    int64_t offset_s;
    bool started;
    const struct clock *clock;
    struct stream_class *stream_classes; /* two for each origin of the catalogue */
    unsigned n_stream_classes;
    struct map streams; /* by number of the origin and CPU */
    struct stream *all;
    struct stream *recent; /* of the last item */
    size_t buffered;
    struct text declarations;
    struct ctf_names names;
};

static int write_failed(struct ctf *ctf, int err)
{
    return error_set(&ctf->sink.error, err, ctf->options->name, "cannot write: %s", strerror(-err));
}

static int write_to(struct ctf *ctf, const char *name, const struct text *head,
                    const struct text *body)
{
    const struct text *parts[] = {head, body};
    int fd = openat(ctf->dir, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int error = 0;

    if (fd < 0)
        return write_failed(ctf, -errno);
    for (unsigned i = 0; i < ARRAY_SIZE(parts) && !error; i++)
        error = write_all(fd, parts[i]->start, (size_t)(parts[i]->next - parts[i]->start));
    if (close(fd) < 0 && !error)
        error = -errno;
    return error ? write_failed(ctf, error) : 0;
}

static unsigned stream_class_id(const struct stream *stream)
{
    return 2 * stream->source + (stream->cpu != CPU_UNKNOWN);
}

/* Writes the packet, even without events. */
static int flush(struct ctf *ctf, struct stream *stream)
{
    char room[HEAD_MAX + TEXT_ROOM_MAX];
    struct text head = {.start = room, .next = room, .end = room + sizeof room, .fd = -1};
    bool cpus = stream->cpu != CPU_UNKNOWN;
    size_t len = text_len(&stream->events);
    uint64_t bits = 8 * (8 + 6 * 8 + 4 + (cpus ? 4U : 0U) + (uint64_t)len);
    char name[32];

    if (stream->events.error)
        return export_no_memory(&ctf->sink.error);
    put_u32(&head, MAGIC);
    put_u32(&head, stream_class_id(stream));
    put_u64(&head, len ? stream->begin : stream->last);
    put_u64(&head, stream->last);
    put_u64(&head, bits);
    put_u64(&head, bits);
    put_u64(&head, stream->n_packets++);
    put_u64(&head, stream->discarded);
    put_u32(&head, stream->source);
    if (cpus)
        put_u32(&head, (uint32_t)stream->cpu);
    snprintf(name, sizeof name, cpus ? "%u_%d" : "%u", stream->source, stream->cpu);
    ctf->buffered -= len;
    stream->events.next = stream->events.start;
    return write_to(
        ctf, name, &head,
        &(struct text){.start = stream->events.start, .next = stream->events.start + len});
}

static int flush_all(struct ctf *ctf, bool end)
{
    for (struct stream *stream = ctf->all; stream; stream = stream->next) {
        int r = text_len(&stream->events) ? flush(ctf, stream) : 0;

        if (r < 0)
            return r;
        if (!end)
            text_done(&stream->events);
    }
    return 0;
}

static unsigned origin_index(const struct ctf *ctf, const struct origin *origin)
{
    unsigned i = 0;

    while (ctf->options->catalogue->origins[i] != origin)
        i++;
    return i;
}

/* Declares the stream class, once. */
static int declare_stream(struct ctf *ctf, const struct stream *stream)
{
    unsigned id = stream_class_id(stream);

    if (id >= ctf->n_stream_classes) {
        unsigned n = MAX(id + 2, 2 * ctf->n_stream_classes);
        struct stream_class *bigger = realloc(ctf->stream_classes, n * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        memset(bigger + ctf->n_stream_classes, 0, (n - ctf->n_stream_classes) * sizeof *bigger);
        ctf->stream_classes = bigger;
        ctf->n_stream_classes = n;
    }
    if (!ctf->stream_classes[id].declared)
        tsdl_put_stream(&ctf->declarations, id, stream->origin, stream->cpu != CPU_UNKNOWN);
    ctf->stream_classes[id].declared = true;
    return 0;
}

static _cold_ struct stream *find_stream(struct ctf *ctf, const struct item *item)
{
    unsigned source = origin_index(ctf, item->origin);
    uint64_t key = (uint64_t)source << 32 | (uint32_t)item->cpu;
    struct stream *stream = map_get(&ctf->streams, key);

    if (stream)
        return stream;
    stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    *stream = (struct stream){.origin = item->origin,
                              .next = ctf->all,
                              .events = TEXT_IN_MEMORY,
                              .source = source,
                              .cpu = item->cpu < 0 ? CPU_UNKNOWN : item->cpu};
    if (map_put(&ctf->streams, key, stream) < 0) {
        free(stream);
        return NULL;
    }
    ctf->all = stream;
    return declare_stream(ctf, stream) < 0 ? NULL : stream;
}

static unsigned variant_of(unsigned missing, bool vcpu)
{
    return 2 * missing + vcpu;
}

static _cold_ int declare_class(struct ctf *ctf, struct stream_class *sc, unsigned id,
                                const struct event_class *class, unsigned missing, bool vcpu)
{
    if (class_map_grow(sc->ids, sc->n_classes, class) < 0)
        return export_no_memory(&ctf->sink.error);
    tsdl_put_class(&ctf->declarations, sc->n_ids, id, class, class->n_fields - missing, vcpu);
    sc->ids[class->index][variant_of(missing, vcpu)] = ++sc->n_ids;
    return 0;
}

/* Returns the number of fields at the end without a value, at most MISSING_MAX. */
static unsigned count_missing(const struct event_class *class, const struct value *values)
{
    unsigned missing = 0;

    while (missing < MISSING_MAX && missing < class->n_fields &&
           class->fields[class->n_fields - 1 - missing].optional &&
           !values[class->n_fields - 1 - missing].present)
        missing++;
    return missing;
}

/* Converts a time for the stream: from the offset on, and not before the previous time. */
static uint64_t stream_time(struct ctf *ctf, const struct stream *stream, const struct item *item,
                            int64_t time)
{
    int64_t ns;

    if (time == TIME_UNKNOWN)
        return stream->last;
    ns = export_ns(item, time);
    if (unlikely(!ctf->started)) {
        /* Times before 0 have a second to count from that is before them. */
        ctf->started = true;
        ctf->clock = &item->origin->clock;
        ctf->offset_s = export_base_s(ns);
    }
    return MAX(stream->last, export_since(ns, ctf->offset_s * NANOSECONDS));
}

/* Puts a string up to its first NUL, with a NUL. */
static void put_string(struct text *text, const char *s, size_t len)
{
    text_put(text, s, strnlen(s, len));
    text_put_char(text, '\0');
}

static void put_field(struct text *text, const struct field *field, const struct value *value)
{
    unsigned size;

    switch (field->type) {
    case FIELD_STRING: put_string(text, value->s, value->present ? value->len : 0); break;
    case FIELD_BYTES: {
        unsigned element = ctf_element_size(field);
        uint32_t n = value->present ? value->len / element : 0;

        put_u32(text, n);
        if (likely(!field->swap || element == 1)) {
            text_put(text, value->s, (size_t)n * element);
            break;
        }
        for (uint32_t i = 0; i < n; i++) {
            uint64_t v = load_uint(value->s + (size_t)i * element, element, true);

            text_put(text,
                     (const char *)&v +
                         (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 8 - element),
                     element);
        }
        break;
    }
    default: {
        uint64_t v = value->present ? value->u : 0;

        size = field->type == FIELD_FLOAT ? 8 : ctf_scalar_size(field);
        memcpy(text_room(text, 8),
               (const char *)&v + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 8 - size), size);
        text->next += size;
    }
    }
}

static void put_context(struct text *text, const struct item *item)
{
    const struct origin *origin = item->origin;

    if (ctf_has_thread(origin))
        put_u32(text, (uint32_t)item->pid);
    if (origin->task_name) {
        const char *name = item_task_name(item);

        text_put(text, name ? name : "", name ? strlen(name) + 1 : 1);
    }
    if (item->vcpu != VCPU_UNKNOWN && !origin->put_vcpu) {
        put_u32(text, (uint32_t)item->vcpu);
    } else if (item->vcpu != VCPU_UNKNOWN) {
        origin->put_vcpu(origin, item->vcpu, text);
        text_put_char(text, '\0');
    }
}

static int put_event(struct ctf *ctf, struct stream *stream, const struct item *item)
{
    const struct event_class *class = item->class;
    unsigned id = stream_class_id(stream);
    struct stream_class *sc = &ctf->stream_classes[id];
    struct text *text = &stream->events;
    size_t before = text_len(text);
    bool vcpu = item->vcpu != VCPU_UNKNOWN;
    struct value values[FIELDS_MAX];
    unsigned missing;
    int r;

    item_values(item, values);
    if (ctf_names_note(&ctf->names, item, values) < 0)
        return export_no_memory(&ctf->sink.error);
    missing = count_missing(class, values);
    if (unlikely(class->index >= sc->n_classes ||
                 !sc->ids[class->index][variant_of(missing, vcpu)])) {
        r = declare_class(ctf, sc, id, class, missing, vcpu);
        if (r < 0)
            return r;
    }
    stream->last = stream_time(ctf, stream, item, item->time);
    if (before == 0)
        stream->begin = stream->last;
    put_u32(text, sc->ids[class->index][variant_of(missing, vcpu)] - 1);
    put_u64(text, stream->last);
    put_context(text, item);
    for (unsigned i = 0; i < class->n_fields - missing; i++)
        put_field(text, &class->fields[i], &values[i]);
    ctf->buffered += text_len(text) - before;
    if (unlikely(text_len(text) >= PACKET_ENOUGH || text->error))
        return flush(ctf, stream);
    return unlikely(ctf->buffered > BUFFERED_MAX) ? flush_all(ctf, false) : 0;
}

static int put_loss(struct ctf *ctf, struct stream *stream, const struct item *item)
{
    uint64_t since =
        stream_time(ctf, stream, item, item->since == TIME_UNKNOWN ? item->time : item->since);
    int r = 0;

    /* A reader counts what was lost from the packet before. */
    if (text_len(&stream->events)) {
        r = flush(ctf, stream);
    } else if (stream->n_packets == 0) {
        stream->last = since;
        r = flush(ctf, stream);
    }
    if (r < 0)
        return r;
    stream->last = stream_time(ctf, stream, item, item->time);
    /* How many is not known: as of packets that are missing. */
    if (item->lost > UINT64_MAX / 2 - stream->discarded)
        stream->n_packets++;
    else
        stream->discarded += item->lost;
    return flush(ctf, stream);
}

static int ctf_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct ctf *ctf = container_of(sink, struct ctf, sink);

    for (unsigned i = 0; i < n; i++) {
        struct stream *stream = ctf->recent;
        int r;

        if (!stream || stream->origin != items[i].origin || stream->cpu != items[i].cpu) {
            stream = find_stream(ctf, &items[i]);
            if (!stream)
                return export_no_memory(&sink->error);
            ctf->recent = stream;
        }
        r = likely(items[i].kind == ITEM_EVENT) ? put_event(ctf, stream, &items[i])
                                                : put_loss(ctf, stream, &items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Returns when the data of all CPUs of ORIGIN begin, by the export's clock; 0: from the beginning. */
static uint64_t complete_from(const struct ctf *ctf, const struct origin *origin)
{
    return origin->complete_from == 0
               ? 0
               : export_since(clock_to_ns(&origin->clock, origin->complete_from),
                              ctf->offset_s * NANOSECONDS);
}

static int ctf_finish(struct sink *sink)
{
    static const struct clock none = {.name = "none", .hz = NANOSECONDS};
    struct ctf *ctf = container_of(sink, struct ctf, sink);
    const struct catalogue *catalogue = ctf->options->catalogue;
    struct text start = TEXT_IN_MEMORY;
    int r = flush_all(ctf, true);

    if (r < 0)
        return r;
    tsdl_put_start(&start, ctf->clock ? ctf->clock : &none, ctf->offset_s);
    for (unsigned i = 0; i < catalogue->n_origins; i++)
        tsdl_put_source(&start, i, catalogue->origins[i],
                        complete_from(ctf, catalogue->origins[i]));
    text_put_literal(&start, "};\n");
    ctf_names_put(&ctf->names, &start);
    if (start.error || ctf->declarations.error)
        r = export_no_memory(&sink->error);
    else
        r = write_to(ctf, "metadata", &start, &ctf->declarations);
    text_done(&start);
    return r;
}

static void ctf_free(struct sink *sink)
{
    struct ctf *ctf = container_of(sink, struct ctf, sink);

    for (struct stream *stream = ctf->all, *next; stream; stream = next) {
        next = stream->next;
        text_done(&stream->events);
        free(stream);
    }
    for (unsigned i = 0; i < ctf->n_stream_classes; i++)
        free(ctf->stream_classes[i].ids);
    free(ctf->stream_classes);
    map_done(&ctf->streams);
    text_done(&ctf->declarations);
    ctf_names_done(&ctf->names);
    if (ctf->dir >= 0)
        close(ctf->dir);
    free(ctf);
}

int export_ctf_open(const struct export_options *options, struct sink **ret_sink,
                    struct error *error)
{
    static const struct sink_ops ops = {.put = ctf_put, .finish = ctf_finish, .free = ctf_free};
    struct ctf *ctf = calloc(1, sizeof *ctf);

    if (!ctf)
        return export_no_memory(error);
    ctf->sink.ops = &ops;
    ctf->options = options;
    ctf->declarations = TEXT_IN_MEMORY;
    ctf->dir = open(options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ctf->dir < 0) {
        int r = -errno;

        free(ctf);
        return error_set(error, r, options->name, "cannot open it: %s", strerror(-r));
    }
    return export_bounds_open(&ctf->sink, ret_sink, error);
}
