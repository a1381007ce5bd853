/* SPDX-License-Identifier: MIT */
#pragma once

/* The stream of records in those that are compressed: one zstd stream over all of them. A record may begin in one and
 * end in a later one. Not thread-safe. */

#include "base/error.h"

struct perf_unpack;

/* -ENOMEM. */
int perf_unpack_new(struct perf_unpack **ret_unpack);
void perf_unpack_free(struct perf_unpack *unpack);

/* Adds the SIZE bytes at P, which are copied. What was added before must be read up. -ENOMEM. */
int perf_unpack_add(struct perf_unpack *unpack, const uint8_t *p, size_t size);

/* Makes N bytes, at most 65,535, readable at *RET. 1; 0: more has to be added; -EBADMSG: damaged; -ENOMEM. */
int perf_unpack_need(struct perf_unpack *unpack, size_t n, const uint8_t **ret);
void perf_unpack_skip(struct perf_unpack *unpack, size_t n);
/* Whether what was added ends inside a record, or inside a block of zstd's, which holds records. */
bool perf_unpack_is_cut(const struct perf_unpack *unpack);
