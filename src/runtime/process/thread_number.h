/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* The number of the calling thread, requested from the kernel once. Safe in signal handlers. */
uint32_t thread_number(void);
/* In a child of fork(): its number is another. */
void thread_number_forget(void);
