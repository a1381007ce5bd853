/* SPDX-License-Identifier: MIT */
#pragma once

/* Words of a command that is printed, to be pasted into a shell. */

#include "base/text.h"

/* Puts WORD as a POSIX shell reads it as one word: as it is, or in single quotes. */
void shell_put_word(struct text *out, const char *word);
/* The same for what is shown on a terminal, which escapes what is no printable text, so that the shell would read another word: such a
 * word is in $'…', as bash, zsh and POSIX of 2024 read it. */
void shell_put_shown_word(struct text *out, const char *word);
