/* SPDX-License-Identifier: MIT */
#pragma once

#include "merge/merge.h"

/* Prints on standard output how each source of MERGE is related to the timeline. A negative errno from writing. */
int merge_report(const struct merge *merge);
