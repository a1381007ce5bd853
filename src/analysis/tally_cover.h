/* SPDX-License-Identifier: MIT */
#pragma once

/* What a tally keeps of the items that it counts to say which time they cover: of each CPU the first and the last event, and each
 * loss. That is enough for a coverage (analysis/coverage/coverage.h) as if it had been given all items; and it can be added up with
 * that of the items that follow. Times are ticks. Not thread-safe. */

#include "analysis/coverage/coverage.h"

/* A CPU of a source, or its events without a CPU. */
struct tally_place {
    int64_t first, last; /* events; TIME_UNKNOWN: there are none */
    unsigned n_losses;   /* that came before its first event */
};

struct tally_source {
    const struct origin *origin;
    struct tally_place *places; /* by the number of the CPU, and one; CPU_UNKNOWN is 0 */
    unsigned n_places;
};

struct tally_loss {
    struct item item;
    int64_t
        before; /* the last event of its CPU before it, of one without a CPU as in a coverage; TIME_UNKNOWN: there is none */
};

/* Zeros are none. */
struct tally_cover {
    struct tally_source *sources;
    unsigned n_sources, recent;
    struct tally_loss *losses; /* in their order */
    unsigned n_losses, room;
};

void tally_cover_done(struct tally_cover *cover);
/* The place of CPU of ORIGIN. NULL: memory is out. */
struct tally_place *tally_cover_place(struct tally_cover *cover, const struct origin *origin,
                                      int32_t cpu);
/* Items, of which events without a time count for nothing. 0, -ENOMEM. */
int tally_cover_put(struct tally_cover *cover, const struct item *items, unsigned n);
/* Adds what LATER has of the items that follow. Its sources are here what ORIGIN() says; NULL: the same. 0; -ENOMEM; -ERANGE: ORIGIN()
 * has found none. */
int tally_cover_merge(struct tally_cover *cover, const struct tally_cover *later,
                      const struct origin *(*origin)(void *arg, const struct origin *origin),
                      void *arg);
/* Since when LOSS was, at the earliest; TIME_UNKNOWN: since before the first event of its CPU. */
int64_t tally_loss_since(const struct tally_loss *loss);
/* Makes RET, which was initialised, of all sources, or of ORIGIN alone. 0, -ENOMEM. */
int tally_cover_make(const struct tally_cover *cover, const struct origin *origin,
                     struct coverage *ret);
