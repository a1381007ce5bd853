/* SPDX-License-Identifier: MIT */
#include "base/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/proc.h"

#define RECORD_SIZE 8192
#define VMSTAT_SIZE 65536u
/* The log is stamped by a clock that is not adjusted. */
#define SLACK_NS (INT64_C(10) * 1000000000)

static uint64_t count_kills(void)
{
    static const char key[] = "\noom_kill ";
    _cleanup_free_ char *text = malloc(VMSTAT_SIZE);
    const char *line;

    if (!text || proc_text("/proc/vmstat", text, VMSTAT_SIZE) < 0)
        return UINT64_MAX;
    line = strstr(text, key);
    return line ? strtoull(line + sizeof key - 1, NULL, 10) : UINT64_MAX;
}

struct oom_watch oom_begin(void)
{
    return (struct oom_watch){(int64_t)clock_ns(CLOCK_MONOTONIC), count_kills()};
}

bool oom_record_names(const char *record, pid_t pid, int64_t since_ns)
{
    char killed[48];
    int64_t us;

    snprintf(killed, sizeof killed, "Killed process %ld (", (long)pid);
    return sscanf(record, "%*u,%*u,%" SCNd64, &us) == 1 && us < INT64_MAX / 1000 &&
           us * 1000 >= since_ns - SLACK_NS && strstr(record, killed);
}

/* False also if this user cannot read the log, or is in a PID namespace, so that the log has another number. */
static bool log_names(pid_t pid, int64_t since_ns)
{
    _cleanup_(closep) int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char record[RECORD_SIZE];

    while (fd >= 0) {
        ssize_t n = read(fd, record, sizeof record - 1);

        if (n < 0 && (errno == EPIPE || errno == EINTR)) /* older ones were overwritten */
            continue;
        if (n <= 0)
            break;
        record[n] = '\0';
        if (oom_record_names(record, pid, since_ns))
            return true;
    }
    return false;
}

enum oom_verdict oom_judge(const struct oom_watch *watch, pid_t pid, uint64_t *ret_kills)
{
    uint64_t now = count_kills();

    *ret_kills = 0;
    if (watch->since_ns == 0)
        return OOM_NOT;
    if (now != UINT64_MAX && watch->kills != UINT64_MAX && now <= watch->kills)
        return OOM_NOT;
    if (log_names(pid, watch->since_ns))
        return OOM_KILLED;
    if (now == UINT64_MAX || watch->kills == UINT64_MAX)
        return OOM_NOT;
    *ret_kills = now - watch->kills;
    return OOM_MAYBE;
}
