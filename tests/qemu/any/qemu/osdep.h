/* SPDX-License-Identifier: MIT */
/* Stands for the header of that name in QEMU's tree: what generated code takes from it. */
#pragma once

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define G_GNUC_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define G_GNUC_UNUSED __attribute__((unused))
#define GCC_FMT_ATTR(f, a) G_GNUC_PRINTF(f, a)

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

int qemu_get_thread_id(void);
