/* SPDX-License-Identifier: MIT */
#include "event/late_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *late_text(char buf[LATE_TEXT_SIZE], uint64_t n)
{
    snprintf(buf, LATE_TEXT_SIZE,
             "%" PRIu64 " %s out of order: what is measured around %s is wrong", n,
             n == 1 ? "event is" : "events are", n == 1 ? "it" : "them");
    return buf;
}
