/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* Makes a random UUID (version 4) for a CTF trace. Never waits: if the kernel has no random numbers yet, it is made
 * from the time and the process ID. */
void uuid_make(uint8_t ret[16]);
