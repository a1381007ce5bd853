/* SPDX-License-Identifier: MIT */
#pragma once

#include "format/ftrace/cpu_pages.h"
#include "format/trace_dat/file.h"

/* Supplies the pages of one CPU of a trace.dat, PAGE_SIZE bytes each, through a buffer of about BUFFER_SIZE. Holds a
 * reference of FILE. -ENOMEM. */
int dat_feed_new(struct dat_file *file, const struct dat_buffer *buffer, const struct dat_cpu *cpu,
                 uint32_t page_size, size_t buffer_size, struct page_feed **ret_feed);
