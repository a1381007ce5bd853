/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* The number of the calling thread, requested from the kernel once. Safe in signal handlers. */
uint32_t thread_number(void);
/* Call it in a child of fork(), which has another number. */
void thread_number_forget(void);
