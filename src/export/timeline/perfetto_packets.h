/* SPDX-License-Identifier: MIT */
#pragma once

/* The packets of a Perfetto trace that are written now and then, by libprotobuf-c. Each is put after what OUT
 * holds. 0, -ENOMEM. */

#include "base/text.h"
#include "event/clock.h"
#include "export/export.h"
#include "tracks/tracks.h"

/* All packets are of one sequence, which is what names and their numbers belong to. */
#define PERFETTO_SEQUENCE 1

/* Bits of TracePacket.sequence_flags. */
#define PERFETTO_STATE_CLEARED 1
#define PERFETTO_NEEDS_STATE 2

enum perfetto_names {
    PERFETTO_CATEGORIES,
    PERFETTO_EVENT_NAMES,
    PERFETTO_ANNOTATION_NAMES,
    PERFETTO_STRINGS, /* values of annotations */
    PERFETTO_NAMES,
};

/* What stands first: the clock, where it is one that Perfetto knows, as it shows NS; and what the time of day was at
 * N moments of it. */
int perfetto_put_start(struct text *out, const struct clock *clock, int64_t ns,
                       const struct calendar *calendar);
int perfetto_put_track(struct text *out, const struct track *track);
/* That NUMBER is the name S. */
int perfetto_put_name(struct text *out, enum perfetto_names names, unsigned number, const char *s,
                      size_t len);
