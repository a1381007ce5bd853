/* SPDX-License-Identifier: MIT */
#pragma once

/* A trace directory that a test writes piece by piece, as a recording would: the source "vmm", events `marker n`, `begin
 * n`, `finish n` and `kvm_run_exit` of simpletrace on the host's clock. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macro.h"
#include "base/remove_dir.h"
#include "byte_order.h"

struct trace_dir {
    char path[32];
    char events[64]; /* of declarations */
    int vmm;
};

#define TRACE_DIR_VMM                                                                              \
    "{\"name\": \"vmm\", \"kind\": \"simpletrace\", \"layer\": \"vmm\", \"path\": \"vmm.trace\", " \
    "\"events\": [\"events\"],"                                                                    \
    " \"clock\": {\"name\": \"monotonic\", \"hz\": 1000000000, \"host\": true}}"

static inline void trace_dir_file(const struct trace_dir *dir, const char *name, const char *text)
{
    char path[128];
    int fd;

    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static inline void trace_dir_manifest(const struct trace_dir *dir, const char *sources)
{
    char text[4096];

    snprintf(text, sizeof text, "{\"format\": \"strata-trace\", \"version\": 1, \"sources\": [%s]}",
             sources);
    trace_dir_file(dir, "trace.json", text);
}

enum trace_dir_event {
    EVENT_MARKER,
    EVENT_BEGIN,
    EVENT_FINISH,
    EVENT_EXIT,
};

static inline void trace_dir_make(struct trace_dir *dir)
{
    static const uint64_t header[] = {UINT64_MAX, UINT64_C(0xf2b177cb0aa429b4), 4};
    static const char *const names[] = {"marker", "begin", "finish", "kvm_run_exit"};
    char path[64];

    strcpy(dir->path, "/tmp/strata-watch-XXXXXX");
    assert_non_null(mkdtemp(dir->path));
    trace_dir_file(dir, "events",
                   "marker(int n) \"n %d\"\nbegin(int n) \"n %d\"\nfinish(int n) \"n %d\"\n"
                   "kvm_run_exit(int cpu_index) \"cpu_index %d\"\n");
    snprintf(dir->events, sizeof dir->events, "%s/events", dir->path);
    snprintf(path, sizeof path, "%s/vmm.trace", dir->path);
    dir->vmm = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    assert_true(dir->vmm >= 0);
    assert_int_equal(write_all(dir->vmm, header, sizeof header), 0);
    for (uint64_t i = 0; i < ARRAY_SIZE(names); i++) {
        const uint64_t mapping[] = {0, i};
        uint32_t len = (uint32_t)strlen(names[i]);

        assert_int_equal(write_all(dir->vmm, mapping, sizeof mapping), 0);
        assert_int_equal(write_all(dir->vmm, &len, sizeof len), 0);
        assert_int_equal(write_all(dir->vmm, names[i], len), 0);
    }
    trace_dir_manifest(dir, TRACE_DIR_VMM);
}

static inline void trace_dir_event(const struct trace_dir *dir, enum trace_dir_event event,
                                   uint64_t ms, uint64_t n)
{
    const uint64_t record[] = {1, event, ms * NSEC_PER_MSEC, TWO_U32(32, 7), n};

    assert_int_equal(write_all(dir->vmm, record, sizeof record), 0);
}

/* A marker of the time MS. */
static inline void trace_dir_put(const struct trace_dir *dir, uint64_t ms, uint64_t n)
{
    trace_dir_event(dir, EVENT_MARKER, ms, n);
}

/* N events were dropped before MS. */
static inline void trace_dir_lose(const struct trace_dir *dir, uint64_t ms, uint64_t n)
{
    const uint64_t record[] = {1, UINT64_MAX - 1, ms * NSEC_PER_MSEC, TWO_U32(32, 7), n};

    assert_int_equal(write_all(dir->vmm, record, sizeof record), 0);
}

static inline void trace_dir_remove(struct trace_dir *dir)
{
    close(dir->vmm);
    (void)remove_dir_at(AT_FDCWD, dir->path);
}
