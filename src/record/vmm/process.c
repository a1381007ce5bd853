/* SPDX-License-Identifier: MIT */
#include "record/vmm/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/input.h"
#include "base/proc.h"
#include "record/vmm/threads.h"

#define CMDLINE_MAX ((size_t)4 << 20)
#define VM_LINK "anon_inode:kvm-vm"
#define VCPU_LINK "anon_inode:kvm-vcpu:"

int vmm_count_fds(const char *fds, unsigned *ret_vms, unsigned *ret_vcpus)
{
    _cleanup_(closedirp) DIR *dir = opendir(fds);
    _cleanup_free_ uint8_t *seen = calloc(VMM_VCPUS_MAX, sizeof *seen);
    const struct dirent *entry;
    unsigned vms = 0, vcpus = 0;

    if (!dir)
        return -errno;
    if (!seen)
        return -ENOMEM;
    while ((entry = readdir(dir))) {
        char link[sizeof VCPU_LINK + 16];
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
        unsigned long vcpu;
        char *end;

        if (len < 0)
            continue;
        link[len] = '\0';
        vms += strcmp(link, VM_LINK) == 0;
        if (strncmp(link, VCPU_LINK, strlen(VCPU_LINK)) != 0)
            continue;
        vcpu = strtoul(link + strlen(VCPU_LINK), &end, 10);
        if (*end || vcpu >= VMM_VCPUS_MAX || seen[vcpu])
            continue;
        seen[vcpu] = 1;
        vcpus++;
    }
    *ret_vms = vms;
    *ret_vcpus = vcpus;
    return 0;
}

/* The words of its command line. */
static int read_command(struct vmm_process *process)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_(closep) int fd = -1;
    size_t len = 0;
    char path[64], *words;
    const char **argv;
    unsigned n = 0;
    int r;

    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    r = input_read_file(fd, CMDLINE_MAX, path, &text, &len, NULL);
    if (r < 0)
        return r;
    words = arena_memdup(&process->arena, text, len + 1);
    for (size_t i = 0; i < len; i++)
        n += text[i] == '\0';
    argv = arena_alloc(&process->arena, (n + 1) * sizeof *argv);
    if (!words || !argv)
        return -ENOMEM;
    words[len] = '\0';
    for (unsigned i = 0; i < n; i++, words += strlen(words) + 1)
        argv[i] = words;
    process->command = argv;
    process->n_command = n;
    return 0;
}

static int read_all(struct vmm_process *process)
{
    char link[64], program[PATH_MAX];
    ssize_t len;

    snprintf(link, sizeof link, "/proc/%ld/exe", (long)process->pid);
    len = readlink(link, program, sizeof program - 1);
    if (len < 0)
        return -errno;
    program[len] = '\0';
    process->program = arena_strdup(&process->arena, program);
    return process->program ? read_command(process) : -ENOMEM;
}

int vmm_process_open(pid_t pid, struct vmm_process *ret, struct error *error)
{
    struct vmm_process process = {.pid = pid};
    unsigned n_vms = 0, n_vcpus;
    uint64_t start;
    char path[64], state;
    int r = proc_stat(pid, &start, &state);

    if (proc_is_gone(r) || (r >= 0 && (state == 'Z' || state == 'X')))
        return error_set(error, -ESRCH, NULL, "no process %ld", (long)pid);
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    r = vmm_count_fds(path, &n_vms, &n_vcpus);
    if (r >= 0 && n_vms == 0)
        return error_set(error, -ENODEV, NULL, "process %ld has no virtual machine of KVM",
                         (long)pid);
    if (r >= 0)
        r = read_all(&process);
    if (r >= 0) {
        *ret = process;
        return 0;
    }
    vmm_process_done(&process);
    if (proc_is_gone(r))
        return error_set(error, -ESRCH, NULL, "process %ld has ended", (long)pid);
    if (r == -EACCES || r == -EPERM)
        return error_set(error, -EACCES, NULL,
                         "process %ld is another user's; run strata as that user, or as root",
                         (long)pid);
    return error_set(error, r, NULL, "process %ld cannot be looked at: %s", (long)pid,
                     strerror(-r));
}

void vmm_process_done(struct vmm_process *process)
{
    arena_done(&process->arena);
    *process = (struct vmm_process){0};
}
