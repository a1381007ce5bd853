/* SPDX-License-Identifier: MIT */
#pragma once

extern unsigned qemu_loglevel;

#define LOG_TRACE (1u << 15)

static inline bool qemu_loglevel_mask(unsigned mask)
{
    return (qemu_loglevel & mask) != 0;
}

void G_GNUC_PRINTF(1, 2) qemu_log(const char *fmt, ...);
