/* SPDX-License-Identifier: MIT */
#include "vmm/runtime.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "strata-record-"
#define LOCK "lock"
/* Of the parent, so that sockets have names of less than 108 bytes. */
#define PARENT_MAX 40

/* The files in the folder FD, which has no folders in it. */
static void empty(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;

    if (!dir) {
        if (copy >= 0)
            close(copy);
        return;
    }
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(fd, entry->d_name, 0);
    closedir(dir);
}

/* Removes the folder NAME in PARENT when its recorder is dead. */
static void sweep_one(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int lock;

    if (fd < 0)
        return;
    lock = openat(fd, LOCK, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    /* One without a lock is being made, or being removed. */
    if (lock >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        flock(lock, LOCK_EX | LOCK_NB) == 0) {
        empty(fd);
        (void)unlinkat(parent, name, AT_REMOVEDIR);
    }
    if (lock >= 0)
        close(lock);
    close(fd);
}

static void sweep(const char *parent)
{
    DIR *dir = opendir(parent);
    const struct dirent *entry;

    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            sweep_one(dirfd(dir), entry->d_name);
    closedir(dir);
}

/* 0: it is locked by us; 1: somebody took it for a dead one in between, and removes it. */
static int lock_it(struct vmm_runtime *runtime, struct fault *fault)
{
    char name[VMM_RUNTIME_NAME_MAX];
    struct stat st;

    vmm_runtime_name(runtime, LOCK, name);
    runtime->lock = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (runtime->lock < 0)
        return fault_plain(fault, -errno, name, "cannot be made: %s", strerror(errno));
    if (flock(runtime->lock, LOCK_EX | LOCK_NB) == 0 && fstat(runtime->lock, &st) == 0 &&
        st.st_nlink > 0)
        return 0;
    close(runtime->lock);
    return 1;
}

int vmm_runtime_open(const char *parent, struct vmm_runtime *ret, struct fault *fault)
{
    struct vmm_runtime runtime = {.lock = -1};
    int r = 1;

    /* QEMU's configuration files have no way to write a quotation mark. */
    if (!parent || parent[0] != '/' || strlen(parent) > PARENT_MAX || strpbrk(parent, "\"\n") ||
        access(parent, W_OK) < 0)
        parent = "/tmp";
    sweep(parent);
    for (unsigned tries = 0; r > 0 && tries < 10; tries++) {
        snprintf(runtime.path, sizeof runtime.path, "%s/" PREFIX "XXXXXX", parent);
        if (!mkdtemp(runtime.path))
            return fault_plain(fault, -errno, parent, "cannot make a folder in it: %s",
                               strerror(errno));
        r = lock_it(&runtime, fault);
        if (r < 0)
            (void)rmdir(runtime.path);
    }
    if (r > 0)
        return fault_plain(fault, -EBUSY, parent, "cannot make a folder in it that stays");
    if (r == 0)
        *ret = runtime;
    return r;
}

void vmm_runtime_done(struct vmm_runtime *runtime)
{
    int fd;

    if (runtime->path[0] == '\0')
        return;
    fd = open(runtime->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) {
        empty(fd);
        close(fd);
    }
    (void)rmdir(runtime->path);
    close(runtime->lock);
    *runtime = (struct vmm_runtime){.lock = -1};
}

const char *vmm_runtime_name(const struct vmm_runtime *runtime, const char *name,
                             char buf[VMM_RUNTIME_NAME_MAX])
{
    snprintf(buf, VMM_RUNTIME_NAME_MAX, "%s/%s", runtime->path, name);
    return buf;
}
