/* SPDX-License-Identifier: MIT */
/* Where the trace-events declarations come from. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/open.h"

/* Where QEMU's `make install` puts all declarations of a build, as one file. */
static const char *const installed[] = {
    "/usr/share/qemu/trace-events-all",
    "/usr/local/share/qemu/trace-events-all",
};

bool trace_find_events(const char *list, char buf[TRACE_EVENTS_PATH_SIZE])
{
    while (list && *list) {
        size_t len = strcspn(list, ":");

        if (len > 0 && len < TRACE_EVENTS_PATH_SIZE) {
            memcpy(buf, list, len);
            buf[len] = '\0';
            if (access(buf, R_OK) == 0)
                return true;
        }
        list += len + (list[len] == ':');
    }
    for (size_t i = 0; i < ARRAY_SIZE(installed); i++) {
        if (access(installed[i], R_OK) == 0) {
            snprintf(buf, TRACE_EVENTS_PATH_SIZE, "%s", installed[i]);
            return true;
        }
    }
    return false;
}

int events_files_add(struct events_files *files, const char *path, struct error *error)
{
    /* A reader needs to know only strings; old trees have their own types. */
    files->declarations.rules = DECLARE_ANY_TYPE;
    return declarations_read(&files->declarations, path, NULL, NULL, error);
}

int events_files_finish(struct events_files *files, struct error *error)
{
    int r = qemu_events_init(&files->declarations, &files->events);

    if (r < 0)
        return error_set(error, r, NULL, "out of memory");
    files->found = true;
    return 0;
}

static int read_files(struct events_files *files, const struct trace_options *options,
                      struct error *error)
{
    char path[TRACE_EVENTS_PATH_SIZE];
    int r = 0;

    if (options->n_events == 0) {
        if (!trace_find_events(options->events_path, path))
            return 0;
        r = events_files_add(files, path, error);
    }
    for (unsigned i = 0; i < options->n_events && r >= 0; i++)
        r = events_files_add(files, options->events[i], error);
    return r < 0 ? r : events_files_finish(files, error);
}

int events_files_get(struct events_files *files, const struct trace_options *options, bool needed,
                     const char *path, const struct qemu_events **ret_events, struct error *error)
{
    if (!files->tried) {
        int r = read_files(files, options, error);
        if (r < 0)
            return r;
        files->tried = true;
    }
    if (!files->found && needed)
        return error_set(error, -ENOENT, path,
                         "the trace has no event declarations; give the trace-events-all of the "
                         "QEMU that wrote it with --trace-events (looked for %s and %s)",
                         installed[0], installed[1]);
    *ret_events = files->found ? &files->events : NULL;
    return 0;
}

void events_files_done(struct events_files *files)
{
    if (files->found)
        qemu_events_done(&files->events);
    declarations_done(&files->declarations);
    *files = (struct events_files){0};
}
