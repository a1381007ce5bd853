/* SPDX-License-Identifier: MIT */
#pragma once

/* A progress line on a terminal; appears after a second and is erased at the end. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h" /* bytes_text() */

struct progress {
    bool on;
    bool shown;
    unsigned skip; /* calls until the clock is read again */
    uint64_t start;
    uint64_t next; /* when the line is written again */
};

/* ON: standard error is a terminal, and nothing else writes to it. */
void progress_start(struct progress *progress, bool on);
/* True if the line must be shown now; cheap enough for every run of items. */
bool progress_is_due(struct progress *progress);
/* TOTAL 0: unknown. */
void progress_show(struct progress *progress, uint64_t done, uint64_t total);
void progress_erase(struct progress *progress);

/* Shows a line of the caller instead. It is erased by the next one. */
void progress_line(const char *line);
void progress_line_erase(void);
