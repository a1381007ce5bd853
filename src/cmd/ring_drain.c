/* SPDX-License-Identifier: MIT */
#include "cmd/ring_drain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"

void drain_stats_report_dropped(const struct drain_stats *taken, const char *since,
                                const char *hint)
{
    if (taken->discarded && taken->error < 0 && !taken->full)
        cli_message(
            "  %" PRIu64
            " events were lost%s: its rings were full, because the trace could not be written: "
            "%s",
            taken->discarded, since, strerror(-taken->error));
    else if (taken->discarded)
        cli_message("  %" PRIu64 " events were lost%s: its rings were full%s", taken->discarded,
                    since, hint);
    if (taken->no_ring)
        cli_message("  %" PRIu64 " events were lost%s: their threads got no ring", taken->no_ring,
                    since);
}

void drain_stats_report_unwritten(const struct drain_stats *taken)
{
    if (taken->unwritten)
        cli_message("  %" PRIu64 " events were lost: %s%s%s", taken->unwritten,
                    taken->full ? "--max-size is reached" : "they could not be written",
                    taken->error < 0 && !taken->full ? ": " : "",
                    taken->error < 0 && !taken->full ? strerror(-taken->error) : "");
}

void drain_stats_report_unreadable(const struct drain_stats *taken)
{
    if (taken->undecoded)
        cli_message("  at least %" PRIu64 " event%s (%" PRIu64
                    " bytes of records) cannot be decoded: "
                    "they have no description",
                    taken->undecoded, taken->undecoded == 1 ? "" : "s", taken->undecoded_bytes);
    if (taken->damaged)
        cli_message("  skipped %u damaged rings", taken->damaged);
}

void drain_stats_report_kept(const struct drain_stats *taken, const char *process)
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
