/* SPDX-License-Identifier: MIT */
#pragma once

/* Prints items in several threads, in the order in which they come.
 *
 * The thread that reads copies items into blocks (event/item_block.h). Other threads each make the lines of a block and
 * write them out when those of all blocks before it are written. When all blocks are full, the thread that reads makes
 * lines itself. So the output is, byte for byte, that of one thread.
 *
 * Threads begin after the first items, so that a small trace is printed without them. Where a thread cannot be made,
 * those that there are do the work. Memory: some 1.5 MB for each thread, whatever the input. */

#include "print/view.h"

/* A view whose lines depend on nothing but their own item, and that allocates by class at most. */
typedef int view_open(const struct view_options *options, struct text *out, struct sink **ret_sink);

#define PRINT_THREADS_MAX 8u

/* Opens the view OPEN, whose lines up to N_THREADS threads make; 1: no thread is made, and the view itself is opened.
 * OUT has a descriptor. Between begin() and flush(), OUT is not to be touched. -ENOMEM. */
int print_parallel_open(view_open *open, const struct view_options *options, struct text *out,
                        unsigned n_threads, struct sink **ret_sink);
