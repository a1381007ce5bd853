/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Runs RUN with ARG in a new thread with a stack of STACK_SIZE bytes. All signals are blocked there, so handlers run in the
 * other threads. The caller calls pthread_join(). 0, or a negative errno. */
int thread_start(pthread_t *ret_thread, size_t stack_size, void *(*run)(void *arg), void *arg);
