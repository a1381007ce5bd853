/* SPDX-License-Identifier: MIT */
#include "cmd/serve_index.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/progress.h"
#include "cmd/cmd.h"
#include "cmd/pairs.h"
#include "index/build.h"
#include "index/index.h"

/* What index_cache_open() calls back. */
struct build {
    struct trace *trace; /* of which nothing was read */
    const struct pairs *pairs;
    struct progress progress;
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

    progress_start(&build->progress, isatty(STDERR_FILENO));
    r = index_build(build->trace, &options, fd, error);
    progress_erase(&build->progress);
    return r;
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
        r = build_temporary(&build, &index.index, &error);
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
