/* SPDX-License-Identifier: MIT */
#ifndef STRATA_READ_H
#define STRATA_READ_H

/* libstrata-read: any capture that Strata understands, event by event.
 *
 *     strata_reader *reader = strata_reader_new();
 *     int r = strata_reader_add(reader, "trace.dat");
 *
 *     while (r >= 0 && (r = strata_reader_next(reader)) > 0)
 *         if (r == STRATA_EVENT)
 *             printf("%" PRId64 " %s\n", strata_reader_time(reader), strata_reader_name(reader));
 *     if (r < 0)
 *         fprintf(stderr, "%s\n", strata_reader_error(reader));
 *     strata_reader_free(reader);
 *
 * A reader is a cursor: strata_reader_next() moves it to the next item - an event, or a loss of
 * events - and the other functions tell about the item it stands on.
 *
 * Errors: a function that can fail returns a negative errno; strata_reader_error() then says in words
 * what is wrong, where, and what to do about it.
 * Lifetime: every string and every run of bytes that a reader hands out belongs to the reader and is
 * good until its next strata_reader_next() or strata_reader_free(), whichever comes first.
 * Threads: one reader must not be used by two threads at the same time; several readers may be used
 * by several threads, one each. No function here touches process state (signals, locale, the working
 * directory) or writes to standard output or error.
 * Input is not trusted: a damaged or hostile file gives an error, never undefined behaviour.
 *
 * The interface only grows: functions and enumerators are added, none are changed or taken away
 * within the library's major version. Link with `pkg-config --libs strata-read`. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STRATA_API __attribute__((visibility("default")))
#else
#define STRATA_API
#endif

typedef struct strata_reader strata_reader;

/* "0.1.0": the version of the library that is running. */
STRATA_API const char *strata_read_version(void);

/* ---- Opening ---- */

/* A reader without input; NULL when memory is out. */
STRATA_API strata_reader *strata_reader_new(void);
/* Closes and frees all. NULL is fine. */
STRATA_API void strata_reader_free(strata_reader *reader);

/* These are to be called before the first strata_reader_next(), which opens what was added; after it
 * they return -EBUSY. Strings are copied. -ENOMEM. */

/* Adds a capture: a file, a folder that holds one or was recorded by strata, or "-" for standard input. What it is is seen from
 * its content. With several captures, or a recorded folder with several sources, the items of all come merged by
 * time. Where their clocks differ, times become those of the recording host's CLOCK_MONOTONIC, if all were recorded
 * on one host and tell how their clocks relate to that; else it is an error. */
STRATA_API int strata_reader_add(strata_reader *reader, const char *path);
/* Adds a file of event declarations for captures that do not carry them (QEMU `trace-events` files,
 * Xen event tables). Without one QEMU's are looked for where QEMU installs them. */
STRATA_API int strata_reader_add_events(strata_reader *reader, const char *path);
/* KEEP_GOING other than 0: goes on behind a damaged place where the format allows it, and reports
 * what was skipped as a loss. Default: the damage ends the reading with an error, after everything
 * before it. */
STRATA_API int strata_reader_set_keep_going(strata_reader *reader, int keep_going);
/* Ticks a second of a time stamp counter whose rate the capture does not tell (Xen). */
STRATA_API int strata_reader_set_cpu_hz(strata_reader *reader, uint64_t hz);
/* The version of the Xen that wrote the capture, "4.17". Default: guessed from the records. */
STRATA_API int strata_reader_set_xen_version(strata_reader *reader, const char *version);
/* Whose processor that Xen ran on, "amd" or "intel": what names the exits of its guests. */
STRATA_API int strata_reader_set_cpu_vendor(strata_reader *reader, const char *vendor);
/* The folder of a copied tracefs, for raw ftrace pages that do not lie in one. */
STRATA_API int strata_reader_set_tracefs(strata_reader *reader, const char *path);
/* A copy of /proc/kallsyms, for raw ftrace pages whose tracefs has none beside it. */
STRATA_API int strata_reader_set_kallsyms(strata_reader *reader, const char *path);
/* HOST_TIME other than 0: times are those of the host's CLOCK_MONOTONIC also where one clock is all there is. */
STRATA_API int strata_reader_set_host_time(strata_reader *reader, int host_time);
/* NO_HEADER other than 0: event numbers of simpletrace files are places in the declarations, whatever
 * the capture says. */
STRATA_API int strata_reader_set_no_header(strata_reader *reader, int no_header);

/* ---- Moving ---- */

enum strata_item {
    STRATA_END = 0,
    STRATA_EVENT = 1,
    STRATA_LOSS = 2, /* events are missing here */
};

/* Moves to the next item. Returns what it is (enum strata_item), STRATA_END behind the last one, or a
 * negative errno (-EINVAL: damaged, or no capture that is known; -ENOMEM; of opening and reading). What
 * was readable before a damaged place comes first. After an error or the end it returns the same
 * again. */
STRATA_API int strata_reader_next(strata_reader *reader);

/* What the last error was: "PATH: offset N: what is wrong". "" when there was none. Never NULL. */
STRATA_API const char *strata_reader_error(const strata_reader *reader);

/* ---- The item: an event or a loss ----
 *
 * Before the first item and behind the last one these return the "not known" value. */

#define STRATA_TIME_UNKNOWN INT64_MIN
#define STRATA_LOST_UNKNOWN UINT64_MAX

/* When, in ticks of the clock that stamped it; a loss: when it ended. STRATA_TIME_UNKNOWN. */
STRATA_API int64_t strata_reader_time(const strata_reader *reader);
/* By how many ns the time may be wrong at most, where it was told in another clock than stamped it (UINT32_MAX: by
 * that or more); 0: it is of its own clock. */
STRATA_API uint32_t strata_reader_error_ns(const strata_reader *reader);
/* Ticks a second; 1000000000 where times are nanoseconds; 0: not known. */
STRATA_API uint64_t strata_reader_clock_hz(const strata_reader *reader);
/* "monotonic", "realtime", "local", "x86-tsc", …; times of different clocks are not comparable. "". */
STRATA_API const char *strata_reader_clock(const strata_reader *reader);

/* Where it was recorded: "vmm", "hypervisor", "guest", "host", "program". "". */
STRATA_API const char *strata_reader_layer(const strata_reader *reader);
/* The wire format it was read from: "simpletrace", "xentrace", "ftrace", …. "". */
STRATA_API const char *strata_reader_format(const strata_reader *reader);
/* The capture it came from, as it was added. "". */
STRATA_API const char *strata_reader_path(const strata_reader *reader);

/* The CPU, the thread, the virtual CPU; -1: it is not known. Of Xen, a virtual CPU is that of a domain: 65536 times
 * the domain's number and its own. */
STRATA_API int32_t strata_reader_cpu(const strata_reader *reader);
STRATA_API int32_t strata_reader_pid(const strata_reader *reader);
STRATA_API int32_t strata_reader_vcpu(const strata_reader *reader);

/* ---- A loss ---- */

/* How many events are missing, or STRATA_LOST_UNKNOWN. 0 of an event. */
STRATA_API uint64_t strata_reader_lost(const strata_reader *reader);
/* When the loss began, in ticks, or STRATA_TIME_UNKNOWN. */
STRATA_API int64_t strata_reader_lost_since(const strata_reader *reader);
/* Bytes of damaged input that were passed over; 0: nothing was, the tracer itself dropped them. */
STRATA_API uint64_t strata_reader_skipped(const strata_reader *reader);

/* ---- An event ---- */

/* The name of its class ("sched_switch"), and of the group the class is in (the kernel's "sched"; ""
 * where there are no groups). "" of a loss. */
STRATA_API const char *strata_reader_name(const strata_reader *reader);
STRATA_API const char *strata_reader_group(const strata_reader *reader);

enum strata_type {
    STRATA_ABSENT,  /* there is no such field, or this event does not have it */
    STRATA_UINT,    /* u */
    STRATA_INT,     /* i */
    STRATA_BOOL,    /* u: 0 or 1 */
    STRATA_POINTER, /* u: an address of the traced side */
    STRATA_FLOAT,   /* f */
    STRATA_STRING,  /* data, size: text as recorded, without a NUL, not necessarily UTF-8 */
    STRATA_BYTES,   /* data, size */
};

typedef struct strata_value {
    enum strata_type type;
    union {
        uint64_t u;
        int64_t i;
        double f;
        const char *data; /* `size` bytes */
    };
    size_t size; /* of STRATA_STRING and STRATA_BYTES; else 0 */
} strata_value;

/* How many fields its class has; 0 of a loss. */
STRATA_API unsigned strata_reader_n_fields(const strata_reader *reader);
/* The name of field FIELD, counted from 0; NULL: there are not so many. */
STRATA_API const char *strata_reader_field_name(const strata_reader *reader, unsigned field);
/* Its type as declared where it was traced ("const char *", "uint64_t"); NULL likewise. */
STRATA_API const char *strata_reader_field_type(const strata_reader *reader, unsigned field);
/* The value by number or by name; type STRATA_ABSENT where there is none. */
STRATA_API strata_value strata_reader_field(strata_reader *reader, unsigned field);
STRATA_API strata_value strata_reader_field_named(strata_reader *reader, const char *name);

/* The event's own text, without time and name, as `strata report` shows it. Works as snprintf does:
 * writes at most SIZE bytes with the NUL into BUF and returns how long the text is, so that a result
 * of SIZE or more means that it was cut. Control characters come as \xNN. -ENOMEM. */
STRATA_API int strata_reader_text(strata_reader *reader, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
