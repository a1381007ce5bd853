/* SPDX-License-Identifier: MIT */
#pragma once

/* The origin of a kernel's events. It provides the facts about the kernel for exporting (event/kernel.h) and names of
 * tasks, both from its `struct kernel_events`. */

#include "event/kernel.h"
#include "schema/kernel/events.h"

struct kernel_origin {
    struct origin origin;
    struct origin_kernel kernel;
    struct kernel_events *events; /* not a reference; the source of the origin holds one */
};

/* Initialises *RET, in the arena of the catalogue, from ORIGIN and EVENTS. Set the common fields of EVENTS first. The
 * classes of EVENTS get this origin, unless they have one. */
void kernel_origin_init(struct kernel_origin *ret, const struct origin *origin,
                        struct kernel_events *events);
