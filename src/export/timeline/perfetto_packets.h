/* SPDX-License-Identifier: MIT */
#pragma once

/* Writes the rare packets of a Perfetto trace by libprotobuf-c. Each is appended to OUT. 0, -ENOMEM. */

#include "base/text.h"
#include "event/clock.h"
#include "export/export.h"
#include "tracks/tracks.h"

/* All packets are in one sequence, to which names and their numbers belong. */
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

/* Puts the first packet: the clock at NS, if Perfetto knows this clock, and the time of day at its N known moments. */
int perfetto_put_start(struct text *out, const struct clock *clock, int64_t ns,
                       const struct calendar *calendar);
int perfetto_put_track(struct text *out, const struct track *track);
/* Puts that S is the name with NUMBER. */
int perfetto_put_name(struct text *out, enum perfetto_names names, unsigned number, const char *s,
                      size_t len);
