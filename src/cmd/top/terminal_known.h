/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* True if the terminal in $TERM is known here. If it is not, newterm() leaks memory. */
bool top_terminal_is_known(void);
