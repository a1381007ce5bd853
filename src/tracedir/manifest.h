/* SPDX-License-Identifier: MIT */
#pragma once

/* The manifest of a recorded trace: the file trace.json at the top of its directory, which says what was
 * recorded, where it lies in the directory, by what clock, on what host, and whether all of it arrived.
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
 * The times of all sources are converted to one timeline, the CLOCK_MONOTONIC of the host, if all have the same "host",
 * and each says how its clock relates to that clock, in one of three ways:
 *  - "clock": {…, "pairs": "guest-web/clock-pairs"}: a file of pairs of both (timeline/clock_map.h);
 *  - "clock": {…, "host": true, "error_ns": 0}: the times are that clock's;
 *  - moments of "began" and "ended" with "tsc" and "error_ns", where the clock is "tsc".
 *
 * `name`, `kind`, `layer` and `path` are in every source, the rest only where it is known. A source
 * is written once when its recording begins, with "complete": false, and again when it has ended, so
 * the trace of a recorder that was killed can be opened. Unknown keys are skipped: later versions may
 * add some. docs/man/strata-trace-directory.5 is the
 * document.
 *
 * A manifest is as hostile as the trace: the reader checks all of it, and refuses paths that leave the
 * directory. */

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/reopen_cache.h"
#include "base/text.h"

#define MANIFEST_NAME "trace.json"
#define MANIFEST_SOURCES_MAX 1024
#define MANIFEST_CPUS_MAX 4096
#define MANIFEST_FILES_MAX 65536

/* The kind of a source that has no events, and whose path is not read: a virtual machine monitor whose threads are known, or a
 * guest whose agent has not answered. */
#define MANIFEST_NO_EVENTS "none"

/* The clocks of the host, read as close to each other as can be. What is 0 is not known. */
struct manifest_moment {
    int64_t realtime_ns;
    int64_t monotonic_ns;
    uint64_t tsc;     /* at most INT64_MAX, as all numbers of JSON here */
    int64_t error_ns; /* the most by which the others may be apart; 0: not known */
};

/* The clock that stamped a source's events. */
struct manifest_clock {
    const char *name; /* or NULL */
    uint64_t hz;      /* ticks a second, 0: not known */
    /* The file with the pairs that relate it to the host's CLOCK_MONOTONIC (timeline/clock_map.h), a path
     * like the source's; or NULL. */
    const char *pairs;
    /* It is the host's CLOCK_MONOTONIC, in ns; without `pairs` */
    bool host;
    int64_t error_ns; /* the largest error of its times, if not 0 */
};

/* The machine whose CLOCK_MONOTONIC a source's clock is related to: usually the one that recorded it.
 * Sources with the same boot ID are on one timeline, and so are those of one directory if it is not
 * known. */
struct manifest_host {
    const char *boot_id; /* as in /proc/sys/kernel/random/boot_id; or NULL */
    const char *name;    /* of the host; for people; or NULL */
    int32_t recorder;    /* the process that recorded, by the host's numbers; 0: not known */
};

struct manifest_domain {
    uint32_t id; /* at most 65535 */
    const char *name;
};

/* Of a real Xen. Strings that are not known are NULL. */
struct manifest_xen {
    const char *version; /* "4.17.7": what decodes the events by */
    const char *extra;   /* of the version: "-debian" */
    const char *caps;
    const char *commandline;
    const char *cpu_vendor; /* "amd", "intel", or the vendor string of CPUID */
    const char *scheduler;  /* "credit2" */
    const uint32_t *cpus;   /* recorded, ascending */
    unsigned n_cpus;
    const uint32_t *offline; /* that had no buffer */
    unsigned n_offline;
    const struct manifest_domain *domains; /* that ran at any time of the recording */
    unsigned n_domains;
};

/* Of buffers of percpu/ in shared memory. */
struct manifest_percpu {
    const char *buffer; /* as it was given */
    const uint32_t *cpus;
    unsigned n_cpus;
};

/* Of a guest's kernel. Strings that are not known are NULL. */
struct manifest_guest {
    const char *agent; /* its version */
    int32_t agent_pid; /* its process, by the numbers of this kernel; 0: not known */
    const char *release, *machine, *boot_id;
    bool kvm;     /* the pairs of its clock come from KVM, not from exchanged messages */
    bool is_away; /* while it is recorded: its agent does not answer any more */
    /* what sandboxed the process that parsed the guest's data: "user, landlock, seccomp" */
    const char *confined;
};

/* A thread of a virtual machine monitor. A thread that is listed more than once, with different vCPUs
 * (QEMU's emulation of several vCPUs by one thread), identifies none. */
struct manifest_thread {
    int32_t id;
    int32_t
        own_id; /* in the PID namespace of the monitor, as its own events have it; 0: the same */
    const char *name; /* or NULL */
    int32_t vcpu;     /* that it runs, at most MANIFEST_CPUS_MAX - 1; -1: none */
};

static inline int32_t manifest_thread_own_id(const struct manifest_thread *thread)
{
    return thread->own_id ? thread->own_id : thread->id;
}

/* A virtual machine monitor, of the layer vmm. Its threads show which vCPU caused events of the layers
 * vmm and host on the same host. Unknown strings are NULL. */
struct manifest_vmm {
    const char *name, *uuid; /* of its virtual machine */
    const char *program, *version;
    const char *accelerator;    /* "kvm", "tcg" */
    const char *const *command; /* as it was started */
    const struct manifest_thread *threads;
    int32_t pid; /* 0: not known */
    unsigned n_command, n_threads;
    const char
        *exit; /* how it ended: "status 1", "killed by signal 9"; NULL: not, as far as was seen */
    /* How long, until the recording ended or the snapshot was taken, the machine was paused, and its process was stopped by a signal (looked at each second).
     * 0: not, or not known. */
    uint64_t paused_ns, stopped_ns;
    const char *qmp; /* while it is recorded, the path of a socket for its monitor */
};

/* How long a file of a source was when nothing wrote to it any more (tracedir/source_files.h). Holes count. */
struct manifest_file {
    const char *path; /* in the directory, as the source's */
    uint64_t bytes;   /* at most INT64_MAX */
};

struct manifest_source {
    const char *name; /* unique: letters, digits, _ . - */
    /* The format of `path`, "xentrace", or MANIFEST_NO_EVENTS. A reader goes by the content, and by this only where a file that has
     * just begun shows nothing. */
    const char *kind;
    const char
        *layer; /* "hypervisor", … as layer_name() has them; replaces what the reader assumes */
    const char *path;            /* in the directory, with '/', no ".." */
    const char *const *events;   /* what declares its events, paths like `path` */
    const char *const *problems; /* what a reader should know, a sentence each */
    unsigned n_events;
    unsigned n_problems;
    struct manifest_clock clock;
    const struct manifest_host *host;     /* or NULL */
    const struct manifest_xen *xen;       /* or NULL */
    const struct manifest_percpu *percpu; /* or NULL */
    const struct manifest_guest *guest;   /* or NULL */
    const struct manifest_vmm *vmm;       /* or NULL */
    const struct manifest_file *files;    /* each once */
    struct manifest_moment began;
    struct manifest_moment ended;
    /* When the machine of a guest came from another QEMU, by a migration, and when it left by one. What the guest did from its
     * coming until the first event of each CPU, and from the last one until it left, was not recorded. */
    struct manifest_moment came, left;
    uint64_t lost;        /* number of lost events, by the records and at the end */
    uint64_t lost_at_end; /* of these, lost after the last record, so that no record says so */
    unsigned n_files;     /* 0: not known */
    bool lost_known;
    bool
        lost_uncounted; /* `lost` is not all: more were lost, or may be missing, as `problems` say */
    bool complete;      /* the recorder came to its end */
    /* The events of a kernel, or of a program from its begin, that were recorded only if a filter let them pass, with it;
     * `filters_known`: of a kernel, these are all. */
    const char *const *filters;
    unsigned n_filters;
    bool filters_known;
    bool
        pid_filter; /* the kernel recorded only certain threads: --host-threads, or --pid of a guest's agent */
};

/* Why a snapshot of a recording was taken. Strings that are not known are NULL. */
struct manifest_snapshot {
    const char *reason;          /* "trigger", or "request", a user's */
    const char *trigger;         /* the condition, as --on had it */
    const char *what;            /* fulfilled it */
    struct manifest_moment time; /* of that, or of the request */
    uint64_t repeats;            /* how often it was fulfilled again until the snapshot was taken */
    const char *const *also;     /* other conditions that were fulfilled until then */
    unsigned n_also;
    uint64_t
        suppressed; /* how often conditions were fulfilled since the snapshot before, and saved none */
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

/* True if nothing more will be written, however it ended. */
static inline bool manifest_source_has_ended(const struct manifest_source *source)
{
    return source->complete || source->ended.realtime_ns != 0;
}

/* Zeroed, it is empty. The writer owns the strings and arrays that it sets; those of manifest_read()
 * live in `arena`, which a writer may use too. */
struct manifest {
    struct arena arena;
    const struct manifest_source *sources;
    unsigned n_sources;
    const struct manifest_snapshot *snapshot; /* NULL: it is not a snapshot */
};

/* Frees what is in the arena. */
void manifest_done(struct manifest *manifest);

/* Whether DIR has a manifest. */
bool manifest_probe(const char *dir);

/* -ENOENT: DIR has none; -EINVAL with ERROR: it is damaged, or of a version that is not known; an
 * errno from reading; -ENOMEM. */
int manifest_read(const char *dir, struct manifest *ret_manifest, struct error *error);
/* The same, but of the file as it was when DIR was first read with CACHE (base/reopen_cache.h); NULL: as it is now. */
int manifest_read_again(const char *dir, struct reopen_cache *cache, struct manifest *ret_manifest,
                        struct error *error);
/* The same from LEN bytes at TEXT; NAME is for messages. */
int manifest_parse(const char *text, size_t len, const char *name, struct manifest *ret_manifest,
                   struct error *error);

/* Replaces DIR/trace.json atomically: a process that opens the directory meanwhile, or after this
 * process was killed, sees the old version or the new one. If all sources are complete, waits until it
 * is on disk. One writer at a time. Bytes that are not UTF-8 become U+FFFD. -EINVAL with ERROR:
 * manifest_read() would reject it; an errno from writing; -ENOMEM. */
int manifest_write(const char *dir, const struct manifest *manifest, struct error *error);
/* The same into TEXT. */
int manifest_put(const struct manifest *manifest, const char *name, struct text *text,
                 struct error *error);

/* True if a manifest may contain PATH: relative, without empty parts, "." and "..". */
bool manifest_path_is_fine(const char *path);

/* DIR/PATH, which the caller frees, if it exists and no part of PATH is a symbolic link, which could
 * leave the directory. -ELOOP with ERROR: one is; -EINVAL; -ENOENT or another errno with ERROR;
 * -ENOMEM. */
int manifest_resolve(const char *dir, const char *path, char **ret_path, struct error *error);
