/* SPDX-License-Identifier: MIT */
#pragma once

/* The manifest of a folder with guests' traces. */

#include "capture/guests.h"

/* COMPLETE: it is the last time. -errno with FAULT. */
int guests_write_manifest(const struct guests *guests, bool complete, struct fault *fault);
