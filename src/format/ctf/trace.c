/* SPDX-License-Identifier: MIT */
/* What the streams of a trace have in common: its metadata, its clock, the names of its threads. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf/reader.h"
#include "format/ctf/tsdl.h"

static struct ctf_thread *find_thread(const struct ctf_trace *trace, int32_t tid)
{
    struct ctf_thread *thread = trace->threads[(uint32_t)tid % THREAD_BUCKETS];

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
    return name_of(container_of(origin, const struct ctf_trace, origin), comm);
}

/* What it was called when it was last heard of. */
static const char *thread_name(const struct origin *origin, int32_t pid)
{
    const struct ctf_trace *trace = container_of(origin, const struct ctf_trace, origin);
    const struct ctf_thread *thread = find_thread(trace, pid);

    return thread ? name_of(trace, thread->comm) : NULL;
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
    struct ctf_thread *thread = tid == PID_UNKNOWN ? NULL : find_thread(trace, tid);
    struct ctf_thread **bucket = &trace->threads[(uint32_t)tid % THREAD_BUCKETS];
    const char *known = thread ? name_of(trace, thread->comm) : NULL;
    uint32_t comm = 0;

    *ret_comm = 0;
    len = strnlen(name, MIN(len, (uint64_t)COMM_LEN_MAX));
    if (len == 0)
        return 0;
    if (likely(known && strncmp(known, name, len) == 0 && known[len] == '\0')) {
        *ret_comm = thread->comm;
        return 0;
    }
    if (find_comm(trace, name, len, &comm) < 0)
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

/* Which layer a trace is of: what traces a kernel traces that of the host, as far as the metadata tells. All else is
 * a VMM's, which LTTng-UST and libstrata trace. */
static enum layer layer_of(const struct ctf_metadata *m)
{
    static const char *const kernels[] = {"lttng-modules", "perf"};
    enum layer layer;

    if (m->tracer && strcmp(m->tracer, "strata-export") == 0 && m->layer && !m->several_layers &&
        layer_by_name(m->layer, &layer) >= 0)
        return layer;

    if (m->domain && strcmp(m->domain, "kernel") == 0)
        return LAYER_HOST;
    for (size_t i = 0; m->tracer && i < ARRAY_SIZE(kernels); i++)
        if (strcmp(m->tracer, kernels[i]) == 0)
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

        if (clock->offset_s || clock->offset)
            snprintf(text + n, sizeof text - (size_t)n, ", 0 at %.6f s since 1970",
                     (double)clock->offset_s + (double)clock->offset / (double)clock->hz);
        put(arg, "stamped by", text);
    }
}

/* The largest factor that still fits gives the most digits. It is rounded up, so that whole results
 * are not one less. */
static void set_rate(struct ctf_trace *trace, uint64_t hz)
{
    unsigned __int128 factor;

    for (trace->shift = 64;; trace->shift--) {
        factor = (((unsigned __int128)NANOSECONDS << trace->shift) + hz - 1) / hz;
        if (factor <= UINT64_MAX)
            break;
    }
    trace->factor = (uint64_t)factor;
}

static void set_clock(struct ctf_trace *trace)
{
    const struct ctf_metadata *m = &trace->metadata;
    const struct ctf_clock *clock = trace->layout.clock;

    trace->factor = 1; /* ticks of a clock of which nothing is known */
    trace->origin.clock = (struct clock){.name = "unknown"};
    trace->origin.host_name = m->host;
    if (!clock)
        return;
    trace->origin.clock_uuid = clock->uuid;
    set_rate(trace, clock->hz);
    trace->origin.clock = (struct clock){.name = clock->name, .hz = NANOSECONDS};
    if (trace->strata && m->has_moment) {
        trace->base_ticks = m->ticks;
        trace->base_ns = m->monotonic;
        trace->origin.clock.name = "monotonic";
    } else if (strcmp(clock->name, "monotonic") != 0 && (clock->offset_s || clock->offset)) {
        trace->base_ns = (int64_t)((uint64_t)clock->offset_s * NANOSECONDS +
                                   (uint64_t)ctf_to_ns(trace, (uint64_t)clock->offset));
        trace->origin.clock.name = "realtime";
    }
}

int ctf_trace_new(const char *path, const char *metadata_path, const char *text, size_t len,
                  struct catalogue *catalogue, struct ctf_trace **ret, struct fault *fault)
{
    struct ctf_trace *trace = arena_alloc(&catalogue->arena, sizeof *trace);
    int r = -ENOMEM;

    if (!trace)
        return fault_plain(fault, -ENOMEM, path, "out of memory");
    *trace = (struct ctf_trace){
        .origin = {.format = "ctf",
                   .path = arena_strdup(&catalogue->arena, path),
                   .task_name = thread_name,
                   .comm = comm_name},
        .catalogue = catalogue,
    };
    metadata_path = arena_strdup(&catalogue->arena, metadata_path);
    if (trace->origin.path && metadata_path)
        r = ctf_tsdl_parse(metadata_path, text, len, &catalogue->arena, &trace->metadata, fault);
    if (r >= 0)
        trace->origin.layer = layer_of(&trace->metadata);
    if (r >= 0)
        r = ctf_layout_make(&trace->metadata, &trace->origin, catalogue, &trace->layout, fault);
    if (r >= 0)
        r = catalogue_list_origin(catalogue, &trace->origin);
    if (r < 0)
        return fault_plain(fault, r, path, "out of memory");
    trace->strata = trace->metadata.tracer && strcmp(trace->metadata.tracer, "strata") == 0;
    trace->swap = trace->metadata.big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    set_clock(trace);
    *ret = trace;
    return 0;
}

int64_t ctf_time_of(const struct origin *origin, int64_t ticks)
{
    return ctf_to_ns(container_of(origin, const struct ctf_trace, origin), (uint64_t)ticks);
}
