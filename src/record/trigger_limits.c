/* SPDX-License-Identifier: MIT */
#include "record/trigger_limits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock_ns.h"
#include "base/macro.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
/* After a snapshot that could not be saved, as the disk was full: the next one may be, at the latest then. */
#define RETRY_NS (60 * NSEC_PER_SEC)

struct trigger_limits {
    unsigned n, per_hour;
    uint64_t *next_at; /* of each condition */
    uint64_t *taken;   /* when each of the last `per_hour` snapshots was; a ring */
    uint64_t n_taken;
};

int trigger_limits_new(unsigned n, unsigned per_hour, struct trigger_limits **ret)
{
    struct trigger_limits *limits = calloc(1, sizeof *limits);

    if (!limits)
        return -ENOMEM;
    limits->n = n;
    limits->per_hour = per_hour;
    limits->next_at = calloc(n, sizeof *limits->next_at);
    limits->taken = calloc(per_hour, sizeof *limits->taken);
    if (!limits->next_at || !limits->taken) {
        trigger_limits_free(limits);
        return -ENOMEM;
    }
    *ret = limits;
    return 0;
}

void trigger_limits_free(struct trigger_limits *limits)
{
    if (!limits)
        return;
    free(limits->next_at);
    free(limits->taken);
    free(limits);
}

bool trigger_limits_allow(const struct trigger_limits *limits, unsigned i, uint64_t now)
{
    uint64_t oldest = limits->taken[limits->n_taken % limits->per_hour];

    return now >= limits->next_at[i] &&
           (limits->n_taken < limits->per_hour || now >= oldest + HOUR_NS);
}

void trigger_limits_count(struct trigger_limits *limits, uint64_t now)
{
    limits->taken[limits->n_taken++ % limits->per_hour] = now;
}

void trigger_limits_note(struct trigger_limits *limits, unsigned i, uint64_t now, bool is_saved)
{
    uint64_t interval = HOUR_NS / limits->per_hour;

    limits->next_at[i] = now + (is_saved ? interval : MIN(interval, RETRY_NS));
}
