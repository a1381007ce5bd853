/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether a recording that came to its end is complete, one word for one state: "yes", "no; 5 events were lost", or, if more
 * than LOST are missing or may be, "no; an unknown number of events was lost". */

#include <stdbool.h>
#include <stdint.h>

#define TRACE_COMPLETE_SIZE 64

const char *trace_complete_text(uint64_t lost, bool is_uncounted,
                                char buf[static TRACE_COMPLETE_SIZE]);
