/* SPDX-License-Identifier: MIT */
#pragma once

/* What comes through a pipe, for readers that must go back and forth. */

#include "base/input.h"

/* Makes IN seekable: a pipe's bytes, with those that are buffered already, are copied to a temporary
 * file without a name in DIR (NULL: in /var/tmp, which unlike /tmp is seldom memory, else in /tmp), and
 * IN reads that from its start. Offsets stay those of the pipe, so nothing of it may have been dropped from
 * the buffer yet (-ESPIPE otherwise). Does nothing for what is seekable. */
int spool(struct input *in, const char *dir, struct error *error);
