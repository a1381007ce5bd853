/* SPDX-License-Identifier: MIT */
#pragma once

/* CPUs that --cpu leaves out of what is written: each gets a loss of an unknown number of events, from the first item that is
 * written to the end. A reader then knows that these CPUs exist, and that what they did is unknown. Not thread-safe. */

#include "event/select.h"
#include "event/sink.h"

struct left_out_source;

/* Zeros are none. */
struct left_out {
    struct left_out_source *sources;
    unsigned n;
    bool has_new; /* CPUs that were seen and have no loss yet */
    int64_t first;
    bool has_first;
};

void left_out_done(struct left_out *left_out);
/* Looks through the next items of the trace, selected or not. 0, -ENOMEM. */
int left_out_note(struct left_out *left_out, const struct selection *selection,
                  const struct item *items, unsigned n);
/* Puts the losses of CPUs that are new to SINK. Before the items at TIME are put. */
int left_out_put(struct left_out *left_out, struct sink *sink, int64_t time);
