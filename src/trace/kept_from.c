/* SPDX-License-Identifier: MIT */
/* Finds kernels and Xens of which only the last seconds or bytes are kept, so that the pages of each CPU begin at
 * another time. Such are snapshots, files whose beginning was released, and ring buffers that wrapped around. A file of
 * Xen alone does not say whether it is such a trace. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/sparse.h"
#include "base/ticks.h"
#include "timeline/clock_map.h"
#include "trace/open.h"

/* True if the beginning of the file PATH was released. */
static bool is_released(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    return fd >= 0 && sparse_begin(fd) > 0;
}

/* True if the beginning of the pages of any CPU was released, in the directory PATH. */
static bool has_released(const char *path, unsigned n_cpus)
{
    bool released = false;

    for (unsigned i = 0; i < n_cpus && !released; i++) {
        _cleanup_free_ char *file = NULL;

        if (asprintf(&file, "%s/cpu%u.raw", path, i) < 0)
            file = NULL;
        else
            released = is_released(file);
    }
    return released;
}

void trace_note_begins(struct trace *trace, struct trace_input *input)
{
    _cleanup_free_ char *path = NULL;
    bool is_xen = strcmp(input->origin->format, "xentrace") == 0;

    if (!input->manifest || !input->recorded) {
        /* What is recorded to a ring (xentrace -M), or cut out, begins the same way as all else. */
        input->complete_from = is_xen ? input->origin->last_begin : 0;
        return;
    }
    /* A kernel goes on while its CPUs are copied. */
    if (input->manifest->snapshot && strcmp(input->recorded->kind, "ftrace") == 0)
        for (unsigned i = 0; i < input->n_origins; i++)
            trace->catalogue.origins[input->first_origin + i]->ends_apart = true;
    if ((is_xen || strcmp(input->recorded->kind, "ftrace") == 0) &&
        manifest_resolve(input->path, input->recorded->path, &path, NULL) >= 0 &&
        (input->manifest->snapshot ||
         (is_xen ? is_released(path) : has_released(path, input->origin->n_cpus))))
        input->complete_from = input->origin->last_begin;
}

void trace_set_bounds(struct trace *trace, const struct trace_input *input)
{
    int64_t ended = trace->host_time && input->recorded ? input->recorded->ended.monotonic_ns : 0;
    int64_t began = trace->host_time && input->recorded ? input->recorded->began.monotonic_ns : 0;
    bool is_known = ended != 0 && input->recorded->complete && !input->recorded->lost_uncounted;

    for (unsigned i = 0; i < input->n_origins; i++) {
        struct origin *origin = trace->catalogue.origins[input->first_origin + i];
        int64_t from = MAX(input->complete_from, origin->lost_begin);

        if (from != 0 && trace->host_time && input->clock_map)
            from = MAX(clock_map_convert(input->clock_map, from, NULL), 1);
        origin->complete_from = from;
        origin->ended = ended;
        /* Of a snapshot, and where the beginning was released, it is not known what was kept. */
        origin->known_from = is_known && origin->layer != LAYER_GUEST && from == 0 &&
                                     !(input->manifest && input->manifest->snapshot)
                                 ? began
                                 : 0;
        origin->known_until = is_known && origin->layer != LAYER_GUEST ? ended : 0;
    }
}

/* Returns the ticks of INPUT at TIME of the host's clock, moved by the largest error: later (SIGN 1) or earlier
 * (-1). */
static int64_t to_ticks(const struct trace_input *input, int64_t time, int sign)
{
    int64_t error;

    (void)clock_map_convert(input->clock_map, clock_map_ticks(input->clock_map, time), &error);
    return clock_map_ticks(input->clock_map, ticks_sum(time, sign * MIN(error, INT64_MAX / 2)));
}

struct stray_bounds trace_bound_times(const struct trace *trace, const struct trace_input *input)
{
    const struct manifest_source *recorded = input->recorded;
    struct stray_bounds bounds = STRAY_UNBOUNDED;
    int64_t began, ended;

    /* A snapshot is copied for some time, and the moments of what was merged are of several hosts. */
    if (!recorded || input->manifest->snapshot || trace_input_is_merged(input) ||
        (!trace->host_time && !input->on_host_clock && !input->clock_map))
        return bounds;
    ended = recorded->ended.monotonic_ns;
    /* The buffers of a program, and of a guest that came from another machine, may have been filled before. */
    began = strcmp(recorded->kind, "ftrace") == 0 && recorded->came.realtime_ns == 0
                ? recorded->began.monotonic_ns
                : 0;
    if (ended != 0)
        bounds.most = ticks_sum(ended, (int64_t)SOURCE_STRAY_NS);
    if (began != 0)
        bounds.least = ticks_sum(began, -(int64_t)SOURCE_STRAY_NS);
    if (!input->clock_map)
        return bounds;
    if (ended != 0)
        bounds.most = to_ticks(input, bounds.most, 1);
    if (began != 0)
        bounds.least = to_ticks(input, bounds.least, -1);
    if (!trace->host_time)
        return bounds;
    bounds.most = ended != 0 ? clock_map_convert(input->clock_map, bounds.most, NULL) : INT64_MAX;
    bounds.least = began != 0 ? clock_map_convert(input->clock_map, bounds.least, NULL) : INT64_MIN;
    return bounds;
}
