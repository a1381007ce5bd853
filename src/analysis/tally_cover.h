/* SPDX-License-Identifier: MIT */
#pragma once

/* What a tally keeps of the items to find the covered time: the first and the last event of each CPU, and each loss.
 * This makes the same coverage (analysis/coverage/coverage.h) as all items would. It can be added to the same of the
 * following items. Times are ticks. Not thread-safe. */

#include "analysis/coverage/coverage.h"

/* A CPU of a source, or the source's events without a CPU. */
struct tally_place {
    int64_t first, last; /* times of events; TIME_UNKNOWN if there are none */
    unsigned n_losses;   /* before its first event */
};

struct tally_source {
    const struct origin *origin;
    struct tally_place *places; /* by CPU number plus one; CPU_UNKNOWN is 0 */
    unsigned n_places;
};

struct tally_loss {
    struct item item;
    /* Time of the last event of its CPU before it (without a CPU, as in a coverage), or TIME_UNKNOWN. */
    int64_t before;
};

/* Zeros are an empty one. */
struct tally_cover {
    struct tally_source *sources;
    unsigned n_sources, recent;
    struct tally_loss *losses; /* in their order */
    unsigned n_losses, room;
};

void tally_cover_done(struct tally_cover *cover);
/* Returns the place of CPU of ORIGIN. NULL if out of memory. */
struct tally_place *tally_cover_place(struct tally_cover *cover, const struct origin *origin,
                                      int32_t cpu);
/* Adds items. Events without a time do not count. 0, -ENOMEM. */
int tally_cover_put(struct tally_cover *cover, const struct item *items, unsigned n);
/* Adds LATER, which is of the following items. ORIGIN() maps its sources to those of COVER; NULL: they are the same. 0;
 * -ENOMEM; -ERANGE if ORIGIN() finds none. */
int tally_cover_merge(struct tally_cover *cover, const struct tally_cover *later,
                      const struct origin *(*origin)(void *arg, const struct origin *origin),
                      void *arg);
/* The earliest begin of LOSS; TIME_UNKNOWN: before the first event of its CPU. */
int64_t tally_loss_since(const struct tally_loss *loss);
/* Makes RET, which was initialised, from all sources, or only from ORIGIN. 0, -ENOMEM. */
int tally_cover_make(const struct tally_cover *cover, const struct origin *origin,
                     struct coverage *ret);
