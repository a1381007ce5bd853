/* SPDX-License-Identifier: MIT */
#pragma once

/* Writing out: who reads the rings and shows the sinks what is in them.
 *
 * A *pass* reads all rings once. Passes are made by the writer's thread, and by whoever flushes; one
 * at a time, under the pass lock. The thread runs only while there is a sink and a backend that puts
 * records into rings. It looks by itself how often it must wake up: emitting never wakes anybody.
 *
 * Locks: that of the options comes before the pass lock, and that before registry_lock(). */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/clock_sync.h"
#include "runtime/output.h"
#include "runtime/ring.h"
#include "runtime/sink.h"

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

/* Makes the thread look now. Safe in signal handlers. */
void writer_wake(void);

/* Writes out all that is committed, that of overwrite rings too. Returns 0, or -EIO: some of it could
 * not be written (and is counted); -EOPNOTSUPP: that is not for this process to do. */
int writer_flush(void);

/* ---- For who reads rings beside the passes: the pass lock, and under it the clock ---- */

void writer_lock(void);
void writer_unlock(void);
const struct clock_sync *writer_times(void);

/* ---- For the sinks, in a pass ---- */

/* Whether a sink whose reader does not read is to wait for it for WRITER_WAIT_MS more: the writer's thread
 * waits as long as nobody needs the pass lock, anybody else for a second. Then *STALLED is set, and the
 * sink loses what its reader does not take at once, until it has taken something. *SINCE is 0 when the
 * wait begins. */
#define WRITER_WAIT_MS OUTPUT_WAIT_MS
bool writer_may_wait(bool *stalled, uint64_t *since);

/* Whether this process was forked by one that was traced. */
bool writer_is_child(void);
void writer_uuid(uint8_t ret[16]);
/* When tracing began, and the clock's rate as it is known by now. */
struct clock_pair writer_clock_start(void);
uint64_t writer_clock_hz(void);
/* From CLOCK_MONOTONIC to CLOCK_REALTIME, as they stand to each other now. */
uint64_t writer_realtime(uint64_t monotonic);
