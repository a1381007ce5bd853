/* SPDX-License-Identifier: MIT */
#pragma once

/* Words of a command that is printed, to be pasted into a shell. */

#include "base/text.h"

/* Puts WORD as a shell reads it as one word: as it is, or in single quotes. What is no printable text is in $'…', as a terminal
 * shows it escaped otherwise, and the shell would read another word: bash, zsh and POSIX of 2024. */
void shell_put_word(struct text *out, const char *word);
