/* SPDX-License-Identifier: MIT */
#pragma once

#include "event/select.h"
#include "event/sink.h"

/* Puts to SINK what SELECTION selects of the next N items of a trace. A negative errno with ERROR. */
int select_put(struct selection *selection, const struct item *items, unsigned n, struct sink *sink,
               struct error *error);

/* Of N items that SELECTION does not select, passes to SINK those that it may know. IS_FULL: they are after the limit. 0, -ENOMEM. */
int select_pass(const struct selection *selection, const struct item *items, unsigned n,
                bool is_full, struct sink *sink);
