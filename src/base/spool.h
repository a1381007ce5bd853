/* SPDX-License-Identifier: MIT */
#pragma once

/* Makes input from a pipe seekable. */

#include "base/input.h"

/* Makes IN seekable: copies a pipe's bytes, including what is buffered, to an unnamed temporary file in
 * DIR (NULL: in /var/tmp, which is rarely in memory, else in /tmp), from which IN then reads. Offsets
 * stay those of the pipe, so nothing may have been dropped from the buffer yet (otherwise -ESPIPE).
 * Does nothing if IN is seekable. */
int spool(struct input *in, const char *dir, struct error *error);
