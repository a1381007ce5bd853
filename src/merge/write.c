/* SPDX-License-Identifier: MIT */
/* Writes the trace directory of all sources. Copies their bytes unchanged. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_output.h"
#include "base/copy.h"
#include "base/fd.h"
#include "format/ftrace/ftrace.h"
#include "merge/internal.h"
#include "tracedir/source_files.h"
#include "tracedir/tracefs_copy.h"

#define PAIRS_NAME "clock-pairs"
/* A source has far fewer other files with such names. */
#define PAIRS_PLACES_MAX 1000

struct dir {
    struct merge *merge;
    const char *path; /* of the temporary directory */
};

/* "DIR/NAME" in the arena, or NULL. */
static const char *join(struct merge *merge, const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = arena_alloc(&merge->arena, size);

    if (path)
        snprintf(path, size, "%s/%s", dir, name);
    return path;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Copies the file FROM to NAME in the source's directory; *RET gets its path in the result. */
static int copy_to(struct dir *directory, const char *from, const char *source, const char *name,
                   bool follow, const char **ret)
{
    struct copy_options options = {.link = directory->merge->config->link, .follow = follow};
    const char *path = join(directory->merge, source, name);
    const char *to = path ? join(directory->merge, directory->path, path) : NULL;

    if (!to)
        return merge_no_memory(directory->merge);
    *ret = path;
    return copy_file(from, to, &options, &directory->merge->error);
}

/* Copies a file that declares events under its own name, with a number appended if the name is taken. */
static int copy_events_file(struct dir *directory, const char *from,
                            const struct merge_source *source, bool follow,
                            struct manifest_source *out, const char **events)
{
    char name[64];
    char path[4096];

    snprintf(name, sizeof name, "%.40s", base_of(from));
    snprintf(path, sizeof path, "%s/%s/%s", directory->path, source->name, name);
    if (access(path, F_OK) == 0)
        snprintf(name, sizeof name, "%.40s-%u", base_of(from), out->n_events + 2);
    return copy_to(directory, from, source->name, name, follow, &events[out->n_events++]);
}

/* Copies the files that declare events: from the source's directory, of --trace-events, or the installed ones. */
static int copy_events(struct dir *directory, const struct merge_source *source,
                       struct manifest_source *out)
{
    const struct strings *given = &source->events;
    const struct manifest_source *recorded = source->recorded;
    char installed[TRACE_EVENTS_PATH_SIZE];
    bool qemu =
        strcmp(source->format, "simpletrace") == 0 || strcmp(source->format, "qemu-log") == 0;
    bool declared = qemu || strcmp(source->format, "xentrace") == 0;
    unsigned n = (recorded ? recorded->n_events : 0) + given->n + 1;
    const char **events = arena_alloc(&directory->merge->arena, n * sizeof *events);
    int r = 0;

    if (!events)
        return merge_no_memory(directory->merge);
    out->events = events;
    out->n_events = 0;
    for (unsigned i = 0; recorded && i < recorded->n_events && r >= 0; i++) {
        _cleanup_free_ char *from = NULL;

        r = manifest_resolve(source->path, recorded->events[i], &from, &directory->merge->error);
        if (r >= 0)
            r = copy_events_file(directory, from, source, false, out, events);
    }
    for (unsigned i = 0; declared && i < given->n && r >= 0; i++)
        r = copy_events_file(directory, given->items[i], source, true, out, events);
    if (r >= 0 && qemu && out->n_events == 0 &&
        trace_find_events(directory->merge->config->open.events_path, installed))
        r = copy_events_file(directory, installed, source, true, out, events);
    return r;
}

/* Copies the pages, and what decodes them, whatever format contains them. */
static int copy_ftrace(struct dir *directory, const struct merge_source *source, const char *to)
{
    const struct trace_options *open = &directory->merge->config->open;
    /* Links inside a directory are not followed, because they may lead out of it; a path that the user
     * gave is. */
    bool named = !is_dir(source->path);
    struct copy_options options = {
        .link = directory->merge->config->link, .follow = named, .takes = tracefs_copy_has};
    _cleanup_(ftrace_files_done) struct ftrace_files files = {0};
    const char *symbols;
    int r = ftrace_find(source->path, open->tracefs, &files, &directory->merge->error);

    if (r < 0)
        return error_set(&directory->merge->error, r, source->path, "cannot find its files");
    symbols = open->kallsyms ? open->kallsyms : files.kallsyms;
    r = copy_dir(files.tree, to, &options, &directory->merge->error);
    options.takes = NULL;
    for (unsigned i = 0; i < files.n_raws && r >= 0; i++) {
        const char *ignored;
        char name[32];

        snprintf(name, sizeof name, "cpu%d.raw", MAX(files.raws[i].cpu, 0));
        r = copy_to(directory, files.raws[i].path, source->name, name, !files.raws[i].found,
                    &ignored);
    }
    if (r >= 0 && symbols) {
        const char *place = join(directory->merge, to, "kallsyms");

        if (!place)
            return merge_no_memory(directory->merge);
        if (open->kallsyms)
            (void)unlink(place);
        options.follow = open->kallsyms;
        if (access(place, F_OK) < 0)
            r = copy_file(symbols, place, &options, &directory->merge->error);
    }
    return r;
}

/* Copies all of FROM. A CTF trace gets its own directory, because any file in it counts as a stream. */
static int copy_whole_dir(struct dir *directory, const char *from,
                          const struct merge_source *source, const struct copy_options *options,
                          struct manifest_source *out)
{
    const char *to;

    out->path = strcmp(source->format, "ctf") == 0 ? join(directory->merge, source->name, "trace")
                                                   : source->name;
    to = out->path ? join(directory->merge, directory->path, out->path) : NULL;
    return to ? copy_dir(from, to, options, &directory->merge->error)
              : merge_no_memory(directory->merge);
}

/* Copies a trace that is not in a trace directory. */
static int copy_bare(struct dir *directory, const struct merge_source *source,
                     struct manifest_source *out)
{
    static const struct {
        const char *format, *name;
    } names[] = {{"simpletrace", "trace.simple"},
                 {"qemu-log", "trace.log"},
                 {"xentrace", "trace.raw"},
                 {"trace.dat", "trace.dat"},
                 {"perf.data", "perf.data"}};
    struct copy_options options = {.link = directory->merge->config->link};
    const char *to = join(directory->merge, directory->path, source->name);

    if (!to)
        return merge_no_memory(directory->merge);
    out->kind = source->format;
    out->path = source->name;
    if (strcmp(source->format, "ftrace") == 0)
        return copy_ftrace(directory, source, to);
    if (is_dir(source->path))
        return copy_whole_dir(directory, source->path, source, &options, out);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(source->format, names[i].format) == 0)
            return copy_to(directory, source->path, source->name, names[i].name, true, &out->path);
    return copy_to(directory, source->path, source->name, "trace", true, &out->path);
}

/* Copies the source's path, a file or a directory. */
static int copy_recorded(struct dir *directory, const struct merge_source *source,
                         struct manifest_source *out)
{
    struct copy_options options = {.link = directory->merge->config->link};
    _cleanup_free_ char *from = NULL;
    int r;

    if (!manifest_source_has_events(source->recorded)) {
        out->path = source->name;
        return 0;
    }
    r = manifest_resolve(source->path, source->recorded->path, &from, &directory->merge->error);
    if (r < 0)
        return r;
    if (!is_dir(from))
        return copy_to(directory, from, source->name, base_of(source->recorded->path), false,
                       &out->path);
    return copy_whole_dir(directory, from, source, &options, out);
}

/* Returns where the file at PATH of the recorded source is in the result, in the arena. NULL if it was not copied
 * unchanged, or if out of memory. */
static const char *path_in_result(struct merge *merge, const struct manifest_source *recorded,
                                  const struct manifest_source *out, const char *path)
{
    size_t len = strlen(recorded->path);

    if (strcmp(path, recorded->path) == 0)
        return out->path;
    return strncmp(path, recorded->path, len) == 0 && path[len] == '/'
               ? join(merge, out->path, path + len + 1)
               : NULL;
}

/* Returns a path for SOURCE's file of pairs that none of its other files has: "guest/clock-pairs", or with a number
 * appended. *RET_IS_COPIED: its own pairs are there already, copied with the trace's directory. NULL if out of memory
 * or if there is none. */
static const char *pairs_place(struct dir *directory, const struct merge_source *source,
                               const struct manifest_source *out, bool *ret_is_copied)
{
    const struct manifest_source *recorded = source->recorded;
    const char *pairs = recorded ? recorded->clock.pairs : NULL;
    char path[4096];

    if (pairs && strcmp(pairs, recorded->path) != 0)
        pairs = path_in_result(directory->merge, recorded, out, pairs);
    else
        pairs = NULL;
    if (pairs) {
        snprintf(path, sizeof path, "%s/%s", directory->path, pairs);
        *ret_is_copied = access(path, F_OK) == 0;
        if (*ret_is_copied)
            return pairs;
    }
    *ret_is_copied = false;
    for (unsigned i = 1; i <= PAIRS_PLACES_MAX; i++) {
        char name[32];

        snprintf(name, sizeof name, i == 1 ? PAIRS_NAME : PAIRS_NAME "-%u", i);
        snprintf(path, sizeof path, "%s/%s/%s", directory->path, source->name, name);
        if (access(path, F_OK) < 0)
            return join(directory->merge, source->name, name);
    }
    return NULL;
}

/* Writes the file that relates SOURCE to the timeline. */
static int write_pairs(struct dir *directory, const struct merge_source *source,
                       struct manifest_source *out)
{
    bool ignored;
    const char *path = pairs_place(directory, source, out, &ignored);
    const char *to = path ? join(directory->merge, directory->path, path) : NULL;
    int r;

    if (!to)
        return merge_no_memory(directory->merge);
    r = merge_write_pairs(directory->merge, source, to);
    if (r >= 0)
        out->clock.pairs = path;
    return r;
}

/* Copies the pairs of the source's directory unchanged, if they suffice. */
static int copy_pairs(struct dir *directory, const struct merge_source *source,
                      struct manifest_source *out)
{
    bool is_copied;
    const char *path = pairs_place(directory, source, out, &is_copied);
    _cleanup_free_ char *from = NULL;
    int r;

    if (!path)
        return merge_no_memory(directory->merge);
    if (is_copied) {
        out->clock.pairs = path;
        return 0;
    }
    r = manifest_resolve(source->path, source->recorded->clock.pairs, &from,
                         &directory->merge->error);
    return r < 0 ? r
                 : copy_to(directory, from, source->name, base_of(path), false, &out->clock.pairs);
}

/* Sets how its clock relates to the timeline. */
static int put_clock(struct dir *directory, const struct merge_source *source,
                     struct manifest_source *out)
{
    const struct merge_domain *domain = &directory->merge->domains[source->domain];
    bool same = domain->map.n == 0 && !domain->scaled && source->host_map.n == 0 &&
                source->counter.offset == 0 &&
                source->counter.multiplier == source->counter.divisor;

    out->clock = (struct manifest_clock){.name = source->clock.name, .hz = source->clock.hz};
    if (source->recorded && source->has_pairs_file && domain->map.n == 0) {
        if (source->recorded->clock.hz) /* as recorded, too */
            out->clock.hz = source->recorded->clock.hz;
        return copy_pairs(directory, source, out);
    }
    if (!same)
        return write_pairs(directory, source, out);
    out->clock.host = true;
    out->clock.hz = NANOSECONDS;
    out->clock.error_ns = source->error_ns;
    return 0;
}

/* Writes the user's facts about a Xen without a manifest. */
static int put_xen(struct dir *directory, const struct merge_source *source,
                   struct manifest_source *out)
{
    const struct trace_options *open = &directory->merge->config->open;
    struct manifest_xen *xen;

    if (strcmp(source->format, "xentrace") != 0 || (!open->xen_version && !open->cpu_vendor))
        return 0;
    xen = arena_alloc(&directory->merge->arena, sizeof *xen);
    if (!xen)
        return merge_no_memory(directory->merge);
    if (out->xen)
        *xen = *out->xen;
    if (open->xen_version)
        xen->version = open->xen_version;
    if (open->cpu_vendor)
        xen->cpu_vendor = open->cpu_vendor;
    out->xen = xen;
    return 0;
}

/* The moments of a recording are times of its own host's clock, so they are left out on another timeline. */
static void put_moments(const struct merge *merge, const struct merge_source *source,
                        struct manifest_source *out)
{
    struct manifest_moment *moments[] = {&out->began, &out->ended, &out->came, &out->left};

    if (merge->domains[source->domain].is_host &&
        source->domain == merge->sources[merge->reference].domain)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
        moments[i]->monotonic_ns = 0;
        moments[i]->error_ns = 0;
    }
}

static struct manifest_file *find_file(struct manifest_file *files, unsigned n, const char *path)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(files[i].path, path) == 0)
            return &files[i];
    return NULL;
}

/* True if files of SOURCE may have been cut and their recorder stated no lengths. Then the copy must not state lengths
 * either. */
static bool lacks_lengths(const struct merge_source *source)
{
    const struct catalogue *catalogue = &source->trace->catalogue;

    if (source->recorded && source->recorded->n_files > 0)
        return false;
    for (unsigned i = 0; i < catalogue->n_origins; i++)
        if (catalogue->origins[i]->ends_apart || catalogue->origins[i]->is_cut)
            return true;
    return false;
}

/* Files of OUT that were cut before keep the lengths that their recorder stated. The pairs of the clock may be new. */
static int keep_lengths(struct dir *directory, const struct merge_source *source,
                        struct manifest_source *out)
{
    unsigned n_recorded = source->recorded ? source->recorded->n_files : 0;
    unsigned n_found = out->n_files;
    struct manifest_file *files =
        arena_alloc(&directory->merge->arena, (n_found + n_recorded + 1) * sizeof *files);

    if (!files)
        return merge_no_memory(directory->merge);
    if (lacks_lengths(source)) {
        out->n_files = 0;
        return 0;
    }
    if (n_found)
        memcpy(files, out->files, out->n_files * sizeof *files);
    for (unsigned i = 0; i < n_recorded; i++) {
        const struct manifest_file *recorded = &source->recorded->files[i];
        const char *path = path_in_result(directory->merge, source->recorded, out, recorded->path);
        struct manifest_file *file = path ? find_file(files, n_found, path) : NULL;

        if (path && out->clock.pairs && strcmp(path, out->clock.pairs) == 0)
            continue;
        if (file)
            file->bytes = MAX(file->bytes, recorded->bytes);
        else if (path && out->n_files < MANIFEST_FILES_MAX)
            files[out->n_files++] = (struct manifest_file){path, recorded->bytes};
    }
    out->files = files;
    return 0;
}

static int put_source(struct dir *directory, const struct merge_source *source,
                      const struct manifest_host *host, struct manifest_source *out)
{
    const char *to = join(directory->merge, directory->path, source->name);
    struct manifest_host *own = arena_alloc(&directory->merge->arena, sizeof *own);
    int r;

    if (!to || !own)
        return merge_no_memory(directory->merge);
    *own = *host;
    if (source->recorded && source->recorded->host)
        own->recorder = source->recorded->host->recorder;
    if (source->recorded)
        *out = *source->recorded;
    else
        *out = (struct manifest_source){.complete = true};
    out->files = NULL;
    out->n_files = 0;
    out->name = source->name;
    out->layer = layer_name(source->layer);
    out->host = own;
    put_moments(directory->merge, source, out);
    if (source->monitor && !out->vmm) {
        struct manifest_vmm *vmm = arena_alloc(&directory->merge->arena, sizeof *vmm);

        if (!vmm)
            return merge_no_memory(directory->merge);
        *vmm = (struct manifest_vmm){.pid = source->monitor};
        out->vmm = vmm;
    }
    if (mkdir(to, 0777) < 0)
        return error_set(&directory->merge->error, -errno, to, "cannot create the directory: %s",
                         strerror(errno));
    r = source->recorded ? copy_recorded(directory, source, out)
                         : copy_bare(directory, source, out);
    if (r >= 0)
        r = copy_events(directory, source, out);
    if (r >= 0)
        r = put_xen(directory, source, out);
    return r < 0 ? r : put_clock(directory, source, out);
}

static int fill(struct dir *directory)
{
    struct merge *merge = directory->merge;
    const struct merge_domain *domain = &merge->domains[merge->sources[merge->reference].domain];
    struct manifest_host host = {.boot_id = merge->boot_id, .name = domain->host};
    struct manifest_source *sources = calloc(merge->n_sources, sizeof *sources);
    struct manifest manifest = {.sources = sources, .n_sources = merge->n_sources};
    _cleanup_(closep) int dir = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = 0;

    if (!sources)
        return merge_no_memory(directory->merge);
    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++)
        r = put_source(directory, &merge->sources[i], &host, &sources[i]);
    if (r >= 0 && source_files_find(dir, sources, merge->n_sources, &merge->arena) < 0)
        r = merge_no_memory(merge);
    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++)
        r = keep_lengths(directory, &merge->sources[i], &sources[i]);
    if (r >= 0)
        r = manifest_write(directory->path, &manifest, &directory->merge->error);
    free(sources);
    return r;
}

/* Replaces the temporary directory's name in messages by the name that the user gave. */
static void name_as_given(struct error *error, const char *temp_path, const char *given)
{
    size_t len = strlen(temp_path), given_len = strlen(given);
    char path[sizeof error->path];

    if (strncmp(error->path, temp_path, len) != 0)
        return;
    while (given_len > 1 && given[given_len - 1] == '/')
        given_len--;
    snprintf(path, sizeof path, "%.*s%s", (int)given_len, given, error->path + len);
    memcpy(error->path, path, sizeof path);
}

int merge_write(struct merge *merge, const char *path)
{
    struct dir directory = {.merge = merge};
    struct atomic_output output;
    int r = atomic_output_open(ATOMIC_OUTPUT_DIRECTORY, path, NULL, NULL, &output, &merge->error);

    if (r >= 0) {
        directory.path = output.temp_path;
        r = fill(&directory);
        if (r >= 0)
            r = atomic_output_commit(&output, &merge->error);
        else
            name_as_given(&merge->error, directory.path, path);
        atomic_output_done(&output);
    }
    return r < 0 ? error_set(&merge->error, r, path, "%s", strerror(-r)) : 0;
}
