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
 * Errors: a function that can fail returns 0 or more on success and a negative errno on failure, and leaves a sentence
 * for strata_reader_error(). Each declaration lists its errors.
 * Ownership: what a reader returns belongs to it. An item, its values and their bytes are valid until the
 * next strata_reader_next(). Sources, classes, fields and their strings are valid until strata_reader_free(). The reader
 * copies strings that are passed in.
 * Threads: one thread at a time may use a reader. Different threads may use different readers at the same time.
 * Signals: do not call these functions from signal handlers.
 * Side effects: the library changes nothing of the process. It reads no environment variables, changes no signals, locale
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
 * strata_reader_next(); after it they return -EBUSY. They return 0, -ENOMEM, or -EINVAL for an invalid value. */

/* Adds a trace: a file, a directory (recorded by Strata, or one that holds a trace), or "-" for standard
 * input. The format is detected from the content. The items of several traces, and of a recorded directory with
 * several sources, are merged by time. If their clocks differ, times are converted to CLOCK_MONOTONIC of the recording
 * host. If a clock cannot be converted, opening fails with -EINVAL. */
STRATA_API int strata_reader_add(struct strata_reader *reader, const char *path);
/* Adds a file with event declarations, for traces without them: a trace-events file of QEMU, an event table or a formats
 * file of Xen. Default: the trace-events-all that QEMU installs. */
STRATA_API int strata_reader_add_events(struct strata_reader *reader, const char *path);
/* Reads only the source of this name from trace directories. */
STRATA_API int strata_reader_set_source(struct strata_reader *reader, const char *name);
/* True: reading continues after damaged input if the format permits it, and what was skipped is returned as a loss.
 * Default: false. Reading then ends with an error after everything before the damage. */
STRATA_API int strata_reader_set_keep_going(struct strata_reader *reader, bool keep_going);
/* True: all times are converted to CLOCK_MONOTONIC of the recording host, also the times of a single source. */
STRATA_API int strata_reader_set_host_time(struct strata_reader *reader, bool host_time);
/* True: clocks stay as they were recorded. Default: false. The clocks of a recorded directory are then tightened by causes
 * and effects, as in the commands. For this, opening reads the whole directory. If that takes long, the result is kept
 * in the user's cache ($XDG_CACHE_HOME/strata, or ~/.cache/strata). */
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
/* True: event numbers of simpletrace files are positions in the declarations, whatever names the trace has. */
STRATA_API int strata_reader_set_no_header(struct strata_reader *reader, bool no_header);
/* True: the items of a single source are returned in the order in which they were written. Default: false, in the order
 * of time. */
STRATA_API int strata_reader_set_file_order(struct strata_reader *reader, bool file_order);
/* A directory for temporary files: input from a pipe is copied there if its format must be read twice.
 * Default: /var/tmp, else /tmp. */
STRATA_API int strata_reader_set_temporary_dir(struct strata_reader *reader, const char *path);

/* ---- Selection ----
 *
 * As the options of `strata report`. Without a selection, all items are returned. A loss is returned unless time, CPU,
 * vCPU or layer exclude it, because the lost events may have been of any class and thread. */

/* Event patterns with commas between: NAME, GROUP:NAME, LAYER:NAME or LAYER:GROUP:NAME with the wildcards *
 * and ?; "-" before a pattern excludes what it matches. The last pattern that matches an event decides. May
 * be called several times. */
STRATA_API int strata_reader_add_filter(struct strata_reader *reader, const char *patterns);
/* The first and the last time: seconds ("12.5"), seconds after the first item ("+0.5"), or ticks if the
 * clock rate is unknown. */
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
 * -EINVAL: no trace was added, the format is unknown, event declarations are missing, or clocks cannot be converted; -ENOMEM; otherwise the errno of the file operation that failed. */
STRATA_API int strata_reader_open(struct strata_reader *reader);

enum strata_reader_kind {
    STRATA_READER_END = 0,
    STRATA_READER_EVENT = 1,
    STRATA_READER_LOSS = 2, /* events are missing here */
};

/* Moves to the next item and returns its enum strata_reader_kind, STRATA_READER_END after the last item. Errors: those of
 * strata_reader_open(), and -EBADMSG for damaged input, after all items before the damage. After the end or an error,
 * each further call returns the same again. */
STRATA_API int strata_reader_next(struct strata_reader *reader);

/* The last error: "PATH: offset N: what is wrong; what to do". "" if there was none. Never NULL. */
STRATA_API const char *strata_reader_error(const struct strata_reader *reader);

/* Remark number I on the traces, from 0: "a source of the recording is missing". NULL: there are no more. The remarks are
 * complete after opening. */
STRATA_API const char *strata_reader_note(const struct strata_reader *reader, unsigned i);

/* Pattern number I, from 0, of the patterns of strata_reader_add_filter() that match no event class so far. NULL: there
 * are no more. */
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
    const char *group; /* the kernel's "sched"; "" if the format has no groups */
    const struct strata_reader_source *source;
    const struct strata_reader_field *fields;
    unsigned n_fields;
    unsigned index; /* from 0, without gaps */
};

/* Source or class number I, from 0. NULL: there are no more, the reader is not open, or memory is out, which
 * strata_reader_error() then says. All sources are known after opening. In formats that describe classes in the trace,
 * classes are found while reading. A pointer stays valid and stands for the same source or class until the reader is
 * freed. */
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
        time; /* in ticks of the source's clock; the end of a loss; or STRATA_READER_TIME_UNKNOWN */
    /* The largest possible error of a time that was converted from another clock, in ns. 0: the time was not
     * converted. UINT32_MAX: this or more, or unknown because events contradict what is stated of the clock. */
    uint32_t time_error_ns;
    const struct strata_reader_source *source;
    const struct strata_reader_class *event_class; /* NULL for a loss */
    /* Only a loss has these: the number of missing events, or STRATA_READER_LOST_UNKNOWN; the time at which the loss
     * began, or STRATA_READER_TIME_UNKNOWN; bytes of damaged input that were skipped, 0 if the tracer lost the events. */
    uint64_t lost;
    int64_t lost_since;
    uint64_t skipped;
};

/* The item that the last strata_reader_next() moved to. NULL before the first item, after the end, after an error, and if
 * memory is out. */
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
 * SIZE bytes with the NUL to BUF and returns the length of the whole text. If the result is SIZE or more, the text in BUF
 * is cut. Control characters are escaped as \xNN. A loss has the text "". -ENOMEM. */
STRATA_API int strata_reader_text(struct strata_reader *reader, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
