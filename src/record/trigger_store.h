/* SPDX-License-Identifier: MIT */
#pragma once

/* The snapshots that triggers have saved, and how much of the disk they use: the oldest are removed when they use more than a
 * limit, except for the newest. Others' snapshots, and those that were renamed, are not its own. A process of its own removes
 * them, so that nothing waits for the disk. Not thread-safe. */

#include "record/recorder.h"

struct trigger_store;

/* LIMIT: bytes on the disk. RECORDER, whose messages it uses, is borrowed. -ENOMEM. */
int trigger_store_new(uint64_t limit, struct recorder *recorder, struct trigger_store **ret);
void trigger_store_free(struct trigger_store *store);

/* PATH was saved. Removes what is too much. */
void trigger_store_add(struct trigger_store *store, const char *path);
/* What to poll; -1: nothing is removed now. */
int trigger_store_fd(const struct trigger_store *store);
/* Notices that what was to be removed is. */
void trigger_store_step(struct trigger_store *store);
bool trigger_store_is_idle(const struct trigger_store *store);
