/* SPDX-License-Identifier: MIT */
#include "runtime/uuid.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/clock.h"

void uuid_make(uint8_t ret[16])
{
    if (getrandom(ret, 16, GRND_NONBLOCK) != 16) {
        uint64_t unlike[2] = {trace_clock_ticks(), (uint64_t)getpid()};

        memcpy(ret, unlike, sizeof(unlike));
    }
    ret[6] = (uint8_t)(0x40 | (ret[6] & 0x0f)); /* version 4, random */
    ret[8] = (uint8_t)(0x80 | (ret[8] & 0x3f));
}
