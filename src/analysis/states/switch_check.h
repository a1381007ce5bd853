/* SPDX-License-Identifier: MIT */
#pragma once

/* Whether the thread switches of kernels follow from one another (event/switches.h). */

#include "base/map.h"
#include "event/item.h"

struct switch_check {
    uint64_t n;      /* switches */
    uint64_t broken; /* those that do not follow the one before on their CPU */
    struct map cpus; /* by origin and CPU: struct cpu_switches */
    /* The class of the last item, and its fields with the threads; -1: not a switch. */
    const struct event_class *class;
    int prev, next;
};

/* 0, -ENOMEM. */
int switch_check_add(struct switch_check *check, const struct item *items, unsigned n);
void switch_check_done(struct switch_check *check);
