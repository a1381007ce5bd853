/* SPDX-License-Identifier: MIT */
#pragma once

/* Wakes the writer's thread, which makes the passes (runtime/writer.h). Code with something to write
 * calls wakeup_post() and need not know the writer: the writer sleeps on the semaphore.
 *
 * wakeup_post() is safe in signal handlers, and in a child of fork() at any time: it reads an atomic
 * flag and calls sem_post(). Without a thread it does nothing. */

#include <stdint.h>

/* Before the thread starts: a post is kept for it from now on. */
void wakeup_arm(void);
/* The thread has ended; also in a child of fork(), which lacks it. */
void wakeup_disarm(void);

/* Makes the thread look now. Any context. */
void wakeup_post(void);

/* Returns after NS, or with the next post; several posts are one. For the thread. */
void wakeup_wait(uint64_t ns);
