/* SPDX-License-Identifier: MIT */
#pragma once

/* A descriptor to poll for a futex: a word of shared memory that other processes change and then wake.
 * A thread, which the first futex_fd_arm() starts, waits on it; it never reads the word, which may be gone
 * (base/shared_map.h), and sleeps after each wake-up until futex_fd_arm(), however often the word changes meanwhile. */

#include <stdint.h>

struct futex_fd;

/* For WORD, which must stay mapped until futex_fd_free(). Not readable before futex_fd_arm(). -errno. */
int futex_fd_new(const uint32_t *word, struct futex_fd **ret);
void futex_fd_free(struct futex_fd *futex);
/* Readable when the word has changed. */
int futex_fd(const struct futex_fd *futex);
/* Waits for the word to be other than VALUE. Not readable until then; where it is readable at once, the thread was about
 * to wait for this call, which is to be made again. -errno: there is no thread. */
int futex_fd_arm(struct futex_fd *futex, uint32_t value);
