/* SPDX-License-Identifier: MIT */
#include "qemu/log-for-trace.h"
#include "qemu/osdep.h"

int qemu_loglevel;

void qemu_log(const char *fmt, ...)
{
    va_list ap;

    printf("log: ");
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
}
