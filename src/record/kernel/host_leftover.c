/* SPDX-License-Identifier: MIT */
#include "record/kernel/host_leftover.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/proc.h"

#define INSTANCES "/sys/kernel/tracing/instances"
/* Linux has had no other size of such pages, unless one is asked for, which the agent does not do. */
#define PAGE_BYTES 4096u
/* More than any buffer has. */
#define PAGES_MAX (1u << 20)

/* Whether NAME, "strata-agent-PID-START-N", is of AGENT, which has ended. */
static bool is_left(const char *name, pid_t agent)
{
    unsigned long pid;
    uint64_t start, now;
    char state;

    if (sscanf(name, "strata-agent-%lu-%" SCNu64 "-", &pid, &start) != 2 ||
        pid != (unsigned long)agent)
        return false;
    return proc_stat(agent, &now, &state) < 0 || now != start || state == 'Z' || state == 'X';
}

/* The pages of one CPU, FROM its trace_pipe_raw. What was cut when the recorder was killed is dropped. */
static void append_pages(int from, int dir, unsigned cpu)
{
    _cleanup_(closep) int to = -1;
    char page[PAGE_BYTES], name[32];
    struct stat st;

    snprintf(name, sizeof name, "cpu%u.raw", cpu);
    to = openat(dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (to < 0 || fstat(to, &st) < 0 || !S_ISREG(st.st_mode) ||
        ftruncate(to, st.st_size - st.st_size % PAGE_BYTES) < 0 || lseek(to, 0, SEEK_END) < 0)
        return;
    for (unsigned i = 0; i < PAGES_MAX && read(from, page, sizeof page) == sizeof page; i++)
        if (write_all(to, page, sizeof page) < 0)
            return;
}

static void drain_instance(int instance, int dir)
{
    _cleanup_(closep) int on = openat(instance, "tracing_on", O_WRONLY | O_CLOEXEC);
    _cleanup_(closep) int per_cpu = openat(instance, "per_cpu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedirp) DIR *cpus = per_cpu < 0 ? NULL : open_dir_at(per_cpu, ".");
    const struct dirent *entry;

    if (on >= 0)
        (void)!write(on, "0", 1);
    while (cpus && (entry = readdir(cpus))) { /* NOLINT(concurrency-mt-unsafe): its own stream */
        char path[300];
        unsigned cpu;
        _cleanup_(closep) int raw = -1;

        if (sscanf(entry->d_name, "cpu%u", &cpu) != 1)
            continue;
        snprintf(path, sizeof path, "%s/trace_pipe_raw", entry->d_name);
        raw = openat(per_cpu, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (raw >= 0)
            append_pages(raw, dir, cpu);
    }
}

/* DIR -1: without their pages. */
static void end_instances(pid_t agent, int dir)
{
    _cleanup_(closep) int instances = open(INSTANCES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedirp) DIR *names = instances < 0 ? NULL : open_dir_at(instances, ".");
    const struct dirent *entry;

    while (names && (entry = readdir(names))) { /* NOLINT(concurrency-mt-unsafe): its own stream */
        int instance;

        if (!is_left(entry->d_name, agent))
            continue;
        instance = openat(instances, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (instance < 0)
            continue;
        /* An agent that lives holds the lock, also in another PID namespace (agent/tracefs.h). */
        if (flock(instance, LOCK_EX | LOCK_NB) == 0) {
            if (dir >= 0)
                drain_instance(instance, dir);
            (void)unlinkat(instances, entry->d_name, AT_REMOVEDIR);
        }
        close(instance);
    }
}

void host_leftover_drain(pid_t agent, int dir)
{
    end_instances(agent, dir);
}

void host_leftover_remove(pid_t agent)
{
    end_instances(agent, -1);
}
