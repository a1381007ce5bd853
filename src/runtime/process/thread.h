/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* The library's threads must not keep a process alive: where the program's main thread has ended by
 * pthread_exit() and its other threads are gone, the process ends as it would without the library. So a
 * thread of the library never sleeps for longer than this before it calls thread_must_end(). */
#define THREAD_CHECK_MS 200

/* Starts a thread of the library's: with all signals blocked, as the program's handlers run in the program's
 * threads, and with NAME, of 15 bytes at most. ATTRIBUTES may be NULL. 0, or a positive errno. */
int thread_start(pthread_t *ret, const pthread_attr_t *attributes, const char *name,
                 void *(*function)(void *), void *argument);

/* For the library's threads, with no lock held. Calls exit(0) when no thread of the program is left, and then
 * does not return. True: the main thread has ended and the others cannot be counted (no /proc), so the
 * calling thread must return from its function; the last thread to do so ends the process. */
bool thread_must_end(void);

/* In a child of fork(), which lacks these threads. */
void thread_forget(void);
