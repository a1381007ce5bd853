/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Whether the terminal that the environment names is known here. newterm() keeps memory where it is not. */
bool top_terminal_is_known(void);
