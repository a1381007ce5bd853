/* SPDX-License-Identifier: MIT */
#pragma once

/* The writer: reads the rings and passes their contents to the sinks.
 *
 * A *pass* (runtime/sinks/drain_pass.h) reads all rings once. The writer's thread makes passes, and a thread that
 * flushes makes one too. Passes are made one at a time, under the pass lock. The writer's thread runs only while there
 * is a sink and a backend that puts records into rings. It computes how often it must wake up. Emitting never wakes it,
 * but the first event that is switched on and a new ring do (runtime/wakeup.h).
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
/* Writes out remaining records and switches the sink off. */
void writer_sink_off(enum sink_number number);
bool writer_sink_is_on(enum sink_number number);
bool writer_sink_is_open(enum sink_number number);

/* As writer_sink_on() with NOW, but if that fails, the sink is paused and loses nothing meanwhile. */
int writer_sink_move(enum sink_number number, const char *path);
/* A paused sink keeps its file and skips its input, which does not count as a loss. It stays paused until it is
 * resumed, even if it is switched on meanwhile; then it creates no file. Resuming opens the file if necessary. Negative
 * errno: that failed, and the sink stays paused. */
void writer_sink_pause(enum sink_number number);
int writer_sink_resume(enum sink_number number);
bool writer_sink_is_paused(enum sink_number number);

/* The absolute path of the file that a sink writes or will write; the caller frees it. NULL: out of memory. */
char *writer_sink_path(enum sink_number number);

struct sink_state {
    const char *name;
    char *path; /* allocated; NULL: none (a log to standard error), or out of memory */
    bool on, is_open, paused;
    uint64_t lost;
};
/* -EBUSY: a pass is taking long. */
int writer_sink_state(enum sink_number number, struct sink_state *ret);

/* Call it when there are events with records in rings, so that from now on there may be something to write. */
void writer_needed(void);

/* True: this process writes its rings out. False: an outside collector does; there are no passes, and the rings stay
 * when the process ends. */
void writer_allow(bool allow);

/* Writes out everything that is committed, also from overwrite rings. Returns 0; -EIO: some of it could not be written
 * (and is counted); -EOPNOTSUPP: this process does not write its rings out. */
int writer_flush(void);

/* For the end of the process: writer_stop() stops the thread; then, with all events off, writer_end() writes and
 * reports what is left. */
void writer_stop(void);
void writer_end(void);

/* For fork(), under the lock of the options. Takes the pass lock, unless a pass takes long. The child starts with an
 * empty writer, and a thread if the parent had one. */
void writer_before_fork(void);
void writer_after_fork_parent(void);
void writer_after_fork_child(void);
