/* SPDX-License-Identifier: MIT */
#include "record/percpu/recorder.h"

#include <string.h>
#include <time.h>

#include "format/xentrace/record.h"

/* At the end, how long a buffer that was full may take to tell of its losses: its CPU does so with the next
 * record, if there is one. */
#define LAST_WORDS UINT64_C(20000000)

/* A window with some records. */
#define MEMORY_MIN ((size_t)4096)

struct recorder {
    struct trace_buffers *buffers;
    struct stream *output;
    struct recorder_settings settings;
    struct chunk_memory memory;
    struct chunk_state *states; /* by CPU */
    uint64_t *pending;          /* by CPU: lost, not in a record, at the end */
    uint8_t *scratch;           /* what was chosen of a window */
    uint64_t damaged;
    bool was_full; /* a buffer, when it was last looked at */
    int end;       /* why nothing is taken any more: a recorder_progress or an error */
};

int recorder_new(struct trace_buffers *buffers, struct stream *output,
                 const struct recorder_settings *settings, struct recorder **ret,
                 struct fault *fault)
{
    size_t size = (size_t)buffers->pages * STRATA_PERCPU_PAGE;
    struct recorder *recorder;

    if (settings->memory && settings->memory < MEMORY_MIN)
        return fault_plain(fault, -EINVAL, "", "%zu bytes of memory are too few: %zu at least",
                           settings->memory, MEMORY_MIN);
    recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        goto out_of_memory;
    recorder->buffers = buffers;
    recorder->output = output;
    recorder->settings = *settings;
    recorder->states = calloc(buffers->n_cpus, sizeof *recorder->states);
    recorder->pending = calloc(buffers->n_cpus, sizeof *recorder->pending);
    if (!recorder->states || !recorder->pending)
        goto out_of_memory;
    if (settings->choice) {
        recorder->scratch = malloc(size + 16);
        if (!recorder->scratch)
            goto out_of_memory;
    }
    if (settings->memory && chunk_memory_init(&recorder->memory, settings->memory) < 0)
        goto out_of_memory;
    *ret = recorder;
    return 0;

out_of_memory:
    recorder_free(recorder);
    return fault_plain(fault, -ENOMEM, "", "out of memory");
}

void recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return;
    chunk_memory_done(&recorder->memory);
    free(recorder->states);
    free(recorder->pending);
    free(recorder->scratch);
    free(recorder);
}

static int are_gone(const struct recorder *recorder, struct fault *fault)
{
    struct trace_buffers *buffers = recorder->buffers;

    return buffers->ops->gone ? buffers->ops->gone(buffers, fault) : 0;
}

/* ---- A window ---- */

static int put(struct recorder *recorder, unsigned cpu, struct iovec *parts, unsigned n,
               struct fault *fault)
{
    uint32_t header[3] = {XENTRACE_WINDOW_HEADER, cpu, 0};

    for (unsigned i = 1; i < n; i++)
        header[2] += (uint32_t)parts[i].iov_len;
    if (header[2] == 0)
        return STREAM_WRITTEN;
    parts[0] = (struct iovec){header, sizeof header};
    if (recorder->memory.bytes) {
        chunk_memory_put(&recorder->memory, parts, n);
        return STREAM_WRITTEN;
    }
    return stream_write(recorder->output, parts, n, fault);
}

/* Counts, chooses and writes. */
static int take_windows(struct recorder *recorder, unsigned cpu,
                        const struct strata_percpu_window *windows, unsigned n, struct fault *fault)
{
    struct chunk_state *state = &recorder->states[cpu];
    uint64_t records = state->counts.records;
    struct iovec parts[3];
    size_t used = 0;
    int damaged = 0;
    int r;

    for (unsigned i = 0; i < n; i++) {
        const uint8_t *data = windows[i].data;
        size_t size = windows[i].size;

        if (recorder->settings.choice) {
            size_t kept;

            r = chunk_filter(state, recorder->settings.choice, data, size, recorder->scratch + used,
                             &kept);
            used += kept;
        } else {
            r = chunk_count(state, data, size);
            parts[1 + i] = (struct iovec){(void *)(uintptr_t)data, size};
        }
        damaged |= r < 0;
    }
    if (recorder->settings.choice) {
        parts[1] = (struct iovec){recorder->scratch, used};
        n = 1;
    }
    recorder->damaged += (uint64_t)damaged;
    r = are_gone(recorder, fault);
    if (r >= 0)
        r = put(recorder, cpu, parts, n + 1, fault);
    if (r != STREAM_WRITTEN)
        state->counts.records = records;
    return r;
}

static bool worth_it(const struct recorder *recorder, const struct strata_percpu_view *view,
                     const struct strata_percpu_window windows[2])
{
    uint64_t n = recorder->settings.threshold;

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

static int take_cpu(struct recorder *recorder, unsigned cpu, bool all, struct fault *fault)
{
    struct strata_percpu_view *view = recorder->buffers->views[cpu];
    struct strata_percpu_window windows[2];
    size_t size;
    int r;
    int n = strata_percpu_view_windows(view, windows);

    if (n < 0)
        return fault_plain(fault, n, "",
                           "the trace buffer of CPU %u is damaged: its cons and prod are out of it",
                           cpu);
    size = windows[0].size + windows[1].size;
    recorder->was_full |= size + XENTRACE_RECORD_MAX > view->size;
    if (n == 0 || (!all && !worth_it(recorder, view, windows)))
        return RECORDER_GOES_ON;
    r = take_windows(recorder, cpu, windows, (unsigned)n, fault);
    if (r < 0)
        return r;
    if (r != STREAM_WRITTEN)
        return r == STREAM_MAX ? RECORDER_FULL : RECORDER_RESERVE;
    r = strata_percpu_view_release(view, size);
    if (r < 0)
        return fault_plain(fault, r, "",
                           "somebody else takes records from the trace buffer of CPU %u as well",
                           cpu);
    return RECORDER_GOES_ON;
}

/* ALL: however little there is. After a window that could not be written there is none that is, so that
 * no gap is in the stream but at its end. */
static int take_all(struct recorder *recorder, bool all, struct fault *fault)
{
    recorder->was_full = false;
    if (!recorder->end)
        recorder->end = are_gone(recorder, fault);
    for (unsigned cpu = 0; cpu < recorder->buffers->n_cpus && !recorder->end; cpu++)
        if (recorder->buffers->views[cpu])
            recorder->end = take_cpu(recorder, cpu, all, fault);
    return recorder->end;
}

/* ---- The course ---- */

int recorder_step(struct recorder *recorder, uint64_t timeout, const sigset_t *mask,
                  struct fault *fault)
{
    struct trace_buffers *buffers = recorder->buffers;
    int r = buffers->ops->wait(buffers, MIN(timeout, recorder->settings.poll), mask, fault);

    if (r < 0) {
        recorder->end = r;
        return r;
    }
    return take_all(recorder, false, fault);
}

static void ask_pending(struct recorder *recorder)
{
    struct trace_buffers *buffers = recorder->buffers;
    uint64_t lost;

    for (unsigned cpu = 0; cpu < buffers->n_cpus; cpu++)
        if (buffers->views[cpu] && buffers->ops->pending(buffers, cpu, &lost) >= 0)
            recorder->pending[cpu] = lost;
}

int recorder_finish(struct recorder *recorder, bool leave, struct fault *fault)
{
    struct trace_buffers *buffers = recorder->buffers;
    int r;
    int q = 0;

    stream_hurry(recorder->output);
    r = take_all(recorder, true, fault);
    if (r == RECORDER_GOES_ON && recorder->was_full) {
        struct timespec time = {.tv_nsec = (long)LAST_WORDS};

        nanosleep(&time, NULL);
        (void)take_all(recorder, true, fault);
    }
    if (!leave)
        q = buffers->ops->stop(buffers, fault);
    r = take_all(recorder, true, fault);
    if (!leave)
        ask_pending(recorder);
    if (recorder->memory.bytes) {
        /* Also when taking more has failed: what came before is what one wants to see. */
        int written = chunk_memory_write(&recorder->memory, recorder->output, fault);

        if (written > 0)
            written = written == STREAM_MAX ? RECORDER_FULL : RECORDER_RESERVE;
        r = r < 0 ? r : written;
    }
    return r < 0 || q >= 0 ? r : q;
}

struct recorder_totals recorder_totals(const struct recorder *recorder)
{
    struct recorder_totals totals = {
        .bytes = recorder->output->written,
        .dropped = recorder->memory.dropped,
        .damaged = recorder->damaged,
    };

    for (unsigned cpu = 0; cpu < recorder->buffers->n_cpus; cpu++) {
        const struct chunk_counts *counts = &recorder->states[cpu].counts;

        totals.records += counts->records;
        totals.left_out += counts->left_out;
        totals.lost += counts->lost + recorder->pending[cpu];
        totals.pending += recorder->pending[cpu];
        totals.losses += counts->losses + (recorder->pending[cpu] ? 1 : 0);
    }
    totals.records -= recorder->memory.dropped_records;
    return totals;
}

uint64_t recorder_lost(const struct recorder *recorder, unsigned cpu)
{
    return recorder->states[cpu].counts.lost + recorder->pending[cpu];
}
