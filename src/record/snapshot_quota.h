/* SPDX-License-Identifier: MIT */
#pragma once

/* The snapshots that triggers have saved, and how much of the disk they use: the oldest are removed when they use more than a
 * limit, except for the newest. Others' snapshots, and those that were renamed, are not its own. A process of its own removes
 * them, so that nothing waits for the disk. Not thread-safe. */

#include "record/recorder.h"

struct snapshot_quota;

/* LIMIT: bytes on the disk. RECORDER, whose messages it uses, is borrowed. -ENOMEM. */
int snapshot_quota_new(uint64_t limit, struct recorder *recorder, struct snapshot_quota **ret);
void snapshot_quota_free(struct snapshot_quota *store);

/* PATH was saved. Removes what is too much. */
void snapshot_quota_add(struct snapshot_quota *store, const char *path);
/* What to poll; -1: nothing is removed now. */
int snapshot_quota_fd(const struct snapshot_quota *store);
/* Notices that what was to be removed is. */
void snapshot_quota_step(struct snapshot_quota *store);
bool trigger_store_is_idle(const struct snapshot_quota *store);
