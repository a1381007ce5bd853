/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_kvm.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"
#include "base/wide.h"
#include "tracedir/host.h"

#define VCPUS_MAX 4096
#define COMMAND_LINE_MAX ((size_t)256 << 10)

static bool is_vcpu(const char *name)
{
    return strncmp(name, "vcpu", 4) == 0 && name[4] &&
           name[4 + strspn(name + 4, "0123456789")] == 0;
}

/* Whether NAME, "TID-FD", is of a virtual machine that a thread of PID has made: of some monitors not the first one. */
static bool is_made_by(const char *name, pid_t pid)
{
    char *end, task[64];
    long id = strtol(name, &end, 10);

    if (id <= 0 || id > INT32_MAX || *end != '-' || end[1] == '\0' ||
        end[1 + strspn(end + 1, "0123456789")] != '\0')
        return false;
    snprintf(task, sizeof task, "/proc/%ld/task/%ld", (long)pid, id);
    return id == pid || access(task, F_OK) == 0;
}

int guest_kvm_find(const char *root, pid_t pid, char **ret_path, struct error *error)
{
    _cleanup_(closedirp) DIR *dir = opendir(root);
    _cleanup_free_ char *path = NULL;
    const struct dirent *entry;

    if (!dir)
        return error_set(error, -ENOENT, root, "cannot be read: %s", strerror(errno));
    while ((entry = readdir(dir))) {
        if (!is_made_by(entry->d_name, pid))
            continue;
        if (path)
            return error_set(error, -ENOTUNIQ, root, "process %d has several virtual machines",
                             (int)pid);
        if (asprintf(&path, "%s/%s", root, entry->d_name) < 0) {
            path = NULL;
            return -ENOMEM;
        }
    }
    if (!path)
        return error_set(error, -ENOENT, root, "process %d has no virtual machine of KVM",
                         (int)pid);
    *ret_path = TAKE_PTR(path);
    return 0;
}

/* Whether one of the words at WORDS, SIZE bytes with NULs between them, sets the CID: "vhost-vsock-pci,guest-cid=3", or in
 * JSON. */
static bool has_cid(const char *words, size_t size, uint32_t cid)
{
    static const char *const keys[] = {"guest-cid=", "\"guest-cid\":"};

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        size_t len = strlen(keys[i]);
        const char *p = words;

        while ((p = memmem(p, size - (size_t)(p - words), keys[i], len))) {
            char *end;

            p += len;
            while (*p == ' ')
                p++;
            if (*p >= '0' && *p <= '9' && strtoull(p, &end, 0) == cid && strchr(",} ", *end))
                return true;
        }
    }
    return false;
}

/* The words of the command line of process PID, with NULs between them. Returns their size, at most SIZE - 1. */
static size_t read_command_line(long pid, char *buf, size_t size)
{
    char path[40];
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, buf, size - 1);
    close(fd);
    n = MAX(n, 0);
    buf[n] = '\0';
    return (size_t)n;
}

pid_t guest_kvm_find_cid(const char *root, uint32_t cid)
{
    _cleanup_(closedirp) DIR *dir = opendir(root);
    _cleanup_free_ char *words = malloc(COMMAND_LINE_MAX);
    const struct dirent *entry;

    while (dir && words && (entry = readdir(dir))) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid > 0 && pid <= INT32_MAX && *end == '-' &&
            has_cid(words, read_command_line(pid, words, COMMAND_LINE_MAX), cid))
            return (pid_t)pid;
    }
    return 0;
}

/* The first line of the file NAME of VCPU. */
static int read_text(const char *path, const char *vcpu, const char *name, char *ret, size_t size,
                     struct error *error)
{
    _cleanup_free_ char *full = NULL;
    ssize_t n;
    int fd;

    if (asprintf(&full, "%s/%s/%s", path, vcpu, name) < 0) {
        full = NULL;
        return -ENOMEM;
    }
    fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(error, -errno, full, "cannot open it: %s", strerror(errno));
    n = read(fd, ret, size - 1);
    close(fd);
    if (n < 0)
        return error_set(error, -errno, full, "cannot read it: %s", strerror(errno));
    ret[n] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return *ret ? 0 : error_set(error, -EBADMSG, full, "empty file");
}

static int read_unsigned(const char *path, const char *vcpu, const char *name, uint64_t *ret,
                         struct error *error)
{
    char text[32], *end;
    int r = read_text(path, vcpu, name, text, sizeof text, error);

    if (r < 0)
        return r;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    if (errno || *end || *text == '-')
        return error_set(error, -EBADMSG, path, "%s/%s: invalid number '%s'", vcpu, name, text);
    return 0;
}

static int read_vcpu(const char *path, const char *vcpu, struct guest_tsc *ret, struct error *error)
{
    struct guest_tsc tsc = {.ratio = 1};
    char text[32], *end;
    uint64_t bits = 0;
    int r = read_text(path, vcpu, "tsc-offset", text, sizeof text, error);

    if (r < 0)
        return r;
    errno = 0;
    tsc.offset = strtoll(text, &end, 10);
    if (errno || *end)
        return error_set(error, -EBADMSG, path, "%s/tsc-offset: invalid number '%s'", vcpu, text);
    r = read_unsigned(path, vcpu, "tsc-scaling-ratio", &tsc.ratio, NULL);
    if (r == -ENOENT) {
        *ret = tsc;
        return 0;
    }
    if (r >= 0)
        r = read_unsigned(path, vcpu, "tsc-scaling-ratio-frac-bits", &bits, error);
    if (r >= 0 && (bits > 63 || tsc.ratio == 0))
        r = -EBADMSG;
    if (r < 0)
        return error_set(error, r, path, "%s: cannot read its tsc-scaling-ratio", vcpu);
    tsc.frac_bits = (unsigned)bits;
    *ret = tsc;
    return 0;
}

int guest_kvm_read(const char *path, struct guest_tsc *ret, struct error *error)
{
    _cleanup_(closedirp) DIR *dir = opendir(path);
    const struct dirent *entry;
    struct guest_tsc first = {0};
    unsigned n = 0;

    if (!dir)
        return error_set(error, -errno, path, "cannot be read: %s", strerror(errno));
    while ((entry = readdir(dir)) && n < VCPUS_MAX) {
        struct guest_tsc tsc = {0};
        int r;

        if (!is_vcpu(entry->d_name))
            continue;
        r = read_vcpu(path, entry->d_name, &tsc, error);
        if (r < 0)
            return r;
        if (n++ == 0)
            first = tsc;
        else if (tsc.offset != first.offset || tsc.ratio != first.ratio ||
                 tsc.frac_bits != first.frac_bits)
            return error_set(error, -ENOTUNIQ, path, "the time stamp counters of its vCPUs differ");
    }
    if (n == 0)
        return error_set(error, -ENOENT, path, "it has no vCPUs");
    *ret = first;
    return 0;
}

uint64_t guest_tsc_of(const struct guest_tsc *tsc, uint64_t host)
{
    return mul_shift_u64(host, tsc->ratio, tsc->frac_bits) + (uint64_t)tsc->offset;
}

int guest_kvm_pair(const struct guest_tsc *tsc, struct guest_pair *ret)
{
    struct manifest_moment now = host_moment();

    if (now.tsc == 0)
        return -ENOTSUP;
    *ret = (struct guest_pair){
        .host_ns = (uint64_t)now.monotonic_ns,
        .guest = guest_tsc_of(tsc, now.tsc),
        .error_ns = (uint64_t)now.error_ns,
    };
    return 0;
}
