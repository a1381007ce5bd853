/* SPDX-License-Identifier: MIT */
#pragma once

/* What each source of a recording is doing, and how many bytes it has, as a table in text, JSON or CSV. */

#include "print/table.h"
#include "tracedir/manifest.h"

/* MANIFEST is that of DIRECTORY. IS_RECORDED: the recorder lives. 0, -ENOMEM. A failure to write is kept in OUT. */
int print_recording_status(const char *directory, const struct manifest *manifest, bool is_recorded,
                           enum table_format format, struct text *out);
