/* SPDX-License-Identifier: MIT */
#pragma once

/* Finds the name that takes most of the time of many slices. It is exact for up to TOPS_MAX names. A further name
 * replaces the name with the least time, and takes over its time. So a name with more than 1/TOPS_MAX of the time is
 * never lost. */

#include "index/format.h"

#define TOPS_MAX BLOCK_SLICES

/* Zeros are an empty one. */
struct top_names {
    uint64_t covered; /* total time */
    unsigned n;
    uint32_t names[TOPS_MAX];
    uint64_t times[TOPS_MAX];
};

static inline void top_names_put(struct top_names *tops, uint32_t name, uint64_t time)
{
    unsigned least = 0;

    tops->covered += time;
    for (unsigned i = 0; i < tops->n; i++) {
        if (tops->names[i] == name) {
            tops->times[i] += time;
            return;
        }
        if (tops->times[i] < tops->times[least])
            least = i;
    }
    if (tops->n < TOPS_MAX) {
        least = tops->n++;
        tops->times[least] = 0;
    }
    tops->names[least] = name;
    tops->times[least] += time;
}

/* Adds everything that NODE stands for. */
static inline void top_names_put_node(struct top_names *tops, const struct slice_node *node)
{
    uint64_t covered = share_time(node->covered, ns_between(node->begin, node->end));
    uint64_t top = share_time(node->top, covered);

    top_names_put(tops, node->name, top);
    tops->covered += covered - top;
}

/* *RET_SHARE (may be NULL): its share of the covered time. */
static inline uint32_t top_names_best(const struct top_names *tops, uint16_t *ret_share)
{
    unsigned best = 0;

    for (unsigned i = 1; i < tops->n; i++)
        if (tops->times[i] > tops->times[best])
            best = i;
    if (ret_share)
        *ret_share = share_of(tops->times[best], tops->covered);
    return tops->names[best];
}
