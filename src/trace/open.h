/* SPDX-License-Identifier: MIT */
#pragma once

/* How a capture of each kind is opened; the inside of trace/trace.c. */

#include "base/input.h"
#include "schema/trace_events/qemu_class.h"
#include "trace/recognise.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

/* The trace-events declarations, read when the first capture wants them. */
struct events_files {
    struct events_files *next; /* of the same trace */
    bool tried;
    bool found;
    struct declarations declarations;
    struct qemu_events events;
};

/* One path on its way to its sources. */
struct opening {
    struct trace *trace;
    const struct trace_options *options;
    const char *path;  /* of the capture */
    const char *given; /* by the user: the same, or the recorded directory that it lies in */
    const struct manifest_source *recorded; /* what the directory tells, or NULL */
    const struct manifest *manifest;        /* the directory's, or NULL */
    enum capture_kind kind;
    struct input input; /* at its beginning; a directory has none (fd -1) */
    bool done;          /* part of a capture that an opening before it made */
    /* As the user said, and that what the recorder left unfinished ends somewhere is no damage. */
    struct reader_options reader;
    struct opening *others; /* those behind this one */
    unsigned n_others;
    struct source **sources; /* owned */
    unsigned n_sources;
    /* Each source is one CPU's, so that what it lends is in order as far as that CPU's clock is. One
     * that steps back is shown as it is, and not sorted away. */
    bool per_cpu;
};

/* The paths to open: GIVEN itself, or the sources of the recorded directory that it is, added to the N
 * openings of *OPENINGS (realloc). What cannot be found is noted; -ENOENT with ERROR: nothing can. */
int recorded_expand(struct trace *trace, const struct trace_options *options, const char *given,
                    struct opening **openings, unsigned *n, struct error *error);

/* Notes that SOURCE is not shown because of ERROR. 0, -ENOMEM. */
int recorded_leave_out(struct trace *trace, const struct manifest_source *source,
                       const struct error *error);

/* Keeps a printf-like sentence for the user. -ENOMEM. */
int trace_note(struct trace *trace, const char *format, ...) _printf_(2, 3);

/* Takes SOURCE over. -ENOMEM. */
int opening_add(struct opening *opening, struct source *source);
/* Takes over the N sources of the array, and the array itself (malloc). */
void opening_set(struct opening *opening, struct source **sources, unsigned n);

/* The declarations that were given or are installed. With NEEDED it is an error when there are none;
 * without, *ret_events is then NULL. */
int events_files_get(struct events_files *files, const struct trace_options *options, bool needed,
                     const char *path, const struct qemu_events **ret_events, struct error *error);
/* The same by hand: adds what the file PATH declares, and, when all is added, makes it of use. */
int events_files_add(struct events_files *files, const char *path, struct error *error);
int events_files_finish(struct events_files *files, struct error *error);
void events_files_done(struct events_files *files);

/* Finds out how the clock of PART, which is open, relates to its host's. -ENOMEM. */
int host_time_find(struct trace *trace, struct trace_part *part);
/* When all parts are open: sees whether their clocks are one, and if they are not, or with WANTED, makes all times
 * the host's. -EINVAL with ERROR: they cannot be put on one timeline; -ENOMEM. */
int host_time_settle(struct trace *trace, bool wanted, struct error *error);

/* Puts vCPUs into the events of PART that are of a thread that runs one, as the manifest of its directory tells.
 * -ENOMEM. */
int vcpus_identify(struct trace *trace, struct trace_part *part);

/* Gives the threads of PART, of a virtual machine monitor, the names that the manifest of its directory has, where its own
 * reader has none. -ENOMEM. */
int threads_name(struct trace *trace, const struct trace_part *part);

/* Each takes opening->input over, or leaves it to whoever closes the opening. */
int open_simpletrace(struct opening *opening, struct error *error);
int open_qemu_log(struct opening *opening, struct error *error);
int open_xentrace(struct opening *opening, struct error *error);
int open_trace_dat(struct opening *opening, struct error *error);
int open_ftrace_pages(struct opening *opening, struct error *error);
int open_ftrace_dir(struct opening *opening, struct error *error);
int open_ctf_dir(struct opening *opening, struct error *error);
