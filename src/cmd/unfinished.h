/* SPDX-License-Identifier: MIT */
#pragma once

/* What a verb makes under another name until it is whole (export/place.h), and signals: SIGINT, SIGTERM and SIGHUP
 * end the program as ever, but take away first what is not whole, at any moment. One at a time; not thread-safe. */

#include <signal.h>

#include "export/place.h"

/* Opens the place, as export_place_open() does. With STOP, the first signal only puts its number there, and a second
 * one ends the program. Signals that are ignored stay so. */
int unfinished_open(enum export_target target, const char *wanted, volatile sig_atomic_t *stop,
                    struct export_place *ret, struct fault *fault);

/* As export_place_done(): takes away what was not kept, and lets go of the signals. */
void unfinished_done(struct export_place *place);
