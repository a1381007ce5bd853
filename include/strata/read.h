/* SPDX-License-Identifier: MIT */
#ifndef STRATA_READ_H
#define STRATA_READ_H

/* libstrata-read: reads every trace that Strata can read, event by event.
 *
 *     struct strata_reader *reader = strata_reader_new();
 *     int r = strata_reader_add(reader, "trace.dat");
 *
 *     while (r >= 0 && (r = strata_reader_next(reader)) > 0) {
 *         const struct strata_reader_item *item = strata_reader_item(reader);
 *
 *         if (item->kind == STRATA_READER_EVENT)
 *             printf("%" PRId64 " %s\n", item->time, item->event_class->name);
 *     }
 *     if (r < 0)
 *         fprintf(stderr, "%s\n", strata_reader_error(reader));
 *     strata_reader_free(reader);
 *
 * A reader is a cursor over items. An item is an event, or a loss: events that are missing.
 *
 * Errors: a function that can fail returns 0 or more on success and a negative errno on failure, and leaves
 * a sentence for strata_reader_error(). What each may return is said where it is declared.
 * Ownership: what a reader returns belongs to it. An item, its values and their bytes are valid until the
 * next strata_reader_next(); sources, classes, fields and their strings until strata_reader_free(). Strings
 * that are passed in are copied.
 * Threads: a reader may be used by one thread at a time. Different readers may be used by different threads
 * at the same time. Not in signal handlers.
 * Side effects: none on the process. The library reads no environment variables, changes no signals, locale
 * or working directory, and prints nothing.
 * Input is not trusted: damaged or hostile input gives an error, never undefined behaviour.
 * Compatibility: functions and enumerators are only added, and structures grow at their ends, within a major
 * version of the library. Link with `pkg-config --libs strata-read`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strata/api.h>

#ifdef __cplusplus
extern "C" {
#endif

struct strata_reader;

/* The version of the library that is running: "0.1.0". */
STRATA_API const char *strata_read_version(void);

/* ---- Input ---- */

/* A reader without input. NULL: out of memory. */
STRATA_API struct strata_reader *strata_reader_new(void);
/* Closes all files and frees the reader. Does nothing with NULL. */
STRATA_API void strata_reader_free(struct strata_reader *reader);

/* The functions of this section and of the next must be called before the first strata_reader_open() or
 * strata_reader_next(). They return 0, -EBUSY after it, -ENOMEM, or -EINVAL for a value that cannot be
 * parsed. */

/* Adds a trace: a file, a directory (recorded by Strata, or one that holds a trace), or "-" for standard
 * input. The format is detected from the content. With several traces, or a recorded directory of several
 * sources, the items of all are merged by time; where their clocks differ, times are converted to
 * CLOCK_MONOTONIC of the recording host, and opening fails with -EINVAL if they cannot be. */
STRATA_API int strata_reader_add(struct strata_reader *reader, const char *path);
/* Adds a file that declares events, for traces that do not: a trace-events file of QEMU, an event table or
 * a formats file of Xen. Default: the trace-events-all that QEMU installs. */
STRATA_API int strata_reader_add_events(struct strata_reader *reader, const char *path);
/* Reads only the source of this name from trace directories. */
STRATA_API int strata_reader_set_source(struct strata_reader *reader, const char *name);
/* Continues after damaged input where the format permits it, and returns what was skipped as a loss.
 * Default: false, damage ends the reading with an error after everything that comes before it. */
STRATA_API int strata_reader_set_keep_going(struct strata_reader *reader, bool keep_going);
/* Converts all times to CLOCK_MONOTONIC of the recording host, also those of a single source. */
STRATA_API int strata_reader_set_host_time(struct strata_reader *reader, bool host_time);
/* Leaves clocks as they were recorded. Default: false, those of a recorded directory are tightened by causes and effects, as
 * the commands do, for which all of it is read when it is opened. What that finds is kept in the user's cache
 * ($XDG_CACHE_HOME/strata, or ~/.cache/strata) if it takes long. */
STRATA_API int strata_reader_set_stated_clocks(struct strata_reader *reader, bool stated_clocks);
/* Rate in Hz of a time stamp counter, for traces that do not record it. */
STRATA_API int strata_reader_set_cpu_hz(struct strata_reader *reader, uint64_t hz);
/* The version of the Xen that wrote a trace, "4.17". Default: guessed from the records. */
STRATA_API int strata_reader_set_xen_version(struct strata_reader *reader, const char *version);
/* "amd" or "intel": the processor that Xen ran on, which decides the names of VM exits. */
STRATA_API int strata_reader_set_cpu_vendor(struct strata_reader *reader, const char *vendor);
/* A copy of a tracefs directory, for raw ftrace pages that are stored elsewhere. */
STRATA_API int strata_reader_set_tracefs(struct strata_reader *reader, const char *path);
/* A copy of /proc/kallsyms, for raw ftrace pages whose tracefs copy has none. */
STRATA_API int strata_reader_set_kallsyms(struct strata_reader *reader, const char *path);
/* Uses event numbers of simpletrace files as positions in the declarations, whatever names the trace has. */
STRATA_API int strata_reader_set_no_header(struct strata_reader *reader, bool no_header);
/* Returns the items of a single source in the order in which they were written, whatever their times. Default: false, in
 * the order of time. */
STRATA_API int strata_reader_set_file_order(struct strata_reader *reader, bool file_order);
/* A directory for temporary files: input from a pipe is copied there if its format must be read twice.
 * Default: /var/tmp, else /tmp. */
STRATA_API int strata_reader_set_temporary_dir(struct strata_reader *reader, const char *path);

/* ---- Selection ----
 *
 * As the options of `strata report`. Without any, all items are returned. A loss is returned unless time,
 * CPU, vCPU or layer exclude it: the lost events may have been of any class and thread. */

/* Event patterns with commas between: NAME, GROUP:NAME, LAYER:NAME or LAYER:GROUP:NAME with the wildcards *
 * and ?; "-" before a pattern excludes what it matches. The last pattern that matches an event decides. May
 * be called several times. */
STRATA_API int strata_reader_add_filter(struct strata_reader *reader, const char *patterns);
/* The first and the last time: seconds ("12.5"), seconds after the first item ("+0.5"), or ticks where the
 * clock's rate is not known. */
STRATA_API int strata_reader_set_from(struct strata_reader *reader, const char *time);
STRATA_API int strata_reader_set_until(struct strata_reader *reader, const char *time);
/* Numbers of CPUs, threads and vCPUs, as "0,2-5". */
STRATA_API int strata_reader_set_cpus(struct strata_reader *reader, const char *list);
STRATA_API int strata_reader_set_pids(struct strata_reader *reader, const char *list);
STRATA_API int strata_reader_set_vcpus(struct strata_reader *reader, const char *list);
/* Layers with commas between: vmm, hypervisor, guest, host, program. */
STRATA_API int strata_reader_set_layers(struct strata_reader *reader, const char *list);
/* At most N events. */
STRATA_API int strata_reader_set_limit(struct strata_reader *reader, uint64_t n);

/* ---- Opening and moving ---- */

/* Opens what was added. Optional: the first strata_reader_next() does it. Returns 0, or a negative errno:
 * -EINVAL: no trace was added, not a format that is known, event declarations are missing, or clocks cannot
 * be converted; -ENOMEM; otherwise the errno of the file operation that failed. */
STRATA_API int strata_reader_open(struct strata_reader *reader);

enum strata_reader_kind {
    STRATA_READER_END = 0,
    STRATA_READER_EVENT = 1,
    STRATA_READER_LOSS = 2, /* events are missing here */
};

/* Moves to the next item and returns its enum strata_reader_kind: STRATA_READER_END after the last one. Or a
 * negative errno: as strata_reader_open(), and -EBADMSG for damaged input; all items before the damage were
 * returned. After the end or an error, each further call returns the same again. */
STRATA_API int strata_reader_next(struct strata_reader *reader);

/* The last error: "PATH: offset N: what is wrong; what to do". "" if there was none. Never NULL. */
STRATA_API const char *strata_reader_error(const struct strata_reader *reader);

/* Remarks on the traces, as "a source of the recording is missing". NULL: there are no more than I. Complete
 * after opening. */
STRATA_API const char *strata_reader_note(const struct strata_reader *reader, unsigned i);

/* Patterns of strata_reader_add_filter() that match no event class seen so far. NULL: there are no more than
 * I. */
STRATA_API const char *strata_reader_unmatched(struct strata_reader *reader, unsigned i);

/* ---- Sources and event classes ---- */

/* One tracer's part of the trace. */
struct strata_reader_source {
    const char *path;   /* as it was added */
    const char *layer;  /* "vmm", "hypervisor", "guest", "host", "program" */
    const char *format; /* "simpletrace", "xentrace", "ftrace", ... */
    const char
        *clock; /* "monotonic", "realtime", "local", "x86-tsc", ...; "" if not known. Times of
                           different clocks cannot be compared. */
    uint64_t clock_hz; /* ticks per second of its items' times; 0 if not known */
    unsigned n_cpus;   /* 0 if not known */
};

enum strata_value_type {
    STRATA_VALUE_ABSENT,  /* there is no such field, or this event does not have it */
    STRATA_VALUE_UINT,    /* u */
    STRATA_VALUE_INT,     /* i */
    STRATA_VALUE_BOOL,    /* u: 0 or 1 */
    STRATA_VALUE_POINTER, /* u: an address in the traced program or kernel */
    STRATA_VALUE_FLOAT,   /* f */
    STRATA_VALUE_STRING,  /* data, size: as recorded, without a NUL, not necessarily UTF-8 */
    STRATA_VALUE_BYTES,   /* data, size */
    STRATA_VALUE_ARRAY,   /* data, size: integers of element_size bytes each, without alignment */
};

struct strata_reader_field {
    const char *name;
    const char *type; /* as declared where it was traced: "const char *", "uint64_t" */
    enum strata_value_type value_type;
};

struct strata_reader_class {
    const char *name;  /* "sched_switch" */
    const char *group; /* the kernel's "sched"; "" where there are no groups */
    const struct strata_reader_source *source;
    const struct strata_reader_field *fields;
    unsigned n_fields;
    unsigned index; /* from 0, without gaps */
};

/* Source or class number I, from 0. NULL: there are no more than I, the reader is not open, or out of memory,
 * which strata_reader_error() then says. All sources are known after opening; classes are found while reading in
 * formats that describe them in the trace. A pointer stays valid and stands for the same source or class until the
 * reader is freed. */
STRATA_API const struct strata_reader_source *strata_reader_source(struct strata_reader *reader,
                                                                   unsigned i);
STRATA_API const struct strata_reader_class *strata_reader_class(struct strata_reader *reader,
                                                                 unsigned i);

/* ---- The item ---- */

#define STRATA_READER_TIME_UNKNOWN INT64_MIN
#define STRATA_READER_LOST_UNKNOWN UINT64_MAX

struct strata_reader_item {
    enum strata_reader_kind kind;
    /* CPU, thread and virtual CPU; -1 if not known. A vCPU of Xen is 65536 times the domain's number plus
     * its number in the domain. */
    int32_t cpu;
    int32_t pid;
    int32_t vcpu;
    int64_t
        time; /* in ticks of the source's clock; of a loss its end; or STRATA_READER_TIME_UNKNOWN */
    /* The largest possible error of a time that was converted from another clock, in ns; UINT32_MAX: that
     * or more, or not known, as events contradict what is stated of the clock; 0: the time is of its own clock. */
    uint32_t time_error_ns;
    const struct strata_reader_source *source;
    const struct strata_reader_class *event_class; /* NULL of a loss */
    /* Of a loss: the number of missing events, or STRATA_READER_LOST_UNKNOWN; the time at which it began,
     * or STRATA_READER_TIME_UNKNOWN; bytes of damaged input that were skipped, 0 if the tracer lost them. */
    uint64_t lost;
    int64_t lost_since;
    uint64_t skipped;
};

/* The item that the last strata_reader_next() moved to. NULL before the first one, after the end, after an
 * error, and out of memory. */
STRATA_API const struct strata_reader_item *strata_reader_item(struct strata_reader *reader);

struct strata_value {
    enum strata_value_type type;
    uint8_t element_size; /* of an array: 1, 2, 4 or 8 */
    bool element_is_signed;
    bool element_is_swapped; /* stored in the other byte order than this machine's */
    union {
        uint64_t u;
        int64_t i;
        double f;
        const char *data; /* `size` bytes */
    };
    size_t size;      /* of STRING, BYTES and ARRAY, in bytes; else 0 */
    const char *name; /* of an enumerated integer: the name of this value; else NULL */
};

/* The value of field number FIELD, or of the field called NAME. Type STRATA_VALUE_ABSENT if there is none. */
STRATA_API struct strata_value strata_reader_field(struct strata_reader *reader, unsigned field);
STRATA_API struct strata_value strata_reader_field_named(struct strata_reader *reader,
                                                         const char *name);

/* The event's text without time and name, as `strata report` prints it. Works like snprintf(): writes at most
 * SIZE bytes with the NUL to BUF and returns the length of the whole text; a result of SIZE or more means
 * that it was cut. Control characters are escaped as \xNN. "" of a loss. -ENOMEM. */
STRATA_API int strata_reader_text(struct strata_reader *reader, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
