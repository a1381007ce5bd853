/* SPDX-License-Identifier: MIT */
#include "tracedir/registry.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"

#define PREFIX "strata-record-"
#define FILE_NAME "recording"
/* Of the parent, so that sockets have names of less than 108 bytes. */
#define PARENT_MAX 40

/* QEMU's configuration files have no way to write a quotation mark. */
static const char *choose_parent(const char *parent)
{
    return !parent || parent[0] != '/' || strlen(parent) > PARENT_MAX || strpbrk(parent, "\"\n") ||
                   access(parent, W_OK) < 0
               ? "/tmp"
               : parent;
}

/* The last to come into the directory: what is there is whole. */
static int put_recording(const struct registry_entry *registry_entry, const char *trace)
{
    _cleanup_free_ char *full = realpath(trace, NULL);
    _cleanup_free_ char *text = NULL;
    char temporary[REGISTRY_NAME_MAX], name[REGISTRY_NAME_MAX];
    _cleanup_(closep) int fd = -1;
    int len, r = 0;

    if (!full)
        return -errno;
    len = asprintf(&text, "%ld\n%s", (long)getpid(), full);
    if (len < 0)
        return -ENOMEM;
    registry_name(registry_entry, FILE_NAME ".new", temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (write(fd, text, (size_t)len) != len)
        r = -ENOSPC;
    if (r >= 0 && rename(temporary, registry_name(registry_entry, FILE_NAME, name)) < 0)
        r = -errno;
    return r;
}

int registry_add(const char *parent, const char *trace, struct registry_entry *ret,
                 struct error *error)
{
    struct registry_entry registry_entry = REGISTRY_NONE;
    int r;

    parent = choose_parent(parent);
    locked_dir_sweep(parent, PREFIX, true);
    r = locked_dir_make(parent, PREFIX, &registry_entry.dir);
    if (r >= 0)
        r = put_recording(&registry_entry, trace);
    if (r < 0) {
        registry_remove(&registry_entry);
        return error_set(error, r, parent, "cannot make a directory in it: %s", strerror(-r));
    }
    *ret = registry_entry;
    return 0;
}

void registry_remove(struct registry_entry *registry_entry)
{
    locked_dir_done(&registry_entry->dir, true);
}

const char *registry_name(const struct registry_entry *registry_entry, const char *name,
                          char buf[REGISTRY_NAME_MAX])
{
    snprintf(buf, REGISTRY_NAME_MAX, "%s/%s", registry_entry->dir.path, name);
    return buf;
}

/* ---- Those that there are ---- */

struct search {
    int (*found)(const struct registry_recording *recording, void *userdata);
    void *userdata;
};

static int find(const char *path, void *userdata)
{
    const struct search *search = userdata;
    struct registry_recording recording = {0};
    char name[REGISTRY_NAME_MAX], text[PATH_MAX + 32];
    struct stat st;
    ssize_t n;
    char *end;
    _cleanup_(closep) int fd = -1;

    snprintf(name, sizeof name, "%s/" FILE_NAME, path);
    fd = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0; /* it begins, or ends */
    n = read(fd, text, sizeof text - 1);
    if (n > 0 && fstat(fd, &st) == 0) {
        text[n] = '\0';
        recording.pid = (pid_t)strtol(text, &end, 10);
        recording.since_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
        if (end[0] == '\n' && end[1] == '/')
            recording.trace = end + 1;
    }
    return recording.trace ? search->found(&recording, search->userdata) : 0;
}

int registry_foreach(const char *parent,
                     int (*found)(const struct registry_recording *recording, void *userdata),
                     void *userdata)
{
    struct search search = {found, userdata};
    int r;

    parent = choose_parent(parent);
    r = locked_dir_foreach(parent, PREFIX, find, &search);
    if (r == 0 && strcmp(parent, "/tmp") != 0)
        r = locked_dir_foreach("/tmp", PREFIX, find, &search);
    return r;
}
