/* SPDX-License-Identifier: MIT */
#pragma once

/* The trace buffers of a program that traces with strata/percpu.h, in a file that the program and the recorder map.
 *
 * Any user who may write to the file may record. The file is locked, so there is one recorder at a time. Before the
 * masks are changed, their values are saved in the file (strata/percpu_area.h has the table), so the next recorder
 * restores them if this recorder is killed. */

#include "record/percpu/trace_buffers.h"

/* NAME is a path or, without a '/', a name for shm_open(). -ENOENT or another errno of opening; -EBUSY: another
 * recorder uses the file, and nothing was changed; -EINVAL, -EBADMSG, -ENOTSUP: not valid buffers. */
int percpu_buffers_open(const char *name, struct trace_buffers **ret, struct error *error);
