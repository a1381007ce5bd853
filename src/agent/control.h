/* SPDX-License-Identifier: MIT */
#pragma once

/* Control commands of the virtio-trace protocol: `1` starts tracing, `0` stops it.
 *
 * Upstream's agent expects exactly two bytes per read: it reads "10" as a start, rejects a bare "1",
 * and drops both commands of "1\n0\n" if they arrive together. Here each digit is a command, however
 * the host's writes are split; newlines, blanks and NULs in between are ignored. */

#include "base/macro.h"

enum control_command {
    CONTROL_STOP,
    CONTROL_START,
};

struct control {
    uint64_t n_unknown; /* bytes that are neither a command nor a separator */
    uint8_t first_unknown;
};

/* Reads the next command from the N bytes at P, starting at *POS, and advances *POS past it. Returns
 * false if there is none. */
bool control_next(struct control *control, const uint8_t *p, size_t n, size_t *pos,
                  enum control_command *ret_command);
