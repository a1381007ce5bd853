/* SPDX-License-Identifier: MIT */
#pragma once

/* The directory of a recorded trace, while it is made: DIR/trace.json, which tells from the first moment
 * what is being recorded, DIR/NAME/trace.raw, the records, and DIR/NAME/clock-pairs, how the time stamp
 * counter relates to the host's clock (timeline/clock_map.h). Not thread-safe. */

#include "record/percpu/recorder.h"

struct recording;

/* Makes DIR for a trace, or takes it if it is empty; *ret_made, whether it was made, is left alone where it
 * was there. -EEXIST: there is something in it; an errno; with FAULT. */
int recording_make_dir(const char *dir, bool *ret_made, struct fault *fault);

/* Makes DIR, or takes it if it is empty; -EEXIST: there is something in it. NAME is the source's, as of
 * manifest.h. TABLES, N of them, are files that declare events of the user's own; they are copied. */
int recording_new(const char *dir, const char *name, const char *const *tables, unsigned n,
                  struct recording **ret, struct fault *fault);
void recording_free(struct recording *recording);
/* Takes away what was made, as nothing was recorded. */
void recording_remove(struct recording *recording);

/* Where the records go. */
int recording_fd(const struct recording *recording);
const char *recording_path(const struct recording *recording);

/* Writes the manifest: at the start, and when what BUFFERS tell has changed. */
int recording_note(struct recording *recording, struct trace_buffers *buffers, struct fault *fault);
/* Now and then while it goes on: once a second it reads the host's clocks, and notes how they relate. */
void recording_relate_clocks(struct recording *recording);
/* Something that whoever reads the trace should know, a sentence. */
int recording_problem(struct recording *recording, const char *format, ...) _printf_(2, 3);
/* Writes the manifest for the last time: COMPLETE, whether it came to an end in order. */
int recording_end(struct recording *recording, struct trace_buffers *buffers,
                  const struct recorder_totals *totals, bool complete, struct fault *fault);
