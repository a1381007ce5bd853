/* SPDX-License-Identifier: MIT */
#pragma once

/* What was lost in a trace, added up. */

#include "event/sink.h"

#define LOSSES_CPUS 256

struct losses {
    uint64_t n;         /* loss items */
    uint64_t events;    /* lost events, as far as they were counted */
    uint64_t uncounted; /* losses of unknown size */
    uint64_t skipped;   /* bytes of damaged input */
    uint64_t damaged;   /* loss items that are damaged input */
    /* Events by CPU, where the CPU is known and below LOSSES_CPUS. */
    uint64_t by_cpu[LOSSES_CPUS];
    int n_cpus; /* the highest CPU with a loss, and one */
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

void losses_add(struct losses *losses, const struct item *loss);
/* Those among N items. */
void losses_add_all(struct losses *losses, const struct item *items, unsigned n);
/* Adds those of OTHER. */
void losses_merge(struct losses *losses, const struct losses *other);
void losses_sink_init(struct losses_sink *sink, struct sink *next);
