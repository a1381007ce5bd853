/* SPDX-License-Identifier: MIT */
/* Opens what the Linux kernel's tracers wrote. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/spool.h"
#include "format/ftrace/ftrace.h"
#include "format/kernel_text/kernel_text.h"
#include "format/perf_data/perf_data.h"
#include "format/trace_dat/trace_dat.h"
#include "trace/left_out.h"
#include "trace/open.h"
#include "tracedir/cpu_files.h"

/* Applies the user's rate to the origins from number FIRST on whose clocks count cycles. */
static void report_rate(struct open_ctx *ctx, unsigned first)
{
    struct catalogue *catalogue = &ctx->trace->catalogue;

    for (unsigned i = first; i < catalogue->n_origins; i++) {
        struct clock *clock = &catalogue->origins[i]->clock;

        /* A text does not name its clock. */
        if (clock->hz == 0 &&
            (strcmp(clock->name, "x86-tsc") == 0 || ctx->kind == INPUT_FORMAT_KERNEL_TEXT))
            clock->hz = ctx->options->cpu_hz;
    }
}

static int open_files(struct open_ctx *ctx, struct ftrace_files *files, struct error *error)
{
    const char *kallsyms = ctx->options->kallsyms;
    unsigned first_origin = ctx->trace->catalogue.n_origins;
    struct source **sources;
    struct stat st;
    unsigned n;
    int r;

    if (kallsyms) {
        free(files->kallsyms);
        files->kallsyms = strdup(kallsyms);
        if (!files->kallsyms)
            return -ENOMEM;
        if (access(kallsyms, R_OK) < 0)
            return error_set(error, -errno, kallsyms, "cannot read it: %s", strerror(errno));
        if (stat(kallsyms, &st) == 0 && S_ISDIR(st.st_mode))
            return error_set(error, -EISDIR, kallsyms, "is a directory, not a file");
    }
    files->cache = ctx->options->cache;
    files->is_recorded = ctx->recorded != NULL;
    files->is_bounded = ctx->recorded && ctx->recorded->ended.monotonic_ns != 0 &&
                        !(ctx->manifest && ctx->manifest->snapshot);
    r = ftrace_open(files, ctx->path, LAYER_GUEST, &ctx->trace->catalogue, &ctx->options->reader,
                    &sources, &n, error);
    if (r < 0)
        return r;
    report_rate(ctx, first_origin);
    open_ctx_set(ctx, sources, n);
    return 0;
}

static int use_tracefs(struct ftrace_files *files, const char *tree)
{
    char *copy = strdup(tree);

    if (!copy)
        return -ENOMEM;
    free(files->tree);
    files->tree = copy;
    return 0;
}

/* Opens the input of CTX again, at its beginning. False if it cannot be read twice. */
static bool open_again(const struct open_ctx *ctx, struct input *ret)
{
    struct error error = {0};
    char path[40];
    int fd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", ctx->input.fd);
    fd = ctx->input.seekable ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return fd >= 0 && input_open_fd(ret, fd, ctx->path, INPUT_BUFFER_SIZE, &error) >= 0;
}

/* Opens the sources of CTX again, from IN. Takes ownership of IN. */
static int open_sources_again(const struct open_ctx *ctx, struct input *in,
                              struct catalogue *catalogue, struct source ***ret_sources,
                              unsigned *ret_n, struct error *error)
{
    struct source **sources;
    int r;

    if (ctx->kind == INPUT_FORMAT_TRACE_DAT) {
        r = trace_dat_open(in, ctx->path, LAYER_GUEST, NULL, false, NULL, catalogue,
                           &ctx->options->reader, ret_sources, ret_n, error);
        /* Which of several kernels or instances lacks what cannot be told. */
        return r >= 0 && catalogue->n_origins != 1 ? -ENOTSUP : r;
    }
    sources = malloc(sizeof *sources);
    r = sources ? input_refill(in, error) : -ENOMEM;
    if (r < 0)
        input_done(in);
    else if (ctx->kind == INPUT_FORMAT_KERNEL_TEXT)
        r = kernel_text_open(in, catalogue, sources, error);
    else
        r = perf_data_open(in, ctx->path, catalogue, &ctx->reader, sources, error);
    if (r < 0) {
        free(sources);
        return r;
    }
    *ret_sources = sources;
    *ret_n = 1;
    return r;
}

/* Finds what was left out of the input of CTX by reading it once more. -ENOMEM. */
static int find_left_out(const struct open_ctx *ctx, struct left_out *ret)
{
    struct catalogue catalogue = {0};
    struct source **sources = NULL;
    struct error error = {0};
    struct input in;
    unsigned n = 0;
    int r;

    *ret = (struct left_out){0};
    if (!open_again(ctx, &in))
        return 0;
    r = open_sources_again(ctx, &in, &catalogue, &sources, &n, &error);
    return left_out_find_in(r, sources, n, &catalogue, ret);
}

/* Notes that the CPUs in LACKING have fewer events than the file states. -ENOMEM. */
static int note_lacking(const struct open_ctx *ctx, const struct cpu_set *lacking)
{
    unsigned n = cpu_set_count(lacking);
    char text[128];

    return n == 0 ? 0
                  : trace_note(ctx->trace,
                               "%s: CPU%s %s had more events than the file; when is unknown",
                               ctx->path, n == 1 ? "" : "s",
                               cpu_set_text(lacking, CPU_SET_MAX, text, sizeof text));
}

int open_trace_dat(struct open_ctx *ctx, struct error *error)
{
    unsigned first_origin = ctx->trace->catalogue.n_origins;
    struct reader_options reader = ctx->options->reader;
    struct left_out left_out = {0};
    struct cpu_set lacking;
    struct source **sources;
    struct input in;
    unsigned n;
    int r;

    r = spool(&ctx->input, ctx->options->reader.temporary_dir, error);
    if (r >= 0)
        r = ctx->recorded ? 0 : find_left_out(ctx, &left_out);
    if (r < 0)
        return r;
    in = ctx->input;
    ctx->input = (struct input){.fd = -1}; /* it is the reader's from here on */
    reader.cache = ctx->options->cache;
    r = trace_dat_open(&in, ctx->path, LAYER_GUEST, &left_out.cpus, left_out.last_begin != 0,
                       &lacking, &ctx->trace->catalogue, &reader, &sources, &n, error);
    if (r < 0)
        return r;
    report_rate(ctx, first_origin);
    open_ctx_set(ctx, sources, n);
    r = known_threads_note(ctx, first_origin, &left_out);
    if (r >= 0)
        r = note_lacking(ctx, &lacking);
    return r < 0 ? r : known_cpus_note(ctx, &left_out.cpus);
}

int open_perf_data(struct open_ctx *ctx, struct error *error)
{
    unsigned first_origin = ctx->trace->catalogue.n_origins;
    bool is_looked_through = !ctx->is_live && !ctx->options->is_live && !ctx->options->events_only;
    struct left_out left_out = {0};
    struct source *source;
    struct input in;
    int r = 0;

    if (!perf_data_is_stream(input_at(&ctx->input), input_buffered(&ctx->input)))
        r = spool(&ctx->input, ctx->options->reader.temporary_dir, error);
    if (r >= 0 && is_looked_through)
        r = find_left_out(ctx, &left_out);
    if (r < 0)
        return r;
    in = ctx->input;
    ctx->input = (struct input){.fd = -1}; /* it is the reader's from here on */
    r = perf_data_open(&in, ctx->path, &ctx->trace->catalogue, &ctx->reader, &source, error);
    if (r < 0)
        return r;
    known_bounds_set(ctx->trace->catalogue.origins[first_origin], &left_out);
    r = open_ctx_add(ctx, source);
    return r < 0 ? r : known_threads_note(ctx, first_origin, &left_out);
}

int open_kernel_text(struct open_ctx *ctx, struct error *error)
{
    unsigned first_origin = ctx->trace->catalogue.n_origins;
    struct left_out left_out = {0};
    struct origin *origin;
    struct source *source;
    int r = find_left_out(ctx, &left_out);

    if (r >= 0)
        r = kernel_text_open(&ctx->input, &ctx->trace->catalogue, &source, error);
    if (r < 0)
        return r;
    report_rate(ctx, first_origin);
    origin = ctx->trace->catalogue.origins[first_origin];
    kernel_text_leave_out(source, &left_out.cpus, left_out.threads == LEFT_OUT_SELECTED);
    /* Of perf script; the texts of ftrace are taken for a guest's. */
    if (origin->layer == LAYER_HOST)
        known_bounds_set(origin, &left_out);
    if (origin->ends_apart)
        r = kernel_text_find_ends(source, &left_out.with_events, error);
    if (r < 0) {
        source_free(source);
        return r;
    }
    r = open_ctx_add(ctx, source);
    return r < 0 ? r : known_threads_note(ctx, first_origin, &left_out);
}

/* Orders events with equal times by CPU, whatever the order of the paths. */
static int compare_cpus(const void *a, const void *b)
{
    const struct ftrace_raw *x = a;
    const struct ftrace_raw *y = b;

    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* Returns the file of a CPU; adds one if there is none. NULL if out of memory. */
static struct ftrace_raw *find_raw(const struct open_ctx *ctx, struct ftrace_files *files,
                                   uint32_t cpu)
{
    char name[CPU_FILE_NAME_MAX];
    _cleanup_free_ char *path = NULL;

    for (unsigned i = 0; i < files->n_raws; i++)
        if (files->raws[i].cpu == (int)cpu)
            return &files->raws[i];
    cpu_file_name(cpu, name);
    if (asprintf(&path, "%s/%s", ctx->path, name) < 0) {
        path = NULL;
        return NULL;
    }
    if (ftrace_files_add(files, path, (int)cpu) < 0)
        return NULL;
    files->raws[files->n_raws - 1].is_missing = true;
    return &files->raws[files->n_raws - 1];
}

/* Finds the CPU whose pages FILE has, in the directory PATH. */
static bool cpu_of_file(const struct manifest_file *file, const char *path, uint32_t *ret_cpu)
{
    size_t len = strlen(path);

    return strncmp(file->path, path, len) == 0 && file->path[len] == '/' &&
           cpu_file_cpu(file->path + len + 1, ret_cpu);
}

/* Marks the files that were cut, in the order of CPUs, and finds what else was left out. -ENOMEM. */
static int mark_cuts(struct open_ctx *ctx, struct ftrace_files *files, struct left_out *ret)
{
    const struct manifest_source *recorded = ctx->recorded;
    struct cpu_set missing;

    if (known_cpus_missing(ctx, files, &missing, ret) < 0 || known_cpus_note(ctx, &missing) < 0)
        return -ENOMEM;
    for (uint32_t cpu = cpu_set_next(&missing, 0); cpu < CPU_SET_MAX;
         cpu = cpu_set_next(&missing, cpu + 1)) {
        struct ftrace_raw *raw = find_raw(ctx, files, cpu);

        if (!raw)
            return -ENOMEM;
        raw->is_cut = true;
    }

    for (unsigned i = 0; recorded && i < recorded->n_files; i++) {
        const struct manifest_file *file = &recorded->files[i];
        struct ftrace_raw *raw;
        bool is_missing;
        uint32_t cpu;

        if (!cpu_of_file(file, recorded->path, &cpu) ||
            !recorded_file_is_cut(ctx, file, &is_missing, NULL))
            continue;
        raw = find_raw(ctx, files, cpu);
        if (!raw)
            return -ENOMEM;
        raw->is_cut = true;
        /* A link or a directory may be there. */
        raw->is_missing |= is_missing;
    }
    for (unsigned i = 0; recorded && i < files->n_raws; i++) {
        files->raws[i].is_unfinished = recorded->lost_uncounted || ctx->is_unfinished;
        files->raws[i].is_late = recorded->came.realtime_ns != 0;
    }
    qsort(files->raws, files->n_raws, sizeof *files->raws, compare_cpus);
    return 0;
}

int open_ftrace_dir(struct open_ctx *ctx, struct error *error)
{
    _cleanup_(ftrace_files_done) struct ftrace_files files = {0};
    unsigned first_origin = ctx->trace->catalogue.n_origins;
    struct left_out left_out = {0};
    int r;

    r = ftrace_find(ctx->path, ctx->options->tracefs, &files, error);
    if (r >= 0)
        r = mark_cuts(ctx, &files, &left_out);
    files.may_be_cut = ctx->recorded && ctx->recorded->n_files == 0 && left_out.last_begin != 0;
    if (r >= 0)
        r = open_files(ctx, &files, error);
    return r < 0 ? r : known_threads_note(ctx, first_origin, &left_out);
}

/* Finds the tree that decodes the pages of PATH. */
static int find_tree(const struct open_ctx *ctx, struct ftrace_files *ret_files,
                     struct error *error)
{
    if (ctx->options->tracefs)
        return use_tracefs(ret_files, ctx->options->tracefs);
    return ftrace_find(ctx->path, NULL, ret_files, error);
}

/* Adds the other paths that have pages of other CPUs of the same kernel. */
static int add_others(struct open_ctx *ctx, struct ftrace_files *files)
{
    int r = 0;

    for (unsigned i = 0; i < ctx->n_others && r >= 0; i++) {
        _cleanup_(ftrace_files_done) struct ftrace_files found = {0};
        struct open_ctx *other = &ctx->others[i];

        if (other->done || other->kind != INPUT_FORMAT_FTRACE_PAGES || !other->input.seekable)
            continue;
        if (find_tree(other, &found, NULL) < 0 || strcmp(found.tree, files->tree) != 0)
            continue;
        r = ftrace_files_add(files, other->path, ftrace_cpu_of_path(other->path));
        other->done = true;
    }
    return r;
}

int open_ftrace_pages(struct open_ctx *ctx, struct error *error)
{
    _cleanup_(ftrace_files_done) struct ftrace_files files = {0};
    int r;

    if (!ctx->input.seekable)
        return error_set(error, -ESPIPE, ctx->input.path,
                         "ring-buffer pages cannot be read from a pipe; save them as "
                         "cpu0.raw ... beside the tracefs tree");
    r = find_tree(ctx, &files, error);
    if (r >= 0 && files.n_raws == 0)
        r = ftrace_files_add(&files, ctx->path, ftrace_cpu_of_path(ctx->path));
    if (r >= 0)
        r = add_others(ctx, &files);
    if (r < 0)
        return r;
    qsort(files.raws, files.n_raws, sizeof *files.raws, compare_cpus);
    return open_files(ctx, &files, error);
}
