/* SPDX-License-Identifier: MIT */
#pragma once

/* Wakes the writer's thread, which makes the passes (runtime/writer.h). Code that has something to write calls
 * wakeup_post() and need not know the writer, which sleeps on the semaphore.
 *
 * wakeup_post() is safe in signal handlers, and in a child of fork() at any time: it reads an atomic
 * flag and calls sem_post(). Without a thread it does nothing. */

#include <stdint.h>

/* Call it before the thread starts. From now on, a post is kept for the thread. */
void wakeup_arm(void);
/* Call it when the thread has ended, and in a child of fork(), which lacks the thread. */
void wakeup_disarm(void);

/* Wakes the thread now. Any context. */
void wakeup_post(void);

/* For the thread. Returns after NS or at the next post. Several posts count as one. */
void wakeup_wait(uint64_t ns);
