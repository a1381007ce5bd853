/* SPDX-License-Identifier: MIT */
#pragma once

#include "event/select.h"
#include "event/sink.h"

/* Puts to SINK what SELECTION selects of the next N items of a trace. A negative errno with ERROR. */
int select_put(struct selection *selection, const struct item *items, unsigned n, struct sink *sink,
               struct error *error);
