/* SPDX-License-Identifier: MIT */
#pragma once

/* Losses that have begun and not ended. A loss is returned at its end. If reading stops before, at --until or --limit,
 * the part of the loss that was read is returned: it is unknown what its CPU did after the last event before the loss.
 * If a loss has begun before --from, the first item of its CPU from there on reports it. Most readers mark the item
 * before a loss (item->before_loss). For a source that reports losses late (event/source.h), the next item of each CPU
 * reports it. Not thread-safe. */

#include "base/cpu_set.h"
#include "event/select.h"

struct open_loss {
    const struct origin *origin;
    int32_t cpu;
    int64_t since;   /* time of the last event before it, or TIME_UNKNOWN */
    bool has_end;    /* its end is after the read data */
    bool is_lasting; /* began with a loss that is_open */
};

/* The CPUs of an origin whose next item is unknown yet. */
struct late_cpus {
    const struct origin *origin;
    struct cpu_set waiting;
};

/* Zeros are none. */
struct open_losses {
    struct open_loss *items;
    unsigned n, room;
    struct late_cpus *late;
    unsigned n_late;
};

void open_losses_done(struct open_losses *losses);
/* ORIGIN is of a source that tells losses late. 0, -ENOMEM. */
int open_losses_add_late(struct open_losses *losses, const struct origin *origin);
/* Notes the losses among N items, in the order of time, that SELECTION has selected or skipped. IS_FULL: --limit events
 * were selected before these items. Returns 0 or -ENOMEM. */
int open_losses_put(struct open_losses *losses, const struct selection *selection,
                    const struct item *items, unsigned n, bool is_full);
/* True if a later item may still report a loss that has begun. */
bool open_losses_wait(const struct open_losses *losses);
/* Call it after reading. Returns the next loss that reaches beyond the selection of SELECTION, up to END; false: no
 * more. */
bool open_losses_take(struct open_losses *losses, struct selection *selection, int64_t end,
                      struct item *ret);
/* Converts LOSS up to TIME to an item. */
struct item open_loss_item(const struct open_loss *loss, int64_t time);
/* The event before LOSS, with the members that sinks get (sink_begin_loss()). */
struct item open_loss_begin(const struct open_loss *loss);
