/* SPDX-License-Identifier: MIT */
#include "serve/trace_index.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/fd.h"
#include "index/build.h"
#include "index/index.h"
#include "serve/serve.h"

#define BEGIN_POLL_NS 200000000
#define UNUSED_DAYS_MAX UINT64_C(30) /* that an index is kept, as docs/man/strata-serve.1 says */
#define DAY_S UINT64_C(86400)

/* The argument of index_cache_open()'s callbacks. */
struct build {
    const struct serve_source *source;
    struct trace *trace;                   /* nothing of it was read */
    const struct serve_index_hooks *hooks; /* may be NULL */
    const atomic_bool *stops;
    bool started;
    char *settings; /* NULL: the settings of `source` */
};

static int build_index(void *arg, int fd, struct error *error)
{
    struct build *build = arg;
    struct index_options options = {
        .rules = build->source->pairs.rules.rules,
        .n_rules = build->source->pairs.rules.n,
        .progress = build->hooks ? build->hooks->progress : NULL,
        .progress_arg = build->hooks ? build->hooks->arg : NULL,
        .stops = build->stops,
    };

    build->started = true;
    return index_build(build->trace, &options, fd, error);
}

static void note(const struct serve_index_hooks *hooks, const char *format, ...) _printf_(2, 3);
static void note(const struct serve_index_hooks *hooks, const char *format, ...)
{
    char text[1400];
    va_list args;

    if (!hooks || !hooks->note)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hooks->note(hooks->arg, text);
}

/* Adds a file on whose contents the index depends. */
static void put_file(struct text *text, const char *key, const char *path)
{
    struct stat st = {0};

    if (!path)
        return;
    if (stat(path, &st) < 0)
        memset(&st, 0, sizeof st);
    text_printf(text, "%s=%s %lld %lld.%ld\n", key, path, (long long)st.st_size,
                (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* Adds everything except the traces on which the index depends. */
static void put_settings(struct text *text, const struct serve_source_options *options)
{
    const struct trace_options *open = options->trace;
    char events[TRACE_EVENTS_PATH_SIZE];

    for (unsigned i = 0; i < open->n_events; i++)
        put_file(text, "trace-events", open->events[i]);
    if (open->n_events == 0 && trace_find_events(open->events_path, events))
        put_file(text, "default-trace-events", events);
    put_file(text, "kallsyms", open->kallsyms);
    put_file(text, "tracefs-copy", open->tracefs);
    text_printf(text, "source=%s\nxen=%s\ncpu-vendor=%s\ncpu-hz=%llu\nflags=%d%d%d%d\n",
                open->source ? open->source : "", open->xen_version ? open->xen_version : "",
                open->cpu_vendor ? open->cpu_vendor : "", (unsigned long long)open->cpu_hz,
                open->no_header, open->host_time, open->reader.keep_going, open->stated_clocks);
    for (unsigned i = 0; i < options->pairs.n; i++)
        text_printf(text, "pair=%s\n", options->pairs.items[i]);
    for (unsigned i = 0; i < options->files.n; i++)
        put_file(text, "pairs", options->files.items[i]);
    text_put_char(text, '\0');
}

static struct index_cache_request request_of(const struct serve_source *source, struct build *build)
{
    return (struct index_cache_request){
        .directory = source->directory.start,
        .paths = source->paths,
        .n_paths = source->n_paths,
        .settings = build && build->settings ? build->settings : source->settings.start,
        .max_size = source->options->index_cache_size,
        .max_unused_s = UNUSED_DAYS_MAX * DAY_S,
        .build = build_index,
        .arg = build,
        .stops = build ? build->stops : NULL,
    };
}

static int open_trace(const struct serve_source *source, struct trace **ret, struct error *error)
{
    return trace_open(source->paths, source->n_paths, source->options->trace, ret, error);
}

/* Opens a file without a name: in the cache, or, if that fails, in the directory for temporary files. */
static int open_unnamed(struct build *build, bool in_cache, struct error *error)
{
    const struct index_cache_request request = request_of(build->source, build);
    const char *directory = build->source->options->trace->reader.temporary_dir;
    int fd = in_cache ? index_cache_open_unnamed(&request, NULL) : -1;

    if (fd >= 0)
        return fd;
    if (!directory)
        directory = "/tmp";
    fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(error, -errno, directory, "cannot make a temporary file: %s",
                         error_text(-errno));
    return fd;
}

static int build_unnamed(struct build *build, bool in_cache, struct index **ret,
                         struct error *error)
{
    _cleanup_(closep) int fd = open_unnamed(build, in_cache, error);
    int r;

    if (fd < 0)
        return fd;
    r = build_index(build, fd, error);
    return r < 0 ? r : index_open_fd(fd, "index", ret, error);
}

static int open_kept(struct build *build, struct index **ret, struct error *error)
{
    const struct index_cache_request request = request_of(build->source, build);
    int r;

    if (!*request.directory)
        return build_unnamed(build, false, ret, error);
    r = index_cache_open(&request, ret, NULL, error);
    /* The disk became full: the trace is read again, from its begin. */
    if (build->started && (r == -ENOSPC || r == -EDQUOT)) {
        build->trace = trace_free(build->trace);
        if (open_trace(build->source, &build->trace, NULL) < 0)
            return r;
        build->started = false;
    }
    /* A directory that cannot be written to. */
    if (r < 0 && !build->started && r != -ECANCELED && !error_is_shortage(r)) {
        note(build->hooks, "%s: the index is not kept: %s",
             *error->path ? error->path : request.directory, error->what);
        error_clear(error);
        r = build_unnamed(build, false, ret, error);
    }
    return r;
}

static int keep_facts(const struct trace *trace, struct serve_index *index)
{
    const struct catalogue *catalogue = &trace->catalogue;

    if (trace->host_time)
        snprintf(index->clock, sizeof index->clock, "monotonic");
    else if (catalogue->n_origins > 0)
        snprintf(index->clock, sizeof index->clock, "%s", catalogue->origins[0]->clock.name);
    index->is_ticks = trace_is_in_ticks(trace);
    for (unsigned i = 0; i < trace->n_notes; i++) {
        char *note = strdup(trace->notes[i]);

        if (!note || strings_add(&index->notes, note) < 0) {
            free(note);
            return -ENOMEM;
        }
    }
    return 0;
}

/* An index without an unreadable source is cached under another key, because the source may be readable next time. */
static int set_settings(struct build *build)
{
    if (build->trace->n_missing == 0)
        return 0;
    if (asprintf(&build->settings, "%smissing=%u\n", build->source->settings.start,
                 build->trace->n_missing) >= 0)
        return 0;
    build->settings = NULL;
    return -ENOMEM;
}

/* Makes the index of build->trace, and frees the trace. */
static int make(struct build *build, bool live, struct serve_index *ret, struct error *error)
{
    struct serve_index index = {.live = live,
                                .n_missing = build->trace->n_missing,
                                .has_losses =
                                    build->trace->lost_counted || build->trace->lost_uncounted};
    int r = keep_facts(build->trace, &index);

    if (r == 0)
        r = set_settings(build);
    if (r < 0)
        error_set(error, r, NULL, "out of memory");
    else
        r = live ? build_unnamed(build, *build->source->directory.start, &index.index, error)
                 : open_kept(build, &index.index, error);
    build->trace = trace_free(build->trace);
    free(build->settings);
    build->settings = NULL;
    if (r < 0)
        serve_index_done(&index);
    else
        *ret = index;
    return r;
}

int serve_source_init(const struct serve_source_options *options, const char *const *paths,
                      unsigned n_paths, struct serve_source *ret, struct error *error)
{
    *ret = (struct serve_source){
        .options = options,
        .paths = paths,
        .n_paths = n_paths,
        .name = TEXT_IN_MEMORY,
        .directory = TEXT_IN_MEMORY,
        .settings = TEXT_IN_MEMORY,
    };
    for (unsigned i = 0; i < n_paths; i++)
        text_printf(&ret->name, "%s%s", i > 0 ? ", " : "", paths[i]);
    text_put_char(&ret->name, '\0');
    cache_dir_put_path(&ret->directory);
    put_settings(&ret->settings, options);
    if (ret->name.error || ret->directory.error || ret->settings.error)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    if (options->pairs.n == 0 && options->files.n == 0)
        return 0;
    return span_rules_user_read(&ret->pairs, NULL, 0, &options->pairs, &options->files, error);
}

void serve_source_done(struct serve_source *source)
{
    text_done(&source->name);
    text_done(&source->directory);
    text_done(&source->settings);
    span_rules_user_done(&source->pairs);
}

bool serve_source_is_live(const struct serve_source *source)
{
    return trace_is_live(source->paths, source->n_paths, source->options->trace->runtime_dir);
}

int serve_source_key(const struct serve_source *source, char ret_key[INDEX_CACHE_KEY_SIZE])
{
    const struct index_cache_request request = request_of(source, NULL);

    return index_cache_data_key(&request, ret_key, NULL);
}

/* Waits until a recording can be opened, or has ended. Returns true if it still runs. */
static bool await_begin(const struct serve_source *source, const struct serve_index_hooks *hooks)
{
    const struct timespec period = {.tv_nsec = BEGIN_POLL_NS};
    char why[1024];
    bool reported = false;

    while (serve_source_is_live(source)) {
        struct error error = {0};
        struct trace *trace;

        if (open_trace(source, &trace, &error) == 0) {
            trace_free(trace);
            return true;
        }
        if (!reported) {
            error_print(&error, why, sizeof why);
            note(hooks, "waiting for the recording to begin: %s", why);
        }
        reported = true;
        nanosleep(&period, NULL);
    }
    return false;
}

int serve_index_open(const struct serve_source *source, const struct serve_index_hooks *hooks,
                     struct serve_index *ret, struct error *error)
{
    struct build build = {.source = source, .hooks = hooks};
    /* Before the trace is opened: what is not live any more is all there. */
    bool live = await_begin(source, hooks);
    int r = open_trace(source, &build.trace, error);

    if (r < 0)
        return r;
    if (hooks && hooks->opened)
        hooks->opened(hooks->arg, build.trace);
    return make(&build, live, ret, error);
}

int serve_index_renew(const struct serve_source *source, bool live, const atomic_bool *stops,
                      struct serve_index *ret, struct error *error)
{
    struct build build = {.source = source, .stops = stops};
    int r = open_trace(source, &build.trace, error);

    return r < 0 ? r : make(&build, live, ret, error);
}

int serve_index_publish(struct serve_index *index, struct server *server)
{
    const struct server_data data = {
        .index = index->index,
        .clock = index->clock,
        .is_ticks = index->is_ticks,
        .live = index->live,
        .n_missing = index->n_missing,
        .has_losses = index->has_losses,
        .notes = (const char *const *)index->notes.items,
        .n_notes = index->notes.n,
    };
    int r = server_set_data(server, &data);

    if (r == 0)
        index->index = NULL;
    return r;
}

void serve_index_done(struct serve_index *index)
{
    index_free(index->index);
    for (unsigned i = 0; i < index->notes.n; i++)
        free((void *)(uintptr_t)index->notes.items[i]);
    strings_done(&index->notes);
    *index = (struct serve_index){0};
}
