/* SPDX-License-Identifier: MIT */
/* The `syslog` backend: libc's. */
#include <errno.h>
#include <stdarg.h>
#include <syslog.h>

#include "strata/trace.h"

void strata_syslog(const char *format, ...)
{
    int kept = errno; /* the program's: tracing leaves it alone */
    va_list args;

    va_start(args, format);
    vsyslog(LOG_INFO, format, args);
    va_end(args);
    errno = kept;
}
