/* SPDX-License-Identifier: MIT */
#pragma once

/* The generator: turns declared events into code.
 *
 * An output format (gen/format/NAME.tmpl) is the kind of file that is generated; a backend
 * (gen/backend/NAME.tmpl) is what an event does when it occurs. A format asks the selected backends for
 * their parts (`@backends` in gen/template.h). gen/tables.c lists both, one line each.
 *
 * A target is what the code becomes part of: a program that links libstrata, or QEMU's own tree. */

#include "base/text.h"
#include "schema/trace_events/trace_events.h"

enum gen_target {
    GEN_STRATA,
    GEN_QEMU,
};

enum gen_need {
    GEN_NEEDS_GROUP = 1 << 0,
    GEN_NEEDS_PREFIX = 1 << 1, /* --probe-prefix, or --target-type and --target-name */
    GEN_NEEDS_BINARY = 1 << 2,
};

struct gen_format {
    const char *name; /* "ust-events-h" */
    unsigned needs;   /* enum gen_need */
    const char *file; /* "format/ust-events-h.tmpl", for messages */
    const char *template_text;
    const size_t *template_len;
    const char *summary; /* for --help */
};

struct gen_backend {
    const char *name;
    const char *file;
    const char *template_text; /* NULL: nop */
    const size_t *template_len;
    const char *summary;
};

/* Ended by an entry without a name. */
extern const struct gen_format gen_formats[];
extern const struct gen_backend gen_backends[];

/* Return NULL if there is no such entry. */
const struct gen_format *gen_format_find(const char *name, size_t len);
const struct gen_backend *gen_backend_find(const char *name, size_t len);

#define GEN_BACKENDS_MAX 16

/* Differences between QEMU's trees that the C preprocessor cannot see (gen/qemu_tree.h). */
struct gen_qemu_tree {
    unsigned major; /* version; 0, 0: unknown */
    unsigned minor;
    bool log_stamps; /* qemu_log() prints the time itself (10.2) */
    bool log_asks;   /* a time is printed only if message_with_timestamp is set (6.0 to 10.1) */
};

struct gen_job {
    enum gen_target target;
    const struct gen_format *format;
    const struct gen_backend *backends[GEN_BACKENDS_MAX];
    unsigned n_backends;
    const char *group;        /* as given; "hw_virtio" */
    const char *binary;       /* NULL: not given */
    const char *probe_prefix; /* "qemu.system.x86_64"; NULL: not given */
    const char *provider;     /* of dtrace and ust probes; NULL: "qemu", for GEN_STRATA the group */
    const char *header;       /* what format c includes; NULL: "trace-GROUP.h" */
    const char *output_name;  /* for #line; NULL or "-": standard output */
    struct gen_qemu_tree tree;
};

/* Writes the output of JOB to OUT, a text in memory. -EINVAL with ERROR: an event cannot be expressed in the format,
 * the format does not support the target, …; -ENOMEM. */
int gen_run(const struct gen_job *job, const struct declarations *declarations, struct text *out,
            struct error *error);
