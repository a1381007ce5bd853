/* SPDX-License-Identifier: MIT */
#pragma once

/* Limits the disk space of the snapshots that triggers have saved: if they use more than the limit, the oldest are
 * removed, but never the newest. Other snapshots, and renamed ones, are not touched. A child process removes them, so
 * that nothing waits for the disk. Not thread-safe. */

#include "record/recorder.h"

struct snapshot_quota;

/* LIMIT: bytes on the disk. RECORDER, through which messages are reported, is borrowed. -ENOMEM. */
int snapshot_quota_new(uint64_t limit, struct recorder *recorder, struct snapshot_quota **ret);
void snapshot_quota_free(struct snapshot_quota *store);

/* Adds the saved snapshot PATH, and removes snapshots beyond the limit. */
void snapshot_quota_add(struct snapshot_quota *store, const char *path);
/* The descriptor to poll; -1: nothing is being removed. */
int snapshot_quota_fd(const struct snapshot_quota *store);
/* Handles the end of a removal. */
void snapshot_quota_step(struct snapshot_quota *store);
bool trigger_store_is_idle(const struct snapshot_quota *store);
