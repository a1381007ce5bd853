/* SPDX-License-Identifier: MIT */
#pragma once

/* What was said about which events are on, remembered for events that are registered later. Under
 * registry_lock(). */

#include <stdbool.h>

/* Whether an event of that name, which is new, is to be on. */
bool switches_of_new(const char *name);
