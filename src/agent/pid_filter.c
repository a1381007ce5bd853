/* SPDX-License-Identifier: MIT */
#include "agent/pid_filter.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tracefs.h"
#include "base/proc.h"

int tracefs_set_event_pid(int dir, pid_t pid, struct error *error)
{
    const struct dirent *entry;
    unsigned n = 0;
    char path[64];
    DIR *tasks;
    int r;

    if (!proc_has_kernel_numbers())
        return error_set(
            error, -EOPNOTSUPP, "",
            "cannot restrict the trace to process %ld: its number in the kernel is unknown "
            "in this PID namespace; record all threads",
            (long)pid);
    /* Before listing the threads: one that starts meanwhile inherits the filter from its parent. */
    r = tracefs_write(dir, "options/event-fork", "1");
    if (r < 0)
        return error_set(error, r, "", "the kernel cannot follow a process's threads: %s",
                         strerror(-r));
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    tasks = opendir(path);
    if (!tasks)
        return error_set(error, -ESRCH, "", "no process %ld", (long)pid);
    while (r >= 0 && (entry = readdir(tasks))) {
        if (*entry->d_name == '.')
            continue;
        r = tracefs_append(dir, "set_event_pid", entry->d_name);
        n += r >= 0;
    }
    closedir(tasks);
    if (r == -ESRCH && n > 0) /* the thread has ended meanwhile */
        r = 0;
    if (r >= 0 && n == 0)
        r = -ESRCH;
    return r < 0 ? error_set(error, r, "", "cannot restrict the trace to process %ld: %s",
                             (long)pid, strerror(-r))
                 : 0;
}
