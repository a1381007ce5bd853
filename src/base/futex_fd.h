/* SPDX-License-Identifier: MIT */
#pragma once

/* A descriptor to poll for a futex: a word of shared memory that other processes change and then wake.
 *
 * The first futex_fd_arm() starts a thread that waits for the futex. The thread never reads the word, which may be gone
 * (base/shared_map.h). After each wake-up it sleeps until futex_fd_arm(), however often the word changes. */

#include <stdint.h>

struct futex_fd;

/* For WORD, which must stay mapped until futex_fd_free(). Not readable before futex_fd_arm(). -errno. */
int futex_fd_new(const uint32_t *word, struct futex_fd **ret);
void futex_fd_free(struct futex_fd *futex);
/* Readable when the word has changed. */
int futex_fd(const struct futex_fd *futex);
/* Makes the descriptor readable when the word is not VALUE any more. If it is readable at once, the thread was not
 * waiting yet: call this function again. -errno: no thread. */
int futex_fd_arm(struct futex_fd *futex, uint32_t value);
