/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints what each source of a recording is doing, and how many bytes it has, as a table in text, JSON or CSV. */

#include "print/table.h"
#include "tracedir/manifest.h"

/* MANIFEST is the manifest of DIRECTORY. IS_RECORDED: the recorder is running. 0, -ENOMEM. OUT keeps a write error. */
int print_recording_status(const char *directory, const struct manifest *manifest, bool is_recorded,
                           enum table_format format, struct text *out);
