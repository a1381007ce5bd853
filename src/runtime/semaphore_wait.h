/* SPDX-License-Identifier: MIT */
#pragma once

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

/* Waits until SEMAPHORE is posted, at most NS nanoseconds of CLOCK_MONOTONIC. Returns false if it was not posted, or a
 * signal handler ran. Any thread.
 *
 * musl waits by the time of day: if that is set back meanwhile, it waits longer by the same amount, or until the next
 * post. */
bool semaphore_wait(sem_t *semaphore, uint64_t ns);
