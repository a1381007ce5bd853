/* SPDX-License-Identifier: MIT */
#pragma once

/* A trace directory that a test writes piece by piece, as a recording would: the source "vmm", events `marker n` of
 * simpletrace on the host's clock. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/remove_dir.h"

struct trace_dir {
    char path[32];
    char events[64]; /* of declarations */
    int vmm;
};

#define TRACE_DIR_VMM                                                                             \
    "{\"name\": \"vmm\", \"kind\": \"simpletrace\", \"layer\": \"vmm\", \"path\": \"vmm.trace\"," \
    " \"clock\": {\"name\": \"monotonic\", \"hz\": 1000000000, \"host\": true}}"

static void trace_dir_file(const struct trace_dir *dir, const char *name, const char *text)
{
    char path[128];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static void trace_dir_manifest(const struct trace_dir *dir, const char *sources)
{
    char text[4096];

    snprintf(text, sizeof text, "{\"format\": \"strata-trace\", \"version\": 1, \"sources\": [%s]}",
             sources);
    trace_dir_file(dir, "trace.json", text);
}

static void trace_dir_make(struct trace_dir *dir)
{
    static const uint64_t header[] = {UINT64_MAX, UINT64_C(0xf2b177cb0aa429b4), 4, 0, 0};
    static const char name[] = "\6\0\0\0marker";
    char path[64];

    strcpy(dir->path, "/tmp/strata-watch-XXXXXX");
    assert_non_null(mkdtemp(dir->path));
    trace_dir_file(dir, "events", "marker(int n) \"n %d\"\n");
    snprintf(dir->events, sizeof dir->events, "%s/events", dir->path);
    snprintf(path, sizeof path, "%s/vmm.trace", dir->path);
    dir->vmm = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    assert_true(dir->vmm >= 0);
    assert_int_equal(write_all(dir->vmm, header, sizeof header), 0);
    assert_int_equal(write_all(dir->vmm, name, sizeof name - 1), 0);
    trace_dir_manifest(dir, TRACE_DIR_VMM);
}

/* An event of the time MS. */
static void trace_dir_put(const struct trace_dir *dir, uint64_t ms, uint64_t n)
{
    const uint64_t record[] = {1, 0, ms * NSEC_PER_MSEC, 32 | UINT64_C(7) << 32, n};

    assert_int_equal(write_all(dir->vmm, record, sizeof record), 0);
}

static void trace_dir_remove(struct trace_dir *dir)
{
    close(dir->vmm);
    (void)remove_dir_at(AT_FDCWD, dir->path);
}
