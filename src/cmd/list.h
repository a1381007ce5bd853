/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata list` tell each other: each puts what it knows of into OUT, a table, or with JSON an
 * object a line. -errno with ERROR. */

#include "base/error.h"
#include "base/text.h"

/* Recordings that are under way, and virtual machine monitors that could be recorded, or are. */
int list_recordings(struct text *out, bool json, struct error *error);
