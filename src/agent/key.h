/* SPDX-License-Identifier: MIT */
#pragma once

/* The key file that host and agent share; only its owner may read it. */

#include "base/error.h"
#include "base/macro.h"

#define KEY_MIN 16u
#define KEY_MAX 4096u

/* Reads the key: the file's bytes without trailing blanks and newlines. The caller frees *RET_KEY.
 * -EPERM: other users can read or write the file; -EINVAL: shorter than KEY_MIN or longer than KEY_MAX. */
int key_read(const char *path, uint8_t **ret_key, size_t *ret_size, struct error *error);
