/* SPDX-License-Identifier: MIT */
#include "control/socket_process.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/number.h"
#include "base/proc.h"

#define ANSWER_SIZE 32768u
/* The answer of a kernel comes at once. */
#define TIMEOUT_S 5
/* More than a monitor has clients. */
#define INODES_MAX 16u

/* What of a socket's entry is needed. */
struct entry {
    uint32_t inode;
    uint32_t file;    /* inode of the file that it is bound to; 0: none */
    uint32_t peer;    /* inode of the socket at its other end */
    const char *name; /* not ended by a NUL */
    size_t name_length;
};

static void read_entry(const struct nlmsghdr *header, struct entry *ret)
{
    const struct unix_diag_msg *message = NLMSG_DATA(header);
    const char *p = (const char *)(message + 1);
    const char *end = (const char *)header + header->nlmsg_len;

    *ret = (struct entry){.inode = message->udiag_ino};
    while ((size_t)(end - p) >= sizeof(struct rtattr)) {
        const struct rtattr *attribute = (const struct rtattr *)(const void *)p;

        if (attribute->rta_len < sizeof *attribute || attribute->rta_len > (size_t)(end - p))
            break;
        if (attribute->rta_type == UNIX_DIAG_VFS &&
            RTA_PAYLOAD(attribute) >= sizeof(struct unix_diag_vfs))
            ret->file = ((const struct unix_diag_vfs *)RTA_DATA(attribute))->udiag_vfs_ino;
        else if (attribute->rta_type == UNIX_DIAG_PEER &&
                 RTA_PAYLOAD(attribute) >= sizeof ret->peer)
            memcpy(&ret->peer, RTA_DATA(attribute), sizeof ret->peer);
        else if (attribute->rta_type == UNIX_DIAG_NAME) {
            ret->name = RTA_DATA(attribute);
            ret->name_length = RTA_PAYLOAD(attribute);
        }
        p += MIN((size_t)(end - p), (size_t)RTA_ALIGN(attribute->rta_len));
    }
}

/* Two file systems may use one inode number: the last component of the path must be the same, too. */
static bool is_bound_to(const struct entry *entry, const struct stat *st, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    size_t n;

    if (!entry->name || entry->file != (uint32_t)st->st_ino)
        return false;
    n = strnlen(entry->name, entry->name_length);
    return n >= length && memcmp(entry->name + n - length, base, length) == 0;
}

static int request_list(int fd, unsigned state)
{
    const struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.sdiag_family = AF_UNIX,
                    .udiag_states = 1u << state,
                    .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_VFS | UDIAG_SHOW_PEER},
    };

    return send(fd, &message, sizeof message, 0) < 0 ? -errno : 0;
}

/* The inodes of the sockets that listen at PATH, or are at the other end of those that its server has accepted: STATE is
 * TCP_LISTEN or TCP_ESTABLISHED. A connection that is not accepted yet has no inode at the server's end, and is not
 * listed. Returns how many. */
static int list_sockets(const char *path, unsigned state, uint32_t *ret)
{
    _cleanup_free_ char *answer = malloc(ANSWER_SIZE);
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    struct stat st;
    int n = 0, r;

    _cleanup_(closep) int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (!answer)
        return -ENOMEM;
    if (fd < 0 || stat(path, &st) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) < 0)
        return -errno;
    r = request_list(fd, state);
    while (r >= 0) {
        ssize_t size = recv(fd, answer, ANSWER_SIZE, 0);
        const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer;

        if (size < 0)
            return -errno;
        for (unsigned left = (unsigned)size; NLMSG_OK(header, left);
             header = NLMSG_NEXT(header, left)) {
            struct entry entry;
            uint32_t inode;

            if (header->nlmsg_type == NLMSG_DONE)
                return n;
            if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
                return -EOPNOTSUPP;
            read_entry(header, &entry);
            inode = state == TCP_LISTEN ? entry.inode : entry.peer;
            if (inode && is_bound_to(&entry, &st, path) && n < (int)INODES_MAX)
                ret[n++] = inode;
        }
    }
    return r;
}

/* Whether process PID has one of the sockets open. */
static bool has_socket(long pid, const uint32_t *inodes, int n)
{
    char path[64], link[64];
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;

    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        ssize_t size = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
        unsigned long inode;

        link[MAX(size, 0)] = '\0';
        if (sscanf(link, "socket:[%lu]", &inode) != 1)
            continue;
        for (int i = 0; i < n; i++)
            if (inodes[i] == inode)
                return true;
    }
    return false;
}

static void find_process(const uint32_t *inodes, int n, struct socket_process *ret)
{
    _cleanup_(closedirp) DIR *dir = opendir("/proc");
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        long pid = strtol(entry->d_name, NULL, 10);
        char path[64];

        if (pid <= 0 || pid == getpid() || !has_socket(pid, inodes, n))
            continue;
        ret->pid = (pid_t)pid;
        snprintf(path, sizeof path, "/proc/%ld/comm", pid);
        if (proc_text(path, ret->name, sizeof ret->name) < 0)
            ret->name[0] = '\0';
        ret->name[strcspn(ret->name, "\n")] = '\0';
        return;
    }
}

static int find(const char *path, unsigned state, struct socket_process *ret)
{
    uint32_t inodes[INODES_MAX];
    int n = list_sockets(path, state, inodes);

    if (n <= 0)
        return n;
    *ret = (struct socket_process){0};
    find_process(inodes, n, ret);
    return 1;
}

int socket_find_client(const char *path, struct socket_process *ret)
{
    return find(path, TCP_ESTABLISHED, ret);
}

int socket_find_server(const char *path, struct socket_process *ret)
{
    return find(path, TCP_LISTEN, ret);
}
