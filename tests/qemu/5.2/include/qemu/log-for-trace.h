/* SPDX-License-Identifier: MIT */
#pragma once

extern int qemu_loglevel;

#define LOG_TRACE (1 << 15)

static inline bool qemu_loglevel_mask(int mask)
{
    return (qemu_loglevel & mask) != 0;
}

int GCC_FMT_ATTR(1, 2) qemu_log(const char *fmt, ...);
