/* SPDX-License-Identifier: MIT */
/* What the streams of a trace have in common: its metadata, its clock, the names of its threads. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "event/origin_flags.h"
#include "event/xen_vcpu.h"
#include "format/ctf/ctf2/ctf2.h"
#include "format/ctf/reader.h"
#include "format/ctf/tsdl/tsdl.h"

static const struct ctf_origin *to_ctf(const struct origin *origin)
{
    return container_of(origin, const struct ctf_origin, origin);
}

static struct ctf_thread *find_thread(const struct ctf_origin *origin, int32_t tid)
{
    struct ctf_thread *thread = origin->threads[(uint32_t)tid % THREAD_BUCKETS];

    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

/* A name once given out stays where it is. NULL: of the number 0. */
static const char *name_of(const struct ctf_trace *trace, uint32_t comm)
{
    return comm ? trace->comms.chunks[comm / COMM_CHUNK][comm % COMM_CHUNK].name : NULL;
}

static const char *comm_name(const struct origin *origin, uint32_t comm)
{
    return name_of(to_ctf(origin)->trace, comm);
}

/* What it was called when it was last heard of. */
static const char *thread_name(const struct origin *origin, int32_t pid)
{
    const struct ctf_thread *thread = find_thread(to_ctf(origin), pid);

    return thread ? name_of(to_ctf(origin)->trace, thread->comm) : NULL;
}

/* The number of NAME. 0: there are too many. -ENOMEM. */
static int find_comm(struct ctf_trace *trace, const char *name, size_t len, uint32_t *ret)
{
    struct ctf_comms *comms = &trace->comms;
    struct arena *arena = &trace->catalogue->arena;
    struct ctf_comm **chunk, *comm;
    struct ctf_comm **bucket;
    uint32_t hash = 5381;

    for (size_t i = 0; i < len; i++)
        hash = hash * 33 + (unsigned char)name[i];
    bucket = &comms->buckets[hash % COMM_BUCKETS];
    for (comm = *bucket; comm; comm = comm->next)
        if (strncmp(comm->name, name, len) == 0 && comm->name[len] == '\0') {
            *ret = comm->number;
            return 0;
        }
    *ret = 0;
    if (comms->n + 1 == COMM_CHUNKS * COMM_CHUNK)
        return 0;
    chunk = &comms->chunks[(comms->n + 1) / COMM_CHUNK];
    if (!*chunk)
        *chunk = arena_alloc(arena, COMM_CHUNK * sizeof **chunk);
    if (!*chunk)
        return -ENOMEM;
    comm = &(*chunk)[(comms->n + 1) % COMM_CHUNK];
    *comm = (struct ctf_comm){
        .next = *bucket, .number = comms->n + 1, .name = arena_strndup(arena, name, len)};
    if (!comm->name)
        return -ENOMEM;
    *bucket = comm;
    *ret = ++comms->n;
    return 0;
}

int ctf_note_thread(struct ctf *c, int32_t tid, const char *name, uint64_t len, uint32_t *ret_comm)
{
    struct ctf_trace *trace = c->trace;
    struct ctf_origin *origin = container_of(ctf_origin_of(c), struct ctf_origin, origin);
    struct ctf_thread *thread = tid == PID_UNKNOWN ? NULL : find_thread(origin, tid);
    struct ctf_thread **bucket = &origin->threads[(uint32_t)tid % THREAD_BUCKETS];
    const char *known = thread ? name_of(trace, thread->comm) : NULL;
    uint32_t comm = 0;

    *ret_comm = 0;
    len = strnlen(name, (size_t)MIN(len, (uint64_t)COMM_LEN_MAX));
    if (len == 0)
        return 0;
    if (likely(known && strncmp(known, name, (size_t)len) == 0 && known[len] == '\0')) {
        *ret_comm = thread->comm;
        return 0;
    }
    if (find_comm(trace, name, (size_t)len, &comm) < 0)
        return ctf_out_of_memory(c);
    if (tid != PID_UNKNOWN && !thread && comm) {
        thread = arena_alloc(&trace->catalogue->arena, sizeof *thread);
        if (!thread)
            return ctf_out_of_memory(c);
        *thread = (struct ctf_thread){.next = *bucket, .tid = tid};
        *bucket = thread;
    }
    if (thread && comm)
        thread->comm = comm;
    *ret_comm = comm;
    return 0;
}

static bool is_of(const struct ctf_metadata *m, const char *tracer)
{
    return m->tracer && strcmp(m->tracer, tracer) == 0;
}

static bool is_exported(const struct ctf_metadata *m)
{
    return is_of(m, "strata-export");
}

bool ctf_is_exported(const struct ctf_trace *trace)
{
    return is_exported(&trace->metadata);
}

bool ctf_is_of_lttng_kernel(const struct ctf_trace *trace)
{
    return is_of(&trace->metadata, "lttng-modules");
}

/* The layer of a trace. Tracers of kernels trace the host's kernel, as far as the metadata says. All other traces are
 * of a VMM, by LTTng-UST or libstrata. */
static enum layer layer_of(const struct ctf_metadata *m)
{
    static const char *const kernels[] = {"lttng-modules", "perf"};
    enum layer layer;

    if (is_exported(m) && m->sources && layer_by_name(m->sources->layer, &layer) >= 0)
        return layer;
    if (m->domain && strcmp(m->domain, "kernel") == 0)
        return LAYER_HOST;
    for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
        if (is_of(m, kernels[i]))
            return LAYER_HOST;
    return LAYER_VMM;
}

void ctf_facts(const struct source *source,
               void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct ctf_trace *trace = container_of(source, struct ctf, source)->trace;
    const struct ctf_metadata *m = &trace->metadata;
    const struct ctf_clock *clock = trace->layout.clock;
    char text[128];

    if (m->version == 2)
        put(arg, "version", "CTF 2");
    if (m->tracer)
        put(arg, "tracer", m->tracer);
    if (m->host)
        put(arg, "host", m->host);
    if (m->process)
        put(arg, "program", m->process);
    if (m->pid >= 0) {
        snprintf(text, sizeof text, "%" PRId64, m->pid);
        put(arg, "process", text);
    }
    if (clock) {
        int n = snprintf(text, sizeof text, "%.40s, %" PRIu64 " ticks a second", clock->name,
                         clock->hz);

        if (clock->since_1970)
            snprintf(text + n, sizeof text - (size_t)n, ", 0 at %.6f s since 1970",
                     (double)clock->offset_s + (double)clock->offset / (double)clock->hz);
        put(arg, "stamped by", text);
    }
}

/* The largest factor that still fits gives the most digits. It is rounded up, so that whole results
 * are not one less. */
static void set_rate(struct ctf_trace *trace, uint64_t hz)
{
    wide factor;

    for (trace->shift = 64;; trace->shift--) {
        wide unit = wide_mul(wide_of(INT64_C(1) << trace->shift / 2),
                             wide_of(INT64_C(1) << (trace->shift - trace->shift / 2)));

        factor = wide_add(wide_mul(wide_of(NANOSECONDS), unit), wide_of_u64(hz - 1));
        factor = wide_div(factor, wide_of_u64(hz));
        if (!wide_is_less(wide_of_u64(UINT64_MAX), factor))
            break;
    }
    trace->factor = wide_low(factor);
}

/* How many ticks ROOM, in ns, is. */
static uint64_t ticks_in(const struct ctf_trace *trace, uint64_t room)
{
    wide unit = wide_mul(wide_of(INT64_C(1) << trace->shift / 2),
                         wide_of(INT64_C(1) << (trace->shift - trace->shift / 2)));
    wide length = wide_div(wide_mul(wide_of_u64(MIN(room, (uint64_t)INT64_MAX)), unit),
                           wide_of_u64(trace->factor));

    return wide_is_less(wide_of_u64(INT64_MAX), length) ? INT64_MAX : wide_low(length);
}

/* Beyond these, times in ns have no room. */
static void set_limits(struct ctf_trace *trace)
{
    trace->after_max = ticks_in(trace, (uint64_t)INT64_MAX - (uint64_t)trace->base_ns);
    trace->before_max = ticks_in(trace, (uint64_t)trace->base_ns - (uint64_t)INT64_MIN);
}

static void set_clock(struct ctf_trace *trace, struct origin *origin)
{
    const struct ctf_metadata *m = &trace->metadata;
    const struct ctf_clock *clock = trace->layout.clock;

    trace->factor = 1; /* ticks of an unknown clock */
    origin->clock = (struct clock){.name = "unknown"};
    origin->host_name = m->host;
    if (!clock)
        return;
    origin->clock_uuid = clock->uuid;
    set_rate(trace, clock->hz);
    origin->clock = (struct clock){.name = clock->name, .hz = NANOSECONDS};
    if (trace->strata && m->has_moment) {
        trace->base_ticks = m->ticks;
        trace->base_ns = m->monotonic;
        origin->clock.name = "monotonic";
    } else if (strcmp(clock->name, "monotonic") != 0 && clock->since_1970) {
        trace->base_ns = (int64_t)((uint64_t)clock->offset_s * NANOSECONDS +
                                   (uint64_t)ctf_to_ns(trace, (uint64_t)clock->offset));
        origin->clock.name = "realtime";
    }
    if (is_exported(m) && m->in_ticks)
        origin->clock = (struct clock){.name = clock->name};
}

static struct origin *add_origin(struct ctf_trace *trace, const char *path, enum layer layer)
{
    struct ctf_origin *origin = arena_alloc(&trace->catalogue->arena, sizeof *origin);

    if (!origin)
        return NULL;
    *origin = (struct ctf_origin){
        .origin =
            {.layer = layer,
             .format = "ctf",
             .path = path,
             /* What perf converts has neither its records of losses nor what it was told to leave out. */
             .lost_uncounted = is_of(&trace->metadata, "perf"),
             .task_name = thread_name,
             .comm = comm_name},
        .trace = trace,
    };
    if (!trace->first)
        trace->first = origin;
    return catalogue_list_origin(trace->catalogue, &origin->origin) < 0 ? NULL : &origin->origin;
}

/* One for each exported source that has streams, and one for streams of no source. */
static int add_origins(struct ctf_trace *trace, const char *path)
{
    struct ctf_metadata *m = &trace->metadata;
    struct origin *origin = NULL;

    for (const struct ctf_source_decl *source = m->sources; source && is_exported(m);
         source = source->next, origin = NULL) {
        enum layer layer = layer_of(m);

        (void)layer_by_name(source->layer, &layer);
        for (struct ctf_stream_decl *stream = m->streams; stream; stream = stream->next) {
            if (stream->origin || stream->id / 2 != source->number)
                continue;
            origin = origin ? origin : add_origin(trace, path, layer);
            if (!origin)
                return -ENOMEM;
            stream->origin = origin;
        }
    }
    for (struct ctf_stream_decl *stream = m->streams; stream; stream = stream->next) {
        if (stream->origin)
            continue;
        origin = origin ? origin : add_origin(trace, path, layer_of(m));
        if (!origin)
            return -ENOMEM;
        stream->origin = origin;
    }
    return trace->first || add_origin(trace, path, layer_of(m)) ? 0 : -ENOMEM;
}

/* What an export says of the source of STREAM. */
static void settle_source(const struct ctf_trace *trace, const struct ctf_stream_decl *stream,
                          struct origin *origin)
{
    const struct ctf_source_decl *source =
        is_exported(&trace->metadata) ? trace->metadata.sources : NULL;

    while (source && source->number != stream->id / 2)
        source = source->next;
    if (!source)
        return;
    if (source->complete_from != 0)
        origin->lost_begin = ctf_to_ns(trace, source->complete_from);
    for (unsigned i = 0; origin_flag_names[i]; i++)
        if (origin_has_flag(&source->flags, i))
            (void)origin_set_flag(origin, origin_flag_names[i], strlen(origin_flag_names[i]));
}

/* Whether CLOCK is further from 1970 than times in ns go. */
static bool is_too_far(const struct ctf_clock *clock)
{
    wide ns = wide_mul(wide_of(clock->offset_s), wide_of(NANOSECONDS));

    ns = wide_add(ns, wide_div(wide_mul(wide_of(clock->offset), wide_of(NANOSECONDS)),
                               wide_of_u64(clock->hz)));
    return wide_is_less(wide_of(INT64_MAX), ns) || wide_is_less(ns, wide_of(INT64_MIN));
}

/* What is known of the origins once the layout is. */
static void settle_origins(struct ctf_trace *trace)
{
    const struct origin *first = &trace->first->origin;

    set_clock(trace, &trace->first->origin);
    set_limits(trace);
    for (uint32_t i = 0; i < trace->layout.n_streams; i++) {
        const struct ctf_stream_class *stream = &trace->layout.streams[i];
        struct origin *origin = stream->decl->origin;

        origin->clock = first->clock;
        origin->clock_uuid = first->clock_uuid;
        origin->host_name = first->host_name;
        settle_source(trace, stream->decl, origin);
        if (stream->vcpu_names)
            origin->put_vcpu = xen_vcpu_put;
    }
}

/* What is of no stream class is of an implied one, which has no headers. */
static int imply_stream(struct ctf_trace *trace)
{
    struct ctf_metadata *m = &trace->metadata;

    if (m->streams)
        return 0;
    m->streams = arena_alloc(&trace->catalogue->arena, sizeof *m->streams);
    if (!m->streams)
        return -ENOMEM;
    m->streams->line = m->events ? m->events->line : 1;
    return 0;
}

int ctf_trace_new(const char *path, const char *metadata_path, const char *text, size_t len,
                  struct catalogue *catalogue, struct ctf_trace **ret, struct error *error)
{
    struct ctf_trace *trace = arena_alloc(&catalogue->arena, sizeof *trace);
    const char *kept_path;
    int r = -ENOMEM;

    if (!trace)
        return error_set(error, -ENOMEM, path, "out of memory");
    *trace = (struct ctf_trace){.catalogue = catalogue, .end = TIME_UNKNOWN, .begin = TIME_UNKNOWN};
    kept_path = arena_strdup(&catalogue->arena, path);
    metadata_path = arena_strdup(&catalogue->arena, metadata_path);
    if (kept_path && metadata_path)
        r = (ctf2_probe(text, len) ? ctf2_parse : ctf_tsdl_parse)(
            metadata_path, text, len, &catalogue->arena, &trace->metadata, error);
    if (r >= 0)
        r = imply_stream(trace);
    if (r >= 0) {
        trace->strata = is_of(&trace->metadata, "strata");
        trace->swap = trace->metadata.big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
        r = add_origins(trace, kept_path);
    }
    if (r >= 0)
        r = ctf_layout_make(&trace->metadata, is_exported(&trace->metadata), catalogue,
                            &trace->layout, error);
    if (r < 0)
        return error_set(error, r, path, "out of memory");
    if (trace->layout.clock && trace->layout.clock->since_1970 && is_too_far(trace->layout.clock))
        return error_set(error, -EBADMSG, metadata_path,
                         "invalid offset of the clock: more than 292 years from 1970");
    settle_origins(trace);
    *ret = trace;
    return 0;
}

bool ctf_is_of_perf(const struct origin *origin)
{
    return is_of(&to_ctf(origin)->trace->metadata, "perf");
}

int64_t ctf_time_of(const struct origin *origin, int64_t ticks)
{
    return ctf_to_ns(to_ctf(origin)->trace, (uint64_t)ticks);
}
