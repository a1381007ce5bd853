/* SPDX-License-Identifier: MIT */

/* Whether the process that left a directory of rings is running. */

#include "record/rings/process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/proc.h"

/* A process that cannot read the boot's ID (without /proc, as after chroot()) is taken for one of this boot. */
bool process_is_of_this_boot(const struct process *process)
{
    static const uint8_t unknown[sizeof process->boot_id];
    char text[64], mine[33];
    unsigned n = 0;

    if (memcmp(process->boot_id, unknown, sizeof unknown) == 0)
        return true;
    if (proc_text("/proc/sys/kernel/random/boot_id", text, sizeof(text)) < 0)
        return true; /* when it began says more */
    for (const char *p = text; *p && n < 32; p++)
        if (*p != '-' && *p != '\n')
            mine[n++] = *p;
    mine[n] = '\0';
    for (unsigned i = 0; i < 16; i++) {
        char digits[3];

        snprintf(digits, sizeof(digits), "%02x", process->boot_id[i]);
        if (n != 32 || memcmp(digits, mine + 2 * i, 2) != 0)
            return false;
    }
    return true;
}

/* True if a process that began at START, in clock ticks since the boot, can be a process that could not read its start
 * time (without /proc, for example after chroot()): it must not be younger than its process file. */
static bool began_before(const struct process *process, uint64_t start)
{
    uint64_t suspended = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
    uint64_t made = (uint64_t)process->clock_pair.monotonic + suspended;

    return proc_start_ns(start) / NSEC_PER_SEC <= made / NSEC_PER_SEC + 1;
}

/* Returns 1 if PID in this PID namespace began when PROCESS did and has not ended, otherwise 0. -errno: cannot be read.
 * A missing PID is detected without a descriptor too, so that a recorder without free descriptors sees its program
 * end. */
static int is_as_old(const struct process *process, long pid)
{
    uint64_t start;
    char state;
    int r = proc_stat((pid_t)pid, &start, &state);

    if (r < 0)
        return proc_is_gone(r) || (kill((pid_t)pid, 0) < 0 && errno == ESRCH) ? 0 : r;
    return (process->start ? start == process->start : began_before(process, start)) &&
           state != 'Z' && state != 'X';
}

int process_has_its_number(const struct process *process)
{
    return process->pid < 1 || process->pid > INT32_MAX ? 0
                                                        : is_as_old(process, (long)process->pid);
}

/* Whether PID of this pid namespace is PROCESS, of a namespace below: 1, 0. -errno: that cannot be read. */
static int is_seen_as(const struct process *process, long pid)
{
    char path[64], text[4096];
    struct stat st;
    int r;

    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    r = proc_text(path, text, sizeof text);
    if (r < 0)
        return proc_is_gone(r) ? 0 : r;
    if (proc_inner_number(text) != process->pid)
        return 0;
    snprintf(path, sizeof path, "/proc/%ld/ns/pid", pid);
    /* Another user's namespace cannot be read. One that is exiting has none any more. */
    if (stat(path, &st) == 0 ? st.st_ino != process->pid_namespace
                             : errno != EACCES && errno != EPERM)
        return 0;
    return is_as_old(process, pid);
}

/* The number that PROCESS, of a namespace below this one, has here; 0: it is not here; -errno: that cannot be read. */
static long find_here(const struct process *process)
{
    _cleanup_(closedirp) DIR *dir = opendir("/proc");
    const struct dirent *entry;
    long r = dir ? 0 : -errno;

    while (dir && (entry = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe): a stream of its own */
        long pid = strtol(entry->d_name, NULL, 10);
        int is_it = pid > 0 ? is_seen_as(process, pid) : 0;

        if (is_it > 0)
            return pid;
        if (is_it < 0)
            r = is_it;
    }
    return r;
}

/* Whether PROCESS is of another pid namespace than this one, *RET_HERE. One that is not known is taken for this one. */
static bool is_of_other_namespace(const struct process *process, ino_t *ret_here)
{
    struct stat st;

    *ret_here = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    return process->pid_namespace && *ret_here && *ret_here != process->pid_namespace;
}

long process_find(const struct process *process, struct error *error)
{
    bool is_other;
    ino_t here;
    long r;

    if (!process_is_of_this_boot(process))
        return 0;
    is_other = is_of_other_namespace(process, &here);
    r = is_other ? find_here(process) : process_has_its_number(process);
    if (is_other && r == 0 && here != FIRST_PID_NAMESPACE)
        return error_set(
            error, -EXDEV, process->path,
            "belongs to another PID namespace; cannot find out whether process %u is running",
            process->pid);
    if (r < 0)
        return error_set(error, (int)r, process->path,
                         "whether process %u is running cannot be seen: %s", process->pid,
                         error_text((int)r));
    return is_other || r == 0 ? r : (long)process->pid;
}

int process_is_alive(const struct process *process, struct error *error)
{
    long pid = process_find(process, error);

    return pid > 0 ? 1 : (int)pid;
}

bool process_is_replaced(const struct process *process)
{
    uint64_t start;
    char state;
    ino_t here;

    if (is_of_other_namespace(process, &here))
        return false;
    return process->pid > 0 && process->pid <= INT32_MAX &&
           proc_stat((pid_t)process->pid, &start, &state) >= 0 &&
           (!process_is_of_this_boot(process) || start != process->start);
}
