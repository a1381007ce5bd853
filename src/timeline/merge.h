/* SPDX-License-Identifier: MIT */
#pragma once

/* Several sources as one, by time. */

#include "event/source.h"

/* Takes over the N sources of INPUTS (the array itself is copied), which lend in order and whose
 * times are of one clock. Equal times: the input that stands first goes first. An input that fails
 * counts as ended; its error is returned when all that the others had is lent. With N = 1 the
 * source itself is returned. -ENOMEM (the inputs are then freed too). */
int merge_open(struct source **inputs, unsigned n, struct source **ret_source);
