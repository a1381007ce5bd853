/* SPDX-License-Identifier: MIT */
/* What the streams of a trace have in common: its metadata, its clock, the names of its threads. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/ctf_reader.h"
#include "format/ctf_tsdl.h"

static const char *thread_name(const struct origin *origin, int32_t pid)
{
    const struct ctf_trace *trace = (const struct ctf_trace *)origin;

    for (const struct ctf_thread *t = trace->threads[(uint32_t)pid % THREAD_BUCKETS]; t;
         t = t->next)
        if (t->tid == pid)
            return t->name;
    return NULL;
}

/* A thread is called as it was when it was first heard of. */
int ctf_note_thread(struct ctf *c, int32_t tid, const char *name, uint64_t len)
{
    struct ctf_trace *trace = c->trace;
    struct ctf_thread **bucket = &trace->threads[(uint32_t)tid % THREAD_BUCKETS];
    struct ctf_thread *thread;

    if (len == 0 || thread_name(&trace->origin, tid))
        return 0;
    thread = arena_alloc(&trace->catalogue->arena, sizeof *thread);
    if (!thread)
        return ctf_out_of_memory(c);
    *thread = (struct ctf_thread){.next = *bucket, .tid = tid};
    memcpy(thread->name, name, MIN(len, (uint64_t)sizeof thread->name - 1));
    *bucket = thread;
    return 0;
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
    if (!clock)
        return;
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
        .origin = {.layer = LAYER_VMM,
                   .format = "ctf",
                   .path = arena_strdup(&catalogue->arena, path),
                   .task_name = thread_name},
        .catalogue = catalogue,
    };
    metadata_path = arena_strdup(&catalogue->arena, metadata_path);
    if (trace->origin.path && metadata_path)
        r = ctf_tsdl_parse(metadata_path, text, len, &catalogue->arena, &trace->metadata, fault);
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
