/* SPDX-License-Identifier: MIT */

/* A traced program that becomes a daemon the hard way, for the tests: it emits, closes every descriptor
 * that it can see, opens data files of its own on all the numbers that were in use, emits again and writes
 * its data. Nothing but its data may be in the data files.
 *
 *     daemon [-t OPTIONS]... [-b BACKEND]... [-k] [-l] [-s SNAPSHOT] [-w FILE]
 *            DIRECTORY COUNT
 *
 *     -t  strata_trace_opt_parse()
 *     -b  also emits by the backend: log, ftrace or syslog
 *     -k  keeps its descriptors: emits once, flushes and ends
 *     -l  prints what was lost
 *     -s  takes a snapshot before it flushes
 *     -w  first makes FILE.waits, and waits until there is FILE
 *
 * It makes DIRECTORY/data-N for each descriptor N. Each has one line, "data N", at the end. */

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/ring_emit.h"
#include "strata/trace.h"

static uint8_t states[1];

static const struct strata_field fields[] = {
    {"id", "uint64_t", STRATA_FIELD_UNSIGNED, 8},
};

static struct strata_event events[] = {
    {.name = "number",
     .format = "id %" PRIu64,
     .fields = fields,
     .state = &states[0],
     .file = "daemon",
     .line = 1,
     .n_fields = 1,
     .compiled_in = true},
};

static struct strata_group group = {STRATA_TRACE_ABI, 1, "daemon", events, NULL};

static void __attribute__((constructor)) register_events(void)
{
    strata_backend_register(STRATA_BACKEND_RING);
    strata_group_register(&group);
}

static bool by_log, by_ftrace, by_syslog;

static void emit(uint64_t id)
{
    struct strata_slot slot;
    uint8_t *at;

    if (by_log)
        strata_log("number_log id %" PRIu64, id);
    if (by_ftrace)
        strata_ftrace("number_ftrace id %" PRIu64, id);
    if (by_syslog)
        strata_syslog("number_syslog id %" PRIu64, id);
    at = states[0] ? ring_open(&slot, events[0].id, 16) : NULL;
    if (at) {
        (void)strata_ring_put(at, &id, sizeof(id));
        strata_ring_end(&slot);
    }
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    _exit(1);
}

/* A data file on descriptor N. */
static void open_data(const char *directory, int n)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof(path), "%s/data-%d", directory, n);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        _exit(10);
    if (fd != n && dup2(fd, n) < 0)
        _exit(11);
    if (fd != n)
        close(fd);
}

static void wait_until(const char *file)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s.waits", file);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    while (access(file, F_OK) < 0)
        usleep(1000);
}

static void print_lost(void)
{
    struct strata_trace_stats stats;

    strata_trace_get_stats(&stats, sizeof(stats));
    printf("dropped %" PRIu64 "\nunwritten %" PRIu64 "\nlines %" PRIu64 "\n", stats.dropped,
           stats.unwritten, stats.lines);
}

#define DESCRIPTORS 1024

int main(int argc, char **argv)
{
    static bool used[DESCRIPTORS];
    uint64_t count;
    const char *snapshot = NULL;
    const char *wait_for = NULL;
    bool keep = false, show_lost = false;
    int option, own, r;
    DIR *dir;
    struct dirent *entry;

    while ((option = getopt(argc, argv, "t:b:kls:w:")) != -1) {
        switch (option) {
        case 't':
            if (strata_trace_opt_parse(optarg) != 0)
                return 1;
            break;
        case 'b':
            by_log |= strcmp(optarg, "log") == 0;
            by_ftrace |= strcmp(optarg, "ftrace") == 0;
            by_syslog |= strcmp(optarg, "syslog") == 0;
            break;
        case 'k': keep = true; break;
        case 'l': show_lost = true; break;
        case 'w': wait_for = optarg; break;
        case 's': snapshot = optarg; break;
        default: return 2;
        }
    }
    if (argc - optind != 2)
        return 2;
    count = strtoull(argv[optind + 1], NULL, 10);

    if (wait_for)
        wait_until(wait_for);
    for (uint64_t i = 0; i < count; i++)
        emit(i);
    if (snapshot && strata_trace_snapshot(snapshot) < 0)
        fail("snapshot");
    if (keep) {
        r = strata_trace_flush();
        if (show_lost)
            print_lost();
        return r < 0 ? 12 : 0;
    }
    if (strata_trace_flush() < 0)
        fail("flush");

    dir = opendir("/proc/self/fd");
    if (!dir)
        fail("/proc/self/fd");
    own = dirfd(dir);
    while ((entry = readdir(dir))) {
        int n = atoi(entry->d_name);

        if (*entry->d_name != '.' && n != own && n < DESCRIPTORS)
            used[n] = true;
    }
    closedir(dir);
    for (int n = 0; n < 16; n++)
        used[n] = true;
    for (int n = 0; n < DESCRIPTORS; n++)
        close(n);
    for (int n = 0; n < DESCRIPTORS; n++)
        if (used[n])
            open_data(argv[optind], n);

    for (uint64_t i = count; i < 2 * count; i++)
        emit(i);
    r = strata_trace_flush();
    for (int n = 0; n < DESCRIPTORS; n++)
        if (used[n] && dprintf(n, "data %d\n", n) < 0)
            _exit(13);
    return r < 0 ? 12 : 0;
}
