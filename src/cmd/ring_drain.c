/* SPDX-License-Identifier: MIT */
#include "cmd/ring_drain.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/cmd.h"

uint32_t drain_stats_pid(const char *operand)
{
    char *end;
    unsigned long pid = strtoul(operand, &end, 10);

    return *operand >= '0' && *operand <= '9' && !*end && pid <= INT32_MAX ? (uint32_t)pid : 0;
}

void drain_stats_tell_unreadable(const struct drain_stats *taken)
{
    if (taken->undecoded)
        cli_message("  at least %" PRIu64 " event%s (%" PRIu64
                    " bytes of records) cannot be decoded: "
                    "they have no description",
                    taken->undecoded, taken->undecoded == 1 ? "" : "s", taken->undecoded_bytes);
    if (taken->damaged)
        cli_message("  skipped %u damaged rings", taken->damaged);
}

void drain_stats_tell_kept(const struct drain_stats *taken, const char *process)
{
    if (taken->kept)
        cli_message("  %" PRIu64 " events were not written and are kept in rings: 'strata recover "
                    "-o DIR %s' saves them",
                    taken->kept, process);
}

bool drain_stats_is_whole(const struct drain_stats *taken)
{
    return !taken->discarded && !taken->no_ring && !taken->unwritten && !taken->undecoded &&
           !taken->damaged && !taken->kept;
}
