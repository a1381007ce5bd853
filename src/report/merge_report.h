/* SPDX-License-Identifier: MIT */
#pragma once

#include "merge/merge.h"

/* Puts to OUT how each source of MERGE relates to the timeline. */
void merge_report(const struct merge *merge, struct text *out);
