/* SPDX-License-Identifier: MIT */
#pragma once

/* When a guest's virtual machine stood still, as its monitor reports (QMP's STOP and RESUME), and what that says about the
 * guest's clock.
 *
 * Between two pairs of clocks that enclose a pause, times would be interpolated along a line that the clock did not follow,
 * within a bound as wide as the pause. STOP is reported after the clock has stopped, and RESUME before it goes on. By how
 * much, both together, follows from the pairs: the clock ran for the rest of the time. So pairs are made for a moment shortly
 * before the pause and for one shortly after it, by that much. The first is as exact as the pair before the pause, and the
 * second as the pair after it, so that a reader sees that the clock stood still between them, and where; of several pauses
 * between two pairs, those in the middle have the whole as their error. The wide bound holds only between these two.
 *
 * A trace that begins as the guest was set back to an earlier state may begin with events of before that state was saved
 * (record/kernel/guest_session_rewind.c). The first pair of the trace before keeps their bounds right, and a pair for the
 * moment when the machine went on separates them from the others. */

#include "record/kernel/kernel_sink.h"

#define GUEST_PAUSES_MAX 16u

struct guest;

/* NS nanoseconds in TICKS ticks, to within PPM. */
struct guest_rate {
    uint64_t ns, ticks, ppm;
};

struct guest_pause {
    uint64_t stopped; /* CLOCK_MONOTONIC, ns: the machine had stopped */
    uint64_t resumed; /* … and was still stopped; 0: it has not gone on */
};

struct guest_pauses {
    struct guest_pause items[GUEST_PAUSES_MAX]; /* since the last pair */
    unsigned n;
    bool are_more; /* there were others before them, also since the last pair */
    bool has_line;
    struct guest_pair line; /* the first pair since the clock last stood still */
    struct guest_rate rate; /* the best that pairs gave; of no ticks: none yet */
};

/* The machine of GUEST had stopped at NS, or was still stopped at NS and went on then: the session with the agent waits
 * meanwhile. */
void guest_machine_stopped(struct guest *guest, uint64_t ns);
void guest_machine_resumed(struct guest *guest, uint64_t ns);
/* The agent of GUEST has closed its port. */
void guest_agent_closed(struct guest *guest);
/* Whether its machine is stopped now. */
bool guest_is_paused(const struct guest *guest);

/* Writes PAIR (guest_boot_pair()), and before it what follows from pauses. -errno. */
int guest_pause_pair(struct guest *guest, const struct guest_pair *pair);
/* The present boot ends, and no pair comes after a pause: what is known of it then. */
void guest_pause_end(struct guest *guest);
