/* SPDX-License-Identifier: MIT */
#include "base/date.h"

#include <time.h>

const char *date_text(char *buf, size_t size, int64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || strftime(buf, size, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        buf[0] = '\0';
    return buf;
}
