/* SPDX-License-Identifier: MIT */
#pragma once

/* CPUs that --cpu leaves out of what is written: each gets a loss of an unknown number of events, from the first item that is
 * written to the end. A reader then knows that these CPUs exist, and that what they did is unknown. Not thread-safe. */

#include "event/select.h"
#include "event/sink.h"

struct unselected_source;

/* Zeros are none. */
struct unselected_cpus {
    struct unselected_source *sources;
    unsigned n;
    bool has_new; /* CPUs that were seen and have no loss yet */
    int64_t first;
    bool has_first;
};

void unselected_cpus_done(struct unselected_cpus *unselected_cpus);
/* Looks through the next items of the trace, selected or not. 0, -ENOMEM. */
int unselected_cpus_note(struct unselected_cpus *unselected_cpus, const struct selection *selection,
                         const struct item *items, unsigned n);
/* Puts the losses of CPUs that are new to SINK. Before the items at TIME are put. */
int unselected_cpus_put(struct unselected_cpus *unselected_cpus, struct sink *sink, int64_t time);
