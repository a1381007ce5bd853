/* SPDX-License-Identifier: MIT */
/* Reader of QEMU's simple trace backend.
 *
 * All numbers are in the byte order of the machine that ran QEMU; which one it was shows in the magic.
 *
 *   file header      u64 0xffffffffffffffff
 *                    u64 0xf2b177cb0aa429b4
 *                    u64 version
 *                    version 0 only: 40 unused bytes, the header has a record's size
 *
 *   version 0        records of 64 bytes:
 *                    u64 event id, u64 time in ns, 6 x u64 argument (strings as pointers)
 *
 *   versions 2, 3    u64 event id, u64 time in ns, u32 length (from the id on, 24 + arguments),
 *                    u32 pid (version 2: unused, not even set), then the arguments:
 *                    u64 for a number or a pointer; u32 length and bytes for a string
 *
 *   version 4        a u64 in front of each record is its type:
 *                    0  names an event: u64 event id, u32 length, name without a NUL
 *                    1  an event as in version 3
 *
 *   dropped events   event id 0xfffffffffffffffe with one argument: how many were dropped before; 0: not known
 *
 * Before version 4 an id is the event's position among the declarations. Versions 0 and 2 did not
 * count those with `disable`, as the programs that read them show. In version 4 a name may come
 * anywhere before the first event that needs it, and a later one replaces it.
 *
 * Source of the facts: the writer (trace/simple.c) and the reader (scripts/simpletrace.py) of the
 * QEMU versions 1.0 to 10.0. Observed: strings were not bounded before version 3 of the format, are
 * cut to 512 bytes since; the writer's ring has 256 KiB, no record is longer. The first records of a
 * file may have pid 0: they were written before the pid was known. No writer gives an id a second name
 * (QEMU's and libstrata's each write the name of an event once), which seeking relies on. */
#include "format/simpletrace/simpletrace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "format/simpletrace/ids.h"
#include "format/simpletrace/layout.h"
#include "format/simpletrace/resync.h"
#include "format/simpletrace/seek.h"

#define HEADER_ID UINT64_C(0xffffffffffffffff)
#define HEADER_MAGIC UINT64_C(0xf2b177cb0aa429b4)

/* Items of one run: several reorder windows long (timeline/reorder.c), and still in a second-level
 * cache together with their payloads. */
#define RUN_MAX 2048

struct simpletrace {
    struct source source; /* first: the source is the reader */
    struct input in;
    struct catalogue *catalogue;
    const struct qemu_events *events;
    struct origin *origin;
    bool keep_going;
    bool swap;
    bool no_header;
    unsigned version;
    int failed;        /* what next() returns once all before it has been lent */
    int64_t last;      /* time of the last record, or TIME_UNKNOWN */
    uint64_t skipped;  /* bytes left out since the last record, while resyncing */
    int64_t seek_time; /* no item before it is needed; INT64_MIN: all are */
    /* What was passed over by seeking, and may hold names of events; both 0: nothing. */
    uint64_t passed_from, passed_to;
    struct simpletrace_ids ids;

    struct item items[RUN_MAX];
};

static struct simpletrace *reader_of(struct source *source)
{
    return container_of(source, struct simpletrace, source);
}

/* What is wrong at AT in the buffer. -EBADMSG; the reader decides whether that ends the reading. */
static int _printf_(3, 4) _cold_
    damaged(struct simpletrace *s, const uint8_t *at, const char *format, ...)
{
    va_list args;

    if (s->keep_going)
        return -EBADMSG;
    va_start(args, format);
    error_put(&s->source.error, -EBADMSG, s->in.path, s->in.offset + (uint64_t)(at - s->in.buf), 0,
              format, args);
    va_end(args);
    return -EBADMSG;
}

static int out_of_memory(struct simpletrace *s)
{
    return error_set(&s->source.error, -ENOMEM, s->in.path, "out of memory");
}

/* What an id's name or class could not be made for. */
static int id_error(struct simpletrace *s, const uint8_t *at, int r)
{
    return r == -E2BIG ? damaged(s, at, "more names or ids of events than any QEMU has")
                       : out_of_memory(s);
}

/* ---- records ---- */

static void put_loss(struct simpletrace *s, struct item *item, enum loss_cause cause, uint64_t lost,
                     int64_t time, int32_t pid)
{
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = cause,
        .origin = s->origin,
        .time = time,
        .since = s->last,
        .lost = lost,
        .cpu = CPU_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .pid = pid,
    };
}

static inline void put_event(struct item *item, const struct event_class *class, uint64_t time,
                             const uint8_t *payload, uint32_t size, uint32_t pid)
{
    item->time = (int64_t)time;
    item->class = class;
    item->payload = payload;
    item->size = size;
    item->reader_word = 0;
    item->pid = (int32_t)pid;
    item->skipped = 0;
    item->kind = ITEM_EVENT;
    item->before_loss = false;
}

/* An event whose class needs making, or a note of dropped ones. P points at the id. */
static int rare_record(struct simpletrace *s, const uint8_t *p, uint32_t size,
                       const uint8_t *payload, uint32_t pid, struct item *item)
{
    uint64_t id = load_u64_swap(p, s->swap);
    uint64_t time = load_u64_swap(p + 8, s->swap);
    const struct event_class *class;
    int r;

    if (id == DROPPED_ID) {
        uint64_t lost;

        if (size < 8)
            return damaged(s, p, "a note of dropped events without their number");
        /* A loss has lost something. */
        lost = load_u64_swap(payload, s->swap);
        put_loss(s, item, LOSS_DROPPED, lost > 0 ? lost : LOST_UNKNOWN, (int64_t)time,
                 (int32_t)pid);
        if (item > s->items && item[-1].time <= item->time)
            item[-1].before_loss = true;
        return 0;
    }
    if (unlikely(s->passed_to > 0) && !simpletrace_ids_known(&s->ids, id, &class)) {
        r = simpletrace_find_names(&s->in, &s->ids, s->passed_from, s->passed_to, &s->source.error);
        if (r < 0)
            return r == -E2BIG ? id_error(s, p, r) : r;
        s->passed_from = s->passed_to = 0;
    }
    r = simpletrace_ids_class(&s->ids, id, &class);
    if (r < 0)
        return id_error(s, p, r);
    item->origin = s->origin;
    put_event(item, class, time, payload, size, pid);
    return 0;
}

static int read_mapping(struct simpletrace *s, const uint8_t *p, size_t left, size_t *ret_size)
{
    uint64_t id;
    uint32_t len;
    int r;

    if (left < TYPE_SIZE + MAPPING_HEAD_SIZE)
        return 0;
    id = load_u64_swap(p + TYPE_SIZE, s->swap);
    len = load_u32_swap(p + TYPE_SIZE + 8, s->swap);
    if (len == 0 || len > NAME_MAX_LEN) /* 0: a hole in the file reads as names without end */
        return damaged(s, p, "an event's name of %" PRIu32 " bytes", len);
    if (left < TYPE_SIZE + MAPPING_HEAD_SIZE + len)
        return 0;
    r = simpletrace_ids_name(&s->ids, id, (const char *)p + TYPE_SIZE + MAPPING_HEAD_SIZE, len);
    if (r < 0)
        return id_error(s, p, r);
    *ret_size = TYPE_SIZE + MAPPING_HEAD_SIZE + len;
    return 1;
}

/* A record that the hot loop did not take. 1: it has *RET_SIZE bytes and gave *N items more; 0: it is
 * not all in the buffer; negative: damage. */
static _cold_ int slow_record(struct simpletrace *s, const uint8_t *p, size_t left, unsigned *n,
                              size_t *ret_size)
{
    size_t front = s->version == 4 ? TYPE_SIZE : 0;
    uint32_t size;
    int r;

    if (front) {
        uint64_t type;

        if (left < front)
            return 0;
        type = load_u64_swap(p, s->swap);
        if (type == TYPE_MAPPING)
            return read_mapping(s, p, left, ret_size);
        if (type != TYPE_EVENT)
            return damaged(s, p, "invalid record type %" PRIu64 " (valid: 0, 1)", type);
    }
    if (left < front + EVENT_HEAD_SIZE)
        return 0;
    size = load_u32_swap(p + front + 16, s->swap);
    if (size < EVENT_HEAD_SIZE || size > EVENT_SIZE_MAX)
        return damaged(s, p, "a record of %" PRIu32 " bytes: they have %d to %d", size,
                       EVENT_HEAD_SIZE, EVENT_SIZE_MAX);
    if (left < front + size)
        return 0;
    r = rare_record(s, p + front, size - EVENT_HEAD_SIZE, p + front + EVENT_HEAD_SIZE,
                    s->version == 2 ? (uint32_t)PID_UNKNOWN
                                    : load_u32_swap(p + front + 20, s->swap),
                    &s->items[*n]);
    if (r < 0)
        return r;
    s->last = s->items[(*n)++].time;
    *ret_size = front + size;
    return 1;
}

/* Walks whole records from P on; the hot loop. Fills items from *N on and leaves *P at the first
 * record that was not taken. The three conditions are known where this is inlined. Returns as
 * slow_record(), or 1 when the run is full. */
static inline __attribute__((always_inline)) int walk(struct simpletrace *s, const bool swap,
                                                      const bool typed, const bool with_pid,
                                                      const uint8_t **at, const uint8_t *end,
                                                      unsigned *n)
{
    const size_t front = typed ? TYPE_SIZE : 0;
    const struct event_class *const *classes = s->ids.classes;
    uint64_t n_classes = s->ids.n_dense;
    const uint8_t *p = *at;
    unsigned i = *n;
    int r = 1;

    while (i < RUN_MAX) {
        size_t left = (size_t)(end - p);
        size_t size;

        if (likely(left >= front + EVENT_HEAD_SIZE) &&
            likely(!typed || load_u64_swap(p, swap) == TYPE_EVENT)) {
            uint64_t id = load_u64_swap(p + front, swap);
            uint32_t length = load_u32_swap(p + front + 16, swap);

            if (likely(id < n_classes) && likely(classes[id] != NULL) &&
                likely(length - EVENT_HEAD_SIZE <= EVENT_SIZE_MAX - EVENT_HEAD_SIZE) &&
                likely(front + length <= left)) {
                put_event(&s->items[i++], classes[id], load_u64_swap(p + front + 8, swap),
                          p + front + EVENT_HEAD_SIZE, length - EVENT_HEAD_SIZE,
                          with_pid ? load_u32_swap(p + front + 20, swap) : (uint32_t)PID_UNKNOWN);
                p += front + length;
                continue;
            }
        }
        if (i > 0)
            s->last = s->items[i - 1].time;
        r = slow_record(s, p, left, &i, &size);
        if (r <= 0)
            break;
        p += size;
        classes = s->ids.classes; /* may have grown */
        n_classes = s->ids.n_dense;
    }
    if (i > 0)
        s->last = s->items[i - 1].time;
    *n = i;
    *at = p;
    return r;
}

/* Version 0: records of one size, and nothing that could be out of order but the id. */
static int walk_v0(struct simpletrace *s, const uint8_t **at, const uint8_t *end, unsigned *n)
{
    for (; *n < RUN_MAX; *at += V0_RECORD_SIZE) {
        int r;

        if (end - *at < V0_RECORD_SIZE)
            return 0;
        r = rare_record(s, *at, V0_RECORD_SIZE - V0_HEAD_SIZE, *at + V0_HEAD_SIZE,
                        (uint32_t)PID_UNKNOWN, &s->items[*n]);
        if (r < 0)
            return r;
        s->last = s->items[(*n)++].time;
    }
    return 1;
}

static _hot_ int walk_records(struct simpletrace *s, const uint8_t **at, const uint8_t *end,
                              unsigned *n)
{
    if (s->version == 0)
        return walk_v0(s, at, end, n);
    if (s->version == 2)
        return s->swap ? walk(s, true, false, false, at, end, n)
                       : walk(s, false, false, false, at, end, n);
    if (s->version == 3)
        return s->swap ? walk(s, true, false, true, at, end, n)
                       : walk(s, false, false, true, at, end, n);
    return s->swap ? walk(s, true, true, true, at, end, n) : walk(s, false, true, true, at, end, n);
}

/* ---- continuing after damage ---- */

static int resync(struct simpletrace *s)
{
    return simpletrace_resync(&s->in, &s->ids, s->last, &s->skipped, &s->source.error);
}

/* The loss item for what resync() skipped. */
static void put_skipped(struct simpletrace *s, struct item *item)
{
    put_loss(s, item, LOSS_UNREADABLE, LOST_UNKNOWN, s->last, PID_UNKNOWN);
    item->skipped = (uint32_t)MIN(s->skipped, (uint64_t)UINT32_MAX);
    s->skipped = 0;
}

/* ---- losses that follow ---- */

/* True if the next record reports events that were dropped after TIME. In a pipe, only the buffer is examined. */
static bool drops_follow(struct simpletrace *s, int64_t time)
{
    const size_t front = s->version == 4 ? TYPE_SIZE : 0, size = front + 2 * sizeof(uint64_t);
    uint8_t head[TYPE_SIZE + 2 * sizeof(uint64_t)];
    const uint8_t *p = input_at(&s->in);

    if (input_buffered(&s->in) < size) {
        struct error ignored = {0};

        if (!s->in.seekable ||
            input_read_at(&s->in, input_offset(&s->in), head, size, &ignored) != (int64_t)size)
            return false;
        p = head;
    }
    return load_u64_swap(p + front, s->swap) == DROPPED_ID &&
           (!front || load_u64_swap(p, s->swap) == TYPE_EVENT) &&
           (int64_t)load_u64_swap(p + front + sizeof(uint64_t), s->swap) >= time;
}

/* Ends a run of N items. IS_DAMAGED: what follows cannot be read. */
static int end_run(struct simpletrace *s, unsigned n, bool is_damaged)
{
    s->items[n - 1].before_loss = is_damaged || drops_follow(s, s->items[n - 1].time);
    return (int)n;
}

/* ---- the source ---- */

static int fail(struct simpletrace *s, int r)
{
    s->failed = r;
    return r;
}

/* The file ends inside a record, or the length of a record is wrong and more records follow. */
static int cut_short(struct simpletrace *s)
{
    size_t left = input_buffered(&s->in);

    if (s->keep_going) {
        int r = resync(s);

        if (r < 0)
            return fail(s, r);
        put_skipped(s, &s->items[0]);
        return 1;
    }
    return fail(s, error_at(&s->source.error, -EBADMSG, s->in.path, input_offset(&s->in),
                            "the file ends within a record, after %zu of its bytes", left));
}

/* Only with an input of less than SIMPLETRACE_INPUT_SIZE. */
static int too_long(struct simpletrace *s)
{
    return fail(s, error_at(&s->source.error, -ENOBUFS, s->in.path, input_offset(&s->in),
                            "a record is longer than the buffer of %zu bytes", s->in.capacity));
}

/* Continues where all earlier events are before `seek_time`, if such a place can be found. */
static int seek(struct simpletrace *s)
{
    uint64_t here = input_offset(&s->in), there;
    int64_t time = s->seek_time;
    int r;

    s->seek_time = INT64_MIN;
    if (!s->in.seekable || s->in.size == UINT64_MAX)
        return 0;
    r = simpletrace_find_time(&s->in, &s->ids, here, s->in.size, time, &there);
    if (r < 0)
        return out_of_memory(s);
    if (there == here)
        return 0;
    r = input_seek(&s->in, there, &s->source.error);
    if (r < 0)
        return r;
    if (s->version == 4) {
        s->passed_from = s->passed_to ? s->passed_from : here;
        s->passed_to = there;
    }
    s->last = TIME_UNKNOWN;
    return 0;
}

static void simpletrace_seek(struct source *source, int64_t time)
{
    reader_of(source)->seek_time = time;
}

static int simpletrace_next(struct source *source, const struct item **ret_items)
{
    struct simpletrace *s = reader_of(source);
    bool need_more = false;

    if (s->failed)
        return s->failed;
    if (unlikely(s->seek_time != INT64_MIN)) {
        int r = seek(s);

        if (r < 0)
            return fail(s, r);
    }
    *ret_items = s->items;
    for (;;) {
        const uint8_t *p, *end;
        unsigned n = 0;
        int r;

        if (need_more || input_buffered(&s->in) == 0) {
            size_t before = input_buffered(&s->in);

            r = input_refill(&s->in, &s->source.error);
            if (r < 0)
                return fail(s, r);
            if (r == 0)
                return 0;
            if (need_more && input_buffered(&s->in) == before)
                return s->in.ended ? cut_short(s) : too_long(s);
        }
        p = input_at(&s->in);
        end = p + input_buffered(&s->in);
        r = walk_records(s, &p, end, &n);
        input_skip(&s->in, (size_t)(p - input_at(&s->in)));
        if (r == -EBADMSG && s->keep_going) {
            if (n > 0)
                return end_run(s, n, true); /* the damage comes up again in the next call */
            r = resync(s);
            if (r < 0)
                return fail(s, r);
            put_skipped(s, &s->items[0]);
            return 1;
        }
        if (r < 0) {
            fail(s, r);
            return n > 0 ? (int)n : r;
        }
        if (n > 0)
            return end_run(s, n, false);
        need_more = r == 0;
    }
}

static void simpletrace_free(struct source *source)
{
    struct simpletrace *s = reader_of(source);

    input_done(&s->in);
    simpletrace_ids_done(&s->ids);
    free(s);
}

static void simpletrace_facts(const struct source *source,
                              void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct simpletrace *s = container_of(source, struct simpletrace, source);
    char text[16];

    snprintf(text, sizeof text, "%u", s->version);
    put(arg, "version", text);
    if (s->no_header)
        put(arg, "header", "none");
    if (s->swap)
        put(arg, "byte order", "the other machine's");
    if (s->ids.n_undeclared) {
        const struct text *undeclared = &s->ids.undeclared;
        char names[1024];

        snprintf(names, sizeof names, "%u, shown as raw words: %.*s%s", s->ids.n_undeclared,
                 (int)MIN(text_len(undeclared), (size_t)900), undeclared->start,
                 s->ids.n_undeclared > 16 ? ", ..." : "");
        put(arg, "undeclared events", names);
    }
}

static void simpletrace_progress(const struct source *source, uint64_t *ret_done,
                                 uint64_t *ret_total)
{
    const struct simpletrace *s = container_of(source, struct simpletrace, source);

    *ret_done = input_offset(&s->in);
    *ret_total = s->in.size == UINT64_MAX ? 0 : s->in.size;
}

static const char *simpletrace_hint(const struct source *source)
{
    const struct simpletrace *s = container_of(source, struct simpletrace, source);

    if (!s->ids.events || !s->ids.n_undeclared)
        return NULL;
    return "some of its events are not declared, so their arguments show as raw words; give the "
           "trace-events-all of the QEMU that wrote the trace with --trace-events";
}

static const struct source_ops simpletrace_ops = {
    .next = simpletrace_next,
    .free = simpletrace_free,
    .facts = simpletrace_facts,
    .progress = simpletrace_progress,
    .seek = simpletrace_seek,
    .hint = simpletrace_hint,
};

/* ---- opening ---- */

bool simpletrace_probe(const uint8_t *head, size_t n)
{
    uint64_t magic;

    if (n < SIMPLETRACE_HEAD_SIZE)
        return false;
    magic = load_u64(head + 8);
    return load_u64(head) == HEADER_ID &&
           (magic == HEADER_MAGIC || magic == __builtin_bswap64(HEADER_MAGIC));
}

bool simpletrace_is_old(const uint8_t *head, size_t n)
{
    return simpletrace_probe(head, n) &&
           load_u64_swap(head + 16, load_u64(head + 8) != HEADER_MAGIC) < 4;
}

static int read_header(struct simpletrace *s, struct error *error)
{
    const uint8_t *head;
    uint64_t version;
    int r;

    r = input_need(&s->in, SIMPLETRACE_HEAD_SIZE, error);
    if (r < 0)
        return r;
    if (r == 0 || !simpletrace_probe(input_at(&s->in), SIMPLETRACE_HEAD_SIZE))
        return error_at(error, -EBADMSG, s->in.path, input_offset(&s->in),
                        "not a simpletrace file: the header is missing");
    head = input_at(&s->in);
    s->swap = load_u64(head + 8) != HEADER_MAGIC;
    version = load_u64_swap(head + 16, s->swap);
    if (version != 0 && version != 2 && version != 3 && version != 4)
        return error_at(error, -EBADMSG, s->in.path, input_offset(&s->in) + 16,
                        "unknown simpletrace version %" PRIu64 " (known: 0, 2, 3, 4)", version);
    s->version = (unsigned)version;
    input_skip(&s->in, SIMPLETRACE_HEAD_SIZE);
    if (version == 0) {
        r = input_need(&s->in, V0_RECORD_SIZE - SIMPLETRACE_HEAD_SIZE, error);
        if (r < 0)
            return r;
        if (r == 0)
            return error_at(error, -EBADMSG, s->in.path, input_offset(&s->in),
                            "the file ends within its header");
        input_skip(&s->in, V0_RECORD_SIZE - SIMPLETRACE_HEAD_SIZE);
    }
    return 0;
}

/* Without a header, only the first record's type shows the byte order. */
static int guess_order(struct simpletrace *s, struct error *error)
{
    int r = input_need(&s->in, TYPE_SIZE, error);

    s->version = 4;
    s->swap = r > 0 && load_u64(input_at(&s->in)) == __builtin_bswap64(TYPE_EVENT);
    return r < 0 ? r : 0;
}

static int prepare(struct simpletrace *s, struct error *error)
{
    const struct origin origin = {
        .layer = LAYER_VMM,
        .format = "simpletrace",
        .path = arena_strdup(&s->ids.catalogue->arena, s->in.path),
        .clock = {.name = "monotonic", .hz = NANOSECONDS},
    };
    int r;

    s->origin = catalogue_add_origin(s->ids.catalogue, &origin);
    if (!origin.path || !s->origin)
        return error_set(error, -ENOMEM, s->in.path, "out of memory");
    for (unsigned i = 0; i < RUN_MAX; i++)
        s->items[i] = (struct item){.origin = s->origin, .cpu = CPU_UNKNOWN, .vcpu = VCPU_UNKNOWN};
    r = s->no_header ? guess_order(s, error) : read_header(s, error);
    if (r < 0)
        return r;
    s->ids.origin = s->origin;
    s->ids.swap = s->swap;
    s->ids.version = s->version;
    r = simpletrace_ids_init(&s->ids, s->version < 4 || s->no_header);
    return r < 0 ? error_set(error, r, s->in.path, "out of memory") : 0;
}

int simpletrace_open(struct input *in, struct catalogue *catalogue,
                     const struct simpletrace_options *options, struct source **ret_source,
                     struct error *error)
{
    struct simpletrace *s = calloc(1, sizeof *s);
    int r;

    if (!s) {
        input_done(in);
        return error_set(error, -ENOMEM, NULL, "out of memory");
    }
    s->source.ops = &simpletrace_ops;
    s->source.one_buffer = true;
    s->in = *in;
    s->source.skips = in->seekable && in->size != UINT64_MAX;
    *in = (struct input){.fd = -1};
    s->ids.catalogue = catalogue;
    s->ids.events = options->events;
    s->keep_going = options->reader.keep_going;
    s->no_header = options->no_header;
    s->last = TIME_UNKNOWN;
    s->seek_time = INT64_MIN;
    r = prepare(s, error);
    if (r < 0) {
        simpletrace_free(&s->source);
        return r;
    }
    *ret_source = &s->source;
    return 0;
}

unsigned simpletrace_version(const struct source *source)
{
    return container_of(source, struct simpletrace, source)->version;
}
