/* SPDX-License-Identifier: MIT */
#include "cmd/serve_index.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/pairs.h"
#include "index/build.h"
#include "index/cache.h"
#include "index/index.h"

#define UNUSED_DAYS_MAX UINT64_C(30) /* that an index is kept, as docs/man/strata-serve.1 says */
#define DAY_S UINT64_C(86400)

/* What index_cache_open() calls back. */
struct build {
    struct trace *trace; /* of which nothing was read */
    const struct pairs *pairs;
    struct progress progress;
    bool started;
};

static void show_progress(void *arg, uint64_t done, uint64_t total)
{
    struct progress *progress = arg;

    if (progress_is_due(progress))
        progress_show(progress, done, total);
}

static int build_index(void *arg, int fd, struct error *error)
{
    struct build *build = arg;
    const struct index_options options = {
        .rules = build->pairs->rules.rules,
        .n_rules = build->pairs->rules.n,
        .progress = show_progress,
        .progress_arg = &build->progress,
    };
    int r;

    build->started = true;
    progress_start(&build->progress, isatty(STDERR_FILENO));
    r = index_build(build->trace, &options, fd, error);
    progress_erase(&build->progress);
    return r;
}

/* $XDG_CACHE_HOME/strata, or ~/.cache/strata; an empty text: neither variable is set. */
static void put_cache_directory(struct text *text)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");

    if (cache && *cache == '/')
        text_printf(text, "%s/strata", cache);
    else if (home && *home == '/')
        text_printf(text, "%s/.cache/strata", home);
    text_put_char(text, '\0');
}

/* A file whose contents the index depends on. */
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

/* All but the traces that the index depends on. */
static void put_settings(struct text *text, const struct serve_options *options)
{
    const struct open_options *open = &options->open;
    char events[TRACE_EVENTS_PATH_SIZE];

    for (unsigned i = 0; i < open->events.n; i++)
        put_file(text, "trace-events", open->events.items[i]);
    if (open->events.n == 0 && trace_find_events(environment_events_path(), events))
        put_file(text, "default-trace-events", events);
    put_file(text, "kallsyms", open->kallsyms);
    put_file(text, "tracefs-copy", open->tracefs);
    text_printf(text, "source=%s\nxen=%s\ncpu-vendor=%u\ncpu-hz=%llu\nflags=%d%d%d\n",
                open->source ? open->source : "", open->xen_version ? open->xen_version : "",
                open->cpu_vendor, (unsigned long long)open->cpu_hz, open->no_header,
                open->host_time, open->keep_going);
    for (unsigned i = 0; i < options->pairs.n; i++)
        text_printf(text, "pair=%s\n", options->pairs.items[i]);
    for (unsigned i = 0; i < options->files.n; i++)
        put_file(text, "pairs", options->files.items[i]);
    text_put_char(text, '\0');
}

/* In a file without a name. */
static int build_temporary(struct build *build, struct index **ret, struct error *error)
{
    const char *directory = environment_temporary_dir();
    _cleanup_(closep) int fd = -1;
    int r;

    if (!directory)
        directory = "/tmp";
    fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(error, -errno, directory, "cannot make a temporary file: %s",
                         error_text(-errno));
    r = build_index(build, fd, error);
    return r < 0 ? r : index_open_fd(fd, "index", ret, error);
}

static int open_index(const struct serve_options *options, char **paths, int n, struct build *build,
                      struct index **ret, struct error *error)
{
    _cleanup_(text_done) struct text directory = TEXT_IN_MEMORY, settings = TEXT_IN_MEMORY;
    struct index_cache_request request;
    int r;

    put_cache_directory(&directory);
    put_settings(&settings, options);
    if (directory.error || settings.error)
        return -ENOMEM;
    request = (struct index_cache_request){
        .directory = directory.start,
        .paths = (const char *const *)paths,
        .n_paths = (unsigned)n,
        .settings = settings.start,
        .max_size = options->index_cache_size,
        .max_unused_s = UNUSED_DAYS_MAX * DAY_S,
        .build = build_index,
        .arg = build,
    };
    if (!*directory.start)
        return build_temporary(build, ret, error);
    r = index_cache_open(&request, ret, NULL, error);
    /* A directory that cannot be written to. */
    if (r < 0 && !build->started && r != -ENOMEM && r != -EMFILE && r != -ENFILE) {
        cli_error("%s: the index is not kept: %s", error->path, error->what);
        error_clear(error);
        r = build_temporary(build, ret, error);
    }
    return r;
}

static int keep_facts(const struct trace *trace, char **paths, int n, struct serve_index *index)
{
    const struct catalogue *catalogue = &trace->catalogue;

    for (int i = 0; i < n; i++)
        text_printf(&index->name, "%s%s", i > 0 ? ", " : "", paths[i]);
    text_put_char(&index->name, '\0');
    if (trace->host_time)
        snprintf(index->clock, sizeof index->clock, "monotonic");
    else if (catalogue->n_origins > 0)
        snprintf(index->clock, sizeof index->clock, "%s", catalogue->origins[0]->clock.name);
    index->is_ticks =
        !trace->host_time && catalogue->n_origins > 0 && catalogue->origins[0]->clock.hz == 0;
    for (unsigned i = 0; i < trace->n_notes; i++) {
        char *note = strdup(trace->notes[i]);

        if (!note || strings_add(&index->notes, note) < 0) {
            free(note);
            return -ENOMEM;
        }
    }
    return index->name.error;
}

int serve_index_open(const char *verb, const struct serve_options *options, char **paths, int n,
                     struct serve_index *ret)
{
    struct serve_index index = {.name = TEXT_IN_MEMORY};
    struct pairs pairs = {0};
    struct build build = {.pairs = &pairs};
    struct error error = {0};
    int status = pairs_check_syntax(verb, &options->pairs);
    int r = 0;

    if (status != EXIT_SUCCESS)
        return status;
    build.trace = walk_open(&options->open, paths, n);
    if (!build.trace)
        return EXIT_FAILURE;
    if (options->pairs.n > 0 || options->files.n > 0)
        r = pairs_read(&pairs, NULL, 0, &options->pairs, &options->files, &error);
    if (r == 0)
        r = keep_facts(build.trace, paths, n, &index);
    if (r == 0)
        r = open_index(options, paths, n, &build, &index.index, &error);
    trace_free(build.trace);
    pairs_done(&pairs);
    if (r < 0) {
        serve_index_done(&index);
        return cli_print_failure(&error, r);
    }
    *ret = index;
    return EXIT_SUCCESS;
}

void serve_index_done(struct serve_index *index)
{
    index_free(index->index);
    for (unsigned i = 0; i < index->notes.n; i++)
        free((void *)(uintptr_t)index->notes.items[i]);
    strings_done(&index->notes);
    text_done(&index->name);
    *index = (struct serve_index){.name = TEXT_IN_MEMORY};
}
