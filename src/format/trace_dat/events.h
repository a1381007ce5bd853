/* SPDX-License-Identifier: MIT */
#pragma once

#include "format/trace_dat/file.h"
#include "schema/kernel/events.h"

/* The events whose formats FILE has, with the names that it has of symbols, strings and tasks. Holds a reference of
 * FILE. -ENOMEM, -EBADMSG. */
int dat_events_open(struct dat_file *file, struct catalogue *catalogue,
                    struct kernel_events **ret_events, struct error *error);
