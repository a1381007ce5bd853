/* SPDX-License-Identifier: MIT */
#pragma once

/* Marks the CPUs that --cpu leaves out of an output. Each gets a loss of an unknown number of events, from the first
 * written item to the end. So a reader knows that these CPUs exist, and that nothing is known of them. Not
 * thread-safe. */

#include "event/select.h"
#include "event/sink.h"

struct unselected_source;

/* Zeros are an empty one. */
struct unselected_cpus {
    struct unselected_source *sources;
    unsigned n;
    bool has_new; /* some CPUs were seen and have no loss yet */
    int64_t first;
    bool has_first;
};

void unselected_cpus_done(struct unselected_cpus *unselected_cpus);
/* Notes the CPUs of the next items of the trace, selected or not. 0, -ENOMEM. */
int unselected_cpus_note(struct unselected_cpus *unselected_cpus, const struct selection *selection,
                         const struct item *items, unsigned n);
/* Puts the losses of newly seen CPUs to SINK. Call before putting items at TIME. */
int unselected_cpus_put(struct unselected_cpus *unselected_cpus, struct sink *sink, int64_t time);
