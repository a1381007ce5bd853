/* SPDX-License-Identifier: MIT */
#include "cmd/taken.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"

uint32_t taken_pid(const char *operand)
{
    char *end;
    unsigned long pid = strtoul(operand, &end, 10);

    return *operand >= '0' && *operand <= '9' && !*end && pid <= INT32_MAX ? (uint32_t)pid : 0;
}

void taken_tell_unreadable(const struct taken *taken)
{
    if (taken->undecoded)
        cmd_message("  at least %" PRIu64 " event%s (%" PRIu64
                    " bytes of records) cannot be decoded: "
                    "they have no description",
                    taken->undecoded, taken->undecoded == 1 ? "" : "s", taken->undecoded_bytes);
    if (taken->damaged)
        cmd_message("  %u rings are damaged and were passed over", taken->damaged);
}

bool taken_is_whole(const struct taken *taken)
{
    return !taken->discarded && !taken->homeless && !taken->unwritten && !taken->undecoded &&
           !taken->damaged;
}
