/* SPDX-License-Identifier: MIT */
/* strata merge: the folder that is made of all sources, whose bytes stay as they are. */

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "cmd/cmd.h"
#include "cmd/merge.h"
#include "cmd/unfinished.h"
#include "format/ftrace.h"
#include "guests/guest_store.h"

#define PAIRS_NAME "clock-pairs"

struct folder {
    struct merge *merge;
    const char *path; /* where it grows */
    struct fault fault;
};

static int no_memory(struct folder *folder)
{
    return fault_plain(&folder->fault, -ENOMEM, NULL, "out of memory");
}

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

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Copies the file FROM to NAME in the source's folder; *RET gets its path in the result. */
static int copy_to(struct folder *folder, const char *from, const char *source, const char *name,
                   bool follow, const char **ret)
{
    struct copy_options options = {.link = folder->merge->options->link, .follow = follow};
    const char *path = join(folder->merge, source, name);
    const char *to = path ? join(folder->merge, folder->path, path) : NULL;

    if (!to)
        return no_memory(folder);
    *ret = path;
    return copy_file(from, to, &options, &folder->fault);
}

/* Another one that declares events, under its own name, or with a number where that is taken. */
static int copy_events_file(struct folder *folder, const char *from,
                            const struct merge_source *source, bool follow,
                            struct manifest_source *out, const char **events)
{
    char name[64];
    char place[4096];

    snprintf(name, sizeof name, "%.40s", base_of(from));
    snprintf(place, sizeof place, "%s/%s/%s", folder->path, source->name, name);
    if (access(place, F_OK) == 0)
        snprintf(name, sizeof name, "%.40s-%u", base_of(from), out->n_events + 2);
    return copy_to(folder, from, source->name, name, follow, &events[out->n_events++]);
}

/* The files that declare events: of the folder that it comes from, those of --events, or those installed. */
static int copy_events(struct folder *folder, const struct merge_source *source,
                       struct manifest_source *out)
{
    const struct strings *given = &source->events;
    const struct manifest_source *recorded = source->recorded;
    char installed[TRACE_EVENTS_PATH_SIZE];
    bool qemu =
        strcmp(source->format, "simpletrace") == 0 || strcmp(source->format, "qemu-log") == 0;
    bool takes = qemu || strcmp(source->format, "xentrace") == 0;
    unsigned n = (recorded ? recorded->n_events : 0) + given->n + 1;
    const char **events = arena_alloc(&folder->merge->arena, n * sizeof *events);
    int r = 0;

    if (!events)
        return no_memory(folder);
    out->events = events;
    out->n_events = 0;
    for (unsigned i = 0; recorded && i < recorded->n_events && r >= 0; i++) {
        _cleanup_free_ char *from = NULL;

        r = manifest_resolve(source->path, recorded->events[i], &from, &folder->fault);
        if (r >= 0)
            r = copy_events_file(folder, from, source, false, out, events);
    }
    for (unsigned i = 0; takes && i < given->n && r >= 0; i++)
        r = copy_events_file(folder, given->items[i], source, true, out, events);
    if (r >= 0 && qemu && out->n_events == 0 &&
        trace_find_events(environment_events_path(), installed))
        r = copy_events_file(folder, installed, source, true, out, events);
    return r;
}

/* The pages and what decodes them, out of whatever they lie in. */
static int copy_ftrace(struct folder *folder, const struct merge_source *source, const char *to)
{
    const struct open_options *open = &folder->merge->options->open;
    /* What lies in a directory is not followed out of it; what was named is. */
    bool named = !is_folder(source->path);
    struct copy_options options = {
        .link = folder->merge->options->link, .follow = named, .takes = guest_store_takes};
    _cleanup_(ftrace_files_done) struct ftrace_files files = {0};
    const char *tree, *symbols;
    int r = ftrace_find(source->path, &files, &folder->fault);

    if (r < 0 && open->tracefs) {
        fault_clear(&folder->fault);
        r = ftrace_files_add(&files, source->path, ftrace_cpu_of_path(source->path));
    }
    if (r < 0)
        return fault_plain(&folder->fault, r, source->path, "cannot find its files");
    tree = open->tracefs ? open->tracefs : files.tree;
    symbols = open->kallsyms ? open->kallsyms : files.kallsyms;
    r = copy_folder(tree, to, &options, &folder->fault);
    options.takes = NULL;
    for (unsigned i = 0; i < files.n_raws && r >= 0; i++) {
        const char *ignored;
        char name[32];

        snprintf(name, sizeof name, "cpu%d.raw", MAX(files.raws[i].cpu, 0));
        r = copy_to(folder, files.raws[i].path, source->name, name, !files.raws[i].found, &ignored);
    }
    if (r >= 0 && symbols) {
        const char *place = join(folder->merge, to, "kallsyms");

        if (!place)
            return no_memory(folder);
        if (open->kallsyms)
            (void)unlink(place);
        options.follow = open->kallsyms;
        if (access(place, F_OK) < 0)
            r = copy_file(symbols, place, &options, &folder->fault);
    }
    return r;
}

/* All of FROM. One in CTF gets a folder of its own: any file in it is taken for a stream. */
static int copy_whole_folder(struct folder *folder, const char *from,
                             const struct merge_source *source, const struct copy_options *options,
                             struct manifest_source *out)
{
    const char *to;

    out->path = strcmp(source->format, "ctf") == 0 ? join(folder->merge, source->name, "trace")
                                                   : source->name;
    to = out->path ? join(folder->merge, folder->path, out->path) : NULL;
    return to ? copy_folder(from, to, options, &folder->fault) : no_memory(folder);
}

/* A capture by itself. */
static int copy_bare(struct folder *folder, const struct merge_source *source,
                     struct manifest_source *out)
{
    static const struct {
        const char *format, *name;
    } names[] = {{"simpletrace", "trace.simple"},
                 {"qemu-log", "trace.log"},
                 {"xentrace", "trace.raw"},
                 {"trace.dat", "trace.dat"}};
    struct copy_options options = {.link = folder->merge->options->link};
    const char *to = join(folder->merge, folder->path, source->name);

    if (!to)
        return no_memory(folder);
    out->kind = source->format;
    out->path = source->name;
    if (strcmp(source->format, "ftrace") == 0)
        return copy_ftrace(folder, source, to);
    if (is_folder(source->path))
        return copy_whole_folder(folder, source->path, source, &options, out);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(source->format, names[i].format) == 0)
            return copy_to(folder, source->path, source->name, names[i].name, true, &out->path);
    return copy_to(folder, source->path, source->name, "trace", true, &out->path);
}

/* What lies at the source's path, a file or a folder. */
static int copy_recorded(struct folder *folder, const struct merge_source *source,
                         struct manifest_source *out)
{
    struct copy_options options = {.link = folder->merge->options->link};
    _cleanup_free_ char *from = NULL;
    int r = manifest_resolve(source->path, source->recorded->path, &from, &folder->fault);

    if (r < 0)
        return r;
    if (!is_folder(from))
        return copy_to(folder, from, source->name, base_of(source->recorded->path), false,
                       &out->path);
    return copy_whole_folder(folder, from, source, &options, out);
}

/* The file that relates SOURCE to the timeline. */
static int write_pairs(struct folder *folder, const struct merge_source *source,
                       struct manifest_source *out)
{
    const char *path = join(folder->merge, source->name, PAIRS_NAME);
    const char *to = path ? join(folder->merge, folder->path, path) : NULL;
    int r;

    if (!to)
        return no_memory(folder);
    r = merge_write_pairs(folder->merge, source, to, &folder->fault);
    if (r >= 0)
        out->clock.pairs = path;
    return r;
}

/* The file of its own folder, as it is, where that says all. */
static int copy_pairs(struct folder *folder, const struct merge_source *source,
                      struct manifest_source *out)
{
    const char *path = join(folder->merge, source->name, PAIRS_NAME);
    const char *to = path ? join(folder->merge, folder->path, path) : NULL;
    _cleanup_free_ char *from = NULL;
    int r;

    if (!to)
        return no_memory(folder);
    (void)unlink(to);
    r = manifest_resolve(source->path, source->recorded->clock.pairs, &from, &folder->fault);
    return r < 0 ? r : copy_to(folder, from, source->name, PAIRS_NAME, false, &out->clock.pairs);
}

/* How its clock relates to the timeline. */
static int put_clock(struct folder *folder, const struct merge_source *source,
                     struct manifest_source *out)
{
    const struct merge_domain *domain = &folder->merge->domains[source->domain];
    bool same = domain->map.n == 0 && !domain->scaled && source->own.n == 0 &&
                source->counter.offset == 0 && source->counter.times == source->counter.by;

    out->clock = (struct manifest_clock){.name = source->clock.name, .hz = source->clock.hz};
    if (source->own_file && domain->map.n == 0)
        return copy_pairs(folder, source, out);
    if (!same)
        return write_pairs(folder, source, out);
    out->clock.host = true;
    out->clock.hz = NANOSECONDS;
    out->clock.error_ns = source->error_ns;
    return 0;
}

/* What the user told of a Xen that no folder tells of. */
static int put_xen(struct folder *folder, const struct merge_source *source,
                   struct manifest_source *out)
{
    const struct open_options *open = &folder->merge->options->open;
    struct manifest_xen *xen;

    if (strcmp(source->format, "xentrace") != 0 || (!open->xen_version && !open->cpu_vendor))
        return 0;
    xen = arena_alloc(&folder->merge->arena, sizeof *xen);
    if (!xen)
        return no_memory(folder);
    if (out->xen)
        *xen = *out->xen;
    if (open->xen_version)
        xen->version = open->xen_version;
    if (open->cpu_vendor)
        xen->cpu_vendor = open_options_cpu_vendor(open);
    out->xen = xen;
    return 0;
}

/* The moments of a recording tell when it was by its own host's clock, which another timeline is not. */
static void put_moments(const struct merge *merge, const struct merge_source *source,
                        struct manifest_source *out)
{
    struct manifest_moment *moments[] = {&out->began, &out->ended};

    if (merge->domains[source->domain].is_host &&
        source->domain == merge->sources[merge->reference].domain)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
        moments[i]->monotonic_ns = 0;
        moments[i]->error_ns = 0;
    }
}

static int put_source(struct folder *folder, const struct merge_source *source,
                      const struct manifest_host *host, struct manifest_source *out)
{
    const char *to = join(folder->merge, folder->path, source->name);
    int r;

    if (!to)
        return no_memory(folder);
    if (source->recorded)
        *out = *source->recorded;
    else
        *out = (struct manifest_source){.complete = true};
    out->name = source->name;
    out->layer = layer_name(source->layer);
    out->host = host;
    put_moments(folder->merge, source, out);
    if (mkdir(to, 0777) < 0)
        return fault_plain(&folder->fault, -errno, to, "cannot make the folder: %s",
                           strerror(errno));
    r = source->recorded ? copy_recorded(folder, source, out) : copy_bare(folder, source, out);
    if (r >= 0)
        r = copy_events(folder, source, out);
    if (r >= 0)
        r = put_xen(folder, source, out);
    return r < 0 ? r : put_clock(folder, source, out);
}

static int fill(struct folder *folder)
{
    struct merge *merge = folder->merge;
    const struct merge_domain *domain = &merge->domains[merge->sources[merge->reference].domain];
    struct manifest_host host = {.boot_id = merge->boot_id, .name = domain->host};
    struct manifest_source *sources = calloc(merge->n_sources, sizeof *sources);
    struct manifest manifest = {.sources = sources, .n_sources = merge->n_sources};
    int r = 0;

    if (!sources)
        return no_memory(folder);
    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++)
        r = put_source(folder, &merge->sources[i], &host, &sources[i]);
    if (r >= 0)
        r = manifest_write(folder->path, &manifest, &folder->fault);
    free(sources);
    return r;
}

/* What went wrong in the folder that grows is told by the name that the user gave to it. */
static void name_as_wanted(struct fault *fault, const char *grows, const char *wanted)
{
    size_t len = strlen(grows), wanted_len = strlen(wanted);
    char path[sizeof fault->path];

    if (strncmp(fault->path, grows, len) != 0)
        return;
    while (wanted_len > 1 && wanted[wanted_len - 1] == '/')
        wanted_len--;
    snprintf(path, sizeof path, "%.*s%s", (int)wanted_len, wanted, fault->path + len);
    memcpy(fault->path, path, sizeof path);
}

int merge_write(struct merge *merge)
{
    struct folder folder = {.merge = merge};
    struct export_place place;
    int r = unfinished_open(EXPORT_FOLDER, merge->options->output, NULL, &place, &folder.fault);

    if (r >= 0) {
        folder.path = place.path;
        r = fill(&folder);
        if (r >= 0)
            r = export_place_keep(&place, &folder.fault);
        else
            name_as_wanted(&folder.fault, folder.path, merge->options->output);
        unfinished_done(&place);
    }
    if (r < 0) {
        fault_plain(&folder.fault, r, merge->options->output, "%s", strerror(-r));
        cmd_fault(&folder.fault);
    }
    return r;
}
