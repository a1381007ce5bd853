/* SPDX-License-Identifier: MIT */
#include "agent/ports.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"

#define UDEV_FOLDER "/dev/virtio-ports"
#define SYSFS_FOLDER "/sys/class/virtio-ports"

/* True if the first line of PATH is NAME. */
static bool line_is(const char *path, const char *name)
{
    char line[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, line, sizeof line - 1);
    close(fd);
    if (n < 0)
        return false;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return strcmp(line, name) == 0;
}

static int find_in_sysfs(const char *name, char *ret_path, size_t size)
{
    DIR *dir = opendir(SYSFS_FOLDER);
    const struct dirent *entry;
    int r = -ENOENT;

    if (!dir)
        return -ENOENT;
    while (r < 0 && (entry = readdir(dir))) {
        char path[512];

        if (strncmp(entry->d_name, "vport", 5) != 0)
            continue;
        snprintf(path, sizeof path, SYSFS_FOLDER "/%s/name", entry->d_name);
        if (!line_is(path, name))
            continue;
        snprintf(path, sizeof path, "/dev/%s", entry->d_name);
        if (access(path, F_OK) == 0 && strlen(path) < size) {
            memcpy(ret_path, path, strlen(path) + 1);
            r = 0;
        }
    }
    closedir(dir);
    return r;
}

int port_find(const char *directory, const char *name, char *ret_path, size_t size)
{
    char path[512];

    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory ? directory : UDEV_FOLDER, name) >=
        MIN(sizeof path, size))
        return -ENAMETOOLONG;
    if (access(path, F_OK) == 0) {
        memcpy(ret_path, path, strlen(path) + 1);
        return 0;
    }
    return directory ? -ENOENT : find_in_sysfs(name, ret_path, size);
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address;
    int fd, r;

    r = unix_address(path, &address);
    if (r < 0)
        return r;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        r = -errno;
        close(fd);
        return r == -EAGAIN ? -ECONNREFUSED : r; /* its backlog is full */
    }
    return fd;
}

int port_open(const char *path, int *ret_fd)
{
    struct stat st;
    int fd;

    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISSOCK(st.st_mode)) {
        fd = connect_unix(path);
        if (fd < 0)
            return fd;
    } else {
        /* For reading and writing even if one would do: then a FIFO has no end of file. */
        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0)
            return -errno;
    }
    *ret_fd = fd;
    return 0;
}
