/* SPDX-License-Identifier: MIT */
#pragma once

/* Writing out: who reads the rings and shows the sinks what is in them.
 *
 * A *pass* (runtime/pass.h) reads all rings once. Passes are made by the writer's thread, and by whoever flushes; one
 * at a time, under the pass lock. The thread runs only while there is a sink and a backend that puts
 * records into rings. It looks by itself how often it must wake up: emitting never wakes it,
 * but the first event that is switched on and a new ring do (runtime/wakeup.h).
 *
 * Locks: that of the options comes before the pass lock, and that before registry_lock(). */

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

/* Switches a sink on, with a path or NULL for its default; when it is on already it goes on at the new
 * path. With NOW its file is opened here, else with the first records. Negative errno: what opening
 * says; the sink is on all the same, counts what it loses and tries again later. */
int writer_sink_on(enum sink_number number, const char *path, bool now);
/* Writes out what is there and switches it off. */
void writer_sink_off(enum sink_number number);
bool writer_sink_is_on(enum sink_number number);
bool writer_sink_is_open(enum sink_number number);

/* As writer_sink_on() now; but when that fails it is paused, and loses nothing in the meantime. */
int writer_sink_move(enum sink_number number, const char *path);
/* A sink that is paused keeps its file, and passes over what it is shown, which is then no loss. It is
 * paused until it is resumed, also when it is not on yet: then it makes no file. Resuming opens the file
 * if it is not; negative errno: that failed, and it stays paused. */
void writer_sink_pause(enum sink_number number);
int writer_sink_resume(enum sink_number number);
bool writer_sink_is_paused(enum sink_number number);

/* The file that a sink which has files writes or is going to. An absolute path that is the caller's, NULL:
 * no memory. */
char *writer_sink_path(enum sink_number number);

struct sink_state {
    const char *name;
    char *path; /* NULL: none, as of a log to standard error, or no memory; allocated */
    bool on, is_open, paused;
    uint64_t lost;
};
/* -EBUSY: a pass takes long just now. */
int writer_sink_state(enum sink_number number, struct sink_state *ret);

/* There are events with records in rings: from now on there may be something to write. */
void writer_needed(void);

/* Whether this process writes its rings out at all. Without, they are for a collector outside of it:
 * there are no passes, and what the rings hold stays for it when the process ends. */
void writer_allow(bool allow);

/* Writes out all that is committed, that of overwrite rings too. Returns 0, or -EIO: some of it could
 * not be written (and is counted); -EOPNOTSUPP: that is not for this process to do. */
int writer_flush(void);

/* The process ends: the thread stops; then, with all events off, what is left is written and reported. */
void writer_stop(void);
void writer_end(void);

/* Around fork(), under the lock of the options: with the pass lock, if no pass takes long. The child begins with
 * an empty writer, and a thread if the parent had one. */
void writer_before_fork(void);
void writer_after_fork_parent(void);
void writer_after_fork_child(void);
