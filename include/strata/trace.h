/* SPDX-License-Identifier: MIT */
#ifndef STRATA_TRACE_H
#define STRATA_TRACE_H

/* libstrata: what a traced program links. The generated `trace-GROUP.h` includes this header, and a
 * program calls its functions to switch events on and off and to direct the trace.
 *
 * An event is declared in a `trace-events` file; `strata gen` generates trace_NAME(args), which the
 * program calls. An event is off until it is switched on: by STRATA_TRACE in the environment, by
 * strata_trace_opt_parse() with the user's options, or by strata_event_set_state().
 *
 * Threads: every function may be called from any thread.
 * Signals: trace_NAME() may be called from a signal handler with every backend but `syslog`. The
 * functions of this header may not, unless they say so.
 * Errors: a function returns 0 or more on success and a negative errno on failure. Tracing never makes
 * the program fail: events that cannot be written are counted (strata_trace_get_stats()). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <strata/api.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STRATA_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define strata_unlikely(x) __builtin_expect(!!(x), 0)
#define STRATA_TRACE_COLD __attribute__((cold))

/* ---- For generated code ---- */

/* Version of the interface between generated code and the library; raised when older generated code no
 * longer works with the library. */
#define STRATA_TRACE_ABI 4

enum strata_field_kind {
    STRATA_FIELD_UNSIGNED,
    STRATA_FIELD_SIGNED,
    STRATA_FIELD_BOOL,
    STRATA_FIELD_POINTER,
    STRATA_FIELD_STRING, /* cut at STRATA_STRING_MAX bytes; "(null)" for a null pointer */
};

#define STRATA_STRING_MAX 512

struct strata_field {
    const char *name;
    const char *type; /* as declared: "const char *" */
    uint8_t kind;     /* enum strata_field_kind */
    uint8_t size;     /* bytes in a record; 0: a string */
};

struct strata_event {
    const char *name;
    const char *format; /* printf format; NULL: none declared */
    const struct strata_field *fields;
    /* 0: off; otherwise bits STRATA_STATE_…. One byte of the group's array, so that many events share a
     * cache line. With `own_state` it points to a uint16_t. */
    uint8_t *state;
    const char *file; /* of the declaration */
    uint32_t line;
    uint32_t id; /* assigned at registration; the same event keeps it */
    uint8_t n_fields;
    bool compiled_in; /* false: `disable`d, or no backend but nop; never on */
    /* The program switches the event itself, without the library (QEMU). Then `state` points to a
     * uint16_t: 0: off, otherwise on (of a vCPU event: the number of vCPUs for which it is on). The
     * library stores 0 or 1 there, and in `filtered` whether the event has a condition. */
    bool own_state;
    uint8_t filtered;
};

#define STRATA_STATE_ON 1
#define STRATA_STATE_FILTERED 2 /* on if its condition holds: see strata_filter_pass() */

/* The events of one generated file. The generated code owns the structure, which must stay valid until
 * it is unregistered; `next` is for the library. */
struct strata_group {
    uint32_t abi; /* STRATA_TRACE_ABI */
    uint32_t n_events;
    const char *name;
    struct strata_event *events;
    struct strata_group *next;
};

/* Generated code registers its group before main() or when its shared library is loaded, and unregisters it when the
 * library is unloaded. */
STRATA_API void strata_group_register(struct strata_group *group);
STRATA_API void strata_group_unregister(struct strata_group *group);

/* True if a call of an event whose state is not STRATA_STATE_ON, or that is `filtered`, must be
 * recorded; always true without a condition. VALUES has the arguments, each as 64 bits, a string as its address. Any
 * thread and any signal handler may call it. It takes no lock, allocates nothing, and makes no system call unless the
 * condition tests thread.name. */
STRATA_API STRATA_BOUND bool strata_filter_pass(const struct strata_event *event,
                                                const uint64_t *values);

/* Visibility of a group's event states. By default, only the program or library that the generated code is linked into
 * may call the events. Define the macro empty to export them. */
#ifndef STRATA_TRACE_GROUP_API
#define STRATA_TRACE_GROUP_API __attribute__((visibility("hidden")))
#endif

/* Backend `log`: writes a line "PID@SEC.USEC:TEXT\n" (PID is the thread's ID) by one write(). At most
 * STRATA_LOG_MAX bytes with the newline; longer lines are cut and end in "...". If a pipe is full or
 * has no reader, the line is dropped and counted; there is no SIGPIPE. The function takes no lock and allocates nothing.
 * It is safe in signal handlers, except for conversions of floating point and wide characters, which call
 * vsnprintf(). */
STRATA_API STRATA_BOUND void strata_log(const char *format, ...) STRATA_PRINTF(1, 2);
/* Backend `syslog`: sends the text to the system's log as LOG_DAEMON, LOG_INFO, with the process ID.
 * A text that the log does not accept at once is dropped and counted. Do not call it from signal handlers. */
STRATA_API STRATA_BOUND void strata_syslog(const char *format, ...) STRATA_PRINTF(1, 2);
/* Backend `ftrace`: writes the text as a line to the kernel's trace_marker. If tracefs is missing or rejects the line, it
 * is dropped and counted. */
STRATA_API STRATA_BOUND void strata_ftrace(const char *format, ...) STRATA_PRINTF(1, 2);

#define STRATA_LOG_MAX 4096

/* Converts a pointer to what printf's %p requires, in C and C++. */
static inline const void *strata_pointer(const volatile void *pointer)
{
    const void *plain;

    __builtin_memcpy(&plain, &pointer, sizeof(plain));
    return plain;
}

/* Generated code calls strata_backend_register() before main(): the program has events of this backend,
 * whose records go into rings and must be written out. It may be called more than once. */
enum strata_backend {
    STRATA_BACKEND_RING = 1,
    STRATA_BACKEND_SIMPLE = 2,
    /* In addition to one of these: the program switches its events itself (`own_state`), so that
     * records may be written without a call of this library. */
    STRATA_BACKEND_OWN_STATES = 3,
};
STRATA_API void strata_backend_register(enum strata_backend backend);

/* ---- Switching events ----
 *
 * A PATTERN is an event's name, or contains `*` (any characters) or `?` (any one character). The last
 * call or option that matches an event decides, also for events that are registered later by a shared
 * library. */

/* Switches the events that PATTERN matches on or off, and removes their conditions. Returns the number
 * of matching events that can be switched; 0 if a pattern matches none. -ENOENT: PATTERN is a name and
 * no such event is registered (it is switched once it is); -EPERM: that event is compiled out; -EINVAL:
 * PATTERN is empty; -ENOMEM. Does not choose where records go: see strata_trace_file_use_default(). */
STRATA_API int strata_event_set_state(const char *pattern, bool on);

/* Switches on the events that PATTERN matches, for calls for which CONDITION holds, such as "len > 4096 && flags & 1"
 * (strata-filter(5)). The condition is compiled once per event and evaluated in the
 * calling thread before anything is recorded. It applies to every backend but `dtrace` and `ust`, whose
 * tracers have conditions of their own. While a condition is replaced, the old or the new condition decides each call.
 * CONDITION NULL: removes the condition of events that have one, which stay on; other
 * events do not change. Returns the number of events that accept the condition. Errors as
 * strata_event_set_state(), and -EINVAL: CONDITION is invalid; -EOPNOTSUPP: the named event lacks an
 * argument that CONDITION uses (with a pattern, such events stay as they were). Both are also reported
 * as a message, with the column. */
STRATA_API int strata_event_set_filter(const char *pattern, const char *condition);

/* The condition of an event; NULL: none. The text is valid until the process ends. Any thread and any signal handler may
 * call it. */
STRATA_API const char *strata_event_get_filter(const struct strata_event *event);

/* Finds an event by its name; NULL: none. The result is valid until the event's group is unregistered,
 * which happens only when its shared library is unloaded. */
STRATA_API const struct strata_event *strata_event_find(const char *name);

/* Calls FUNCTION for each registered event that PATTERN matches (NULL: for all), by group in the order
 * of registration. Stops when FUNCTION returns other than 0, and returns that; otherwise 0. FUNCTION
 * must not call functions of this section. */
STRATA_API int strata_event_foreach(const char *pattern,
                                    int (*function)(const struct strata_event *event,
                                                    void *userdata),
                                    void *userdata);

static inline bool strata_event_is_on(const struct strata_event *event)
{
    if (event->own_state)
        return __atomic_load_n((const uint16_t *)(const void *)event->state, __ATOMIC_RELAXED) != 0;
    return __atomic_load_n(event->state, __ATOMIC_RELAXED) != 0;
}

/* ---- Trace options ----
 *
 *     [[enable=]PATTERN[: CONDITION]][,KEY[=VALUE]]...
 *
 * This is the argument of a program's `-trace` option, which may be repeated. STRATA_TRACE in the
 * environment holds one or several, separated by ';'. A comma in a value is doubled. The keys in short
 * (in full: strata-trace(7)):
 *
 *     enable=PATTERN   switch events on; with '-' in front, off; `help` lists all names
 *     enable=PATTERN: CONDITION
 *                      switch on for calls for which the condition holds (strata-filter(5))
 *     events=FILE      read PATTERN or PATTERN: CONDITION from FILE, one per line; '#' starts a comment line
 *     file=FILE        trace file
 *     ctf[=DIR] simple[=FILE] log[=FILE] syslog[=SOCKET] ftrace[=MARKER]
 *                      where records go, several at the same time. Default: the simpletrace file trace-PID
 *                      if the program has the backend `simple`, else the directory strata-PID
 *     logfile=FILE timestamps=on|off
 *                      also for the backend `log`
 *     mode=discard|overwrite ring=SIZE subbuffer=SIZE memory=SIZE rings=DIR
 *                      for rings that are created from now on
 *     writer=thread|none
 *                      whether the program writes its rings out
 *     snapshot-signal=SIGNAL snapshot=DIR
 *                      signal that makes a snapshot, and its directory
 *     control=on|off   control socket, by which `strata ctl` finds the program
 *     unsafe-directory=on|off
 *                      whether paths that follow may be in directories that other users can write to */

/* Applies OPTIONS. Returns 0, or 1 if `help` was requested: the names were printed on standard output,
 * and the program should exit. On failure -EINVAL, -ENOMEM, or the errno of opening a file; a message
 * says what is wrong, and the options before the invalid one remain in effect. Events that do not exist
 * or are compiled out, and files that cannot be written, are reported as messages but are not errors. */
STRATA_API int strata_trace_opt_parse(const char *options);

/* Sends the library's messages to FUNCTION instead of standard error: one line each, without a newline.
 * FUNCTION is called from any thread and must not call this library. NULL: standard error again. */
typedef void (*strata_message_function)(const char *message, void *userdata);
STRATA_API void strata_trace_set_message(strata_message_function function, void *userdata);

/* ---- Writing the trace ---- */

/* Writes everything that was emitted before the call, including rings in overwrite mode, and returns
 * when it is written. 0; -EIO: some of it could not be written; -EOPNOTSUPP: this program does not
 * write its rings (writer=none). Waits for the disk. */
STRATA_API int strata_trace_flush(void);

/* The trace file is the simpletrace file or, in a program without one, the CTF directory. Its default name is the
 * program's. These functions do not affect other outputs. They return -EOPNOTSUPP if the program has no events of the
 * backends `ring` and `simple`, because only these have records. */

/* Off: events that are emitted from now on are neither written nor counted as lost; events that were
 * emitted before are in the file. On: appends to the file, creating it if necessary. A CTF trace then
 * has a gap of packets, which readers report as a loss of unknown size; a simpletrace file does not
 * show the gap. Returns 0, -ENOMEM, or the errno of opening the file; then it stays off. */
STRATA_API int strata_trace_file_set_enabled(bool on);
/* Writes the trace to PATH from now on (`%p` is replaced by the process ID); existing content is
 * removed. The previous file is complete. If the trace file is off, PATH is created when it is switched
 * on. Errors as above, after which the trace file is off; -EINVAL: PATH is empty. */
STRATA_API int strata_trace_file_set(const char *path);
/* Writes the trace to the default trace file from now on, unless options said where records go; options
 * that switch events do the same. For programs that switch events only by strata_event_set_state(). */
STRATA_API void strata_trace_file_use_default(void);
/* The trace file's absolute path, which the caller free()s, and whether it is on. Either pointer may be
 * NULL. */
STRATA_API int strata_trace_file_get(char **ret_path, bool *ret_on);

/* Copies the content of all rings to a new CTF trace, without stopping or consuming anything: everything in rings in
 * overwrite mode, and events that are not written out yet in other rings. The trace has the newest events of each thread
 * without a gap, at least up to the last event that the thread committed before the call. DIR
 * appears as a whole or not at all; in its name `%p` is replaced by the process ID and `%n` by the
 * number of the snapshot. 0; -EEXIST: DIR exists (with `%n` the next number is tried instead); or the
 * errno of a file operation. */
STRATA_API int strata_trace_snapshot(const char *dir);

/* Calls FUNCTION with the newest events in the rings, at most MAX, the oldest first: each as a line of
 * the log, without a newline, valid during the call. Nothing is removed from the rings. Rings in overwrite mode show
 * everything; other rings show events that are not written out yet, which may be none.
 * Returns the number of lines; -EINVAL: MAX is 0 or larger than INT_MAX; -ENOMEM; -EAGAIN: events came
 * faster than they could be copied. */
STRATA_API int strata_trace_show(unsigned max, void (*function)(const char *line, void *userdata),
                                 void *userdata);

struct strata_trace_stats {
    /* events that found their ring full; counted when rings are written out or flushed */
    uint64_t dropped;
    uint64_t unwritten; /* events that could not be written, counted per output */
    uint64_t bytes;     /* bytes written */
    /* lines of strata_log(), strata_syslog() and strata_ftrace() that could not be written */
    uint64_t lines;
    /* events that could not be registered: more than 65535, a different ABI, or no memory */
    uint64_t refused;
};

/* SIZE is sizeof(struct strata_trace_stats): later versions of the library may append fields. */
STRATA_API void strata_trace_get_stats(struct strata_trace_stats *ret, size_t size);

#ifdef __cplusplus
}
#endif

#endif
