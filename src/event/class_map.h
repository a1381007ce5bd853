/* SPDX-License-Identifier: MIT */
#pragma once

/* What is known per event class: an array with an element for each `index` of a class. Classes are met one by one, so the
 * array grows; an element that is new has zeros in it, which must mean "not known yet". A lookup is the user's own
 * comparison of the index with the length: the path of an event pays nothing for this. */

#include <errno.h>
#include <stddef.h>

#include "base/macro.h"
#include "event/class.h"

/* Makes room for element INDEX. -ENOMEM: nothing changes. */
_cold_ int class_map_enlarge(void *ref_array, unsigned *n, unsigned index, size_t size);

/* ARRAY, a pointer from malloc() or NULL, with N elements, gets an element for CLASS. -ENOMEM: nothing changes. Free it
 * with free(). */
#define class_map_grow(array, n, class) \
    (likely((class)->index < (n))       \
         ? 0                            \
         : class_map_enlarge(&(array), &(n), (class)->index, sizeof((array)[0])))
