/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* A random one (version 4): of a native trace. Never waits: where the kernel has no random numbers yet it is
 * made of the time and the process's number. */
void uuid_make(uint8_t ret[16]);
