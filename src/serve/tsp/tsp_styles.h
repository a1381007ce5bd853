/* SPDX-License-Identifier: MIT */
#pragma once

#include "index/index.h"

/* The key of the style of SLICE on TRACK. */
const char *tsp_slice_style(const struct index_track *track, const struct index_slice *slice);
