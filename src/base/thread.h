/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Runs RUN with ARG in a thread with a stack of STACK_SIZE bytes, in which all signals are blocked: handlers run in the
 * threads that there were. pthread_join() is the caller's. 0, or a negative errno. */
int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *arg), void *arg);
