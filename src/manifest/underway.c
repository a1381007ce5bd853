/* SPDX-License-Identifier: MIT */
#include "manifest/underway.h"

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

/* The last to come into the folder: what is there is whole. */
static int put_recording(const struct underway *underway, const char *trace)
{
    _cleanup_free_ char *full = realpath(trace, NULL);
    _cleanup_free_ char *text = NULL;
    char temporary[UNDERWAY_NAME_MAX], name[UNDERWAY_NAME_MAX];
    _cleanup_(closep) int fd = -1;
    int len, r = 0;

    if (!full)
        return -errno;
    len = asprintf(&text, "%ld\n%s", (long)getpid(), full);
    if (len < 0)
        return -ENOMEM;
    underway_name(underway, FILE_NAME ".new", temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (write(fd, text, (size_t)len) != len)
        r = -ENOSPC;
    if (r >= 0 && rename(temporary, underway_name(underway, FILE_NAME, name)) < 0)
        r = -errno;
    return r;
}

int underway_begin(const char *parent, const char *trace, struct underway *ret, struct fault *fault)
{
    struct underway underway = UNDERWAY_NONE;
    int r;

    parent = choose_parent(parent);
    locked_folder_sweep(parent, PREFIX, true);
    r = locked_folder_make(parent, PREFIX, &underway.folder);
    if (r >= 0)
        r = put_recording(&underway, trace);
    if (r < 0) {
        underway_end(&underway);
        return fault_plain(fault, r, parent, "cannot make a folder in it: %s", strerror(-r));
    }
    *ret = underway;
    return 0;
}

void underway_end(struct underway *underway)
{
    locked_folder_done(&underway->folder, true);
}

const char *underway_name(const struct underway *underway, const char *name,
                          char buf[UNDERWAY_NAME_MAX])
{
    snprintf(buf, UNDERWAY_NAME_MAX, "%s/%s", underway->folder.path, name);
    return buf;
}

/* ---- Those that there are ---- */

struct search {
    int (*found)(const struct underway_recording *recording, void *userdata);
    void *userdata;
};

static int find(const char *path, void *userdata)
{
    const struct search *search = userdata;
    struct underway_recording recording = {0};
    char name[UNDERWAY_NAME_MAX], text[PATH_MAX + 32];
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

int underway_foreach(const char *parent,
                     int (*found)(const struct underway_recording *recording, void *userdata),
                     void *userdata)
{
    struct search search = {found, userdata};
    int r;

    parent = choose_parent(parent);
    r = locked_folder_foreach(parent, PREFIX, find, &search);
    if (r == 0 && strcmp(parent, "/tmp") != 0)
        r = locked_folder_foreach("/tmp", PREFIX, find, &search);
    return r;
}
