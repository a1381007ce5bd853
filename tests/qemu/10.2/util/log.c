/* SPDX-License-Identifier: MIT */
#include "qemu/osdep.h"

#include "qemu/error-report.h"
#include "qemu/log-for-trace.h"

unsigned qemu_loglevel;

void qemu_log(const char *fmt, ...)
{
    va_list ap;

    printf("log: ");
    if (message_with_timestamp)
        printf("2026-11-21T12:00:00.123456Z ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
}
