/* SPDX-License-Identifier: MIT */
#pragma once

/* Opens any number of traces as one stream of items in the order of time.
 *
 * The format of a file is recognised by its content, never by its name. A source whose times may step
 * backwards is put in order (timeline/reorder.h); several are merged (timeline/merge.h). If their
 * clocks differ, all times are converted to the host's CLOCK_MONOTONIC, in ns, with a bound on the
 * error (the items' `error_ns`). That requires that each source says how its clock relates to the
 * CLOCK_MONOTONIC of the same host, as only sources of trace directories do; otherwise opening fails,
 * and the error names the source and the reason.
 *
 * A directory with a manifest (tracedir/manifest.h) is opened by it: each of its sources is an input. A
 * source whose bytes are missing becomes a note, and the others are opened. */

#include "event/catalogue.h"
#include "event/source.h"
#include "trace/clocks.h"

struct manifest_source;
struct clock_map;

struct trace_options {
    struct reader_options reader;
    /* trace-events files, in the order in which events without names are numbered; for a trace of Xen,
     * tables in the language of schema/xen/table.h that extend the built-in one. None: uses the file
     * that QEMU installs if a trace needs it. */
    const char *const *events;
    unsigned n_events;
    /* Where to look for such a file first: paths with colons between; NULL: nowhere. */
    const char *events_path;
    const char *source; /* of recorded directories only the source of this name; NULL: all */
    bool no_header;     /* simpletrace: event numbers are places in the events files */
    /* Items of a single source come in the order of its file, whatever their times; of several, each source's do as
     * far as merging by time permits. */
    bool file_order;
    uint64_t cpu_hz;         /* rate of a time stamp counter that is not recorded; 0: not known */
    const char *xen_version; /* of the Xen that wrote a trace, "4.17"; NULL: guessed */
    const char *cpu_vendor;  /* of the host that wrote a trace, "amd", "intel"; NULL: not known */
    const char *tracefs;     /* a copied tracefs tree, for raw pages without one; NULL: none */
    /* Converts all times to the host's, even if there is one clock only; also asserts that traces
     * outside of trace directories with a clock called "monotonic" were stamped by that host. */
    bool host_time;
    /* With `host_time`: a source of a trace directory whose clock cannot be related to its host's, as one that has just
     * begun, is left out, and becomes a note. Where that are all, the trace has no items. */
    bool leave_out_unrelated;
    const char *
        runtime_dir; /* where recordings that run are registered (tracedir/registry.h); NULL: /tmp */
    /* The caller knows that what is recorded is still being recorded, though it may not be registered: what is not there yet is
     * not missing, and the caller reads it later (origin->is_live is not set). */
    bool is_live;
    /* Events are only shown, each by itself: what was left out of a perf.data need not be known, which is read once more for that. */
    bool events_only;
    const char *kallsyms; /* symbols for raw pages, instead of their tree's; NULL: those */
    /* What opening the same paths again may use of this opening (base/reopen_cache.h); NULL: nothing. Must outlive the
     * trace. */
    struct reopen_cache *cache;
    /* Clocks as they were recorded, not tightened by causes and effects (trace/clocks.h). */
    bool stated_clocks;
    /* Where what these say is kept: for other openings by this process, of whatever paths (base/reopen_cache.h), and in the
     * user's cache (base/cache_dir.h), if it took long to find. NULL: not kept. */
    struct reopen_cache *clocks;
    const char *cache_dir;
    const int
        *fd; /* what the only path names is read from this, which is duplicated; NULL: opened */
};

/* One trace as the user gave it, or one source of a trace directory. */
struct trace_input {
    const char *path; /* as given: of the directory */
    const struct manifest_source
        *recorded;                   /* tracedir/manifest.h; NULL: not of a recorded directory */
    const struct manifest *manifest; /* of the trace directory; NULL: not one */
    const struct origin *origin;     /* its first */
    unsigned first_origin;           /* its origins in the catalogue */
    unsigned n_origins;
    struct source **sources; /* its readers */
    unsigned n_sources;
    /* How its clock relates to its host's: by a clock map, or it is the host's clock itself, with an
     * error of at most `host_error_ns`. Otherwise the reason why not, a sentence about "it". */
    struct clock_map *clock_map;
    unsigned n_exchanges; /* pairs of clocks that it was made of */
    bool on_host_clock;
    uint32_t host_error_ns;
    const char *unrelated;
    const char *host; /* equal for inputs of one host; NULL: a file by itself, not known */
    bool per_cpu;     /* each reader's items are one CPU's, in order already */
    int live_fd;      /* a pipe that it reads from as it is written, or -1 */
    bool assembled;   /* the readers belong to the stages above them */
    /* Before, what is kept of its CPUs is not complete (struct origin), by its own clock. */
    int64_t complete_from;
    bool is_left_out; /* it cannot be related, and has no readers any more */
};

struct trace {
    struct catalogue catalogue;
    struct source *source; /* all of it */
    struct trace_input *inputs;
    unsigned n_inputs;
    struct source **reorders; /* stages that put in order; owned by `source` */
    unsigned n_reorders;
    /* The stage that merges all, or the one source that there is; owned by `source`. */
    const struct source *merged;
    const struct late_count
        *late; /* of the events of all inputs; NULL: they are in the order of their files */
    struct events_files *events; /* these two must outlive the readers */
    struct xen_table **xen_tables;
    unsigned n_xen_tables;
    struct manifest *manifests; /* of recorded directories */
    unsigned n_manifests;
    bool host_time; /* all times are the host's, and so are the origins' clocks */
    struct trace_clocks clocks;
    /* Sources of recorded directories, or files of them, that cannot be shown; the note of the last of them. */
    unsigned n_missing;
    const char *missing;
    const char **notes; /* what the user should know before reading; in the catalogue's arena */
    unsigned n_notes;
    /* The recorder counted lost events, of which the records need not say anything; or it lost, or may have lost, more than
     * it counted, or did not come to its end. */
    bool lost_counted, lost_uncounted;
    const char *not_ended; /* the note that it is still recorded, or was cut off; NULL: neither */
    const char *hint;      /* what the user could do to see more; NULL: nothing */
    int *pipes;            /* inputs that may be live; owned by their readers */
    unsigned n_pipes;
    bool is_piped;        /* an input is a pipe */
    struct source *ahead; /* `source`, if a thread may read ahead; otherwise NULL */
};

/* PATH "-" is standard input. -EINVAL: unknown format, clocks differ, or declarations are missing;
 * -ENOMEM; an errno from opening; each with ERROR. */
int trace_open(const char *const *paths, unsigned n, const struct trace_options *options,
               struct trace **ret_trace, struct error *error);
struct trace *trace_free(struct trace *trace);

/* True if a recording of this user is still being written into one of PATHS, N of them, as trace_open() has these.
 * RUNTIME_DIR: as in struct trace_options. */
bool trace_is_live(const char *const *paths, unsigned n, const char *runtime_dir);

/* Calls PUT for each fact about PART, from its reader and from its manifest. -ENOMEM: some are left
 * out. */
int trace_input_facts(const struct trace_input *input,
                      void (*put)(void *arg, const char *key, const char *value), void *arg);

/* Items of PART from FIRST to LAST, by its own clock, in the host's time, and by how much these may be wrong at
 * most. False: nothing relates the two clocks. For a trace that is not in the host's time already. */
struct trace_host_times {
    int64_t first, last, error_ns;
};
bool trace_input_host_times(const struct trace_input *input, int64_t first, int64_t last,
                            struct trace_host_times *ret);

/* Relates the clock of input NUMBER, whose times are converted by a map, by a copy of MAP instead. Allowed before the
 * first item is read. -ENOMEM. */
int trace_set_clock_map(struct trace *trace, unsigned number, const struct clock_map *map);

/* Whether it is of a directory that strata merge made. */
bool trace_input_is_merged(const struct trace_input *input);
/* What the timeline is that PART can be put on, in words. */
const char *trace_input_timeline(const struct trace_input *input);

/* The name of the domain of a vCPU, as recorded with PART; NULL: not known. */
const char *trace_input_domain(const struct trace_input *input, int32_t vcpu);

/* Lets a thread read ahead, where that can be (timeline/read_ahead.h): not of a pipe, whose writer uses another CPU
 * anyway. ASKS_NAMES: the borrower asks for names of threads before trace_stop_ahead(), which readers of kernels, perf and
 * CTF learn while they read; these are not read ahead then. ALWAYS: as in struct read_ahead_options. Allowed before the
 * first item is read. -ENOMEM. */
int trace_read_ahead(struct trace *trace, bool asks_names, bool always);

/* Ends that thread, if there is one: before the trace is asked for more than items and progress. */
void trace_stop_ahead(struct trace *trace);

/* The classes of the items that were lent; what is to be used while a thread may read ahead. As good as the trace. */
const struct catalogue *trace_classes(const struct trace *trace);

/* As source_next(); the error itself is trace->source->error. */
static inline int trace_next(struct trace *trace, const struct item **ret_items)
{
    return source_next(trace->source, ret_items);
}

/* As source_seek(); TIME is of the clock of the items. */
static inline void trace_seek(struct trace *trace, int64_t time)
{
    source_seek(trace->source, time);
}

/* The index of ORIGIN's input. */
unsigned trace_input_of(const struct trace *trace, const struct origin *origin);

/* The layers that TRACE shows on one timeline, a bit for each, 1 << enum layer; 0: it is of one layer, or of one
 * clock as it came and not of what was exported of several layers. */
unsigned trace_layers(const struct trace *trace);
/* True if layers do not identify the inputs, so that they need numbers. */
bool trace_needs_numbers(const struct trace *trace);
/* True if items have an error bound, because several clocks were made one. */
static inline bool trace_has_errors(const struct trace *trace)
{
    return trace->host_time && trace->n_inputs > 1;
}

/* True if times are ticks, as far as is known: the rate of a clock is not, and some formats tell it late. */
static inline bool trace_is_in_ticks(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->catalogue.n_origins && !trace->host_time; i++)
        if (trace->catalogue.origins[i]->clock.hz == 0)
            return true;
    return false;
}

/* Whether asking for more may wait for a writer: a pipe has nothing to read. */
bool trace_would_wait(const struct trace *trace);

/* Bytes read, and of how many; 0: not known. */
void trace_progress(const struct trace *trace, uint64_t *ret_done, uint64_t *ret_total);

/* Calls PUT with what the user could do to see more of an input, as is known when it has been read. */
void trace_hints(const struct trace *trace,
                 void (*put)(void *arg, const char *path, const char *hint), void *arg);

/* The default trace-events file, as a path in BUF: the first readable one of EVENTS_PATH (paths
 * separated by colons, or NULL) and of those that QEMU installs. False: there is none. */
#define TRACE_EVENTS_PATH_SIZE 4096
bool trace_find_events(const char *events_path, char buf[TRACE_EVENTS_PATH_SIZE]);

/* The number of events so far that are out of order (timeline/late.h). */
uint64_t trace_late(const struct trace *trace);
/* The newest time that was read so far, as far as that is known: not before that of any item that was lent or is held back.
 * INT64_MIN: nothing is known. */
int64_t trace_newest(const struct trace *trace);
/* Whether the order of the items so far is the same wherever reading began (reorder_is_certain()). */
bool trace_order_is_certain(const struct trace *trace);
