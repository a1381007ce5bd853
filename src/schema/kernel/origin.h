/* SPDX-License-Identifier: MIT */
#pragma once

/* The origin of a kernel's events: what exporting needs of the kernel (event/kernel.h), and names of tasks, both from
 * its `struct kernel_events`. */

#include "event/kernel.h"
#include "schema/kernel/events.h"

struct kernel_origin {
    struct origin origin;
    struct origin_kernel kernel;
    struct kernel_events *events; /* not a reference: the source of the origin holds it */
};

/* Fills *RET, which is in the arena of the catalogue, with ORIGIN, its functions and EVENTS. Set the common fields of
 * EVENTS first. The classes of EVENTS get this origin, if it is their first. */
void kernel_origin_init(struct kernel_origin *ret, const struct origin *origin,
                        struct kernel_events *events);
