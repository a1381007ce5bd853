/* SPDX-License-Identifier: MIT */
#pragma once

/* Sizes as people write them. */

#include "base/error.h"

/* A number of bytes, with K, M, G (or k, …) for powers of 1024, into a uint64_t: the `parse` of an
 * OPTION_PARSED. */
int size_parse(void *member, const char *value, struct error *error);
