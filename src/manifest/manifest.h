/* SPDX-License-Identifier: MIT */
#pragma once

/* The manifest of a recorded trace: the file trace.json at the top of its folder, which says what was
 * recorded, where it lies in the folder, by what clock, on what host, and whether all of it arrived.
 *
 *     {"format": "strata-trace", "version": 1,
 *      "sources": [
 *        {"name": "xen", "kind": "xentrace", "layer": "hypervisor",
 *         "path": "xen/trace.raw", "events": ["xen/events"],
 *         "clock": {"name": "tsc", "hz": 2400000000},
 *         "xen": {"version": "4.17.7", "extra": "-debian", "caps": "…", "commandline": "…",
 *                 "cpu_vendor": "amd", "scheduler": "credit2", "cpus": [0, 1], "offline": [],
 *                 "domains": [{"id": 0, "name": "Domain-0"}]},
 *         "percpu": {"buffer": "NAME", "cpus": [0, 1]},
 *         "guest": {"agent": "0.1.0", "release": "6.1.0-18-amd64", "machine": "x86_64",
 *                   "boot_id": "…", "clock_pairs": "guest-web/clock-pairs"},
 *         "began": {"realtime_ns": 1, "monotonic_ns": 2, "tsc": 3}, "ended": {…},
 *         "lost": 5, "lost_at_end": 2, "complete": true, "problems": ["…"]}]}
 *
 * `name`, `kind`, `layer` and `path` are in every source, the rest only where it is known. A source
 * is written once when its recording begins, with "complete": false, and again when it has ended, so
 * the trace of a recorder that was killed opens and tells what it is. Keys that are not known here are
 * passed over: readers of a newer minor form need not fail. docs/man/strata-trace-folder.5 is the
 * document.
 *
 * A manifest is as hostile as what it describes: read, it is checked as a whole, and paths that leave
 * the folder are refused. */

#include "base/arena.h"
#include "base/fault.h"
#include "base/text.h"

#define MANIFEST_NAME "trace.json"
#define MANIFEST_SOURCES_MAX 256
#define MANIFEST_CPUS_MAX 4096

/* The clocks of the host, read as close to each other as can be. What is 0 is not known. */
struct manifest_moment {
    int64_t realtime_ns;
    int64_t monotonic_ns;
    uint64_t tsc; /* at most INT64_MAX, as all numbers of JSON here */
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
    const char *cpu_vendor; /* "amd", "intel", or as CPUID says it */
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
    const char *release, *machine, *boot_id;
    /* The file with the pairs that relate its clock to the host's CLOCK_MONOTONIC (timeline/relation.h), a
     * path like the source's. */
    const char *clock_pairs;
};

struct manifest_source {
    const char *name;            /* unique: letters, digits, _ . - */
    const char *kind;            /* the form of what lies at `path`: "xentrace" */
    const char *layer;           /* "hypervisor", … as layer_name() has them */
    const char *path;            /* in the folder, with '/', no ".." */
    const char *const *events;   /* what declares its events, paths like `path` */
    const char *const *problems; /* what a reader should know, a sentence each */
    unsigned n_events;
    unsigned n_problems;
    const char *clock;                    /* its name, or NULL */
    uint64_t hz;                          /* ticks a second, 0: not known */
    const struct manifest_xen *xen;       /* or NULL */
    const struct manifest_percpu *percpu; /* or NULL */
    const struct manifest_guest *guest;   /* or NULL */
    struct manifest_moment began;
    struct manifest_moment ended;
    uint64_t lost;        /* events in all, as the records say and at the end */
    uint64_t lost_at_end; /* of those, behind the last record, so that none says so */
    bool lost_known;
    bool complete; /* the recorder came to its end */
};

/* Zeroed, it is an empty one. Strings and arrays are borrowed from whoever fills it in; what
 * manifest_read() fills in lives in `arena`, which a writer may use as well. */
struct manifest {
    struct arena arena;
    const struct manifest_source *sources;
    unsigned n_sources;
};

/* Frees what is in the arena. */
void manifest_done(struct manifest *manifest);

/* Whether FOLDER has a manifest. */
bool manifest_probe(const char *folder);

/* -ENOENT: FOLDER has none; -EINVAL with FAULT: it is damaged, or of a version that is not known; an
 * errno from reading; -ENOMEM. */
int manifest_read(const char *folder, struct manifest *ret_manifest, struct fault *fault);
/* The same from LEN bytes at TEXT; NAME is for messages. */
int manifest_parse(const char *text, size_t len, const char *name, struct manifest *ret_manifest,
                   struct fault *fault);

/* Puts FOLDER/trace.json in place, all of it or nothing: whoever opens the folder meanwhile, or after
 * this process was killed, sees the old one or the new one. When all sources are complete it waits until
 * that is on the disk, else it does not wait. Not for two writers at a time. Bytes that are not UTF-8 become
 * U+FFFD. -EINVAL with FAULT: manifest_read() would refuse it; an errno from writing; -ENOMEM. */
int manifest_write(const char *folder, const struct manifest *manifest, struct fault *fault);
/* The same into TEXT. */
int manifest_put(const struct manifest *manifest, const char *name, struct text *text,
                 struct fault *fault);

/* Whether PATH may stand in a manifest: relative, without empty parts, "." and "..". */
bool manifest_path_is_fine(const char *path);

/* FOLDER/PATH, malloc()ed, where no part of PATH is a symbolic link (which could lead out of the
 * folder), and the last is a file or a folder. -ELOOP with FAULT: one is; -EINVAL; -ENOENT and its like, with FAULT; -ENOMEM. */
int manifest_resolve(const char *folder, const char *path, char **ret_path, struct fault *fault);
