/* SPDX-License-Identifier: MIT */
#pragma once

/* Unpacks the stream of records in compressed records: one zstd stream over all of them. A record may begin in one
 * compressed record and end in a later one. Not thread-safe. */

#include "base/error.h"

struct perf_unpack;

/* -ENOMEM. */
int perf_unpack_new(struct perf_unpack **ret_unpack);
void perf_unpack_free(struct perf_unpack *unpack);

/* Adds a copy of the SIZE bytes at P. The bytes added before must have been read. -ENOMEM. */
int perf_unpack_add(struct perf_unpack *unpack, const uint8_t *p, size_t size);

/* Makes N bytes, at most 65,535, readable at *RET. Returns 1; 0: more input is needed; -EBADMSG: damaged; -ENOMEM. */
int perf_unpack_need(struct perf_unpack *unpack, size_t n, const uint8_t **ret);
void perf_unpack_skip(struct perf_unpack *unpack, size_t n);
/* True if the input ends inside a record, or inside a zstd block with records. */
bool perf_unpack_is_cut(const struct perf_unpack *unpack);
