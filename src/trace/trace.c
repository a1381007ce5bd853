/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "format/ctf/ctf.h"
#include "format/simpletrace/simpletrace.h"
#include "schema/xen/table.h"
#include "timeline/clock_map.h"
#include "timeline/merge.h"
#include "timeline/reorder.h"
#include "trace/directory.h"
#include "trace/open.h"
#include "trace/recognise.h"

/* What the hungriest reader wants of its input. */
#define INPUT_SIZE MAX(INPUT_BUFFER_SIZE, SIMPLETRACE_INPUT_SIZE)
/* As much of a file's beginning as telling its kind takes. */
#define HEAD_SIZE ((size_t)8192)
/* What a live pipe must have written before it is told what it is. */
#define HEAD_ENOUGH ((size_t)64)

struct trace *trace_free(struct trace *trace)
{
    if (!trace)
        return NULL;
    source_free(trace->source);
    for (unsigned i = 0; i < trace->n_parts; i++) {
        struct trace_part *part = &trace->parts[i];

        for (unsigned j = 0; !part->assembled && j < part->n_sources; j++)
            source_free(part->sources[j]);
        free(part->sources);
        if (part->clock_map)
            clock_map_done(part->clock_map);
        free(part->clock_map);
    }
    while (trace->events) {
        struct events_files *next = trace->events->next;

        events_files_done(trace->events);
        free(trace->events);
        trace->events = next;
    }
    for (unsigned i = 0; i < trace->n_xen_tables; i++) {
        xen_table_done(trace->xen_tables[i]);
        free(trace->xen_tables[i]);
    }
    for (unsigned i = 0; i < trace->n_manifests; i++)
        manifest_done(&trace->manifests[i]);
    free(trace->xen_tables);
    free(trace->manifests);
    free(trace->notes);
    free(trace->parts);
    free(trace->reorders);
    free(trace->pipes);
    catalogue_done(&trace->catalogue);
    free(trace);
    return NULL;
}

static void trace_freep(struct trace **trace)
{
    trace_free(*trace);
}

int opening_add(struct opening *opening, struct source *source)
{
    struct source **bigger =
        realloc(opening->sources, (opening->n_sources + 1) * sizeof *opening->sources);

    if (!bigger) {
        source_free(source);
        return -ENOMEM;
    }
    opening->sources = bigger;
    opening->sources[opening->n_sources++] = source;
    return 0;
}

void opening_set(struct opening *opening, struct source **sources, unsigned n)
{
    opening->sources = sources;
    opening->n_sources = n;
}

static void opening_done(struct opening *opening)
{
    for (unsigned i = 0; i < opening->n_sources; i++)
        source_free(opening->sources[i]);
    free(opening->sources);
    if (opening->input.buf)
        input_done(&opening->input);
}

/* Buffers the beginning of IN. */
static int read_head(struct input *in, struct error *error)
{
    while (input_buffered(in) < HEAD_SIZE) {
        struct pollfd pollfd = {.fd = in->fd, .events = POLLIN};
        size_t before = input_buffered(in);
        int r;

        if (!in->seekable && before >= HEAD_ENOUGH && poll(&pollfd, 1, 0) == 0)
            break;
        r = input_refill(in, error);
        if (r < 0)
            return r;
        if (input_buffered(in) == before)
            break;
    }
    return 0;
}

/* Opens the path and tells what it is. */
static int look_at(struct opening *opening, struct error *error)
{
    struct stat st;
    int r;

    if (opening->path[0] == '\0')
        return error_set(error, -EINVAL, NULL, "the path is empty");
    for (unsigned i = 0; strcmp(opening->path, "-") == 0 && i < opening->n_others; i++)
        if (strcmp(opening->others[i].path, "-") == 0)
            return error_set(error, -EINVAL, "standard input",
                             "can be read only once, but is given twice");
    if (strcmp(opening->path, "-") != 0 && stat(opening->path, &st) == 0 && S_ISDIR(st.st_mode)) {
        /* Pages of a recording may still have to come. */
        if (!opening->recorded && !directory_is_trace(opening->path))
            return directory_refuse(opening->path, error);
        opening->kind = ctf_probe_dir(opening->path) ? CAPTURE_CTF_FOLDER : CAPTURE_FTRACE_FOLDER;
        return 0;
    }
    r = (opening->recorded ? input_open_regular : input_open)(&opening->input, opening->path,
                                                              INPUT_SIZE, error);
    if (r >= 0)
        r = read_head(&opening->input, error);
    if (r < 0)
        return r;
    opening->kind = recognise(input_at(&opening->input), input_buffered(&opening->input));
    /* One that was just begun holds nothing to be known by. */
    if (opening->recorded && strcmp(opening->recorded->kind, "xentrace") == 0)
        opening->kind = CAPTURE_XENTRACE;
    if (opening->recorded && strcmp(opening->recorded->kind, "qemu-log") == 0)
        opening->kind = CAPTURE_QEMU_LOG;
    /* A simpletrace without its header has nothing to be known by. */
    if (opening->kind == CAPTURE_UNKNOWN && opening->options->no_header)
        opening->kind = CAPTURE_SIMPLETRACE;
    return 0;
}

static int refuse(const struct opening *opening, struct error *error)
{
    const struct input *in = &opening->input;
    const char *unpack = recognise_packed(input_at(in), input_buffered(in));

    if (input_buffered(in) == 0)
        return error_set(error, -EINVAL, in->path, "is empty");
    if (unpack)
        return error_set(error, -EINVAL, in->path,
                         "is compressed; unpack it first, as in: %s %s | strata report -", unpack,
                         opening->path);
    return error_set(
        error, -EINVAL, in->path,
        "not a known trace format (QEMU simpletrace or log, xentrace, "
        "trace.dat, ftrace pages or a directory of them, a directory in CTF, a recorded "
        "directory)");
}

/* Notes an input that may be waiting for its writer. */
static int note_pipe(struct trace *trace, int fd)
{
    int *bigger = realloc(trace->pipes, (trace->n_pipes + 1) * sizeof *trace->pipes);

    if (!bigger)
        return -ENOMEM;
    trace->pipes = bigger;
    trace->pipes[trace->n_pipes++] = fd;
    return 0;
}

static int open_kind(struct opening *opening, struct error *error)
{
    switch (opening->kind) {
    case CAPTURE_SIMPLETRACE: return open_simpletrace(opening, error);
    case CAPTURE_QEMU_LOG: return open_qemu_log(opening, error);
    case CAPTURE_XENTRACE: return open_xentrace(opening, error);
    case CAPTURE_TRACE_DAT: return open_trace_dat(opening, error);
    case CAPTURE_FTRACE_PAGES: return open_ftrace_pages(opening, error);
    case CAPTURE_FTRACE_FOLDER: return open_ftrace_dir(opening, error);
    case CAPTURE_CTF_FOLDER: return open_ctf_dir(opening, error);
    default: return refuse(opening, error);
    }
}

static int open_part(struct opening *opening, struct error *error)
{
    struct trace *trace = opening->trace;
    struct trace_part *part = &trace->parts[trace->n_parts];
    unsigned n_origins = trace->catalogue.n_origins;
    bool streams = opening->kind == CAPTURE_SIMPLETRACE || opening->kind == CAPTURE_QEMU_LOG;
    enum layer layer;
    int live_fd = streams && !opening->input.seekable ? opening->input.fd : -1;
    int r;

    if (live_fd >= 0 && note_pipe(trace, live_fd) < 0)
        return -ENOMEM;
    r = open_kind(opening, error);
    if (r < 0)
        return r;
    if (opening->recorded && layer_by_name(opening->recorded->layer, &layer) >= 0)
        for (unsigned i = n_origins; i < trace->catalogue.n_origins; i++)
            trace->catalogue.origins[i]->layer = layer;
    *part = (struct trace_part){.path = opening->given,
                                .recorded = opening->recorded,
                                .manifest = opening->manifest,
                                .first_origin = n_origins,
                                .live_fd = live_fd};
    part->sources = TAKE_PTR(opening->sources);
    part->n_sources = opening->n_sources;
    part->n_origins = trace->catalogue.n_origins - n_origins;
    part->origin = trace->catalogue.origins[n_origins];
    part->per_cpu = opening->per_cpu;
    opening->n_sources = 0;
    trace->n_parts++;
    r = host_time_find(trace, part);
    if (r >= 0)
        r = threads_name(trace, part);
    return r < 0 ? r : vcpus_identify(trace, part);
}

/* Puts the stages on top of the readers. */
static int assemble(struct trace *trace)
{
    struct source **all;
    unsigned n = 0;
    unsigned done = 0;
    int r = 0;

    for (unsigned i = 0; i < trace->n_parts; i++)
        n += trace->parts[i].n_sources;
    all = calloc(n, sizeof *all);
    trace->reorders = calloc(n, sizeof *trace->reorders);
    if (!all || !trace->reorders)
        r = -ENOMEM;
    for (unsigned i = 0; i < trace->n_parts; i++) {
        for (unsigned j = 0; j < trace->parts[i].n_sources; j++) {
            struct source *source = trace->parts[i].sources[j];

            if (r == 0 && !source->ordered && !trace->parts[i].per_cpu) {
                r = reorder_open(source, REORDER_WINDOW, &source);
                if (r < 0)
                    continue; /* it is freed */
                reorder_set_live(source, trace->parts[i].live_fd);
                trace->reorders[trace->n_reorders++] = source;
            }
            if (r == 0)
                all[done++] = source;
            else
                source_free(source);
        }
        trace->parts[i].assembled = true;
    }
    if (r < 0)
        for (unsigned i = 0; i < done; i++)
            source_free(all[i]);
    else
        r = merge_open(all, n, &trace->source);
    free(all);
    return r;
}

/* What cannot be opened of a recorded directory is noted and left out, if something else is there. */
static int forgive(struct opening *opening, int r, struct error *error, struct error *first)
{
    if (r >= 0)
        return r;
    if (!error_is_shortage(r) && error->code && opening->recorded) {
        if (!first->code)
            *first = *error;
        opening->done = true;
        r = recorded_leave_out(opening->trace, opening->recorded, error);
        error_clear(error);
    } else if (!first->code) {
        *first = *error;
    }
    return r;
}

static int open_all(struct trace *trace, struct opening *openings, unsigned n, struct error *error)
{
    struct error first;
    struct error now;
    int r = 0;

    error_clear(&first);
    error_clear(&now);
    /* All are looked at before the first is opened: pages of several CPUs are one capture. */
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = forgive(&openings[i], look_at(&openings[i], &now), &now, &first);
    for (unsigned i = 0; i < n && r >= 0; i++)
        if (!openings[i].done)
            r = forgive(&openings[i], open_part(&openings[i], &now), &now, &first);
    if (r >= 0 && trace->n_parts == 0)
        r = first.code;
    if (r < 0) {
        if (error && !error->code && first.code)
            *error = first;
        return r;
    }
    r = host_time_settle(trace, openings[0].options->host_time, error);
    return r < 0 ? r : assemble(trace);
}

/* Makes an opening of each path, and of each source of a recorded directory. */
static int expand_all(struct trace *trace, const char *const *paths, unsigned n_paths,
                      const struct trace_options *options, struct opening **ret_openings,
                      unsigned *ret_n, struct error *error)
{
    _cleanup_free_ struct opening *openings = NULL;
    unsigned n = 0;
    int r = 0;

    trace->manifests = calloc(n_paths, sizeof *trace->manifests);
    if (!trace->manifests)
        return -ENOMEM;
    for (unsigned i = 0; i < n_paths && r >= 0; i++)
        r = recorded_expand(trace, options, paths[i], &openings, &n, error);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < n; i++) {
        openings[i].trace = trace;
        openings[i].options = options;
        openings[i].reader = options->reader;
        if (openings[i].recorded && !openings[i].recorded->complete)
            openings[i].reader.keep_going = true;
        openings[i].input.fd = -1;
        openings[i].others = openings + i + 1;
        openings[i].n_others = n - i - 1;
    }
    *ret_openings = TAKE_PTR(openings);
    *ret_n = n;
    return 0;
}

int trace_open(const char *const *paths, unsigned n_paths, const struct trace_options *options,
               struct trace **ret_trace, struct error *error)
{
    _cleanup_(trace_freep) struct trace *trace = calloc(1, sizeof *trace);
    _cleanup_free_ struct opening *openings = NULL;
    unsigned n = 0;
    int r = -ENOMEM;

    if (trace)
        r = expand_all(trace, paths, n_paths, options, &openings, &n, error);
    if (r >= 0) {
        trace->parts = calloc(n, sizeof *trace->parts);
        trace->events = calloc(1, sizeof *trace->events);
        r = trace->parts && trace->events ? open_all(trace, openings, n, error) : -ENOMEM;
    }
    for (unsigned i = 0; i < n; i++)
        opening_done(&openings[i]);
    if (r < 0)
        return error_set(error, r, NULL, "%s", error_text(r));
    *ret_trace = TAKE_PTR(trace);
    return 0;
}

unsigned trace_part_of(const struct trace *trace, const struct origin *origin)
{
    for (unsigned i = 0; i < trace->n_parts; i++) {
        const struct trace_part *part = &trace->parts[i];

        for (unsigned j = 0; j < part->n_origins; j++)
            if (trace->catalogue.origins[part->first_origin + j] == origin)
                return i;
    }
    return 0;
}

/* A bit for each layer of PART; the sources of what was exported may be of several. */
static unsigned part_layers(const struct trace *trace, const struct trace_part *part)
{
    unsigned layers = 0;

    for (unsigned i = 0; i < part->n_origins; i++)
        layers |= 1u << trace->catalogue.origins[part->first_origin + i]->layer;
    return layers;
}

static bool are_several(unsigned layers)
{
    return layers & (layers - 1);
}

unsigned trace_layers(const struct trace *trace)
{
    bool exported = false;
    unsigned layers = 0;

    for (unsigned i = 0; i < trace->n_parts; i++) {
        unsigned of_part = part_layers(trace, &trace->parts[i]);

        exported = exported || are_several(of_part);
        layers |= of_part;
    }
    return (trace->host_time || exported) && are_several(layers) ? layers : 0;
}

bool trace_needs_numbers(const struct trace *trace)
{
    unsigned seen = 0;

    if (trace_layers(trace) == 0)
        return trace->n_parts > 1;
    for (unsigned i = 0; i < trace->n_parts; i++) {
        unsigned layers = part_layers(trace, &trace->parts[i]);

        if (seen & layers)
            return true;
        seen |= layers;
    }
    return false;
}

bool trace_would_wait(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_pipes; i++) {
        struct pollfd pollfd = {.fd = trace->pipes[i], .events = POLLIN};
        if (poll(&pollfd, 1, 0) == 0)
            return true;
    }
    return false;
}

void trace_progress(const struct trace *trace, uint64_t *ret_done, uint64_t *ret_total)
{
    bool known = true;

    *ret_done = *ret_total = 0;
    for (unsigned i = 0; i < trace->n_parts; i++) {
        const struct trace_part *part = &trace->parts[i];

        for (unsigned j = 0; j < part->n_sources; j++) {
            uint64_t done = 0;
            uint64_t total = 0;

            if (part->sources[j]->ops->progress)
                part->sources[j]->ops->progress(part->sources[j], &done, &total);
            known = known && total > 0;
            *ret_done += done;
            *ret_total += total;
        }
    }
    if (!known)
        *ret_total = 0;
}

void trace_hints(const struct trace *trace,
                 void (*put)(void *arg, const char *path, const char *hint), void *arg)
{
    for (unsigned i = 0; i < trace->n_parts; i++) {
        const struct trace_part *part = &trace->parts[i];

        for (unsigned j = 0; j < part->n_sources; j++) {
            const struct source_ops *ops = part->sources[j]->ops;
            const char *hint = ops->hint ? ops->hint(part->sources[j]) : NULL;

            if (hint)
                put(arg, part->origin->path, hint);
        }
    }
}

uint64_t trace_late(const struct trace *trace)
{
    uint64_t late = 0;

    for (unsigned i = 0; i < trace->n_reorders; i++)
        late += reorder_late(trace->reorders[i]);
    return late;
}
