/* SPDX-License-Identifier: MIT */
#pragma once

/* How one clock relates to another: from pairs of what both showed, each with a bound on its error, to any
 * time of the one as a time of the other, with a bound again.
 *
 * In a file, a pair is a line of three numbers: nanoseconds of the host's clock, ticks of the other, and by
 * how many ns the former may be wrong at most. Ticks ascend. Lines that begin with '#' are passed over, and
 * so is the last one where it was cut off.
 *
 * Between two pairs the clocks run apart at the rate that the pairs tell, give or take RELATION_WANDER: that
 * is assumed, and holds for clocks that are not being set. (Crystals wander by less than a millionth within
 * seconds; what adjusts a clock to network time is as slow, once it has settled.) So the bound at a time
 * between is that of the pairs, each weighed by how near it is, and the wander since the nearer one. A pair
 * that its neighbours tell better than it does itself is left out. Before the first pair and behind the last
 * one the rate of all is taken, with what its ends may be wrong by. */

#include "base/fault.h"

#define RELATION_WANDER_PPM 20
/* What clocks may differ by, where a single pair tells no rate. */
#define RELATION_DRIFT_PPM 500

struct relation_pair {
    int64_t host_ns;
    int64_t ticks;
    int64_t error_ns;
};

struct relation {
    struct relation_pair *pairs; /* ascending in both; malloc */
    unsigned n;
    uint64_t hz;     /* ticks a second, by the pairs; else as was told; 0: not known */
    unsigned latest; /* where the last conversion was: they mostly ascend */
};

/* HZ: the rate, where it is known otherwise; 0: not. -EINVAL with FAULT: no such file, no pairs, or no rate;
 * -ENOMEM, an errno from reading. */
int relation_read(const char *path, uint64_t hz, struct relation *ret_relation,
                  struct fault *fault);
/* The same of LEN bytes; NAME is for messages. */
int relation_parse(const char *text, size_t len, const char *name, uint64_t hz,
                   struct relation *ret_relation, struct fault *fault);
void relation_done(struct relation *relation);

/* TICKS as nanoseconds of the host's clock, and by how many they may be wrong at most (may be NULL).
 * Saturates. */
int64_t relation_convert(struct relation *relation, int64_t ticks, int64_t *ret_error_ns);
