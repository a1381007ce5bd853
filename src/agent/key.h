/* SPDX-License-Identifier: MIT */
#pragma once

/* The key that host and agent share, in a file that only its owner reads. */

#include "base/error.h"
#include "base/macro.h"

#define KEY_MIN 16u
#define KEY_MAX 4096u

/* The bytes of the file without blanks and newlines at its end; *RET_KEY is from malloc. -EPERM: others
 * may read or write it; -EINVAL: it is shorter than KEY_MIN or longer than KEY_MAX. */
int key_read(const char *path, uint8_t **ret_key, size_t *ret_size, struct error *error);
