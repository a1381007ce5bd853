/* SPDX-License-Identifier: MIT */
#pragma once

/* The steps that open a trace of each kind. Internal to trace/. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "schema/trace_events/qemu_class.h"
#include "timeline/stray.h"
#include "trace/recognise.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

/* trace-events declarations, read when a trace first needs them. */
struct events_files {
    struct events_files *next; /* of the same trace */
    bool tried;
    bool found;
    struct declarations declarations;
    struct qemu_events events;
};

/* A path that is being opened, until it has its sources. */
struct open_ctx {
    struct trace *trace;
    const struct trace_options *options;
    const char *path;  /* of the trace */
    const char *given; /* as the user gave it: PATH, or the trace directory that contains it */
    const struct manifest_source *recorded; /* its entry in the manifest, or NULL */
    const struct manifest *manifest;        /* the directory's, or NULL */
    /* The directories of a trace that continues from one directory to the next (session.c). PATH is the last one.
     * n_dirs is 0 for any other trace. */
    const char *const *dirs;
    unsigned n_dirs;
    enum input_format kind;
    struct input input;  /* at its beginning; fd is -1 for a directory */
    bool done;           /* already opened together with an earlier path */
    bool is_cut;         /* some data that the recorder wrote is missing */
    bool is_live;        /* its recorder runs */
    bool lost_uncounted; /* data may be missing without a statement of it */
    bool is_unfinished;  /* its recorder neither ended the recording nor runs any more */
    /* The user's options, except that a cut-off end of an unfinished recording does not count as damage. */
    struct reader_options reader;
    struct open_ctx *others; /* those after this one */
    unsigned n_others;
    struct source **sources; /* owned */
    unsigned n_sources;
    /* Each source has the events of one CPU, in the order of its clock. A clock that steps back is shown as it is, not
     * sorted. */
    bool per_cpu;
};

/* Adds what GIVEN names to the N entries of *CTXS (realloc): GIVEN itself, or the sources of the trace directory GIVEN.
 * Missing sources become notes. -ENOENT with ERROR if all are missing. */
int tracedir_expand(struct trace *trace, const struct trace_options *options, const char *given,
                    struct open_ctx **ctxs, unsigned *n, struct error *error);

/* Adds an entry for each trace in the LTTng session GIVEN. Returns the number of traces, 0 if GIVEN is not a session,
 * or a negative errno. */
int session_expand(struct trace *trace, const struct trace_options *options, const char *given,
                   struct open_ctx **ctxs, unsigned *n, struct error *error);
/* Adds a copy of CTX to the N entries of *CTXS (realloc). -ENOMEM. */
int open_ctxs_append(struct open_ctx **ctxs, unsigned *n, const struct open_ctx *ctx);

/* Notes each file of ctx->recorded that is missing from the trace directory ctx->given, or is shorter than its manifest
 * states. Sets ctx->is_cut if there is one. -ENOMEM. */
int recorded_files_check(struct open_ctx *ctx, bool keep_going);
/* True if FILE is missing or shorter than stated. RET_BYTES: its length; may be NULL. */
bool recorded_file_is_cut(const struct open_ctx *ctx, const struct manifest_file *file,
                          bool *ret_is_missing, uint64_t *ret_bytes);
/* The CPUs that the manifest says were recorded. Empty if no data can be missing. */
void known_cpus_recorded(const struct open_ctx *ctx, struct cpu_set *ret);
/* Finds the CPUs of a kernel without a file in FILES, if the recorder did not state which files it wrote, and what else
 * was left out. -ENOMEM. */
struct ftrace_files;
struct left_out;
int known_cpus_missing(struct open_ctx *ctx, const struct ftrace_files *files, struct cpu_set *ret,
                       struct left_out *ret_left_out);
/* If MISSING is not empty, notes that the data of its CPUs are missing, and sets ctx->is_cut. -ENOMEM. */
int known_cpus_note(struct open_ctx *ctx, const struct cpu_set *missing);
/* Unless MISSING is empty, adds a source to CTX that has a loss from TIME on for each CPU in it, of ORIGIN. -ENOMEM. */
int known_cpus_lose(struct open_ctx *ctx, const struct origin *origin,
                    const struct cpu_set *missing, int64_t time);
/* If LEFT_OUT says that threads are missing, notes it, and marks the origins from number FIRST on. -ENOMEM. */
int known_threads_note(struct open_ctx *ctx, unsigned first, const struct left_out *left_out);
/* Limits what is known of ORIGIN, a recording of perf record -a. perf enables and disables events on one CPU after the
 * other. So threads may have run unseen until the last CPU begins (LEFT_OUT), and each CPU is known only up to its last
 * event. */
void known_bounds_set(struct origin *origin, const struct left_out *left_out);
/* Adds a source without items to CTX. -ENOMEM. */
int open_nothing(struct open_ctx *ctx);
/* Adds a loss of unknown size after the last item of the last source of CTX, or at the beginning of the recording if
 * the source has no items. -ENOMEM. */
int recorded_cut_add(struct open_ctx *ctx);

/* Notes that the source is not shown because of ERROR. 0, -ENOMEM. */
int recorded_leave_out(struct trace *trace, const struct manifest_source *source,
                       const struct error *error);

/* Keeps a sentence for the user, in printf format. -ENOMEM. */
int trace_note(struct trace *trace, const char *format, ...) _printf_(2, 3);
/* Keeps a sentence that says why a source or one of its files cannot be shown, and counts it as missing. -ENOMEM. */
int trace_note_missing(struct trace *trace, const char *format, ...) _printf_(2, 3);

/* Takes ownership of SOURCE. -ENOMEM. */
int open_ctx_add(struct open_ctx *ctx, struct source *source);
/* Takes ownership of the N sources and of the array (malloc). */
void open_ctx_set(struct open_ctx *ctx, struct source **sources, unsigned n);

/* Gets the declarations that the user gave, or the installed ones. If there are none, fails if NEEDED, and otherwise
 * sets *ret_events to NULL. */
int events_files_get(struct events_files *files, const struct trace_options *options, bool needed,
                     const char *path, const struct qemu_events **ret_events, struct error *error);
/* Reads declarations from chosen files instead: add each file PATH, then finish. */
int events_files_add(struct events_files *files, const char *path, struct error *error);
int events_files_finish(struct events_files *files, struct error *error);
void events_files_done(struct events_files *files);

/* Finds how the clock of INPUT, which is open, relates to its host's clock. -ENOMEM. */
int host_time_find(struct trace *trace, struct trace_input *input);
/* Decides whether all clocks are the same, after all inputs were opened. If not, or with the option `host_time`,
 * converts all times to the host's clock. -EINVAL with ERROR if the clocks are unrelated; -ENOMEM. */
int host_time_choose_timebase(struct trace *trace, const struct trace_options *options,
                              struct error *error);

/* Sets the vCPU of events by their thread, as the manifest of INPUT lists vCPU threads. -ENOMEM. */
int vcpus_identify(struct trace *trace, struct trace_input *input);

/* Sets how exact durations are in the origins of INPUT, after conversion by its clock map. */
void trace_set_duration_error(struct trace *trace, const struct trace_input *input);

/* Sets from when on INPUT is complete, if its CPUs begin at different times because the beginnings of their files were
 * released (record/retention.h). */
void trace_note_begins(struct trace *trace, struct trace_input *input);
/* Sets in the origins of INPUT when their recording began and ended, and from when on they are complete, by the clock
 * of the items. */
void trace_set_bounds(struct trace *trace, const struct trace_input *input);

/* The times that events of INPUT can have, by the clock of its sources: the time of recording, extended by
 * SOURCE_STRAY_NS. */
struct stray_bounds trace_bound_times(const struct trace *trace, const struct trace_input *input);

/* Names the threads of INPUT, a virtual machine monitor, by the manifest of its directory, if its reader has no names.
 * -ENOMEM. */
int threads_name(struct trace *trace, const struct trace_input *input);

/* Each function takes ownership of ctx->input, or leaves it to the caller. */
int open_simpletrace(struct open_ctx *ctx, struct error *error);
int open_qemu_log(struct open_ctx *ctx, struct error *error);
int open_xentrace(struct open_ctx *ctx, struct error *error);
int open_trace_dat(struct open_ctx *ctx, struct error *error);
int open_kernel_text(struct open_ctx *ctx, struct error *error);
int open_perf_data(struct open_ctx *ctx, struct error *error);
int open_ftrace_pages(struct open_ctx *ctx, struct error *error);
int open_ftrace_dir(struct open_ctx *ctx, struct error *error);
int open_ctf_dir(struct open_ctx *ctx, struct error *error);
int open_no_events(struct open_ctx *ctx, struct error *error);
