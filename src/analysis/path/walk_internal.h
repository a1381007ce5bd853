/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of the walk share: walk.c follows threads, walk_request.c requests to disks. Each adds the next segments of the path,
 * from BEGIN to END; if memory is out, walk->error is set. */

#include "analysis/path/walk.h"

/* Nothing if it is empty. It may be a part of the one before. */
void path_walk_add(struct path_walk *walk, const struct path_segment *segment);
void path_walk_add_unknown(struct path_walk *walk, const struct origin *origin, int32_t pid,
                           enum path_reason reason, int64_t begin, int64_t end);
/* The kernel that schedules threads of ORIGIN: a VMM and a program are scheduled by the host. NULL: it is not known. */
const struct origin *path_walk_kernel(const struct history *history, const struct origin *origin);
/* What thread PID of ORIGIN did, and what it waited for. */
void path_walk_follow(struct path_walk *walk, const struct origin *origin, int32_t pid,
                      int64_t begin, int64_t end);
/* Thread PID of GUEST runs on its CPU: what the thread of the host did that runs this vCPU. */
void path_walk_vcpu(struct path_walk *walk, const struct origin *guest, int32_t pid, int32_t cpu,
                    int64_t begin, int64_t end);
/* The stages of REQUEST; before it was made, what its thread did. */
void path_walk_follow_request(struct path_walk *walk, const struct io_request *request,
                              int64_t begin, int64_t end);
