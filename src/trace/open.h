/* SPDX-License-Identifier: MIT */
#pragma once

/* Opening a trace of each kind; internal to trace/trace.c. */

#include "base/cpu_set.h"
#include "base/input.h"
#include "schema/trace_events/qemu_class.h"
#include "timeline/stray.h"
#include "trace/recognise.h"
#include "trace/trace.h"
#include "tracedir/manifest.h"

/* The trace-events declarations, read when the first trace needs them. */
struct events_files {
    struct events_files *next; /* of the same trace */
    bool tried;
    bool found;
    struct declarations declarations;
    struct qemu_events events;
};

/* One path on its way to its sources. */
struct open_ctx {
    struct trace *trace;
    const struct trace_options *options;
    const char *path;  /* of the trace */
    const char *given; /* as the user gave it: the same, or the trace directory that contains it */
    const struct manifest_source *recorded; /* its entry in the manifest, or NULL */
    const struct manifest *manifest;        /* the directory's, or NULL */
    /* Of a trace that goes on from directory to directory (session.c): all, of which the last one is PATH. 0: it does not. */
    const char *const *dirs;
    unsigned n_dirs;
    enum input_format kind;
    struct input input;  /* at its beginning; a directory has none (fd -1) */
    bool done;           /* already opened together with an earlier one */
    bool is_cut;         /* its data is not all that the recorder wrote */
    bool is_live;        /* its recorder runs */
    bool lost_uncounted; /* data may be missing that nothing states */
    bool is_unfinished;  /* its recorder did not come to its end, and does not run any more */
    /* The user's options, except that the end of an unfinished recording is not damage. */
    struct reader_options reader;
    struct open_ctx *others; /* those after this one */
    unsigned n_others;
    struct source **sources; /* owned */
    unsigned n_sources;
    /* Each source is one CPU's, so that what it lends is in order as far as that CPU's clock is. One
     * that steps back is shown as it is, and not sorted away. */
    bool per_cpu;
};

/* Adds the paths to open to the N entries of *OPENINGS (realloc): GIVEN itself, or the sources of the
 * trace directory GIVEN. Missing sources become notes; -ENOENT with ERROR: all are missing. */
int tracedir_expand(struct trace *trace, const struct trace_options *options, const char *given,
                    struct open_ctx **ctxs, unsigned *n, struct error *error);

/* Adds an opening for each trace in the session of LTTng at GIVEN. 0: it is none; the number of traces; or a negative errno. */
int session_expand(struct trace *trace, const struct trace_options *options, const char *given,
                   struct open_ctx **ctxs, unsigned *n, struct error *error);
/* Adds a copy of CTX to the *N of *CTXS (realloc). -ENOMEM. */
int open_ctxs_append(struct open_ctx **ctxs, unsigned *n, const struct open_ctx *ctx);

/* Notes each file of ctx->recorded, of the trace directory ctx->given, that is missing or shorter than its manifest states, and
 * sets ctx->is_cut. -ENOMEM. */
int recorded_files_check(struct open_ctx *ctx, bool keep_going);
/* Whether FILE is missing or shorter. RET_BYTES: how long it is; NULL: not asked for. */
bool recorded_file_is_cut(const struct open_ctx *ctx, const struct manifest_file *file,
                          bool *ret_is_missing, uint64_t *ret_bytes);
/* The CPUs that the manifest says were recorded, if data of some may be missing. */
void known_cpus_recorded(const struct open_ctx *ctx, struct cpu_set *ret);
/* The CPUs of a kernel of which there is no file in FILES, where the recorder did not state which it wrote; what else was left out.
 * -ENOMEM. */
struct ftrace_files;
struct left_out;
int known_cpus_missing(struct open_ctx *ctx, const struct ftrace_files *files, struct cpu_set *ret,
                       struct left_out *ret_left_out);
/* Notes that there are no data of the CPUs in MISSING, and sets ctx->is_cut, unless there are none. -ENOMEM. */
int known_cpus_note(struct open_ctx *ctx, const struct cpu_set *missing);
/* Adds a source to CTX with a loss of each CPU in MISSING of ORIGIN from TIME on, unless there are none. -ENOMEM. */
int known_cpus_lose(struct open_ctx *ctx, const struct origin *origin,
                    const struct cpu_set *missing, int64_t time);
/* Notes that threads were left out of the origins from FIRST on, by LEFT_OUT, and marks these, unless none were. -ENOMEM. */
int known_threads_note(struct open_ctx *ctx, unsigned first, const struct left_out *left_out);
/* Of ORIGIN, of perf record -a, which enables and disables its events on one CPU after the other: until the last one begins, by LEFT_OUT,
 * threads may have run unseen, and each CPU is known up to its last event. */
void known_bounds_set(struct origin *origin, const struct left_out *left_out);
/* Adds a source without items to CTX. -ENOMEM. */
int open_nothing(struct open_ctx *ctx);
/* Adds a loss of unknown size after the last item of the last of ctx's sources; where it has none, at the begin of the recording.
 * -ENOMEM. */
int recorded_cut_add(struct open_ctx *ctx);

/* Notes that SOURCE is not shown because of ERROR. 0, -ENOMEM. */
int recorded_leave_out(struct trace *trace, const struct manifest_source *source,
                       const struct error *error);

/* Keeps a printf-like sentence for the user. -ENOMEM. */
int trace_note(struct trace *trace, const char *format, ...) _printf_(2, 3);
/* … that says why a source, or a file of it, cannot be shown: counts it as missing. -ENOMEM. */
int trace_note_missing(struct trace *trace, const char *format, ...) _printf_(2, 3);

/* Takes ownership of SOURCE. -ENOMEM. */
int open_ctx_add(struct open_ctx *ctx, struct source *source);
/* Takes ownership of the N sources and of the array (malloc). */
void open_ctx_set(struct open_ctx *ctx, struct source **sources, unsigned n);

/* The declarations that were given or are installed. NEEDED: it is an error if there are none;
 * otherwise *ret_events is then NULL. */
int events_files_get(struct events_files *files, const struct trace_options *options, bool needed,
                     const char *path, const struct qemu_events **ret_events, struct error *error);
/* The same by hand: adds what the file PATH declares, and, when all is added, makes it of use. */
int events_files_add(struct events_files *files, const char *path, struct error *error);
int events_files_finish(struct events_files *files, struct error *error);
void events_files_done(struct events_files *files);

/* Finds how the clock of PART, which is open, relates to its host's clock. -ENOMEM. */
int host_time_find(struct trace *trace, struct trace_input *input);
/* Call when all inputs are open. Decides whether their clocks are the same; if not, or with the option `host_time`,
 * converts all times to the host's clock. -EINVAL with ERROR: they cannot be put on one timeline;
 * -ENOMEM. */
int host_time_choose_timebase(struct trace *trace, const struct trace_options *options,
                              struct error *error);

/* Sets the vCPU of events whose thread runs one, according to the manifest of PART. -ENOMEM. */
int vcpus_identify(struct trace *trace, struct trace_input *input);

/* Tells what reads its items how exact durations are that INPUT's clock map converts. */
void trace_set_duration_error(struct trace *trace, const struct trace_input *input);

/* Notes from when on INPUT is complete, if its CPUs begin at different times, as the beginnings of their files were released
 * (record/retention.h). */
void trace_note_begins(struct trace *trace, struct trace_input *input);
/* Tells that, and when its recording ended, to what reads its items, by the clock of these. */
void trace_set_bounds(struct trace *trace, const struct trace_input *input);

/* The times that events of INPUT can have, as its sources lend them: while it was recorded, and SOURCE_STRAY_NS more. */
struct stray_bounds trace_bound_times(const struct trace *trace, const struct trace_input *input);

/* Gives the threads of PART, of a virtual machine monitor, the names that the manifest of its directory has, where its own
 * reader has none. -ENOMEM. */
int threads_name(struct trace *trace, const struct trace_input *input);

/* Each takes ownership of ctx->input, or leaves it to the caller. */
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
