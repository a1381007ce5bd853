/* SPDX-License-Identifier: MIT */
#pragma once

/* What is missing of a trace, added up: what its records say was lost, and what only its recorder knows. Everything that
 * prints losses has them from here.
 *
 * losses_add() counts records. After the last of them, losses_add_recorded() adds what the recorder counted beyond
 * them (struct origin), of which it is not known when it was lost. */

#include "event/catalogue.h"
#include "event/sink.h"

#define LOSSES_CPUS 256
/* Sources whose losses are counted separately. */
#define LOSSES_ORIGINS 64

struct losses {
    uint64_t n;         /* loss items */
    uint64_t events;    /* lost events, as far as they were counted */
    uint64_t uncounted; /* losses of unknown size */
    uint64_t skipped;   /* bytes of damaged input */
    uint64_t damaged;   /* loss items that are damaged input */
    /* Events by CPU, where the CPU is known and below LOSSES_CPUS. */
    uint64_t by_cpu[LOSSES_CPUS];
    int n_cpus; /* the highest CPU with a loss, and one */
    /* Events by origin->number; the last one is of all others, too. */
    uint64_t by_origin[LOSSES_ORIGINS];
    /* The part of `events` that only recorders counted. */
    uint64_t unplaced;
    /* Of a part of a trace: lost events that only recorders counted, in all of it; which are not in `events`. */
    uint64_t elsewhere;
    unsigned n_recorders; /* that lost more than they counted, or may have, or left threads out */
};

/* The same per layer. */
struct layer_losses {
    struct losses losses[LAYERS];
};

/* A sink that counts the losses among its items and gives all items to NEXT, which it does not own. */
struct losses_sink {
    struct sink sink;
    struct sink *next;
    struct losses losses;
    struct layer_losses layers;
};

/* When LOSS began, as far as it is known: at the latest when it ended. TIME_UNKNOWN: it is not known, as for a loss without an end, of
 * which only the time of its record is known, and for one before all times of its source, whose time is 0. */
int64_t loss_begin(const struct item *loss);
void losses_add(struct losses *losses, const struct item *loss);
/* Those among N items. */
void losses_add_all(struct losses *losses, const struct item *items, unsigned n);
/* Adds what the recorder of ORIGIN says beyond the records, once and after these. IS_PART: only a part of the trace was
 * read, and the lost events need not be of it. */
void losses_add_recorded(struct losses *losses, const struct origin *origin, bool is_part);
/* Whether anything is missing. */
static inline bool losses_any(const struct losses *losses)
{
    return losses->n > 0 || losses->unplaced > 0 || losses->elsewhere > 0 ||
           losses->n_recorders > 0;
}
/* Whether more than `events` may be. */
static inline bool losses_are_more(const struct losses *losses)
{
    return losses->uncounted > 0 || losses->elsewhere > 0 || losses->n_recorders > 0;
}
/* Adds those of OTHER. */
void losses_merge(struct losses *losses, const struct losses *other);
void losses_sink_init(struct losses_sink *sink, struct sink *next);
