/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of `strata list` tell each other: each puts what it knows of into OUT, a table, or with JSON an
 * object a line. -errno with FAULT. */

#include "base/fault.h"
#include "base/text.h"

/* Recordings that are under way, and virtual machine monitors that could be recorded, or are. */
int list_recordings(struct text *out, bool json, struct fault *fault);
