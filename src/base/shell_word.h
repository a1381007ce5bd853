/* SPDX-License-Identifier: MIT */
#pragma once

/* Words of a printed command that can be pasted into a shell. */

#include "base/text.h"

/* Puts WORD so that a POSIX shell reads one word: unchanged, or in single quotes. */
void shell_put_word(struct text *out, const char *word);
/* The same for a terminal. Characters that are not printable are escaped there, so that a shell would read another word. A word
 * with such characters is put in $'…', which bash, zsh and POSIX of 2024 read. */
void shell_put_shown_word(struct text *out, const char *word);
