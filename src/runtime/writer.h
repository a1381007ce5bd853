/* SPDX-License-Identifier: MIT */
#pragma once

/* The writer: reads the rings and hands their contents to the sinks.
 *
 * A *pass* (runtime/sinks/drain_pass.h) reads all rings once. The writer's thread makes passes, and so does a
 * thread that flushes; one at a time, under the pass lock. The writer's thread runs only while there is
 * a sink and a backend that puts records into rings. It computes how often it must wake up: emitting
 * never wakes it, but the first event that is switched on and a new ring do (runtime/wakeup.h).
 *
 * Locks: first that of the options, then the pass lock, then registry_lock(). */

#include <stdbool.h>
#include <stdint.h>

enum sink_number {
    SINK_CTF,
    SINK_SIMPLE,
    SINK_LOG,
    SINK_SYSLOG,
    SINK_FTRACE,
    SINKS,
};

/* Switches a sink on, with a path or NULL for its default; if it is on already, it continues at the new
 * path. NOW: opens its file at once, otherwise with the first records. Negative errno of opening: the
 * sink is on all the same, counts its losses and tries again later. */
int writer_sink_on(enum sink_number number, const char *path, bool now);
/* Writes out what is there and switches it off. */
void writer_sink_off(enum sink_number number);
bool writer_sink_is_on(enum sink_number number);
bool writer_sink_is_open(enum sink_number number);

/* As writer_sink_on() now; but when that fails it is paused, and loses nothing in the meantime. */
int writer_sink_move(enum sink_number number, const char *path);
/* A paused sink keeps its file and skips what it is given, which is then not a loss. It stays paused
 * until it is resumed, also if it is switched on meanwhile; then it creates no file. Resuming opens the
 * file if necessary; negative errno: that failed, and it stays paused. */
void writer_sink_pause(enum sink_number number);
int writer_sink_resume(enum sink_number number);
bool writer_sink_is_paused(enum sink_number number);

/* The absolute path of the file that a sink writes or is going to write; the caller frees it. NULL: out
 * of memory. */
char *writer_sink_path(enum sink_number number);

struct sink_state {
    const char *name;
    char *path; /* NULL: none, as of a log to standard error, or no memory; allocated */
    bool on, is_open, paused;
    uint64_t lost;
};
/* -EBUSY: a pass is taking long. */
int writer_sink_state(enum sink_number number, struct sink_state *ret);

/* There are events with records in rings: from now on there may be something to write. */
void writer_needed(void);

/* Whether this process writes its rings out. If not, they are for an outside collector: there are no
 * passes, and the rings stay when the process ends. */
void writer_allow(bool allow);

/* Writes out all that is committed, that of overwrite rings too. Returns 0, or -EIO: some of it could
 * not be written (and is counted); -EOPNOTSUPP: that is not for this process to do. */
int writer_flush(void);

/* The process ends: the thread stops; then, with all events off, what is left is written and reported. */
void writer_stop(void);
void writer_end(void);

/* Around fork(), under the lock of the options; takes the pass lock unless a pass takes long. The child
 * starts with an empty writer, and a thread if the parent had one. */
void writer_before_fork(void);
void writer_after_fork_parent(void);
void writer_after_fork_child(void);
