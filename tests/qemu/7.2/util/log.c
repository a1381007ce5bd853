/* SPDX-License-Identifier: MIT */
#include "qemu/osdep.h"

#include "qemu/log-for-trace.h"

int qemu_loglevel;

void qemu_log(const char *fmt, ...)
{
    va_list ap;

    printf("log: ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
}
