/* SPDX-License-Identifier: MIT */
/* Reader of native traces: what libstrata writes (src/runtime/sink_ctf.c), which is CTF 1.8.
 *
 *   FOLDER/metadata    what all is, as text (ctf_tsdl.h)
 *   FOLDER/stream-N    packets, one behind the other; in the byte order that the metadata tells:
 *
 *   packet    u32 0xc1fc1fc1, 16 bytes UUID of the trace, u32 stream class (0)
 *             u64 begin, u64 end: ticks of the clock
 *             u64 bits of content, with this header
 *             u64 bits of the packet, with padding behind the content
 *             u64 number of the packet in its stream
 *             u64 events that were dropped in this stream up to the packet's end
 *             u32 process, u32 thread, 16 bytes the thread's name, filled with NULs
 *             then records
 *
 *   record    begins at a multiple of 8 bytes of the packet:
 *             u16 event id, 48 bits: the low ones of the clock
 *             (together one u64: on little-endian machines time << 16 | id, on others id << 48 | time)
 *             then the fields, without padding; a string with its NUL
 *
 * Times are handed on as nanoseconds of CLOCK_MONOTONIC, by the reading of both clocks that stands in
 * the metadata: so such a trace lies on one line of time with simpletrace files and logs of the same
 * machine, which are stamped by that clock. */
#include "format/ctf.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "format/ctf_tsdl.h"

#define PACKET_MAGIC UINT32_C(0xc1fc1fc1)
#define PACKET_HEADER 96
#define RECORD_HEADER 8
#define TIME_BITS 48
#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)
#define METADATA_MAX ((size_t)64 << 20)

#define RUN_MAX 1024

/* Rings are as many as threads that ran at once; their buffers together are to stay small. */
#define INPUT_SMALL ((size_t)64 * 1024)
#define STREAMS_MANY 16

struct thread {
    struct thread *next;
    int32_t tid;
    char name[17];
};

#define THREAD_BUCKETS 256

struct ctf_trace {
    struct origin origin; /* first: the origin is the trace */
    struct catalogue *catalogue;
    struct ctf_metadata metadata;
    bool swap;
    uint32_t *sizes; /* of the fields of each class, up to its first string */
    bool *strings;   /* whether it has any */
    struct thread *threads[THREAD_BUCKETS];
};

struct ctf {
    struct source source; /* first: the source is the reader */
    struct input in;
    struct ctf_trace *trace;
    bool keep_going;
    int failed;
    /* The packet at hand. */
    uint64_t content;  /* bytes of it that are not read yet; 0: the next thing is a packet */
    uint64_t padding;  /* and behind these */
    uint64_t position; /* of the next byte, in the packet */
    uint64_t begin;
    uint64_t end; /* ticks */
    int32_t tid;
    bool ending; /* its end is to be dealt with */
    /* Between packets. */
    bool any;
    uint64_t number;    /* of the packet before */
    uint64_t discarded; /* as of the packet before */
    uint64_t pending;   /* dropped in the packet at hand */
    int64_t last;       /* time of what was lent last, or TIME_UNKNOWN */
    int64_t since;      /* end of the packet before, or TIME_UNKNOWN */

    struct item items[RUN_MAX];
};

static int _printf_(2, 3) _cold_ damaged(struct ctf *c, const char *format, ...)
{
    char what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return fault_at(&c->source.fault, -EBADMSG, c->in.path, input_offset(&c->in), "%s", what);
}

static int64_t to_ns(const struct ctf_trace *trace, uint64_t ticks)
{
    const struct ctf_metadata *m = &trace->metadata;
    __int128 since = (int64_t)(ticks - m->ticks);

    return (int64_t)((uint64_t)m->monotonic + (uint64_t)(int64_t)(since * NANOSECONDS / m->hz));
}

/* ---- Threads ---- */

static const char *thread_name(const struct origin *origin, int32_t pid)
{
    const struct ctf_trace *trace = (const struct ctf_trace *)origin;

    for (const struct thread *t = trace->threads[(uint32_t)pid % THREAD_BUCKETS]; t; t = t->next)
        if (t->tid == pid)
            return t->name;
    return NULL;
}

/* A thread is called as it was when it took its first ring. */
static int note_thread(struct ctf_trace *trace, int32_t tid, const uint8_t *name)
{
    struct thread **bucket = &trace->threads[(uint32_t)tid % THREAD_BUCKETS];
    struct thread *thread;

    if (name[0] == '\0' || thread_name(&trace->origin, tid))
        return 0;
    thread = arena_alloc(&trace->catalogue->arena, sizeof *thread);
    if (!thread)
        return -ENOMEM;
    *thread = (struct thread){.next = *bucket, .tid = tid};
    memcpy(thread->name, name, 16);
    *bucket = thread;
    return 0;
}

/* ---- Packets ---- */

static void put_loss(struct ctf *c, struct item *item, enum loss_cause cause, uint64_t lost,
                     int64_t since, int64_t until)
{
    *item = (struct item){
        .kind = ITEM_LOSS,
        .cause = (uint8_t)cause,
        .origin = &c->trace->origin,
        .time = until,
        .since = since,
        .lost = lost,
        .cpu = CPU_UNKNOWN,
        .vcpu = VCPU_UNKNOWN,
        .pid = c->tid,
    };
    c->last = until;
}

/* Reads a packet's header, which is all at P. Adds a loss to the run when packets are missing before
 * it. */
static int open_packet(struct ctf *c, const uint8_t *p, unsigned *n)
{
    bool swap = c->trace->swap;
    uint64_t content = load_u64_swap(p + 40, swap);
    uint64_t size = load_u64_swap(p + 48, swap);
    uint64_t number = load_u64_swap(p + 56, swap);
    uint64_t discarded = load_u64_swap(p + 64, swap);
    uint64_t begin = load_u64_swap(p + 24, swap);
    uint64_t end = load_u64_swap(p + 32, swap);

    if (load_u32_swap(p, swap) != PACKET_MAGIC)
        return damaged(c, "no packet begins here");
    if (memcmp(p + 4, c->trace->metadata.uuid, 16) != 0)
        return damaged(c, "a packet of another trace");
    if (content % 8 || size % 64 || content > size || content < PACKET_HEADER * 8)
        return damaged(c, "a packet of %" PRIu64 " bits, %" PRIu64 " of them content", size,
                       content);
    if (end < begin || (c->any && discarded < c->discarded))
        return damaged(c, "a packet whose times or counts go backwards");
    c->tid = (int32_t)load_u32_swap(p + 76, swap);
    if (note_thread(c->trace, c->tid, p + 80) < 0)
        return fault_plain(&c->source.fault, -ENOMEM, c->in.path, "out of memory");

    c->begin = begin;
    c->end = end;
    if (c->any && number != c->number + 1)
        put_loss(c, &c->items[(*n)++], LOSS_DROPPED, LOST_UNKNOWN, c->since,
                 MAX(to_ns(c->trace, begin), c->last));
    c->pending = discarded - c->discarded;
    c->any = true;
    c->number = number;
    c->discarded = discarded;
    c->content = content / 8 - PACKET_HEADER;
    c->padding = (size - content) / 8;
    c->position = PACKET_HEADER;
    c->ending = true;
    input_skip(&c->in, PACKET_HEADER);
    return 0;
}

/* All records of the packet are read: tells of what was dropped. */
static void end_packet(struct ctf *c, unsigned *n)
{
    int64_t end = MAX(to_ns(c->trace, c->end), c->last);

    if (c->pending)
        put_loss(c, &c->items[(*n)++], LOSS_DROPPED, c->pending, c->since, end);
    c->pending = 0;
    c->since = end;
    c->ending = false;
}

/* ---- Records ---- */

/* How many bytes the fields at P take, of which LEFT are there; SIZE_MAX: more. */
static size_t size_of(const struct ctf_trace *trace, uint32_t id, const uint8_t *p, size_t left)
{
    const struct event_class *class = trace->metadata.classes[id];
    size_t size = 0;

    if (likely(!trace->strings[id]))
        return trace->sizes[id] <= left ? trace->sizes[id] : SIZE_MAX;
    for (unsigned i = 0; i < class->n_fields; i++) {
        if (class->fields[i].type == FIELD_STRING) {
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

/* Walks records of the packet at hand as far as they are in the buffer. 1: some more may be done; 0:
 * the buffer ends before the record does; negative: damage. */
static int walk(struct ctf *c, unsigned *n)
{
    const struct ctf_trace *trace = c->trace;

    while (*n < RUN_MAX && c->content) {
        const uint8_t *p = input_at(&c->in);
        size_t there = (size_t)MIN(c->content, (uint64_t)input_buffered(&c->in));
        size_t skip = (size_t)(-c->position & 7);
        uint64_t word;
        uint64_t ticks;
        uint32_t id;
        size_t size;
        size_t whole;

        if (c->content <= skip || c->content - skip < RECORD_HEADER)
            return damaged(c, "a packet ends inside of a record");
        if (there < skip + RECORD_HEADER)
            return 0;
        p += skip;
        word = load_u64_swap(p, trace->swap);
        id = (uint32_t)(trace->metadata.big_endian ? word >> TIME_BITS : word & 0xffff);
        ticks = trace->metadata.big_endian ? word & TIME_MASK : word >> 16;
        if (unlikely(id >= trace->metadata.n_classes || !trace->metadata.classes[id]))
            return damaged(c, "an event of the id %" PRIu32 ", which the metadata does not have",
                           id);
        size = size_of(trace, id, p + RECORD_HEADER, there - skip - RECORD_HEADER);
        if (unlikely(size == SIZE_MAX))
            return there < c->content ? 0 : damaged(c, "a packet ends inside of a record");
        c->items[*n] = (struct item){
            /* Never behind a loss before it, whose end is only about right. */
            .time = MAX(to_ns(trace, c->begin + ((ticks - c->begin) & TIME_MASK)), c->last),
            .origin = &trace->origin,
            .class = trace->metadata.classes[id],
            .payload = p + RECORD_HEADER,
            .size = (uint32_t)size,
            .cpu = CPU_UNKNOWN,
            .pid = c->tid,
            .vcpu = VCPU_UNKNOWN,
            .kind = ITEM_EVENT,
        };
        c->last = c->items[(*n)++].time;
        whole = skip + RECORD_HEADER + size;
        input_skip(&c->in, whole);
        c->content -= whole;
        c->position += whole;
    }
    return 1;
}

/* ---- The source ---- */

/* The file ends in the middle of something, or is damaged: all of it that is left is passed over. */
static int give_up(struct ctf *c, int r, unsigned *n)
{
    uint64_t skipped = 0;

    if (!c->keep_going || r == -ENOMEM) {
        c->failed = r;
        return *n ? 0 : r;
    }
    fault_clear(&c->source.fault);
    do {
        skipped += input_buffered(&c->in);
        input_skip(&c->in, input_buffered(&c->in));
        r = input_refill(&c->in, &c->source.fault);
    } while (r > 0);
    if (r < 0) {
        c->failed = r;
        return *n ? 0 : r;
    }
    put_loss(c, &c->items[*n], LOSS_UNREADABLE, LOST_UNKNOWN, c->last, c->last);
    c->items[(*n)++].skipped = (uint32_t)MIN(skipped, (uint64_t)UINT32_MAX);
    c->content = c->padding = 0;
    c->ending = false;
    return 0;
}

/* One step of reading. 1: go on; 0: the buffer has no more; negative: damage. */
static int step(struct ctf *c, unsigned *n)
{
    size_t there = input_buffered(&c->in);

    if (c->content)
        return walk(c, n);
    if (c->ending)
        end_packet(c, n);
    if (c->padding) {
        size_t some = (size_t)MIN(c->padding, (uint64_t)there);

        input_skip(&c->in, some);
        c->padding -= some;
        return c->padding == 0;
    }
    if (there < PACKET_HEADER)
        return 0;
    return open_packet(c, input_at(&c->in), n) < 0 ? -EBADMSG : 1;
}

static int ctf_next(struct source *source, const struct item **ret_items)
{
    struct ctf *c = container_of(source, struct ctf, source);
    unsigned n = 0;
    int r;

    if (c->failed)
        return c->failed;
    *ret_items = c->items;
    for (;;) {
        size_t before;

        /* Two losses at most come with a packet. */
        for (r = 1; r > 0 && n < RUN_MAX - 2;)
            r = step(c, &n);
        if (r < 0)
            break;
        if (n)
            return (int)n; /* before the buffer moves */
        before = input_buffered(&c->in);
        r = input_refill(&c->in, &c->source.fault);
        if (r < 0)
            break;
        if (input_buffered(&c->in) > before)
            continue;
        if (before == 0 && c->content == 0 && c->padding == 0)
            return 0;
        r = c->in.ended
                ? damaged(c, "the file ends inside of a packet")
                : damaged(c, "a record is longer than the buffer of %zu bytes", c->in.capacity);
        break;
    }
    r = c->source.fault.error ? c->source.fault.error : r;
    r = give_up(c, r, &n);
    return r < 0 ? r : (int)n;
}

static void ctf_free(struct source *source)
{
    struct ctf *c = container_of(source, struct ctf, source);

    input_done(&c->in);
    free(c);
}

static void ctf_facts(const struct source *source,
                      void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct ctf_trace *trace = container_of(source, struct ctf, source)->trace;
    char text[64];

    if (trace->metadata.process)
        put(arg, "program", trace->metadata.process);
    if (trace->metadata.pid >= 0) {
        snprintf(text, sizeof text, "%" PRId64, trace->metadata.pid);
        put(arg, "process", text);
    }
}

static void ctf_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct ctf *c = container_of(source, struct ctf, source);

    *ret_done = input_offset(&c->in);
    *ret_total = c->in.size == UINT64_MAX ? 0 : c->in.size;
}

static const struct source_ops ctf_ops = {
    .next = ctf_next,
    .free = ctf_free,
    .facts = ctf_facts,
    .progress = ctf_progress,
};

/* ---- Opening ---- */

int ctf_trace_new(const char *path, const char *text, size_t len, struct catalogue *catalogue,
                  struct ctf_trace **ret, struct fault *fault)
{
    struct ctf_trace *trace = arena_alloc(&catalogue->arena, sizeof *trace);
    const struct ctf_metadata *m;
    int r = -ENOMEM;

    if (!trace)
        return fault_plain(fault, -ENOMEM, path, "out of memory");
    *trace = (struct ctf_trace){
        .origin = {.layer = LAYER_VMM,
                   .format = "ctf",
                   .path = arena_strdup(&catalogue->arena, path),
                   .clock = {.name = "monotonic", .hz = NANOSECONDS},
                   .task_name = thread_name},
        .catalogue = catalogue,
    };
    if (trace->origin.path)
        r = ctf_tsdl_parse(path, text, len, &trace->origin, catalogue, &trace->metadata, fault);
    if (r < 0)
        return fault_plain(fault, r, path, "out of memory");
    m = &trace->metadata;
    trace->swap = m->big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    trace->sizes = arena_alloc(&catalogue->arena, (m->n_classes + 1) * sizeof *trace->sizes);
    trace->strings = arena_alloc(&catalogue->arena, (m->n_classes + 1) * sizeof *trace->strings);
    if (!trace->sizes || !trace->strings || catalogue_list_origin(catalogue, &trace->origin) < 0)
        return fault_plain(fault, -ENOMEM, path, "out of memory");
    for (unsigned id = 0; id < m->n_classes; id++)
        for (unsigned i = 0; m->classes[id] && i < m->classes[id]->n_fields; i++) {
            const struct field *field = &m->classes[id]->fields[i];

            trace->sizes[id] += field->size;
            trace->strings[id] |= field->type == FIELD_STRING;
        }
    *ret = trace;
    return 0;
}

int ctf_stream_open(struct ctf_trace *trace, struct input *in, const struct reader_options *options,
                    struct source **ret_source, struct fault *fault)
{
    struct ctf *c = malloc(sizeof *c);

    if (!c) {
        input_done(in);
        return fault_plain(fault, -ENOMEM, NULL, "out of memory");
    }
    memset(c, 0, offsetof(struct ctf, items));
    c->source.ops = &ctf_ops;
    c->source.ordered = true;
    c->source.one_buffer = true;
    c->in = *in;
    *in = (struct input){.fd = -1};
    c->trace = trace;
    c->keep_going = options->keep_going;
    c->tid = PID_UNKNOWN;
    c->last = c->since = TIME_UNKNOWN;
    *ret_source = &c->source;
    return 0;
}

bool ctf_probe_folder(const char *path)
{
    _cleanup_free_ char *file = NULL;
    char head[16];
    ssize_t n;
    int fd;

    if (asprintf(&file, "%s/metadata", path) < 0) {
        file = NULL;
        return false;
    }
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    n = read(fd, head, sizeof head);
    close(fd);
    return n > 0 && ctf_tsdl_probe(head, (size_t)n);
}

static int read_metadata(const char *path, char **ret_text, size_t *ret_len, struct fault *fault)
{
    _cleanup_free_ char *file = NULL;
    _cleanup_free_ char *text = NULL;
    struct input in;
    size_t len = 0;
    int r;

    if (asprintf(&file, "%s/metadata", path) < 0) {
        file = NULL;
        return -ENOMEM;
    }
    r = input_open(&in, file, INPUT_BUFFER_SIZE, fault);
    if (r < 0)
        return r;
    while ((r = input_refill(&in, fault)) > 0) {
        size_t some = input_buffered(&in);
        char *bigger = len + some > METADATA_MAX ? NULL : realloc(text, len + some);

        if (!bigger) {
            r = len + some > METADATA_MAX
                    ? fault_plain(fault, -EFBIG, file, "is larger than any metadata")
                    : -ENOMEM;
            break;
        }
        text = bigger;
        memcpy(text + len, input_at(&in), some);
        len += some;
        input_skip(&in, some);
    }
    input_done(&in);
    if (r < 0)
        return r;
    *ret_text = TAKE_PTR(text);
    *ret_len = len;
    return 0;
}

struct names {
    char **names;
    unsigned n;
};

static void names_done(struct names *names)
{
    for (unsigned i = 0; i < names->n; i++)
        free(names->names[i]);
    free(names->names);
}

/* "stream-9" before "stream-10". */
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a;
    const char *y = *(char *const *)b;
    size_t x_len = strlen(x);
    size_t y_len = strlen(y);

    return x_len != y_len ? (x_len > y_len) - (x_len < y_len) : strcmp(x, y);
}

static int list_streams(const char *path, struct names *names, struct fault *fault)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int r = 0;

    if (!dir)
        return fault_plain(fault, -errno, path, "%s", strerror(errno));
    while (r >= 0 &&
           (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        char **bigger;

        if (strncmp(entry->d_name, "stream-", 7) != 0)
            continue;
        bigger = realloc(names->names, (names->n + 1) * sizeof *names->names);
        r = -ENOMEM;
        if (!bigger)
            continue;
        names->names = bigger;
        if (asprintf(&names->names[names->n], "%s/%s", path, entry->d_name) < 0)
            continue;
        names->n++;
        r = 0;
    }
    closedir(dir);
    if (names->n)
        qsort(names->names, names->n, sizeof *names->names, compare_names);
    return r;
}

int ctf_open_folder(const char *path, struct catalogue *catalogue,
                    const struct reader_options *options, struct source ***ret_sources,
                    unsigned *ret_n, struct fault *fault)
{
    _cleanup_(names_done) struct names names = {0};
    _cleanup_free_ struct source **sources = NULL;
    _cleanup_free_ char *text = NULL;
    struct ctf_trace *trace;
    unsigned n = 0;
    size_t len;
    int r;

    /* The streams first: what was in them then, the metadata that is read afterwards describes. */
    r = list_streams(path, &names, fault);
    if (r >= 0)
        r = read_metadata(path, &text, &len, fault);
    if (r >= 0)
        r = ctf_trace_new(path, text, len, catalogue, &trace, fault);
    if (r < 0)
        return r;
    /* A trace without events has one stream, an empty one: then it has an origin, and is no error. */
    sources = calloc(names.n + 1, sizeof *sources);
    if (!sources)
        return -ENOMEM;
    do {
        struct input in;

        r = names.n ? input_open(&in, names.names[n],
                                 names.n > STREAMS_MANY ? INPUT_SMALL : INPUT_BUFFER_SIZE, fault)
                    : input_open_memory(&in, "", 0, path);
        if (r >= 0)
            r = ctf_stream_open(trace, &in, options, &sources[n], fault);
    } while (r >= 0 && ++n < names.n);
    if (r < 0) {
        while (n)
            source_free(sources[--n]);
        return r;
    }
    *ret_sources = TAKE_PTR(sources);
    *ret_n = MAX(names.n, 1U);
    return 0;
}
