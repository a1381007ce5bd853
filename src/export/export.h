/* SPDX-License-Identifier: MIT */
#pragma once

/* Sinks that write the formats of other tools.
 *
 * A sink is opened, shown all items one run after the other, and finished; then its target is whole.
 * It may hold memory by event class, by thread and by CPU, never by event. What a target cannot hold
 * as it is (a float in a format without one) is written in the nearest form that it has, never left
 * out; losses go into the target in its own way. Not thread-safe. */

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

/* All of it outlives the sink. */
struct export_options {
    struct text *out; /* ATOMIC_OUTPUT_STREAM: its error is the caller's to look at */
    int fd;           /* ATOMIC_OUTPUT_FILE */
    const char *path; /* ATOMIC_OUTPUT_FILE, ATOMIC_OUTPUT_DIRECTORY */
    const char *name; /* what messages call it: the name that it gets when it is whole */
    /* Classes and origins, which grow in number while items are read. */
    const struct catalogue *catalogue;
    /* The number of the trace of an origin, if several traces are exported as one. NULL: one trace. */
    unsigned (*origin_number)(void *arg, const struct origin *origin);
    void *origin_arg;
    bool lines_numbered;      /* lines of text name the number, as those of a report do */
    struct calendar calendar; /* without moments, the time of day is not known */
    /* Several clocks were converted to one: export the items' error_ns. */
    bool errors;
    const struct span_rule *rules; /* whose spans a timeline shows beside its own */
    unsigned n_rules;
    bool spreadsheet;   /* CSV: as in struct view_options */
    unsigned n_threads; /* that formats which can may use, the caller's among them */
    /* For tables (tables/sink.h). What their clocks, facts and problems are read from, and what ended the reading before
     * the end; read when the export finishes. NULL: none. */
    const struct trace *trace;
    const struct error *problem;
    const char *host;     /* whose trace it is; of formats that are of many hosts */
    const char *trace_id; /* of these formats: the same for the same trace; "": not known */
    const struct clickhouse_settings
        *clickhouse; /* export/clickhouse/clickhouse.h; of that format */
};

enum export_trait {
    EXPORT_TEXT = 1,
    EXPORT_REMOTE = 2, /* sent to a server: nothing is written here, and `target` does not matter */
    EXPORT_HOSTS = 4,  /* holds the traces of many hosts: options->host is needed */
    EXPORT_SPANS = 8,  /* has spans of options->rules */
    EXPORT_NAMES = 16, /* asks for names of threads before it is finished */
    /* Nothing reads ahead of it: it has threads of its own, or asks the reader for more than items as it goes. */
    EXPORT_ALONE = 32,
    /* Times that are ticks of a clock of unknown rate cannot be told from nanoseconds: by nobody, or by other readers than strata. */
    EXPORT_NEEDS_RATE = 64,
    EXPORT_HIDES_RATE = 128,
    /* Has no events whose times, or threads, are not known. */
    EXPORT_NEEDS_TIMES = 256,
    EXPORT_NEEDS_THREADS = 512,
};

struct export_format {
    const char *name;
    enum atomic_output_kind target;
    unsigned traits; /* enum export_trait */
    /* True if an existing directory is an export in this format, so that another may replace it; NULL: the format is
     * a file. */
    bool (*is_export)(const char *path);
    /* 0, or a negative errno with ERROR. */
    int (*open)(const struct export_options *options, struct sink **ret_sink, struct error *error);
};

/* Ended by one without a name; the names alone, in the same order, ended by NULL. */
extern const struct export_format export_formats[];
extern const char *const export_names[];

/* The sinks, each in a file of its own that opens with what it writes. */
int export_clickhouse_open(const struct export_options *options, struct sink **ret_sink,
                           struct error *error);
int export_csv_open(const struct export_options *options, struct sink **ret_sink,
                    struct error *error);
int export_ctf_open(const struct export_options *options, struct sink **ret_sink,
                    struct error *error);
/* True if the directory PATH is an export in CTF and nothing else. */
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

/* The time of an item in nanoseconds of the one clock that the whole export is in (ticks where no
 * rate is known). All sinks take their times from here, so that clocks which are related to each
 * other can be brought to one in one place. */
static inline int64_t export_ns(const struct item *item, int64_t time)
{
    return clock_to_ns(&item->origin->clock, time);
}

/* A time in whole seconds not after NS, where times before 0 are counted from, for formats that have none: 0 unless NS
 * is negative. In ns, it is no less than INT64_MIN. */
static inline int64_t export_base_s(int64_t ns)
{
    return ns < 0 ? MAX(ns / 1000000000 - 1, INT64_MIN / 1000000000) : 0;
}

/* From BASE to NS, nanoseconds; 0 where NS is before it. */
static inline uint64_t export_since(int64_t ns, int64_t base)
{
    return ns > base ? (uint64_t)ns - (uint64_t)base : 0;
}

/* What OPTIONS mean to a sink of tables, of which WANTED have rows. */
void export_tables_options(const struct export_options *options, unsigned wanted,
                           struct tables_options *ret);

/* Sets ERROR to "out of memory". Returns -ENOMEM. */
int export_no_memory(struct error *error);
