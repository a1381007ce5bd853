/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace buffers of a program that traces with strata/percpu.h, in a file that both map.
 *
 * Everybody who may write the file may record, one at a time: it is locked. What is changed in the masks
 * was noted in the file before (strata/percpu_area.h has the table), so whoever comes after a recorder that
 * was killed restores them. */

#include "record/percpu/trace_buffers.h"

/* NAME is a path, or, without a '/', the name of an object of shm_open(). -ENOENT and its like: there is
 * none; -EBUSY: somebody else records from it, and nothing was changed; -EINVAL, -EBADMSG, -ENOTSUP: it is
 * not what it should be. */
int percpu_buffers_open(const char *name, struct trace_buffers **ret, struct error *error);
