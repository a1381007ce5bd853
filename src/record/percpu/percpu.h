/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace buffers of a program that traces with strata/percpu.h, in a file that both map.
 *
 * Any user who may write the file may record, one at a time: the file is locked. Changes of the masks
 * are first noted in the file (strata/percpu_area.h has the table), so that the next recorder restores
 * them after one was killed. */

#include "record/percpu/trace_buffers.h"

/* NAME is a path, or, without a '/', a name for shm_open(). -ENOENT or another errno of opening;
 * -EBUSY: another recorder uses it, and nothing was changed; -EINVAL, -EBADMSG, -ENOTSUP: not valid
 * buffers. */
int percpu_buffers_open(const char *name, struct trace_buffers **ret, struct error *error);
