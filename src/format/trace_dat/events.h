/* SPDX-License-Identifier: MIT */
#pragma once

#include "format/trace_dat/file.h"
#include "schema/kernel/events.h"

/* Opens the events whose formats are in FILE, with its names of symbols, strings and tasks. Holds a reference of FILE.
 * -ENOMEM, -EBADMSG. */
int dat_events_open(struct dat_file *file, struct catalogue *catalogue,
                    struct kernel_events **ret_events, struct error *error);
