/* SPDX-License-Identifier: MIT */
#pragma once

/* A *pass* reads all rings once and shows the sinks what is in them (runtime/writer.h). Here is what the writer and
 * the sinks, which do not know each other's code, both need of it: the pass lock, and under it the trace's clock,
 * its UUID, and whether this process is a child.
 *
 * All but pass_lock(), pass_lock_within() and pass_unlock() is for who has the pass lock. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/clock_sync.h"

void pass_lock(void);
/* The lock, if it is to be had within NS. 0, or a positive errno. */
int pass_lock_within(uint64_t ns);
void pass_unlock(void);

/* The pass is the writer thread's, which may take long until the thread is to stop (pass_hurry()). */
void pass_set_by_thread(bool by_thread);
/* The thread is to end. Needs no lock. */
void pass_set_hurry(bool hurry);
bool pass_is_hurried(void);

/* Whether a sink whose reader does not read is to wait for it for OUTPUT_WAIT_MS more: the writer's thread
 * waits as long as nobody needs the pass lock, anybody else for a second. Then *STALLED is set, and the
 * sink loses what its reader does not take at once, until it has taken something. *SINCE is 0 when the
 * wait begins. */
bool pass_may_wait(bool *stalled, uint64_t *since);

/* Whether this process was forked by one that was traced. */
bool pass_is_child(void);
void pass_uuid(uint8_t ret[16]);

/* The clock, started with the first call. */
struct clock_sync *pass_times(void);
/* When tracing began, and the clock's rate as it is known by now. */
struct clock_pair pass_clock_start(void);
uint64_t pass_clock_hz(void);
/* As well as the clock's rate can be known now, if it was started. */
void pass_finish_times(void);
/* From CLOCK_MONOTONIC to CLOCK_REALTIME, as they stand to each other now. */
uint64_t pass_realtime(uint64_t monotonic);

/* In a child of fork(): the lock is free, also if LOCKED is false and another thread of the parent had it; the
 * trace is another, with a UUID of its own. */
void pass_after_fork_child(bool locked);
