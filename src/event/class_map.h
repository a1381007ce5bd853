/* SPDX-License-Identifier: MIT */
#pragma once

/* An array with an element for each event class, by its `index`, for a user's data about the class. The array grows as
 * new classes are met. A new element is zero, which must mean "unknown yet". The user compares the index with the
 * length before a lookup, so an event pays nothing for this. */

#include <errno.h>
#include <stddef.h>

#include "base/macro.h"
#include "event/class.h"

/* Makes room for element INDEX. -ENOMEM: nothing changes. */
_cold_ int class_map_enlarge(void *ref_array, unsigned *n, unsigned index, size_t size);

/* Gives ARRAY, a pointer from malloc() or NULL, with N elements, an element for CLASS. Free ARRAY with free(). -ENOMEM:
 * nothing changes. */
#define class_map_grow(array, n, class) \
    (likely((class)->index < (n))       \
         ? 0                            \
         : class_map_enlarge(&(array), &(n), (class)->index, sizeof((array)[0])))
