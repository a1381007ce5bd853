/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens any number of traces as one stream of items in the order of time.
 *
 * The format of a file is recognised by its content, not by its name. A source whose times may step backwards is put in
 * order (timeline/reorder.h). Several sources are merged (timeline/merge.h). If their clocks differ, all times are
 * converted to the host's CLOCK_MONOTONIC, in ns, with a bound on the error (`error_ns` of the items). Each source must
 * then state how its clock relates to the CLOCK_MONOTONIC of the same host, which only sources of trace directories do.
 * If one does not, opening fails, and the error names the source and the reason.
 *
 * If a directory has a manifest (tracedir/manifest.h), each source in the manifest is an input. A source whose bytes
 * are missing becomes a note, and the others are opened. */

#include "event/catalogue.h"
#include "event/source.h"
#include "trace/clocks.h"

struct manifest_source;
struct clock_map;

struct trace_options {
    struct reader_options reader;
    /* trace-events files, in the order in which events without names are numbered. For a trace of Xen: tables in the
     * language of schema/xen/table.h that extend the built-in table. With 0 files, the file that QEMU installs is used
     * if a trace needs it. */
    const char *const *events;
    unsigned n_events;
    /* Where to look for such a file first, as paths separated by colons, or NULL. */
    const char *events_path;
    /* Open only the source of this name from recorded directories; NULL: all sources. */
    const char *source;
    bool no_header; /* simpletrace: event numbers are places in the events files */
    /* Lends the items of a single source in the order of its file, whatever their times are. Several sources keep their
     * own orders as far as merging by time permits. */
    bool file_order;
    uint64_t cpu_hz; /* rate of a time stamp counter if the trace does not state it; 0 if unknown */
    const char *xen_version; /* version of Xen that wrote the trace ("4.17"), or NULL to guess it */
    /* Of the host that wrote the trace ("amd", "intel"), or NULL if unknown. */
    const char *cpu_vendor;
    /* Copy of a tracefs tree that decodes raw pages without a tree of their own; may be NULL. */
    const char *tracefs;
    /* Converts all times to the host's, even if there is only one clock. Also asserts that clocks called "monotonic" in
     * traces outside of trace directories are that host's. */
    bool host_time;
    /* With `host_time`: leaves out sources of trace directories whose clock cannot be related to the host's yet, such
     * as sources that have just begun, and notes them. If all are left out, the trace has no items. */
    bool leave_out_unrelated;
    const char *
        runtime_dir; /* where running recordings are registered (tracedir/registry.h); NULL: /tmp */
    /* The caller knows that the recording still runs, though it may not be registered. Data that is not there yet is
     * not missing; the caller reads it later. Does not set origin->is_live. */
    bool is_live;
    /* Events are only shown, each by itself. Then opening does not read a perf.data twice to find what was left out of
     * it. */
    bool events_only;
    /* Symbols for raw pages instead of the symbols of their tree; may be NULL. */
    const char *kallsyms;
    /* What this opening learns, for later openings of the same paths (base/reopen_cache.h). May be NULL. Must outlive
     * the trace. */
    struct reopen_cache *cache;
    /* Uses the clocks as recorded, not tightened by causes and effects (trace/clocks.h). */
    bool stated_clocks;
    /* Where tightened clocks are kept: for other openings in this process, of any paths (base/reopen_cache.h), and in
     * the user's cache (base/cache_dir.h) if finding them took long. NULL: not kept. */
    struct reopen_cache *clocks;
    const char *cache_dir;
    const int *fd; /* read instead of the only path, and duplicated; NULL: the path is opened */
};

/* A trace as the user gave it, or one source of a trace directory. */
struct trace_input {
    const char *path; /* as given; for a source, the path of the directory */
    const struct manifest_source
        *recorded; /* its entry in the manifest; NULL outside of recorded directories */
    const struct manifest *manifest; /* of the trace directory, or NULL */
    const struct origin *origin;     /* its first origin */
    unsigned first_origin;           /* its origins in the catalogue */
    unsigned n_origins;
    struct source **sources; /* its readers */
    unsigned n_sources;
    /* How its clock relates to the host's: by a clock map, or it is the host's clock with an error of at most
     * `host_error_ns`. Otherwise `unrelated` has the reason, a sentence about "it". */
    struct clock_map *clock_map;
    unsigned n_exchanges; /* pairs of clocks that the map was made of */
    bool on_host_clock;
    uint32_t host_error_ns;
    const char *unrelated;
    const char *host; /* equal for inputs of one host; NULL if unknown, as for a file by itself */
    bool per_cpu;     /* each reader has the items of one CPU, already in order */
    int live_fd;      /* a pipe from which it reads while it is written, or -1 */
    bool assembled;   /* stages own the readers */
    /* Before this time the kept data of its CPUs are incomplete (struct origin). In its own clock. */
    int64_t complete_from;
    bool is_left_out; /* its clock is unrelated; its readers were closed */
};

struct trace {
    struct catalogue catalogue;
    struct source *source; /* the whole trace */
    struct trace_input *inputs;
    unsigned n_inputs;
    struct source **reorders; /* stages that put readers in order; owned by `source` */
    unsigned n_reorders;
    /* The stage that merges all readers, or the only source; owned by `source`. */
    const struct source *merged;
    const struct late_count
        *late; /* late events of all inputs; NULL if items come in the order of their files */
    struct events_files *events; /* this and `xen_tables` must outlive the readers */
    struct xen_table **xen_tables;
    unsigned n_xen_tables;
    struct manifest *manifests; /* of recorded directories */
    unsigned n_manifests;
    bool host_time; /* all times are the host's, and the origins' clocks are the host's clock */
    struct trace_clocks clocks;
    /* Sources of recorded directories, or their files, that cannot be shown, and the note of the last of them. */
    unsigned n_missing;
    const char *missing;
    const char **notes; /* what the user should know before reading; in the catalogue's arena */
    unsigned n_notes;
    /* The recorder counted lost events, which the records need not state. Or more was or may have been lost than was
     * counted, or the recorder did not end the recording. */
    bool lost_counted, lost_uncounted;
    const char *not_ended; /* note that it is still being recorded or was cut off, or NULL */
    const char *hint;      /* what the user could do to see more, or NULL */
    int *pipes;            /* file descriptors of inputs that may be live; owned by their readers */
    unsigned n_pipes;
    bool is_piped;        /* an input is a pipe */
    struct source *ahead; /* `source` if a thread may read ahead, otherwise NULL */
};

/* PATH "-" is standard input. Errors, with ERROR: -EINVAL if a format is unknown, clocks differ or declarations are
 * missing; -ENOMEM; an errno of opening. */
int trace_open(const char *const *paths, unsigned n, const struct trace_options *options,
               struct trace **ret_trace, struct error *error);
struct trace *trace_free(struct trace *trace);

/* True if this user is still recording into one of the N PATHS, which may be any path that trace_open() accepts.
 * RUNTIME_DIR: as in struct trace_options. */
bool trace_is_live(const char *const *paths, unsigned n, const char *runtime_dir);

/* Calls PUT for each fact about INPUT from its reader and its manifest. -ENOMEM if some facts are left out. */
int trace_input_facts(const struct trace_input *input,
                      void (*put)(void *arg, const char *key, const char *value), void *arg);

/* Converts the times FIRST and LAST of INPUT's clock to the host's time, with their largest error. False if the clocks
 * are unrelated. For a trace whose times are not the host's already. */
struct trace_host_times {
    int64_t first, last, error_ns;
};
bool trace_input_host_times(const struct trace_input *input, int64_t first, int64_t last,
                            struct trace_host_times *ret);

/* Relates the clock of input NUMBER by a copy of MAP. The input must be converted by a map. Call before the first item
 * is read. -ENOMEM. */
int trace_set_clock_map(struct trace *trace, unsigned number, const struct clock_map *map);

/* True if INPUT is from a directory that strata merge made. */
bool trace_input_is_merged(const struct trace_input *input);
/* The timeline on which INPUT can be put, in words. */
const char *trace_input_timeline(const struct trace_input *input);

/* The name of the domain of a vCPU, as recorded with INPUT, or NULL if unknown. */
const char *trace_input_domain(const struct trace_input *input, int32_t vcpu);

/* Lets a thread read ahead if possible (timeline/read_ahead.h). Pipes are not read ahead, because their writer uses
 * another CPU anyway. ASKS_NAMES: the caller asks for names of threads before trace_stop_ahead(). Readers of kernels,
 * perf and CTF learn names while they read, so these are not read ahead then. ALWAYS: as in struct read_ahead_options.
 * Call before the first item is read. -ENOMEM. */
int trace_read_ahead(struct trace *trace, bool asks_names, bool always);

/* Ends that thread, if there is one. Call before asking the trace for anything but items, classes and progress. */
void trace_stop_ahead(struct trace *trace);

/* The classes of the items lent so far. Use this while a thread may read ahead. Valid as long as the trace. */
const struct catalogue *trace_classes(const struct trace *trace);

/* As source_next(). The error is in trace->source->error. */
static inline int trace_next(struct trace *trace, const struct item **ret_items)
{
    return source_next(trace->source, ret_items);
}

/* As source_seek(). TIME is in the clock of the items. */
static inline void trace_seek(struct trace *trace, int64_t time)
{
    source_seek(trace->source, time);
}

/* The index of ORIGIN's input. */
unsigned trace_input_of(const struct trace *trace, const struct origin *origin);

/* The layers that TRACE shows on one timeline, as bits 1 << enum layer. 0 if it has one layer only, or one clock that
 * was not converted and is not from an export of several layers. */
unsigned trace_layers(const struct trace *trace);
/* True if inputs need numbers because layers do not identify them. */
bool trace_needs_numbers(const struct trace *trace);
/* True if items have an error bound because several clocks were converted to one. */
static inline bool trace_has_errors(const struct trace *trace)
{
    return trace->host_time && trace->n_inputs > 1;
}

/* True if, as far as is known, times are ticks because the rate of a clock is unknown. Some formats state the rate
 * late. */
static inline bool trace_is_in_ticks(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins && !trace->host_time; i++)
        if (trace->catalogue.origins[i]->clock.hz == 0)
            return true;
    return false;
}

/* True if asking for more items may wait for a writer, because a pipe has no data. */
bool trace_would_wait(const struct trace *trace);

/* Bytes read so far and in total; a total of 0 is unknown. */
void trace_progress(const struct trace *trace, uint64_t *ret_done, uint64_t *ret_total);

/* Calls PUT for each input with what the user could do to see more of it. Call after reading it. */
void trace_hints(const struct trace *trace,
                 void (*put)(void *arg, const char *path, const char *hint), void *arg);

/* Finds the default trace-events file: the first readable one in EVENTS_PATH (paths separated by colons, or NULL), then
 * of the files that QEMU installs. Writes its path to BUF. False if there is none. */
#define TRACE_EVENTS_PATH_SIZE 4096
bool trace_find_events(const char *events_path, char buf[TRACE_EVENTS_PATH_SIZE]);

/* The number of events out of order so far (timeline/late.h). */
uint64_t trace_late(const struct trace *trace);
/* The newest time read so far, as far as it is known. No item that was lent or is held back is newer. INT64_MIN if
 * unknown. */
int64_t trace_newest(const struct trace *trace);
/* True if the order of the items so far does not depend on where reading began (reorder_is_certain()). */
bool trace_order_is_certain(const struct trace *trace);
