/* SPDX-License-Identifier: MIT */
#pragma once

/* The old protocol's control path: `1` starts, `0` stops.
 *
 * Upstream's agent wants exactly two bytes per read, and so takes "10" for a start, refuses a bare "1"
 * and loses both of "1\n0\n" when they arrive together. Here each digit is a command, wherever the
 * host's writes begin and end; newlines, blanks and NULs between them mean nothing. */

#include "base/macro.h"

enum control_command {
    CONTROL_STOP,
    CONTROL_START,
};

struct control {
    uint64_t n_unknown; /* bytes that are neither */
    uint8_t first_unknown;
};

/* The next command in the N bytes at P, from *POS on, which is moved behind it. False: there is none up
 * to the end. */
bool control_next(struct control *control, const uint8_t *p, size_t n, size_t *pos,
                  enum control_command *ret_command);
