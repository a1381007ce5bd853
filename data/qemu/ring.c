/*
 * Trace backend "ring": ring buffers in memory, by libstrata
 *
 * SPDX-License-Identifier: MIT
 */

#include "qemu/osdep.h"
#include <strata/ring.h>
#include "qemu/error-report.h"
#include "trace/control.h"
#include "trace/ring.h"

/*
 * While trace_events_enabled_count is 0, the state of no event is looked at.
 * libstrata switches states without counting, and what it has switched on,
 * the monitor may switch off, which does count. So the count has a bias that
 * no number of events can use up.
 */
#define RING_ENABLED_BIAS (1 << 30)

void ring_register_group(struct strata_group *group)
{
    trace_events_enabled_count |= RING_ENABLED_BIAS;
    strata_ring_bind();
    strata_backend_register(STRATA_BACKEND_RING);
    strata_backend_register(STRATA_BACKEND_OWN_STATES);
    strata_group_register(group);
}

void ring_init(void)
{
    struct strata_trace_stats stats;

    strata_trace_get_stats(&stats, sizeof(stats));
    if (stats.refused) {
        warn_report("%" PRIu64 " trace events cannot be recorded in rings",
                    stats.refused);
    }
}

void ring_set_trace_file(const char *path)
{
    int ret = strata_trace_file_set(path);

    if (ret < 0) {
        error_report("cannot write a trace to '%s': %s", path, strerror(-ret));
        exit(1);
    }
}
