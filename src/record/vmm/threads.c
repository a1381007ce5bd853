/* SPDX-License-Identifier: MIT */
#include "record/vmm/threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macro.h"
#include "base/proc.h"

/* A number below MAX at TEXT, and what follows it; -1: none. */
static int32_t parse_number(const char *text, unsigned max, const char **ret_end)
{
    unsigned long v;
    char *end;

    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    v = strtoul(text, &end, 10);
    *ret_end = end;
    return errno || v >= max ? -1 : (int32_t)v;
}

int32_t vmm_vcpu_of_name(const char *name)
{
    static const struct {
        const char *before, *after;
    } names[] = {
        {"fc_vcpu ", ""}, {"vcpu", ""}, {"crosvm_vcpu", ""}, {"CPU ", "/KVM"}, {"kvm-vcpu-", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t len = strlen(names[i].before);
        const char *end;
        int32_t vcpu;

        if (strncmp(name, names[i].before, len) != 0)
            continue;
        vcpu = parse_number(name + len, VMM_VCPUS_MAX, &end);
        if (vcpu >= 0 && strcmp(end, names[i].after) == 0)
            return vcpu;
    }
    return -1;
}

void vmm_threads_done(struct vmm_threads *threads)
{
    free(threads->items);
    *threads = (struct vmm_threads){0};
}

static struct vmm_thread *find(const struct vmm_threads *threads, int32_t id)
{
    for (unsigned i = 0; i < threads->n; i++)
        if (threads->items[i].id == id)
            return &threads->items[i];
    return NULL;
}

/* The thread ID, in its place; NULL: there are too many, or no memory. */
static struct vmm_thread *add(struct vmm_threads *threads, int32_t id)
{
    struct vmm_thread *found = find(threads, id);
    unsigned at = 0;

    if (found || threads->n == VMM_THREADS_MAX)
        return found;
    if (threads->n == threads->room) {
        unsigned room = MAX(threads->room * 2, 16u);
        struct vmm_thread *items = realloc(threads->items, room * sizeof *items);

        if (!items)
            return NULL;
        threads->items = items;
        threads->room = room;
    }
    while (at < threads->n && threads->items[at].id < id)
        at++;
    memmove(&threads->items[at + 1], &threads->items[at],
            (threads->n++ - at) * sizeof *threads->items);
    threads->items[at] = (struct vmm_thread){.id = id, .vcpu = -1};
    return &threads->items[at];
}

static void read_name(pid_t pid, struct vmm_thread *thread)
{
    char path[80], name[sizeof thread->name + 1];

    snprintf(path, sizeof path, "/proc/%ld/task/%ld/comm", (long)pid, (long)thread->id);
    if (proc_text(path, name, sizeof name) < 0)
        return;
    name[strcspn(name, "\n")] = '\0';
    snprintf(thread->name, sizeof thread->name, "%.15s", name);
    if (!thread->is_exact)
        thread->vcpu = vmm_vcpu_of_name(thread->name);
}

/* ---- KVM's debugfs ---- */

/* The vCPUs of the virtual machine whose directory is PATH. */
static void read_vcpus(struct vmm_threads *threads, const char *path)
{
    _cleanup_(closedirp) DIR *dir = opendir(path);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char file[600], text[32];
        struct vmm_thread *thread;
        const char *end;
        int32_t vcpu, id;

        if (strncmp(entry->d_name, "vcpu", 4) != 0)
            continue;
        vcpu = parse_number(entry->d_name + 4, VMM_VCPUS_MAX, &end);
        if (vcpu < 0 || *end)
            continue;
        snprintf(file, sizeof file, "%.300s/%.200s/pid", path, entry->d_name);
        if (proc_text(file, text, sizeof text) < 0)
            continue;
        /* 0: it has not run yet. */
        id = parse_number(text, INT32_MAX, &end);
        thread = id > 0 ? find(threads, id) : NULL;
        if (!thread)
            continue;
        thread->vcpu = vcpu;
        thread->is_exact = true;
    }
}

/* The virtual machines in KVM that threads of the process have made: their directories are called TID-FD. */
static void read_kvm(struct vmm_threads *threads, pid_t pid, const char *kvm)
{
    _cleanup_(closedirp) DIR *dir = opendir(kvm);
    const struct dirent *entry;
    unsigned n = 0;

    while (dir && (entry = readdir(dir))) {
        char path[512];
        const char *end;
        int32_t id = parse_number(entry->d_name, INT32_MAX, &end);

        if (id <= 0 || *end != '-' || (id != pid && !find(threads, id)))
            continue;
        n++;
        snprintf(path, sizeof path, "%.200s/%.255s", kvm, entry->d_name);
        read_vcpus(threads, path);
    }
    threads->n_vms = MAX(threads->n_vms, n);
}

int vmm_threads_update(struct vmm_threads *threads, pid_t pid, const char *kvm)
{
    _cleanup_(closedirp) DIR *dir = NULL;
    const struct dirent *entry;
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    dir = opendir(path);
    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        const char *end;
        int32_t id = parse_number(entry->d_name, INT32_MAX, &end);
        struct vmm_thread *thread;

        if (id <= 0 || *end)
            continue;
        thread = add(threads, id);
        if (!thread && threads->n < VMM_THREADS_MAX)
            return -ENOMEM;
        if (thread)
            read_name(pid, thread);
    }
    read_kvm(threads, pid, kvm);
    return 0;
}

unsigned vmm_threads_vcpus(const struct vmm_threads *threads)
{
    unsigned n = 0;

    for (unsigned i = 0; i < threads->n; i++) {
        bool is_first = threads->items[i].vcpu >= 0;

        for (unsigned j = 0; is_first && j < i; j++)
            is_first = threads->items[j].vcpu != threads->items[i].vcpu;
        n += is_first;
    }
    return n;
}
