/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/strings.h"
#include "record/rings/programs.h"

/* Writes to BUF that rings of a process could not be read (`unread`), and what to do. */
void record_put_unread(const struct programs *programs, char *buf, size_t size);
/* Writes to BUF why no event of a program was recorded, and what to do. PATTERNS: of --event. Returns BUF or a
 * constant. */
const char *record_nothing_reason(const struct programs *programs, const struct strings *patterns,
                                  char *buf, size_t size);
