/* SPDX-License-Identifier: MIT */
#pragma once

/* Descriptions of event classes for the process file (runtime/ring/process_file.h), kept in memory from the
 * first time an event is switched on (for an event that the program itself switches, from its
 * registration), so that they are available when the first ring is created, in any context. A forked
 * child inherits them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/events.h"

/* Limit of kept descriptions, in bytes. */
#define DESCRIPTIONS_MAX (16U << 20)

/* Describes CLASS, once; for process_dir_describe(). Under registry_lock(). False: out of memory. */
bool class_dump_class(struct trace_class *class);

/* All descriptions so far, and their size in bytes. They stay at their address. Any context. */
const uint8_t *class_dump_all(size_t *ret_size);
