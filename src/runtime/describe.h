/* SPDX-License-Identifier: MIT */
#pragma once

/* The descriptions of event classes that a process file holds (runtime/process_file.h), kept in memory
 * from an event's first switching on, so that they are at hand when the first ring is made, in whatever
 * context. A forked child inherits them. */

#include <stddef.h>
#include <stdint.h>

#include "runtime/events.h"

/* More are not kept. */
#define DESCRIPTIONS_MAX (16U << 20)

/* Describes CLASS, once. Before its first record may come. Under registry_lock(). */
void describe_class(struct trace_class *class);

/* A ring is being made: should it be that the program switches its events by itself, so that the
 * library did not see which, all classes are described from now on. Any context. */
void describe_for_ring(void);
/* A class came. Under registry_lock(). */
void describe_new_class(struct trace_class *class);
/* What describe_for_ring() could not do, as somebody had the lock: who gives it back does. */
void describe_pending(void);

/* What is described by now: the bytes, which stay where they are, and how many. Any context. */
const uint8_t *describe_all(size_t *ret_size);
