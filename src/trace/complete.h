/* SPDX-License-Identifier: MIT */
#pragma once

/* States in the same words everywhere whether a recording that has ended is complete: "yes", "no; 5 events were lost",
 * or, if more than LOST events are or may be missing, "no; an unknown number of events was lost". */

#include <stdbool.h>
#include <stdint.h>

#define TRACE_COMPLETE_SIZE 64

const char *trace_complete_text(uint64_t lost, bool is_uncounted,
                                char buf[static TRACE_COMPLETE_SIZE]);
