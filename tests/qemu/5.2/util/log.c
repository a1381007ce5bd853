/* SPDX-License-Identifier: MIT */
#include "qemu/osdep.h"

#include "qemu/error-report.h"
#include "qemu/log-for-trace.h"

int qemu_loglevel;
bool error_with_timestamp;

int qemu_log(const char *fmt, ...)
{
    va_list ap;
    int n;

    printf("log: ");
    va_start(ap, fmt);
    n = vprintf(fmt, ap);
    va_end(ap);
    return n;
}
