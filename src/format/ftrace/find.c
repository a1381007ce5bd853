/* SPDX-License-Identifier: MIT */
/* Finds the files of an ftrace trace in a directory. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/macro.h"
#include "event/item.h"
#include "format/ftrace/ftrace.h"

#define CPUS_MAX 8192

int ftrace_cpu_of_path(const char *path)
{
    const char *at = NULL;
    int cpu = 0;

    for (const char *p = path; (p = strstr(p, "cpu")); p++)
        if (p[3] >= '0' && p[3] <= '9')
            at = p + 3;
    if (!at)
        return CPU_UNKNOWN;
    for (; *at >= '0' && *at <= '9'; at++) {
        cpu = cpu * 10 + (*at - '0');
        if (cpu >= CPUS_MAX)
            return CPU_UNKNOWN;
    }
    return cpu;
}

int ftrace_files_add(struct ftrace_files *files, const char *path, int cpu)
{
    struct ftrace_raw *bigger = realloc(files->raws, (files->n_raws + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    files->raws = bigger;
    bigger[files->n_raws] = (struct ftrace_raw){.path = strdup(path), .cpu = cpu};
    if (!bigger[files->n_raws].path)
        return -ENOMEM;
    files->n_raws++;
    return 0;
}

void ftrace_files_done(struct ftrace_files *files)
{
    for (unsigned i = 0; i < files->n_raws; i++)
        free(files->raws[i].path);
    free(files->raws);
    free(files->tree);
    free(files->kallsyms);
    *files = (struct ftrace_files){0};
}

static bool is_tree(const char *directory)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/events/header_page", directory);
    struct stat st;

    return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0;
}

/* DIR, or the first directory in it, that is a tracefs tree. -ENOENT. */
static int find_tree(const char *directory, char **ret_tree)
{
    _cleanup_(closedirp) DIR *dir = NULL;
    _cleanup_free_ char *found = NULL;
    struct dirent *entry;

    if (is_tree(directory)) {
        *ret_tree = strdup(directory);
        return *ret_tree ? 0 : -ENOMEM;
    }
    dir = opendir(directory);
    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        char *path;

        if (entry->d_name[0] == '.' || entry->d_type == DT_REG)
            continue;
        if (asprintf(&path, "%s/%s", directory, entry->d_name) < 0)
            return -ENOMEM;
        /* The order of a directory's entries is arbitrary; of several trees take the first by name. */
        if (is_tree(path) && (!found || strcmp(path, found) < 0)) {
            free(found);
            found = path;
        } else {
            free(path);
        }
    }
    if (!found)
        return -ENOENT;
    *ret_tree = TAKE_PTR(found);
    return 0;
}

static int compare_raws(const void *pa, const void *pb)
{
    const struct ftrace_raw *a = pa, *b = pb;

    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Adds DIR/cpuN.raw and DIR/per_cpu/cpuN/trace_pipe_raw. */
static int find_raws(const char *directory, struct ftrace_files *files)
{
    static const struct {
        const char *directory, *suffix;
    } places[] = {{"", ".raw"}, {"/per_cpu", "/trace_pipe_raw"}};

    for (size_t i = 0; i < ARRAY_SIZE(places) && files->n_raws == 0; i++) {
        _cleanup_(closedirp) DIR *dir = NULL;
        _cleanup_free_ char *place = NULL;
        struct dirent *entry;

        if (asprintf(&place, "%s%s", directory, places[i].directory) < 0) {
            place = NULL;
            return -ENOMEM;
        }
        dir = opendir(place);
        if (!dir && error_is_local(-errno))
            return -errno;
        if (!dir)
            continue;
        while ((entry = readdir(dir))) {
            _cleanup_free_ char *path = NULL;
            struct stat st;
            unsigned cpu;
            int n = 0, r;

            if (sscanf(entry->d_name, "cpu%5u%n", &cpu, &n) != 1 || cpu >= CPUS_MAX)
                continue;
            if (strcmp(entry->d_name + n, i == 0 ? places[i].suffix : "") != 0)
                continue;
            r = asprintf(&path, "%s/%s%s", place, entry->d_name, i == 0 ? "" : places[i].suffix);
            if (r < 0) {
                path = NULL;
                return -ENOMEM;
            }
            /* What is there, but is not a regular file as a live trace_pipe_raw is too, is an error when it is opened:
             * without it, a CPU would be missing. */
            if (lstat(path, &st) < 0)
                continue;
            r = ftrace_files_add(files, path, (int)cpu);
            if (r >= 0)
                files->raws[files->n_raws - 1].found = true;
            if (r < 0)
                return r;
        }
    }
    if (files->n_raws)
        qsort(files->raws, files->n_raws, sizeof *files->raws, compare_raws);
    return 0;
}

/* Finds the tree next to the pages, which is not needed if TREE is given. */
static int find_own_tree(const char *path, const char *tree, struct ftrace_files *files)
{
    int r = find_tree(path, &files->tree);

    return r == -ENOENT && tree ? 0 : r;
}

static int use_tree(struct ftrace_files *files, const char *tree)
{
    char *copy = strdup(tree);

    if (!copy)
        return -ENOMEM;
    free(files->tree);
    files->tree = copy;
    return 0;
}

static int find(const char *path, const char *tree, struct ftrace_files *files, struct error *error)
{
    struct stat st;
    int r;

    if (stat(path, &st) < 0) {
        r = -errno;
        return error_set(error, r, path, "%s", strerror(-r));
    }

    if (!S_ISDIR(st.st_mode)) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *directory =
            slash ? strndup(path, MAX((size_t)(slash - path), (size_t)1)) : strdup(".");

        if (!directory || ftrace_files_add(files, path, ftrace_cpu_of_path(path)) < 0)
            return error_set(error, -ENOMEM, path, "out of memory");
        r = find_own_tree(directory, tree, files);
    } else {
        r = find_own_tree(path, tree, files);
        if (r == 0)
            r = find_raws(path, files);
        if (r == 0 && files->n_raws == 0 && files->tree)
            r = find_raws(files->tree, files);
    }
    if (r == 0 && tree)
        r = use_tree(files, tree);
    if (r == -ENOENT)
        return error_set(error, r, path,
                         "no tracefs copy (a directory with events/header_page) next to the pages; "
                         "they cannot be decoded without it; give one with --tracefs-copy=DIR");
    if (r < 0)
        return error_set(error, r, path, "%s", error_text(r));
    if (files->n_raws == 0)
        return error_set(error, -ENOENT, path,
                         "no ring-buffer pages here (cpuN.raw or per_cpu/cpuN/trace_pipe_raw)");
    return 0;
}

int ftrace_find(const char *path, const char *tree, struct ftrace_files *ret_files,
                struct error *error)
{
    struct ftrace_files files = {0};
    int r = find(path, tree, &files, error);

    if (r < 0) {
        ftrace_files_done(&files);
        return r;
    }
    *ret_files = files;
    return 0;
}

bool ftrace_probe_dir(const char *path)
{
    _cleanup_(ftrace_files_done) struct ftrace_files files = {0};

    return is_tree(path) || (find_raws(path, &files) >= 0 && files.n_raws > 0) ||
           (find(path, NULL, &files, NULL) >= 0 && files.n_raws > 0);
}
