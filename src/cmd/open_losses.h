/* SPDX-License-Identifier: MIT */
#pragma once

/* Losses that have begun. A loss comes at its end; where reading stops before, at --until or --limit, it is given as far as it was read:
 * from the last event before it on, what its CPU did is unknown. Only losses whose begin the reader has found (item->before_loss) are
 * known so. Not thread-safe. */

#include "event/item.h"

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
/* ITEM, of those in the order of time, is a loss or has `before_loss`. 0, -ENOMEM. */
int open_losses_put(struct open_losses *losses, const struct item *item);
/* ITEM is after what is read: if it is a loss, it has begun there. */
void open_losses_put_after(struct open_losses *losses, const struct item *item);
/* LOSS up to TIME, as an item. */
struct item open_loss_item(const struct open_loss *loss, int64_t time);
