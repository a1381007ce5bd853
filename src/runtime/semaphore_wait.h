/* SPDX-License-Identifier: MIT */
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits until SEMAPHORE is posted, at most NS nanoseconds of CLOCK_MONOTONIC. False: it was not, or a signal handler
 * ran. Any thread.
 *
 * musl waits by the time of day: where that is set back meanwhile, it waits longer by as much, or until the next post. */
bool semaphore_wait(sem_t *semaphore, uint64_t ns);
