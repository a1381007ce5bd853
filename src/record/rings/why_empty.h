/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/strings.h"
#include "record/rings/programs.h"

/* That rings of a process could not be read (`unread`), and what to do about it, into BUF. */
void record_put_unread(const struct programs *programs, char *buf, size_t size);
/* Why no event of a program was recorded, and what to do about it, into BUF. PATTERNS are those of --event. */
const char *record_nothing_reason(const struct programs *programs, const struct strings *patterns,
                                  char *buf, size_t size);
