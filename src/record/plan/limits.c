/* SPDX-License-Identifier: MIT */
#include "record/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"

#define FLIGHT_MAX_SIZE ((uint64_t)1 << 60)
/* Kernels hold their events for 5 s at most. */
#define HOLD_MIN_NS (20 * NSEC_PER_SEC)

bool record_plan_has_flight(const struct record_plan *plan)
{
    return plan->flight.ns > 0 || plan->flight.bytes > 0;
}

uint64_t record_plan_max_size(const struct record_plan *plan)
{
    return record_plan_has_flight(plan) ? FLIGHT_MAX_SIZE : plan->max_size;
}

uint64_t record_plan_min_free(const struct record_plan *plan)
{
    if (plan->min_free != RECORD_MIN_FREE_DEFAULT)
        return plan->min_free;
    return plan_recorders_min_free(plan->recorders);
}

bool record_plan_may_hold(const struct record_plan *plan)
{
    return plan->flight.ns > 0 ? plan->flight.ns >= HOLD_MIN_NS : plan->flight.bytes > 0;
}

struct unit {
    uint64_t size;
    const char *name;
};

/* N in the largest unit that it is a multiple of. */
static void put(char *buf, size_t size, uint64_t n, const struct unit *units)
{
    size_t len = strlen(buf);

    while (n % units->size != 0)
        units++;
    snprintf(buf + len, size - len, "%s%" PRIu64 "%s", len ? "," : "", n / units->size,
             units->name);
}

const char *record_plan_limit_text(const struct retention_limit *limit,
                                   char buf[RECORD_PLAN_LIMIT_MAX])
{
    static const struct unit times[] = {{3600, "h"}, {60, "m"}, {1, "s"}};
    static const struct unit sizes[] = {{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}, {1, ""}};

    buf[0] = '\0';
    if (limit->ns > 0 && limit->ns % NSEC_PER_SEC == 0)
        put(buf, RECORD_PLAN_LIMIT_MAX, limit->ns / NSEC_PER_SEC, times);
    else if (limit->ns > 0)
        snprintf(buf, RECORD_PLAN_LIMIT_MAX, "%" PRIu64 "ms", limit->ns / (NSEC_PER_SEC / 1000));
    if (limit->bytes > 0)
        put(buf, RECORD_PLAN_LIMIT_MAX, limit->bytes, sizes);
    return buf;
}
