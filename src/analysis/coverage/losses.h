/* SPDX-License-Identifier: MIT */
#pragma once

/* Adds up what is missing from a trace: losses in its records, and losses that only its recorder knows. Everything that
 * prints losses uses this module.
 *
 * losses_add() counts records. After the last record, losses_add_recorded() adds what the recorder counted in addition
 * (struct origin); it is unknown when these events were lost. */

#include "event/catalogue.h"
#include "event/sink.h"

#define LOSSES_CPUS 256
/* Sources whose losses are counted separately. */
#define LOSSES_ORIGINS 64

struct losses {
    uint64_t n;         /* number of loss items */
    uint64_t events;    /* lost events, as far as they were counted */
    uint64_t uncounted; /* number of losses of unknown size */
    uint64_t skipped;   /* bytes of damaged input */
    uint64_t damaged;   /* number of loss items for damaged input */
    /* Events by CPU, if the CPU is known and below LOSSES_CPUS. */
    uint64_t by_cpu[LOSSES_CPUS];
    int n_cpus; /* highest CPU with a loss, plus one */
    /* Events by origin->number; the last entry also has all others. */
    uint64_t by_origin[LOSSES_ORIGINS];
    /* The part of `events` that only recorders counted. */
    uint64_t unplaced;
    /* If only a part of a trace was read: lost events of the whole trace that only recorders counted. They are not in
     * `events`. */
    uint64_t elsewhere;
    /* Recorders that lost, or may have lost, more than they counted, or left threads out. */
    unsigned n_recorders;
};

/* Losses per layer. */
struct layer_losses {
    struct losses losses[LAYERS];
};

/* A sink that counts the losses among its items and passes all items to NEXT, which it does not own. */
struct losses_sink {
    struct sink sink;
    struct sink *next;
    struct losses losses;
    struct layer_losses layers;
};

/* When LOSS began, at the latest its end. TIME_UNKNOWN if it is unknown: for a loss without an end, where only the time
 * of its record is known, and for a loss before all times of its source, whose time is 0. */
int64_t loss_begin(const struct item *loss);
void losses_add(struct losses *losses, const struct item *loss);
/* Adds the losses among N items. */
void losses_add_all(struct losses *losses, const struct item *items, unsigned n);
/* Adds what the recorder of ORIGIN states beyond the records. Call once, after the records. IS_PART: only a part of the
 * trace was read, which need not contain the lost events. */
void losses_add_recorded(struct losses *losses, const struct origin *origin, bool is_part);
/* True if anything is missing. */
static inline bool losses_any(const struct losses *losses)
{
    return losses->n > 0 || losses->unplaced > 0 || losses->elsewhere > 0 ||
           losses->n_recorders > 0;
}
/* True if more than `events` may be missing. */
static inline bool losses_are_more(const struct losses *losses)
{
    return losses->uncounted > 0 || losses->elsewhere > 0 || losses->n_recorders > 0;
}
/* Adds the losses of OTHER. */
void losses_merge(struct losses *losses, const struct losses *other);
void losses_sink_init(struct losses_sink *sink, struct sink *next);
