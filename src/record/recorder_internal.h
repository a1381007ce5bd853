/* SPDX-License-Identifier: MIT */
#pragma once

/* What record/recorder.c and record/recording.c call of each other. */

#include "record/recording.h"

/* Lives as long as RECORDING. */
struct arena *recording_arena(struct recording *recording);

/* The sources of N recorders, with their problems, for one manifest. -ENOMEM. */
int recorders_put_sources(struct recorder *const *recorders, unsigned n, uint64_t until,
                          struct arena *arena, struct manifest_source **ret, unsigned *ret_n);

/* Notes that TEXT, or a message that says the same, was reported. */
void recorder_note_report(struct recorder *recorder, const char *text);
/* Whether it was, of the newest messages. */
bool recorder_was_reported(const struct recorder *recorder, const char *text);

/* Whether it was asked to bring what it holds to its files (R8), and has not done so yet. */
bool recorder_is_late(const struct recorder *recorder);
