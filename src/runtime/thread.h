/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>

/* Starts a thread of the library's: with all signals blocked, as the program's handlers run in the program's
 * threads, and with NAME, of 15 bytes at most. ATTRIBUTES may be NULL. 0, or a positive errno. */
int thread_start(pthread_t *ret, const pthread_attr_t *attributes, const char *name,
                 void *(*function)(void *), void *argument);
