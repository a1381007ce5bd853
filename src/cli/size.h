/* SPDX-License-Identifier: MIT */
#pragma once

/* Parses sizes in arguments of options. */

#include "base/error.h"

/* Parses a number of bytes, with K, M, G (or k, …) for powers of 1024, into a uint64_t; the `parse` function of an
 * OPTION_PARSED. */
int size_parse(void *member, const char *value, struct error *error);
