/* SPDX-License-Identifier: MIT */
#pragma once

/* Notes when a guest's virtual machine was paused, as reported by its monitor (QMP's STOP and RESUME), and adds pairs
 * of clocks for the pauses.
 *
 * Without these pairs, times between the two pairs around a pause would be interpolated along a line that the clock did
 * not follow, with an error as large as the pause. STOP is reported after the clock has stopped, and RESUME before it
 * continues. The sum of both delays follows from the pairs around the pause, because the clock ran for the rest of the
 * time. So two pairs are made: one for a moment shortly before the pause and one for a moment shortly after it, at the
 * distance of this sum. The first is as exact as the pair before the pause, and the second as exact as the pair after
 * it. Readers then see when the clock stood still. With several pauses between two pairs, the pairs in the middle have
 * the whole interval as their error. The large error holds only between the two new pairs.
 *
 * A trace that begins because the guest was set back to an earlier state may begin with events from before the state
 * was saved (record/kernel/guest_session_rewind.c). The first pair of the previous trace keeps their error bounds
 * right. A pair for the moment when the machine continued separates them from the other events. */

#include "record/kernel/kernel_sink.h"

#define GUEST_PAUSES_MAX 16u

struct guest;

/* NS nanoseconds are TICKS ticks, within PPM. */
struct guest_rate {
    uint64_t ns, ticks, ppm;
};

struct guest_pause {
    uint64_t stopped; /* CLOCK_MONOTONIC, ns: the machine had stopped by then */
    uint64_t resumed; /* the machine was still stopped then; 0: it has not resumed */
};

struct guest_pauses {
    struct guest_pause items[GUEST_PAUSES_MAX]; /* since the last pair */
    unsigned n;
    bool are_more; /* there were earlier pauses since the last pair, which are not kept */
    bool has_line;
    struct guest_pair line; /* the first pair since the last pause */
    struct guest_rate rate; /* the best rate from pairs so far; 0 ticks: none yet */
};

/* Report that the machine of GUEST had stopped by NS, and that it was still stopped at NS and resumed then. In between,
 * the session with the agent waits. */
void guest_machine_stopped(struct guest *guest, uint64_t ns);
void guest_machine_resumed(struct guest *guest, uint64_t ns);
/* Reports that the agent of GUEST has closed its port. */
void guest_agent_closed(struct guest *guest);
/* True if its machine is stopped now. */
bool guest_is_paused(const struct guest *guest);

/* Writes PAIR by guest_boot_pair(), after the pairs that follow from pauses. -errno. */
int guest_pause_pair(struct guest *guest, const struct guest_pair *pair);
/* Writes what is known of a pause if the present boot ends before another pair comes. */
void guest_pause_end(struct guest *guest);
