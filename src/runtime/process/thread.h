/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* The library's threads must not keep a process alive. When the program's main thread has ended by pthread_exit() and
 * its other threads have ended, the process must end as without the library. So a thread of the library never sleeps
 * longer than this before it calls thread_must_end(). */
#define THREAD_CHECK_MS 200

/* Starts a thread of the library, with NAME of at most 15 bytes, and with all signals blocked, because the program's
 * handlers must run in the program's threads. ATTRIBUTES may be NULL. Returns 0 or a positive errno. */
int thread_start(pthread_t *ret, const pthread_attr_t *attributes, const char *name,
                 void *(*function)(void *), void *argument);

/* For the library's threads, without any lock. Calls exit(0), and does not return, if no thread of the program is left.
 * Returns true if the main thread has ended and the other threads cannot be counted (no /proc). The calling thread must
 * then return from its function; the last thread that does so ends the process. */
bool thread_must_end(void);

/* In a child of fork(), which lacks these threads. */
void thread_forget(void);
