/* SPDX-License-Identifier: MIT */
#include "trace/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "format/ctf/ctf.h"
#include "format/ftrace/ftrace.h"
#include "format/qemu_log/qemu_log.h"
#include "trace/recognise.h"
#include "tracedir/manifest.h"

/* Limits of the search: the given directory may be a whole disk. */
#define DEPTH_MAX 5u
#define VISITED_MAX 2000u
/* So many are named. */
#define SHOWN_MAX 4u
#define HEAD_SIZE 8192

bool directory_is_trace(const char *path)
{
    return ctf_probe_dir(path) || ftrace_probe_dir(path);
}

/* Reads the beginning of a regular file. Returns its length, 0 if it cannot be read. */
static size_t read_head(const char *path, char head[HEAD_SIZE])
{
    /* Non-blocking: opening must not wait, whatever the path is. */
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    ssize_t n = 0;

    /* Files that a kernel file system generates have size 0, and may be gone when they are read. */
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        n = read(fd, head, HEAD_SIZE);
    return n > 0 ? (size_t)n : 0;
}

/* Nearly any text could be a log without times, so such logs do not count. */
static bool file_is_trace(const char *path)
{
    char head[HEAD_SIZE];
    size_t n = read_head(path, head);
    enum input_format kind = n > 0 ? recognise(head, n) : INPUT_FORMAT_UNKNOWN;

    return kind != INPUT_FORMAT_UNKNOWN &&
           (kind != INPUT_FORMAT_QEMU_LOG || qemu_log_probe(head, n) == 2);
}

char *directory_of_manifest(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    _cleanup_free_ char *directory =
        slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
    char head[HEAD_SIZE + 1];
    bool is = false;

    if (!directory)
        return NULL;
    if (strcmp(name, MANIFEST_NAME) == 0) {
        head[read_head(path, head)] = '\0';
        is = strstr(head, "\"strata-trace\"");
    } else if (strcmp(name, "metadata") == 0) {
        is = read_head(path, head) > 0 && ctf_probe_dir(directory);
    }
    return is ? TAKE_PTR(directory) : NULL;
}

/* ---- Searching a directory for traces ---- */

struct search {
    struct text text; /* paths of the first traces */
    dev_t device;     /* other file systems are not searched */
    unsigned n_found, n_visited;
};

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void search_in(struct search *search, const char *directory, unsigned depth);

static void visit(struct search *search, const char *path, unsigned depth)
{
    struct stat st;
    bool is_dir, found;

    if (lstat(path, &st) < 0 || st.st_dev != search->device ||
        (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
        return;
    is_dir = S_ISDIR(st.st_mode);
    found = is_dir ? manifest_probe(path) || directory_is_trace(path) : file_is_trace(path);
    if (found && search->n_found++ < SHOWN_MAX)
        text_printf(&search->text, "%s%s", search->n_found > 1 ? ", " : "", path);
    else if (!found && is_dir && depth < DEPTH_MAX)
        search_in(search, path, depth + 1);
}

static void search_in(struct search *search, const char *directory, unsigned depth)
{
    struct dirent **entries = NULL;
    size_t len = strlen(directory);
    int n = scandir(directory, &entries, is_shown, versionsort);

    for (int i = 0; i < n; i++) {
        _cleanup_free_ char *path = NULL;

        if (search->n_visited < VISITED_MAX) {
            search->n_visited++;
            if (asprintf(&path, "%s%s%s", directory, len && directory[len - 1] == '/' ? "" : "/",
                         entries[i]->d_name) < 0)
                path = NULL;
            else
                visit(search, path, depth);
        }
        free(entries[i]);
    }
    free(entries);
}

int directory_refuse(const char *path, struct error *error)
{
    _cleanup_(closedirp) DIR *dir = opendir(path);
    struct search search = {.text = TEXT_IN_MEMORY};
    struct stat st;
    int r;

    if (!dir || fstat(dirfd(dir), &st) < 0)
        return error_set(error, -errno, path, "cannot read the directory: %s", strerror(errno));
    search.device = st.st_dev;
    search_in(&search, path, 0);
    if (search.n_found > 0 && !search.text.error)
        r = error_set(error, -EINVAL, path, "not a trace; the directory has %u trace%s: %.*s%s",
                      search.n_found, search.n_found == 1 ? "" : "s", (int)text_len(&search.text),
                      search.text.start, search.n_found > SHOWN_MAX ? ", …" : "");
    else if (search.n_visited == 0)
        r = error_set(error, -EINVAL, path, "not a trace; the directory is empty");
    else
        r = error_set(error, -EINVAL, path,
                      "not a trace; no file in this directory is a trace that strata reads");
    text_done(&search.text);
    return r;
}
