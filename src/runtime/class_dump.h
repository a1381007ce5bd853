/* SPDX-License-Identifier: MIT */
#pragma once

/* The descriptions of event classes that a process file holds (runtime/process_file.h), kept in memory
 * from an event's first switching on (of one that the program itself switches, from its registration), so
 * that they are at hand when the first ring is made, in whatever context. A forked child inherits them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/events.h"

/* More are not kept. */
#define DESCRIPTIONS_MAX (16U << 20)

/* Describes CLASS, once; for process_dir_describe(). Under registry_lock(). False: there is no memory for it. */
bool class_dump_class(struct trace_class *class);

/* What is described by now: the bytes, which stay where they are, and how many. Any context. */
const uint8_t *class_dump_all(size_t *ret_size);
