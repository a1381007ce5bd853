/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions shared by record/recorder.c and record/recording.c. */

#include "record/recording.h"

/* An arena that lives as long as RECORDING. */
struct arena *recording_arena(struct recording *recording);

/* Makes the sources of N recorders, with their problems, for one manifest. -ENOMEM. */
int recorders_put_sources(struct recorder *const *recorders, unsigned n, uint64_t until,
                          struct arena *arena, struct manifest_source **ret, unsigned *ret_n);

/* Notes that TEXT, or a message with the same meaning, was reported. */
void recorder_note_report(struct recorder *recorder, const char *text);
/* True if TEXT is among the newest reported messages. */
bool recorder_was_reported(const struct recorder *recorder, const char *text);

/* True if RECORDER was asked to flush (REC-8) and has not completed the flush. */
bool recorder_is_late(const struct recorder *recorder);
