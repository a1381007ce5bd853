/* SPDX-License-Identifier: MIT */
#include "record/percpu/buffer_drain.h"

#include <string.h>
#include <time.h>

#include "format/xentrace/record.h"

/* At the end, how long a buffer that was full may take to tell of its losses: its CPU does so with the next
 * record, if there is one. */
#define LAST_WORDS UINT64_C(20000000)

/* A window with some records. */
#define MEMORY_MIN ((size_t)4096)

struct buffer_drain {
    struct trace_buffers *buffers;
    struct stream *output;
    struct buffer_drain_settings settings;
    struct chunk_memory memory;
    struct chunk_state *states; /* by CPU */
    uint64_t *pending;          /* by CPU: lost, not in a record, at the end */
    uint8_t *scratch;           /* what was chosen of a window */
    uint64_t damaged;
    uint64_t unwritten;
    bool was_full; /* a buffer, when it was last looked at */
    int end;       /* why nothing is taken any more: a buffer_drain_progress or an error */
};

int buffer_drain_new(struct trace_buffers *buffers, struct stream *output,
                     const struct buffer_drain_settings *settings, struct buffer_drain **ret,
                     struct error *error)
{
    size_t size = (size_t)buffers->pages * STRATA_PERCPU_PAGE;
    struct buffer_drain *drain;

    if (settings->memory && settings->memory < MEMORY_MIN)
        return error_set(error, -EINVAL, "", "%zu bytes of memory are too few: %zu at least",
                         settings->memory, MEMORY_MIN);
    drain = calloc(1, sizeof *drain);
    if (!drain)
        goto out_of_memory;
    drain->buffers = buffers;
    drain->output = output;
    drain->settings = *settings;
    drain->states = calloc(buffers->n_cpus, sizeof *drain->states);
    drain->pending = calloc(buffers->n_cpus, sizeof *drain->pending);
    if (!drain->states || !drain->pending)
        goto out_of_memory;
    if (settings->choice) {
        drain->scratch = malloc(size + 16);
        if (!drain->scratch)
            goto out_of_memory;
    }
    if (settings->memory && chunk_memory_init(&drain->memory, settings->memory) < 0)
        goto out_of_memory;
    *ret = drain;
    return 0;

out_of_memory:
    buffer_drain_free(drain);
    return error_set(error, -ENOMEM, "", "out of memory");
}

void buffer_drain_free(struct buffer_drain *drain)
{
    if (!drain)
        return;
    chunk_memory_done(&drain->memory);
    free(drain->states);
    free(drain->pending);
    free(drain->scratch);
    free(drain);
}

static int are_gone(const struct buffer_drain *drain, struct error *error)
{
    struct trace_buffers *buffers = drain->buffers;

    return buffers->ops->gone ? buffers->ops->gone(buffers, error) : 0;
}

/* ---- A window ---- */

static int put(struct buffer_drain *drain, unsigned cpu, struct iovec *parts, unsigned n,
               struct error *error)
{
    uint32_t header[3] = {XENTRACE_WINDOW_HEADER, cpu, 0};

    for (unsigned i = 1; i < n; i++)
        header[2] += (uint32_t)parts[i].iov_len;
    if (header[2] == 0)
        return STREAM_WRITTEN;
    parts[0] = (struct iovec){header, sizeof header};
    if (drain->memory.bytes) {
        chunk_memory_put(&drain->memory, parts, n);
        return STREAM_WRITTEN;
    }
    return stream_write(drain->output, parts, n, error);
}

/* Counts, chooses and writes. */
static int take_windows(struct buffer_drain *drain, unsigned cpu,
                        const struct strata_percpu_window *windows, unsigned n, struct error *error)
{
    struct chunk_state *state = &drain->states[cpu];
    uint64_t records = state->counts.records;
    struct iovec parts[3];
    size_t used = 0;
    int damaged = 0;
    int r;

    for (unsigned i = 0; i < n; i++) {
        const uint8_t *data = windows[i].data;
        size_t size = windows[i].size;

        if (drain->settings.choice) {
            size_t kept;

            r = chunk_filter(state, drain->settings.choice, data, size, drain->scratch + used,
                             &kept);
            used += kept;
        } else {
            r = chunk_count(state, data, size);
            parts[1 + i] = (struct iovec){(void *)(uintptr_t)data, size};
        }
        damaged |= r < 0;
    }
    if (drain->settings.choice) {
        parts[1] = (struct iovec){drain->scratch, used};
        n = 1;
    }
    drain->damaged += (uint64_t)damaged;
    r = are_gone(drain, error);
    if (r >= 0)
        r = put(drain, cpu, parts, n + 1, error);
    if (r != STREAM_WRITTEN)
        state->counts.records = records;
    return r;
}

static bool worth_it(const struct buffer_drain *drain, const struct strata_percpu_view *view,
                     const struct strata_percpu_window windows[2])
{
    uint64_t n = drain->settings.threshold;

    if (n <= 1 || windows[0].size + windows[1].size >= view->size / 2)
        return true;
    /* An event has 4 bytes at least. */
    if ((windows[0].size + windows[1].size) / 4 < n)
        return false;
    if (windows[1].size == 0)
        return chunk_has(windows[0].data, windows[0].size, n);
    for (unsigned i = 0; i < 2; i++) {
        struct chunk_state state = {0};

        (void)chunk_count(&state, windows[i].data, windows[i].size);
        n -= MIN(n, state.counts.records);
    }
    return n == 0;
}

static int take_cpu(struct buffer_drain *drain, unsigned cpu, bool all, struct error *error)
{
    struct strata_percpu_view *view = drain->buffers->views[cpu];
    struct strata_percpu_window windows[2];
    size_t size;
    int r;
    int n = strata_percpu_view_windows(view, windows);

    if (n < 0)
        return error_set(error, n, "",
                         "the trace buffer of CPU %u is damaged: its cons and prod are out of it",
                         cpu);
    size = windows[0].size + windows[1].size;
    drain->was_full |= size + XENTRACE_RECORD_MAX > view->size;
    if (n == 0 || (!all && !worth_it(drain, view, windows)))
        return BUFFER_DRAIN_ONGOING;
    r = take_windows(drain, cpu, windows, (unsigned)n, error);
    if (r < 0)
        return r;
    if (r != STREAM_WRITTEN)
        return r == STREAM_MAX ? BUFFER_DRAIN_MAX_SIZE : BUFFER_DRAIN_MIN_FREE;
    r = strata_percpu_view_release(view, size);
    if (r < 0)
        return error_set(error, r, "", "another program also reads the trace buffer of CPU %u",
                         cpu);
    return BUFFER_DRAIN_ONGOING;
}

/* ALL: however little there is. After a window that could not be written there is none that is, so that
 * no gap is in the stream but at its end. */
static int take_all(struct buffer_drain *drain, bool all, struct error *error)
{
    drain->was_full = false;
    if (!drain->end)
        drain->end = are_gone(drain, error);
    for (unsigned cpu = 0; cpu < drain->buffers->n_cpus && !drain->end; cpu++)
        if (drain->buffers->views[cpu])
            drain->end = take_cpu(drain, cpu, all, error);
    return drain->end;
}

/* ---- The course ---- */

int buffer_drain_take(struct buffer_drain *drain, struct error *error)
{
    return take_all(drain, false, error);
}

int buffer_drain_flush(struct buffer_drain *drain, struct error *error)
{
    return take_all(drain, true, error);
}

static void ask_pending(struct buffer_drain *drain)
{
    struct trace_buffers *buffers = drain->buffers;
    uint64_t lost;

    for (unsigned cpu = 0; cpu < buffers->n_cpus; cpu++)
        if (buffers->views[cpu] && buffers->ops->pending(buffers, cpu, &lost) >= 0)
            drain->pending[cpu] = lost;
}

/* The records that are in the buffers and will not be written. */
static void count_unwritten(struct buffer_drain *drain)
{
    for (unsigned cpu = 0; cpu < drain->buffers->n_cpus; cpu++) {
        struct chunk_state state = drain->states[cpu];
        struct strata_percpu_view *view = drain->buffers->views[cpu];
        struct strata_percpu_window windows[2];
        size_t kept;
        int n = view ? strata_percpu_view_windows(view, windows) : 0;

        for (int i = 0; i < n; i++)
            (void)(drain->settings.choice
                       ? chunk_filter(&state, drain->settings.choice, windows[i].data,
                                      windows[i].size, drain->scratch, &kept)
                       : chunk_count(&state, windows[i].data, windows[i].size));
        drain->unwritten += state.counts.records - drain->states[cpu].counts.records;
    }
}

int buffer_drain_finish(struct buffer_drain *drain, bool leave, struct error *error)
{
    struct trace_buffers *buffers = drain->buffers;
    int r;
    int q = 0;

    stream_hurry(drain->output);
    r = take_all(drain, true, error);
    if (r == BUFFER_DRAIN_ONGOING && drain->was_full) {
        struct timespec time = {.tv_nsec = (long)LAST_WORDS};

        nanosleep(&time, NULL);
        (void)take_all(drain, true, error);
    }
    if (!leave)
        q = buffers->ops->stop(buffers, error);
    r = take_all(drain, true, error);
    if (!leave)
        ask_pending(drain);
    if (r == BUFFER_DRAIN_MAX_SIZE || r == BUFFER_DRAIN_MIN_FREE)
        count_unwritten(drain);
    if (drain->memory.bytes) {
        /* Also when taking more has failed: what came before is what one wants to see. */
        int written = chunk_memory_write(&drain->memory, drain->output, error);

        if (written > 0)
            written = written == STREAM_MAX ? BUFFER_DRAIN_MAX_SIZE : BUFFER_DRAIN_MIN_FREE;
        r = r < 0 ? r : written;
    }
    return r < 0 || q >= 0 ? r : q;
}

struct buffer_drain_totals buffer_drain_totals(const struct buffer_drain *drain)
{
    struct buffer_drain_totals totals = {
        .bytes = drain->output->written,
        .dropped = drain->memory.dropped,
        .damaged = drain->damaged,
        .unwritten = drain->unwritten,
    };

    for (unsigned cpu = 0; cpu < drain->buffers->n_cpus; cpu++) {
        const struct chunk_counts *counts = &drain->states[cpu].counts;

        totals.records += counts->records;
        totals.left_out += counts->left_out;
        totals.lost += counts->lost + drain->pending[cpu];
        totals.pending += drain->pending[cpu];
        totals.losses += counts->losses + (drain->pending[cpu] ? 1 : 0);
    }
    totals.records -= drain->memory.dropped_records;
    return totals;
}

uint64_t buffer_drain_lost(const struct buffer_drain *drain, unsigned cpu)
{
    return drain->states[cpu].counts.lost + drain->pending[cpu];
}
