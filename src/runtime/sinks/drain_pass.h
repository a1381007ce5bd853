/* SPDX-License-Identifier: MIT */
#pragma once

/* A *pass* reads all rings once and passes their contents to the sinks (runtime/writer.h). This file has what both the
 * writer and the sinks need: the pass lock and, under it, the trace's clock, its UUID, and whether this process is a
 * forked child.
 *
 * All functions but pass_lock(), pass_lock_within() and pass_unlock() require the pass lock. */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/clock_sync.h"

void pass_lock(void);
/* Tries to take the lock for up to NS nanoseconds. 0, or a positive errno. */
int pass_lock_within(uint64_t ns);
void pass_unlock(void);

/* True: the writer's thread makes the pass, which may take long until the thread must stop (pass_hurry()). */
void pass_set_by_thread(bool by_thread);
/* True: the thread must end. Needs no lock. */
void pass_set_hurry(bool hurry);
bool pass_is_hurried(void);

/* True if a sink whose reader does not read should wait for it for another OUTPUT_WAIT_MS: the writer's
 * thread waits while no other thread needs the pass lock, other threads for a second. After that
 * *STALLED is set, and the sink drops what its reader does not accept at once, until it has accepted
 * something. *SINCE must be 0 when the wait begins. */
bool pass_may_wait(bool *stalled, uint64_t *since);

/* True if this process was forked by a traced process. */
bool pass_is_child(void);
void pass_uuid(uint8_t ret[16]);

/* The clock, started with the first call. */
struct clock_sync *pass_times(void);
/* The moment when tracing began; the clock's rate as far as known. */
struct clock_pair pass_clock_start(void);
uint64_t pass_clock_hz(void);
/* Determines the clock's rate as exactly as possible now, if the clock was started. */
void pass_finish_times(void);
/* Converts CLOCK_MONOTONIC to CLOCK_REALTIME by their current difference. */
uint64_t pass_realtime(uint64_t monotonic);

/* In a child of fork(): frees the lock, also if LOCKED is false and another thread of the parent held
 * it; the child's trace has its own UUID. */
void pass_after_fork_child(bool locked);
