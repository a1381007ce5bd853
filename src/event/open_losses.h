/* SPDX-License-Identifier: MIT */
#pragma once

/* Losses that have begun and not ended. A loss comes at its end. Where reading stops before, at --until or --limit, it is given as far
 * as it was read: from the last event before it on, what its CPU did is unknown. Where it has begun before --from, it is told at the
 * first item from there on. Only losses whose begin the reader has found (item->before_loss) are known so. Not thread-safe. */

#include "event/select.h"

struct open_loss {
    const struct origin *origin;
    int32_t cpu;
    int64_t since; /* of the last event before it */
    bool has_end;  /* … which is after what is read */
};

/* Zeros are none. */
struct open_losses {
    struct open_loss *items;
    unsigned n, room;
};

void open_losses_done(struct open_losses *losses);
/* Notes the losses of N items in the order of time, which SELECTION has selected or passed over. 0, -ENOMEM. */
int open_losses_put(struct open_losses *losses, const struct selection *selection,
                    const struct item *items, unsigned n);
/* After what was read: takes the next loss that reaches beyond what SELECTION has selected, as far as it is in it: up to END. False:
 * there are no more. */
bool open_losses_take(struct open_losses *losses, struct selection *selection, int64_t end,
                      struct item *ret);
/* LOSS up to TIME, as an item. */
struct item open_loss_item(const struct open_loss *loss, int64_t time);
/* The event before LOSS, as far as sinks are told of it (sink_begin_loss()). */
struct item open_loss_begin(const struct open_loss *loss);
