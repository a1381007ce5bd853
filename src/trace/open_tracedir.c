/* SPDX-License-Identifier: MIT */
/* Opens directories with a manifest, which `strata record` makes. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/directory.h"
#include "trace/open.h"
#include "tracedir/registry.h"

int recorded_leave_out(struct trace *trace, const struct manifest_source *source,
                       const struct error *error)
{
    char why[1024];

    error_print(error, why, sizeof why);
    return trace_note_missing(trace, "the source '%s' cannot be shown: %s", source->name, why);
}

/* ---- What readers should know of the recording ---- */

/* The recorder belongs to another user, and its process is unknown. */
#define RECORDER_OF_OTHER (-1)

struct search {
    struct stat dir;
    pid_t recorder; /* 0 if not found */
};

static int find_recorder(const struct registry_recording *recording, void *userdata)
{
    struct search *search = userdata;
    struct stat st;

    if (stat(recording->trace, &st) == 0 && st.st_dev == search->dir.st_dev &&
        st.st_ino == search->dir.st_ino)
        search->recorder = recording->pid;
    return search->recorder != 0;
}

/* Finds the recorder that writes into DIR, or returns 0. */
static pid_t recorder_of(const char *dir, const char *runtime_dir)
{
    struct search search = {0};

    if (stat(dir, &search.dir) == 0)
        (void)registry_foreach(runtime_dir, find_recorder, &search);
    if (search.recorder == 0 && registry_is_recorded_by_other(dir))
        return RECORDER_OF_OTHER;
    return search.recorder;
}

bool trace_is_live(const char *const *paths, unsigned n, const char *runtime_dir)
{
    bool live = false;

    for (unsigned i = 0; i < n && !live; i++) {
        _cleanup_free_ char *dir = directory_of_manifest(paths[i]);

        live = recorder_of(dir ? dir : paths[i], runtime_dir) != 0;
    }
    return live;
}

static bool is_wanted(const struct trace_options *options, const struct manifest_source *source)
{
    return !options->source || strcmp(options->source, source->name) == 0;
}

/* True if the recorder of SOURCE did not end it. A source that is still being recorded is not complete. */
static bool is_unfinished(const struct manifest_source *source, bool is_live)
{
    return manifest_source_has_events(source) && !source->complete &&
           (!is_live || source->ended.realtime_ns != 0);
}

/* Notes that the recording still runs in process RECORDER, or which sources were cut off. A source that failed is
 * described by its problems instead. Also notes what sources state as lost. */
static int note_end(struct trace *trace, const struct trace_options *options, const char *dir,
                    const struct manifest *manifest, pid_t recorder)
{
    char names[400] = "";
    int r;

    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];

        if (!is_wanted(options, source))
            continue;
        trace->lost_counted |= source->lost_known && source->lost > 0;
        trace->lost_uncounted |=
            source->lost_uncounted || is_unfinished(source, recorder != 0 || options->is_live);
        if (!source->complete && source->ended.realtime_ns == 0)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%s'",
                     names[0] ? ", " : "", source->name);
    }
    if (!names[0])
        return 0;
    if (recorder == RECORDER_OF_OTHER)
        r = trace_note(trace,
                       "%s: still recording, by another user; showing what is written so far", dir);
    else if (recorder)
        r = trace_note(trace, "%s: still recording (process %ld); showing what is written so far",
                       dir, (long)recorder);
    else
        r = trace_note(trace, "%s: the recording of %s is incomplete: its recorder was killed", dir,
                       names);
    if (r >= 0)
        trace->not_ended = trace->notes[trace->n_notes - 1];
    return r;
}

static int note_problems(struct trace *trace, const char *dir, const struct manifest_source *source)
{
    int r = 0;

    for (unsigned i = 0; i < source->n_problems && r >= 0; i++)
        r = trace_note(trace, "%s: %s: %s", dir, source->name, source->problems[i]);
    return r;
}

static int add_source(struct trace *trace, const char *dir, const struct manifest *manifest,
                      const struct manifest_source *source, const struct trace_options *options,
                      bool is_live, struct open_ctx **ctxs, unsigned *n, struct error *error)
{
    bool is_recorded = source->complete || source->ended.realtime_ns != 0;
    struct open_ctx ctx = {.trace = trace,
                           .given = dir,
                           .recorded = source,
                           .manifest = manifest,
                           .is_live = is_live && !is_recorded && !options->is_live,
                           .is_unfinished = is_unfinished(source, is_live)};
    _cleanup_free_ char *path = NULL;
    int r =
        manifest_source_has_events(source) ? manifest_resolve(dir, source->path, &path, error) : 0;

    if (r < 0)
        return r;
    ctx.path = arena_strdup(&trace->catalogue.arena, path ? path : dir);
    if (!ctx.path || note_problems(trace, dir, source) < 0 ||
        recorded_files_check(&ctx, options->reader.keep_going) < 0)
        return error_set(error, -ENOMEM, dir, "out of memory");
    return open_ctxs_append(ctxs, n, &ctx);
}

/* Adds each source whose data are there. */
static int add_sources(struct trace *trace, const struct manifest *manifest,
                       const struct trace_options *options, const char *dir, bool is_live,
                       struct open_ctx **ctxs, unsigned *n, struct error *error)
{
    struct error first = {0};
    unsigned before = *n;
    unsigned wanted = 0;
    bool has_events = false;

    for (unsigned i = 0; i < manifest->n_sources; i++)
        has_events |= manifest_source_has_events(&manifest->sources[i]);
    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_source *source = &manifest->sources[i];
        struct error missing;
        int r;

        if (!is_wanted(options, source))
            continue;
        wanted++;
        if (!options->source && has_events && !manifest_source_has_events(source)) {
            if (note_problems(trace, dir, source) < 0)
                return error_set(error, -ENOMEM, dir, "out of memory");
            continue;
        }
        error_clear(&missing);
        r = add_source(trace, dir, manifest, source, options, is_live, ctxs, n, &missing);
        if (r >= 0)
            continue;
        if (error_is_shortage(r))
            return error_set(error, r, dir, "%s", error_text(r));
        if (!first.code)
            first = missing;
        if (recorded_leave_out(trace, source, &missing) < 0)
            return -ENOMEM;
    }
    if (wanted == 0 && options->source)
        return error_set(error, -ENOENT, dir, "has no source '%s'", options->source);
    if (wanted == 0)
        return error_set(error, -ENOENT, dir, "is a recorded trace without any source");
    if (*n > before)
        return 0;
    if (error && !error->code)
        *error = first;
    return first.code;
}

int tracedir_expand(struct trace *trace, const struct trace_options *options, const char *given,
                    struct open_ctx **ctxs, unsigned *n, struct error *error)
{
    struct open_ctx bare = {.path = given, .given = given};
    struct manifest *manifest = &trace->manifests[trace->n_manifests];
    _cleanup_free_ char *dir = directory_of_manifest(given);
    bool is_whole = true;
    pid_t recorder;
    int r;

    if (dir) {
        given = arena_strdup(&trace->catalogue.arena, dir);
        if (!given)
            return error_set(error, -ENOMEM, dir, "out of memory");
        bare.path = bare.given = given;
    }
    if (given[0] == '\0' || !manifest_probe(given)) {
        r = session_expand(trace, options, given, ctxs, n, error);
        return r ? MIN(r, 0) : open_ctxs_append(ctxs, n, &bare);
    }
    r = manifest_read_again(given, options->cache, manifest, error);
    if (r < 0)
        return r;
    trace->n_manifests++;
    for (unsigned i = 0; i < manifest->n_sources; i++)
        is_whole &= manifest->sources[i].complete;
    recorder = is_whole ? 0 : recorder_of(given, options->runtime_dir);
    if (note_end(trace, options, given, manifest, recorder) < 0)
        return error_set(error, -ENOMEM, given, "out of memory");
    return add_sources(trace, manifest, options, given, recorder != 0 || options->is_live, ctxs, n,
                       error);
}
