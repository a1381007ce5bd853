/* SPDX-License-Identifier: MIT */
#pragma once

/* The manifest of a trace directory: the file trace.json at its top. It states what was recorded, into which files, by
 * which clock, on which host, and whether the recording is complete.
 *
 *     {"format": "strata-trace", "version": 1,
 *      "sources": [
 *        {"name": "xen", "kind": "xentrace", "layer": "hypervisor",
 *         "path": "xen/trace.raw", "events": ["xen/events"],
 *         "clock": {"name": "tsc", "hz": 2400000000},
 *         "host": {"boot_id": "…", "name": "build7", "recorder": 4710},
 *         "xen": {"version": "4.17.7", "extra": "-debian", "caps": "…", "commandline": "…",
 *                 "cpu_vendor": "amd", "scheduler": "credit2", "cpus": [0, 1], "offline": [],
 *                 "domains": [{"id": 0, "name": "Domain-0"}]},
 *         "percpu": {"buffer": "NAME", "cpus": [0, 1]},
 *         "guest": {"agent": "0.1.0", "agent_pid": 4712, "release": "6.1.0-18-amd64", "machine": "x86_64",
 *                   "boot_id": "…", "kvm": true, "away": true, "confined": "user, landlock, seccomp"},
 *         "vmm": {"pid": 4711, "name": "web7", "uuid": "…", "program": "/usr/bin/qemu-system-x86_64", "version": "7.2.22",
 *                 "accelerator": "tcg", "command": ["qemu-system-x86_64", "-m", "256"],
 *                 "threads": [{"id": 4713, "name": "CPU 0/TCG", "vcpu": 0}],
 *                 "paused_ns": 5, "stopped_ns": 5, "exit": "status 0", "qmp": "/run/user/0/…/qmp"},
 *         "files": {"xen/trace.raw": 81920, "xen/events": 4711},
 *         "began": {"realtime_ns": 1, "monotonic_ns": 2, "tsc": 3, "error_ns": 4}, "ended": {…}, "came": {…},
 *         "lost": 5, "lost_at_end": 2, "lost_uncounted": true, "complete": true, "pid_filter": true,
 *         "filters": ["sched:sched_switch=prev_pid != 0"], "problems": ["…"]}],
 *      "snapshot": {"reason": "trigger", "trigger": "qmp:STOP", "what": "STOP {…}", "time": {…},
 *                   "repeats": 3, "also": ["exit"], "suppressed": 12}}
 *
 * If all sources have the same "host", their times can be converted to one timeline, the CLOCK_MONOTONIC of the host.
 * Each source states how its clock relates to it, in one of three ways:
 *  - "clock": {…, "pairs": "guest-web/clock-pairs"}: a file of pairs of both (timeline/clock_map.h);
 *  - "clock": {…, "host": true, "error_ns": 0}: the times are that clock's;
 *  - moments of "began" and "ended" with "tsc" and "error_ns", where the clock is "tsc".
 *
 * Every source has `name`, `kind`, `layer` and `path`, and what else is known. A source is written when its recording
 * begins, with "complete": false, and again when it has ended. So the trace of a killed recorder can be opened. Unknown
 * keys are skipped, because later versions may add some. docs/man/strata-trace-directory.5 documents the file.
 *
 * A manifest is as untrusted as the trace. The reader checks all of it, and refuses paths that leave the directory. */

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/reopen_cache.h"
#include "base/text.h"

#define MANIFEST_NAME "trace.json"
#define MANIFEST_SOURCES_MAX 1024
#define MANIFEST_CPUS_MAX 4096
#define MANIFEST_FILES_MAX 65536

/* The kind of a source without events, whose path is not read: a virtual machine monitor whose threads are known, or a
 * guest whose agent has not answered. */
#define MANIFEST_NO_EVENTS "none"

/* The clocks of the host, read at almost the same moment. 0 is unknown. */
struct manifest_moment {
    int64_t realtime_ns;
    int64_t monotonic_ns;
    uint64_t tsc;     /* at most INT64_MAX, like all numbers here */
    int64_t error_ns; /* largest difference between the moments of reading; 0 if unknown */
};

/* The clock that stamped a source's events. */
struct manifest_clock {
    const char *name; /* or NULL */
    uint64_t hz;      /* ticks per second; 0 if unknown */
    /* File with pairs that relate the clock to the host's CLOCK_MONOTONIC (timeline/clock_map.h), or NULL. A path like
     * the source's. */
    const char *pairs;
    /* The clock is the host's CLOCK_MONOTONIC, in ns. Excludes `pairs`. */
    bool host;
    int64_t error_ns; /* largest error of its times */
};

/* The machine to whose CLOCK_MONOTONIC a source's clock is related, usually the recording machine. Sources with the
 * same boot ID are on one timeline. Without boot IDs, the sources of one directory are. */
struct manifest_host {
    const char *boot_id; /* as in /proc/sys/kernel/random/boot_id, or NULL */
    const char *name;    /* of the host, for people; or NULL */
    int32_t recorder;    /* PID of the recorder on the host; 0 if unknown */
};

struct manifest_domain {
    uint32_t id; /* at most 65535 */
    const char *name;
};

/* A real Xen. Unknown strings are NULL. */
struct manifest_xen {
    const char *version; /* "4.17.7"; decides how events are decoded */
    const char *extra;   /* suffix of the version: "-debian" */
    const char *caps;
    const char *commandline;
    const char *cpu_vendor; /* "amd", "intel", or the vendor string of CPUID */
    const char *scheduler;  /* "credit2" */
    const uint32_t *cpus;   /* recorded CPUs, ascending */
    unsigned n_cpus;
    const uint32_t *offline; /* CPUs without a buffer */
    unsigned n_offline;
    const struct manifest_domain *domains; /* that ran at any time during the recording */
    unsigned n_domains;
};

/* Buffers of percpu/ in shared memory. */
struct manifest_percpu {
    const char *buffer; /* as the user gave it */
    const uint32_t *cpus;
    unsigned n_cpus;
};

/* A guest's kernel. Unknown strings are NULL. */
struct manifest_guest {
    const char *agent; /* its version */
    int32_t agent_pid; /* PID of the agent in this kernel; 0 if unknown */
    const char *release, *machine, *boot_id;
    bool kvm;     /* its clock pairs come from KVM, not from exchanged messages */
    bool is_away; /* the recording runs, and the agent does not answer any more */
    /* How the process that parsed the guest's data was confined: "user, landlock, seccomp". */
    const char *confined;
};

/* A thread of a virtual machine monitor. A thread that is listed several times with different vCPUs identifies none of
 * them. QEMU without KVM may run several vCPUs in one thread. */
struct manifest_thread {
    int32_t id;
    int32_t own_id; /* in the PID namespace of the monitor, as its own events have it; 0 if equal */
    const char *name; /* or NULL */
    int32_t vcpu;     /* the vCPU that it runs, at most MANIFEST_CPUS_MAX - 1; -1: none */
};

static inline int32_t manifest_thread_own_id(const struct manifest_thread *thread)
{
    return thread->own_id ? thread->own_id : thread->id;
}

/* A virtual machine monitor, with events of the layer vmm. Its threads tell which vCPU caused events of the layers vmm
 * and host on this host. Unknown strings are NULL. */
struct manifest_vmm {
    const char *name, *uuid; /* of the virtual machine */
    const char *program, *version;
    const char *accelerator;    /* "kvm", "tcg" */
    const char *const *command; /* command line that started it */
    const struct manifest_thread *threads;
    int32_t pid; /* 0 if unknown */
    unsigned n_command, n_threads;
    const char
        *exit; /* how it ended: "status 1", "killed by signal 9"; NULL if it was not seen to end */
    /* How long the machine was paused, and how long its process was stopped by a signal (sampled each second), until
     * the end of the recording or until the snapshot. 0 if never or unknown. */
    uint64_t paused_ns, stopped_ns;
    const char *qmp; /* path of a socket for its monitor during the recording */
};

/* The length of a source's file, including holes, when nothing wrote to it any more (tracedir/source_files.h). */
struct manifest_file {
    const char *path; /* in the directory, like the source's path */
    uint64_t bytes;   /* at most INT64_MAX */
};

struct manifest_source {
    const char *name; /* unique: letters, digits, _ . - */
    /* The format of `path` ("xentrace"), or MANIFEST_NO_EVENTS. Readers recognise the content, and use this only for a
     * file that has just begun and has none. */
    const char *kind;
    /* "hypervisor" and so on (layer_name()); replaces the layer that the reader assumes */
    const char *layer;
    const char *path;            /* in the directory, with '/', no ".." */
    const char *const *events;   /* files that declare its events, paths like `path` */
    const char *const *problems; /* what users should know about the source, a sentence each */
    unsigned n_events;
    unsigned n_problems;
    struct manifest_clock clock;
    const struct manifest_host *host;     /* or NULL */
    const struct manifest_xen *xen;       /* or NULL */
    const struct manifest_percpu *percpu; /* or NULL */
    const struct manifest_guest *guest;   /* or NULL */
    const struct manifest_vmm *vmm;       /* or NULL */
    const struct manifest_file *files;    /* each path once */
    struct manifest_moment began;
    struct manifest_moment ended;
    /* When a migration brought the guest's machine from another QEMU, and when one took it away. It was not recorded
     * what the guest did from then until the first event of each CPU, and from the last event of each CPU until the
     * machine left. */
    struct manifest_moment came, left;
    uint64_t lost;        /* events lost according to the records and at the end */
    uint64_t lost_at_end; /* of these, lost after the last record, so that no record states it */
    unsigned n_files;     /* 0 if unknown */
    bool lost_known;
    /* More was lost than `lost` counts, or may be missing; `problems` says why. */
    bool lost_uncounted;
    bool complete; /* the recorder ended the recording properly */
    /* Events with a filter, and the filter: a kernel's, or a program's that had it from the start. `filters_known`:
     * these are all filters of a kernel. */
    const char *const *filters;
    unsigned n_filters;
    bool filters_known;
    /* The kernel recorded only certain threads: --host-threads, or --pid of a guest's agent. */
    bool pid_filter;
};

/* Why a snapshot of a recording was taken. Unknown strings are NULL. */
struct manifest_snapshot {
    const char *reason;          /* "trigger", or "request" by a user */
    const char *trigger;         /* the condition as given to --on */
    const char *what;            /* what fulfilled the condition */
    struct manifest_moment time; /* of the trigger or the request */
    /* How often the condition was fulfilled again before the snapshot was taken. */
    uint64_t repeats;
    const char *const *also; /* other conditions that were fulfilled before it was taken */
    unsigned n_also;
    /* How often conditions were fulfilled since the previous snapshot without saving one. */
    uint64_t suppressed;
};

static inline bool manifest_source_has_events(const struct manifest_source *source)
{
    return strcmp(source->kind, MANIFEST_NO_EVENTS) != 0;
}

/* True if more was lost than `lost` counts. */
static inline bool manifest_source_lost_more(const struct manifest_source *source)
{
    return source->lost_uncounted || source->came.realtime_ns != 0;
}

/* True if nothing more will be written, for whatever reason. */
static inline bool manifest_source_has_ended(const struct manifest_source *source)
{
    return source->complete || source->ended.realtime_ns != 0;
}

/* Zeros are an empty manifest. The writer owns the strings and arrays that it sets. What manifest_read() sets is in
 * `arena`, which a writer may use, too. */
struct manifest {
    struct arena arena;
    const struct manifest_source *sources;
    unsigned n_sources;
    const struct manifest_snapshot *snapshot; /* NULL if it is not a snapshot */
};

/* Frees the arena. */
void manifest_done(struct manifest *manifest);

/* True if DIR has a manifest. */
bool manifest_probe(const char *dir);

/* Errors: -ENOENT if DIR has none; -EINVAL with ERROR if it is damaged or has an unknown version; an errno of reading;
 * -ENOMEM. */
int manifest_read(const char *dir, struct manifest *ret_manifest, struct error *error);
/* As manifest_read(), but reads the file as it was when DIR was first read with CACHE (base/reopen_cache.h). CACHE
 * NULL: reads it as it is now. */
int manifest_read_again(const char *dir, struct reopen_cache *cache, struct manifest *ret_manifest,
                        struct error *error);
/* As manifest_read(), from LEN bytes at TEXT. NAME is for messages. */
int manifest_parse(const char *text, size_t len, const char *name, struct manifest *ret_manifest,
                   struct error *error);

/* Replaces DIR/trace.json atomically. A process that opens the directory at any time sees the old or the new version,
 * also if this process is killed. If all sources are complete, waits until the file is on disk. One writer at a time.
 * Bytes that are not UTF-8 become U+FFFD. Errors: -EINVAL with ERROR if manifest_read() would reject it; an errno of
 * writing; -ENOMEM. */
int manifest_write(const char *dir, const struct manifest *manifest, struct error *error);
/* As manifest_write(), to TEXT. */
int manifest_put(const struct manifest *manifest, const char *name, struct text *text,
                 struct error *error);

/* True if a manifest may contain PATH: a relative path without empty parts, "." and "..". */
bool manifest_path_is_fine(const char *path);

/* Returns DIR/PATH if it exists and no part of PATH is a symbolic link, which could leave the directory. The caller
 * frees it. Errors with ERROR: -ELOOP for a link; -EINVAL; -ENOENT or another errno. -ENOMEM. */
int manifest_resolve(const char *dir, const char *path, char **ret_path, struct error *error);
