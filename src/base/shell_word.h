/* SPDX-License-Identifier: MIT */
#pragma once

/* Words of a command that is printed, to be pasted into a shell. */

#include "base/text.h"

/* Puts WORD as a POSIX shell reads it as one word: as it is, or in single quotes. */
void shell_put_word(struct text *out, const char *word);
