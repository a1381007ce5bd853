/* SPDX-License-Identifier: MIT */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "event/late_text.h"
#include "format/ctf/ctf.h"
#include "format/kernel_text/kernel_text.h"
#include "format/simpletrace/simpletrace.h"
#include "schema/xen/table.h"
#include "timeline/clock_map.h"
#include "timeline/late.h"
#include "timeline/merge.h"
#include "timeline/read_ahead.h"
#include "timeline/reorder.h"
#include "trace/directory.h"
#include "trace/open.h"
#include "trace/recognise.h"
#include "trace/tighten.h"

/* The largest input buffer that a reader needs. */
#define INPUT_SIZE MAX(INPUT_BUFFER_SIZE, SIMPLETRACE_INPUT_SIZE)
/* Bytes of a file's beginning that suffice to recognise its format. */
#define HEAD_SIZE ((size_t)8192)
/* Bytes that a live pipe must have written before its format is recognised. */
#define HEAD_ENOUGH ((size_t)64)

struct trace *trace_free(struct trace *trace)
{
    if (!trace)
        return NULL;
    source_free(trace->source);
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        struct trace_input *input = &trace->inputs[i];

        for (unsigned j = 0; !input->assembled && j < input->n_sources; j++)
            source_free(input->sources[j]);
        free(input->sources);
        if (input->clock_map)
            clock_map_done(input->clock_map);
        free(input->clock_map);
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
    free(trace->inputs);
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

static void opening_done(struct open_ctx *ctx)
{
    for (unsigned i = 0; i < ctx->n_sources; i++)
        source_free(ctx->sources[i]);
    free(ctx->sources);
    if (ctx->input.buf)
        input_done(&ctx->input);
}

/* Fills the buffer of IN with its beginning. */
static int read_head(struct input *in, struct error *error)
{
    for (bool is_in_header = false; input_buffered(in) < HEAD_SIZE || is_in_header;
         is_in_header = kernel_text_is_in_header(input_at(in), input_buffered(in))) {
        struct pollfd pollfd = {.fd = in->fd, .events = POLLIN};
        size_t before = input_buffered(in);
        int r;

        if (!is_in_header && !in->seekable && before >= HEAD_ENOUGH && poll(&pollfd, 1, 0) == 0)
            break;
        r = input_refill(in, error);
        if (r < 0)
            return r;
        if (input_buffered(in) == before)
            break;
    }
    return 0;
}

static int open_path(struct open_ctx *ctx, struct error *error)
{
    const int *given = ctx->options->fd;
    int fd;

    if (ctx->recorded)
        return input_open_regular(&ctx->input, ctx->path, INPUT_SIZE, error);
    if (!given)
        return input_open(&ctx->input, ctx->path, INPUT_SIZE, error);
    fd = fcntl(*given, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return error_set(error, -errno, ctx->path, "cannot open it: %s", strerror(errno));
    return input_open_fd(&ctx->input, fd, ctx->path, INPUT_SIZE, error);
}

static int open_file(struct open_ctx *ctx, struct error *error)
{
    int r = open_path(ctx, error);

    return r < 0 ? r : reopen_cache_fix_end(ctx->options->cache, &ctx->input, error);
}

/* Opens the path and recognises its format. */
static int look_at(struct open_ctx *ctx, struct error *error)
{
    struct stat st;
    int r;

    if (ctx->path[0] == '\0')
        return error_set(error, -EINVAL, NULL, "the path is empty");
    if (ctx->recorded && !manifest_source_has_events(ctx->recorded)) {
        ctx->kind = INPUT_FORMAT_NO_EVENTS;
        return 0;
    }
    for (unsigned i = 0; strcmp(ctx->path, "-") == 0 && i < ctx->n_others; i++)
        if (strcmp(ctx->others[i].path, "-") == 0)
            return error_set(error, -EINVAL, "standard input",
                             "can be read only once, but is given twice");
    if (strcmp(ctx->path, "-") != 0 && !ctx->options->fd && stat(ctx->path, &st) == 0 &&
        S_ISDIR(st.st_mode)) {
        /* Pages of a recording may still have to come. */
        if (!ctx->recorded && !directory_is_trace(ctx->path))
            return directory_refuse(ctx->path, error);
        ctx->kind = ctf_probe_dir(ctx->path) ? INPUT_FORMAT_CTF_DIR : INPUT_FORMAT_FTRACE_DIR;
        return 0;
    }
    r = open_file(ctx, error);
    if (r >= 0)
        r = read_head(&ctx->input, error);
    if (r < 0)
        return r;
    ctx->kind = recognise(input_at(&ctx->input), input_buffered(&ctx->input));
    /* A recording that has just begun has no bytes to be recognised by. */
    if (ctx->recorded && strcmp(ctx->recorded->kind, "xentrace") == 0)
        ctx->kind = INPUT_FORMAT_XENTRACE;
    if (ctx->recorded && strcmp(ctx->recorded->kind, "qemu-log") == 0)
        ctx->kind = INPUT_FORMAT_QEMU_LOG;
    /* A simpletrace without its header has nothing to be known by. */
    if (ctx->kind == INPUT_FORMAT_UNKNOWN && ctx->options->no_header)
        ctx->kind = INPUT_FORMAT_SIMPLETRACE;
    return 0;
}

static int refuse(const struct open_ctx *ctx, struct error *error)
{
    const struct input *in = &ctx->input;
    const char *unpack = recognise_packed(input_at(in), input_buffered(in));
    const char *exported, *viewer;

    if (input_buffered(in) == 0)
        return error_set(error, -EINVAL, in->path,
                         in->offset == 0 ? "is empty" : "has nothing but zeros");
    if (unpack)
        return error_set(error, -EINVAL, in->path,
                         "is compressed; unpack it first, as in: %s %s | strata report -", unpack,
                         ctx->path);
    if (recognise_exported(input_at(in), input_buffered(in), &exported, &viewer))
        return error_set(error, -EINVAL, in->path,
                         "is %s, which strata exports but does not read; open it with %s", exported,
                         viewer);
    return error_set(error, -EINVAL, in->path,
                     "not a known trace format (QEMU simpletrace or log, xentrace, "
                     "trace.dat, perf.data, ftrace pages or a directory of them, text of ftrace or "
                     "perf script, a "
                     "directory in CTF, a recorded "
                     "directory)");
}

/* Notes an input that may wait for its writer. */
static int note_pipe(struct trace *trace, int fd)
{
    int *bigger = realloc(trace->pipes, (trace->n_pipes + 1) * sizeof *trace->pipes);

    if (!bigger)
        return -ENOMEM;
    trace->pipes = bigger;
    trace->pipes[trace->n_pipes++] = fd;
    return 0;
}

static int open_kind(struct open_ctx *ctx, struct error *error)
{
    switch (ctx->kind) {
    case INPUT_FORMAT_SIMPLETRACE: return open_simpletrace(ctx, error);
    case INPUT_FORMAT_QEMU_LOG: return open_qemu_log(ctx, error);
    case INPUT_FORMAT_XENTRACE: return open_xentrace(ctx, error);
    case INPUT_FORMAT_TRACE_DAT: return open_trace_dat(ctx, error);
    case INPUT_FORMAT_KERNEL_TEXT: return open_kernel_text(ctx, error);
    case INPUT_FORMAT_PERF_DATA: return open_perf_data(ctx, error);
    case INPUT_FORMAT_FTRACE_PAGES: return open_ftrace_pages(ctx, error);
    case INPUT_FORMAT_FTRACE_DIR: return open_ftrace_dir(ctx, error);
    case INPUT_FORMAT_CTF_DIR: return open_ctf_dir(ctx, error);
    case INPUT_FORMAT_NO_EVENTS: return open_no_events(ctx, error);
    default: return refuse(ctx, error);
    }
}

static int open_input(struct open_ctx *ctx, struct error *error)
{
    struct trace *trace = ctx->trace;
    struct trace_input *input = &trace->inputs[trace->n_inputs];
    unsigned n_origins = trace->catalogue.n_origins;
    bool streams = ctx->kind == INPUT_FORMAT_SIMPLETRACE || ctx->kind == INPUT_FORMAT_QEMU_LOG ||
                   ctx->kind == INPUT_FORMAT_KERNEL_TEXT;
    enum layer layer;
    bool is_piped = ctx->input.fd >= 0 && !ctx->input.seekable;
    int live_fd = streams && is_piped ? ctx->input.fd : -1;
    /* Else only CPUs are missing, whose own sources say it. */
    bool is_short = ctx->is_cut;
    int r;

    trace->is_piped |= is_piped;

    if (live_fd >= 0 && note_pipe(trace, live_fd) < 0)
        return -ENOMEM;
    r = open_kind(ctx, error);
    /* The files of a kernel's CPUs, and of streams, have losses of their own. */
    if (r >= 0 && is_short && ctx->kind != INPUT_FORMAT_FTRACE_DIR &&
        ctx->kind != INPUT_FORMAT_CTF_DIR)
        r = recorded_cut_add(ctx);
    if (r < 0)
        return r;
    for (unsigned i = n_origins; i < trace->catalogue.n_origins; i++) {
        trace->catalogue.origins[i]->number = i;
        trace->catalogue.origins[i]->is_cut |= ctx->is_cut;
        trace->catalogue.origins[i]->is_live = ctx->is_live;
    }
    if (ctx->recorded) {
        struct origin *origin = trace->catalogue.origins[n_origins];

        origin->lost = ctx->recorded->lost_known ? ctx->recorded->lost : 0;
        origin->lost_uncounted |=
            ctx->recorded->lost_uncounted || ctx->is_unfinished || ctx->lost_uncounted;
    }
    if (ctx->recorded && layer_by_name(ctx->recorded->layer, &layer) >= 0)
        for (unsigned i = n_origins; i < trace->catalogue.n_origins; i++)
            trace->catalogue.origins[i]->layer = layer;
    *input = (struct trace_input){.path = ctx->given,
                                  .recorded = ctx->recorded,
                                  .manifest = ctx->manifest,
                                  .first_origin = n_origins,
                                  .live_fd = live_fd};
    input->sources = TAKE_PTR(ctx->sources);
    input->n_sources = ctx->n_sources;
    input->n_origins = trace->catalogue.n_origins - n_origins;
    input->origin = trace->catalogue.origins[n_origins];
    input->per_cpu = ctx->per_cpu;
    ctx->n_sources = 0;
    trace->n_inputs++;
    r = host_time_find(trace, input);
    if (r >= 0)
        r = threads_name(trace, input);
    trace_note_begins(trace, input);
    return r < 0 ? r : vcpus_identify(trace, input);
}

/* Puts the stages on top of the readers. */
static int assemble(struct trace *trace, const struct trace_options *options)
{
    struct source **all;
    unsigned n = 0;
    unsigned done = 0;
    int r = 0;

    for (unsigned i = 0; i < trace->n_inputs; i++)
        n += trace->inputs[i].n_sources;
    all = calloc(MAX(n, 1u), sizeof *all);
    trace->reorders = calloc(MAX(n, 1u), sizeof *trace->reorders);
    if (!all || !trace->reorders)
        r = -ENOMEM;
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        struct stray_bounds bounds = trace_bound_times(trace, &trace->inputs[i]);

        for (unsigned j = 0; j < trace->inputs[i].n_sources; j++) {
            struct source *source = trace->inputs[i].sources[j];

            /* What is live would have to wait. */
            if (r == 0 && !options->is_live && trace->inputs[i].live_fd < 0) {
                r = stray_open(source, &bounds, &source);
                if (r < 0)
                    continue; /* it is freed */
                trace->inputs[i].sources[j] = source;
            }
            if (r == 0 && !source->ordered && !trace->inputs[i].per_cpu && !options->file_order) {
                r = reorder_open(source, REORDER_WINDOW, &source);
                if (r < 0)
                    continue; /* it is freed */
                reorder_set_live(source, trace->inputs[i].live_fd);
                trace->reorders[trace->n_reorders++] = source;
            }
            if (r == 0)
                all[done++] = source;
            else
                source_free(source);
        }
        trace->inputs[i].assembled = true;
    }
    if (r < 0)
        for (unsigned i = 0; i < done; i++)
            source_free(all[i]);
    else
        r = merge_open(all, n, &trace->source);
    trace->merged = r == 0 ? trace->source : NULL;
    if (r == 0 && !options->file_order)
        r = late_count_open(TAKE_PTR(trace->source), &trace->source, &trace->late);
    free(all);
    return r;
}

/* If another source can be opened, turns the error of a source of a trace directory into a note. */
static int skip_unreadable(struct open_ctx *ctx, int r, struct error *error, struct error *first)
{
    if (r >= 0)
        return r;
    if (!error_is_shortage(r) && error->code && ctx->recorded) {
        if (!first->code)
            *first = *error;
        ctx->done = true;
        r = recorded_leave_out(ctx->trace, ctx->recorded, error);
        error_clear(error);
    } else if (!first->code) {
        *first = *error;
    }
    return r;
}

/* Notes that FILE with symbols is unused, if no source has a kernel whose functions it names. */
static int note_kallsyms(struct trace *trace, const char *file)
{
    for (unsigned i = 0; i < trace->n_inputs; i++)
        if (strcmp(trace->inputs[i].origin->format, "ftrace") == 0)
            return 0;
    if (trace->n_inputs == 0)
        return 0;
    return trace_note(trace, "%s is not used: --kallsyms is for raw ftrace pages", file);
}

static int open_all(struct trace *trace, struct open_ctx *ctxs, unsigned n, struct error *error)
{
    struct error first;
    struct error now;
    int r = 0;

    error_clear(&first);
    error_clear(&now);
    /* Recognise all before opening the first: the pages of several CPUs are one trace. */
    for (unsigned i = 0; i < n && r >= 0; i++)
        r = skip_unreadable(&ctxs[i], look_at(&ctxs[i], &now), &now, &first);
    for (unsigned i = 0; i < n && r >= 0; i++)
        if (!ctxs[i].done)
            r = skip_unreadable(&ctxs[i], open_input(&ctxs[i], &now), &now, &first);
    if (r >= 0 && trace->n_inputs == 0)
        r = first.code;
    if (r < 0) {
        if (error && !error->code && first.code)
            *error = first;
        return r;
    }
    if (ctxs[0].options->kallsyms && note_kallsyms(trace, ctxs[0].options->kallsyms) < 0)
        return -ENOMEM;
    r = host_time_choose_timebase(trace, ctxs[0].options, error);
    for (unsigned i = 0; i < trace->n_inputs; i++)
        trace_set_bounds(trace, &trace->inputs[i]);
    return r < 0 ? r : assemble(trace, ctxs[0].options);
}

/* Makes an entry for each path, and for each source of a recorded directory. */
static int expand_all(struct trace *trace, const char *const *paths, unsigned n_paths,
                      const struct trace_options *options, struct open_ctx **ret_openings,
                      unsigned *ret_n, struct error *error)
{
    _cleanup_free_ struct open_ctx *ctxs = NULL;
    unsigned n = 0;
    int r = 0;

    trace->manifests = calloc(n_paths, sizeof *trace->manifests);
    if (!trace->manifests)
        return -ENOMEM;
    for (unsigned i = 0; i < n_paths && r >= 0; i++)
        r = tracedir_expand(trace, options, paths[i], &ctxs, &n, error);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < n; i++) {
        ctxs[i].trace = trace;
        ctxs[i].options = options;
        ctxs[i].reader = options->reader;
        ctxs[i].reader.cache = options->cache;
        if (ctxs[i].recorded && !ctxs[i].recorded->complete)
            ctxs[i].reader.keep_going = true;
        ctxs[i].input.fd = -1;
        ctxs[i].others = ctxs + i + 1;
        ctxs[i].n_others = n - i - 1;
    }
    *ret_openings = TAKE_PTR(ctxs);
    *ret_n = n;
    return 0;
}

int trace_open(const char *const *paths, unsigned n_paths, const struct trace_options *options,
               struct trace **ret_trace, struct error *error)
{
    _cleanup_(trace_freep) struct trace *trace = calloc(1, sizeof *trace);
    _cleanup_free_ struct open_ctx *ctxs = NULL;
    unsigned n = 0;
    int r = -ENOMEM;

    if (trace)
        r = expand_all(trace, paths, n_paths, options, &ctxs, &n, error);
    if (r >= 0) {
        trace->inputs = calloc(n, sizeof *trace->inputs);
        trace->events = calloc(1, sizeof *trace->events);
        r = trace->inputs && trace->events ? open_all(trace, ctxs, n, error) : -ENOMEM;
    }
    for (unsigned i = 0; i < n; i++)
        opening_done(&ctxs[i]);
    if (r < 0)
        return error_set(error, r, NULL, "%s", error_text(r));
    reopen_cache_seal(options->cache);
    r = trace_tighten(trace, options);
    if (r < 0)
        return error_set(error, r, NULL, "%s", error_text(r));
    *ret_trace = TAKE_PTR(trace);
    return 0;
}

int trace_set_clock_map(struct trace *trace, unsigned number, const struct clock_map *map)
{
    struct clock_map copy;
    int r = clock_map_copy(map, &copy);

    if (r < 0)
        return r;
    /* The stages that convert refer to it. */
    clock_map_done(trace->inputs[number].clock_map);
    *trace->inputs[number].clock_map = copy;
    trace_set_duration_error(trace, &trace->inputs[number]);
    trace_set_bounds(trace, &trace->inputs[number]);
    return 0;
}

unsigned trace_input_of(const struct trace *trace, const struct origin *origin)
{
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        for (unsigned j = 0; j < input->n_origins; j++)
            if (trace->catalogue.origins[input->first_origin + j] == origin)
                return i;
    }
    return 0;
}

/* Returns a bit for each layer of INPUT. Sources of an export may have several layers. */
static unsigned input_layers(const struct trace *trace, const struct trace_input *input)
{
    unsigned layers = 0;

    for (unsigned i = 0; i < input->n_origins; i++)
        layers |= 1u << trace->catalogue.origins[input->first_origin + i]->layer;
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

    for (unsigned i = 0; i < trace->n_inputs; i++) {
        unsigned of_input = input_layers(trace, &trace->inputs[i]);

        exported = exported || are_several(of_input);
        layers |= of_input;
    }
    return (trace->host_time || exported) && are_several(layers) ? layers : 0;
}

bool trace_needs_numbers(const struct trace *trace)
{
    unsigned seen = 0;

    if (trace_layers(trace) == 0)
        return trace->n_inputs > 1;
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        unsigned layers = input_layers(trace, &trace->inputs[i]);

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

/* Returns the progress of the readers. */
static void input_progress(const void *arg, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct trace *trace = arg;
    bool known = true;

    *ret_done = *ret_total = 0;
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        for (unsigned j = 0; j < input->n_sources; j++) {
            uint64_t done = 0;
            uint64_t total = 0;

            if (input->sources[j]->ops->progress)
                input->sources[j]->ops->progress(input->sources[j], &done, &total);
            known = known && total > 0;
            *ret_done += done;
            *ret_total += total;
        }
    }
    if (!known)
        *ret_total = 0;
}

void trace_progress(const struct trace *trace, uint64_t *ret_done, uint64_t *ret_total)
{
    if (trace->ahead)
        trace->ahead->ops->progress(trace->ahead, ret_done, ret_total);
    else
        input_progress(trace, ret_done, ret_total);
}

/* True if a reader learns names of threads while it reads. Names that a recorder stored are known from the start. */
static bool learns_names(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins; i++) {
        const struct origin *origin = trace->catalogue.origins[i];

        if (origin->comm || (origin->task_name && !origin->thread_names))
            return true;
    }
    return false;
}

int trace_read_ahead(struct trace *trace, bool asks_names, bool always)
{
    const struct read_ahead_options options = {
        .catalogue = &trace->catalogue,
        .progress = input_progress,
        .progress_arg = trace,
        .always = always,
    };
    int r;

    if (trace->is_piped || (asks_names && learns_names(trace)))
        return 0;
    r = read_ahead_open(trace->source, &options, &trace->source);
    if (r == 0)
        trace->ahead = trace->source;
    return r;
}

void trace_stop_ahead(struct trace *trace)
{
    if (trace->ahead)
        read_ahead_stop(trace->ahead);
}

const struct catalogue *trace_classes(const struct trace *trace)
{
    return trace->ahead ? read_ahead_classes(trace->ahead) : &trace->catalogue;
}

/* Returns the hint for an export, which the reader of the exported trace would have given, or NULL. */
static const char *export_hint(const struct origin *origin)
{
    return origin->threads_only && (strcmp(origin->format, "ctf") == 0 ||
                                    strcmp(origin->format, "trace.dat") == 0 ||
                                    strcmp(origin->format, "ftrace") == 0)
               ? "only certain threads were recorded: what these and others did meanwhile is "
                 "unknown"
               : NULL;
}

void trace_hints(const struct trace *trace,
                 void (*put)(void *arg, const char *path, const char *hint), void *arg)
{
    const char *last = NULL; /* one hint for all streams of a trace */

    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &trace->inputs[i];

        for (unsigned j = 0; j < input->n_sources; j++) {
            const struct source_ops *ops = input->sources[j]->ops;
            const char *hint = ops->hint ? ops->hint(input->sources[j]) : NULL;

            if (hint)
                put(arg, input->origin->path, hint);
        }
        if (export_hint(input->origin))
            put(arg, input->origin->path, export_hint(input->origin));
    }
    for (unsigned i = 0; i < trace->n_reorders; i++) {
        const char *path;
        const char *hint = reorder_hint(trace->reorders[i], &path);

        if (hint && path != last)
            put(arg, path, hint);
        last = hint ? path : last;
    }
    /* Where a clock starts again, that has been said. */
    if (trace_late(trace) > 0 && !last) {
        char buf[LATE_TEXT_SIZE];

        put(arg, late_origin(trace->late)->path, late_text(buf, trace_late(trace)));
    }
}

uint64_t trace_late(const struct trace *trace)
{
    return trace->late ? late_count(trace->late) : 0;
}

int64_t trace_newest(const struct trace *trace)
{
    int64_t newest = merge_newest(trace->merged);

    for (unsigned i = 0; i < trace->n_reorders; i++)
        newest = MAX(newest, reorder_newest(trace->reorders[i]));
    return newest;
}

bool trace_order_is_certain(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_reorders; i++)
        if (!reorder_is_certain(trace->reorders[i]))
            return false;
    return true;
}
