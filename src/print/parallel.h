/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints items in several threads, in their order.
 *
 * The reading thread copies items into blocks (event/item_block.h). Each other thread makes the lines of a block, and
 * writes them when the lines of all earlier blocks are written. If all blocks are full, the reading thread makes lines
 * itself. The output is the same, byte for byte, as with one thread.
 *
 * Threads begin after the first items, so a small trace is printed without them. If a thread cannot be made, the others
 * do its work. Needs some 1.5 MB for each thread, whatever the input. */

#include "print/view.h"

/* Opens a view whose lines depend only on their own item. It allocates at most once per class. */
typedef int view_open(const struct view_options *options, struct text *out, struct sink **ret_sink);

#define PRINT_THREADS_MAX 8u

/* Opens the view OPEN; up to N_THREADS threads make its lines. With 1, no thread is made, and the view itself is
 * opened. OUT must have a descriptor, and must not be used between begin() and flush(). -ENOMEM. */
int print_parallel_open(view_open *open, const struct view_options *options, struct text *out,
                        unsigned n_threads, struct sink **ret_sink);
