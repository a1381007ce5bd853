/* SPDX-License-Identifier: MIT */
#pragma once

/* Sinks that write the formats of other tools.
 *
 * A sink is opened, gets all items run by run, and is finished; then its target is complete. It may hold memory per
 * event class, thread and CPU, but not per event. If a format cannot represent a value (such as a float), the sink
 * writes the nearest representation, and never leaves it out. Losses are written in the way of the format. Not
 * thread-safe. */

#include "analysis/spans/span_rule.h"
#include "base/atomic_output.h"
#include "base/error.h"
#include "base/text.h"
#include "event/catalogue.h"
#include "event/sink.h"
#include "tables/calendar.h"
#include "tables/sink.h"

struct clickhouse_settings;
struct trace;

/* Everything in it outlives the sink. */
struct export_options {
    struct text *out; /* ATOMIC_OUTPUT_STREAM: the caller checks its error */
    int fd;           /* ATOMIC_OUTPUT_FILE */
    const char *path; /* ATOMIC_OUTPUT_FILE, ATOMIC_OUTPUT_DIRECTORY */
    const char *name; /* the target's final name, for messages */
    /* Classes and origins. Their number grows while items are read. */
    const struct catalogue *catalogue;
    /* The number of an origin's trace, if several traces are exported as one. NULL: one trace. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    bool lines_numbered;      /* lines of text have the number, as in a report */
    struct calendar calendar; /* without moments, the time of day is unknown */
    /* Exports the items' error_ns, because several clocks were converted to one. */
    bool errors;
    const struct span_rule *rules; /* rules whose spans a timeline shows besides its own */
    unsigned n_rules;
    bool spreadsheet;   /* CSV: as in struct view_options */
    unsigned n_threads; /* threads that a format may use, including the caller's */
    /* For tables (tables/sink.h): the source of clocks, facts and problems, and the error that ended the reading early,
     * which is read when the export finishes. May be NULL. */
    const struct trace *trace;
    const struct error *problem;
    const char *host;     /* host of the trace, for formats that hold traces of many hosts */
    const char *trace_id; /* identifies the trace in these formats; "" if unknown */
    const struct clickhouse_settings
        *clickhouse; /* export/clickhouse/clickhouse.h; only for this format */
};

enum export_trait {
    EXPORT_TEXT = 1,
    EXPORT_REMOTE = 2, /* sent to a server: no local file is written, and `target` is unused */
    EXPORT_HOSTS = 4,  /* holds the traces of many hosts, and needs options->host */
    EXPORT_SPANS = 8,  /* has spans of options->rules */
    EXPORT_NAMES = 16, /* asks for names of threads before it is finished */
    /* No thread may read ahead: it has its own threads, or asks the reader for more than items. */
    EXPORT_ALONE = 32,
    /* Ticks of a clock with unknown rate cannot be told from nanoseconds: by any reader, or by other readers than
     * strata. */
    EXPORT_NEEDS_RATE = 64,
    EXPORT_HIDES_RATE = 128,
    /* Cannot hold events with unknown times, or unknown threads. */
    EXPORT_NEEDS_TIMES = 256,
    EXPORT_NEEDS_THREADS = 512,
};

struct export_format {
    const char *name;
    enum atomic_output_kind target;
    unsigned traits; /* enum export_trait */
    /* True if an existing directory is an export in this format, which another export may replace. NULL if the format
     * is a file. */
    bool (*is_export)(const char *path);
    /* 0, or a negative errno with ERROR. */
    int (*open)(const struct export_options *options, struct sink **ret_sink, struct error *error);
};

/* The formats, terminated by one without a name; and only their names in the same order, terminated by NULL. */
extern const struct export_format export_formats[];
extern const char *const export_names[];

/* The sinks. Each is in its own file, whose head describes what it writes. */
int export_clickhouse_open(const struct export_options *options, struct sink **ret_sink,
                           struct error *error);
int export_csv_open(const struct export_options *options, struct sink **ret_sink,
                    struct error *error);
int export_ctf_open(const struct export_options *options, struct sink **ret_sink,
                    struct error *error);
/* True if the directory PATH contains an export in CTF and nothing else. */
bool export_ctf_is_export(const char *path);
int export_parquet_open(const struct export_options *options, struct sink **ret_sink,
                        struct error *error);
int export_perfetto_open(const struct export_options *options, struct sink **ret_sink,
                         struct error *error);
int export_simpletrace_open(const struct export_options *options, struct sink **ret_sink,
                            struct error *error);
int export_sqlite_open(const struct export_options *options, struct sink **ret_sink,
                       struct error *error);
int export_trace_dat_open(const struct export_options *options, struct sink **ret_sink,
                          struct error *error);
int export_trace_events_open(const struct export_options *options, struct sink **ret_sink,
                             struct error *error);

/* Converts a time to nanoseconds of the export's only clock, or to ticks if the rate is unknown. All sinks use this
 * function, so that clocks are converted in one place. */
static inline int64_t export_ns(const struct item *item, int64_t time)
{
    return clock_to_ns(&item->origin->clock, time);
}

/* For formats without negative times: a time in whole seconds, not after NS, from which times count. 0 unless NS is
 * negative. In ns, it is at least INT64_MIN. */
static inline int64_t export_base_s(int64_t ns)
{
    return ns < 0 ? MAX(ns / 1000000000 - 1, INT64_MIN / 1000000000) : 0;
}

/* Nanoseconds from BASE to NS; 0 if NS is earlier. */
static inline uint64_t export_since(int64_t ns, int64_t base)
{
    return ns > base ? (uint64_t)ns - (uint64_t)base : 0;
}

/* Makes the options of a sink of tables from OPTIONS. WANTED: the fixed tables with rows. */
void export_tables_options(const struct export_options *options, unsigned wanted,
                           struct tables_options *ret);

/* Sets ERROR to "out of memory". Returns -ENOMEM. */
int export_no_memory(struct error *error);
