/* SPDX-License-Identifier: MIT */
#pragma once

/* Chooses the pairs of a guest's clock and the host's that are kept: those of message exchanges with its agent; or, if the
 * guest traces by its time stamp counter and KVM's values of that can be read (record/kernel/guest_kvm.h), pairs made of
 * these values, which are exact.
 *
 * KVM's values are checked with each exchange: a pair is made of them, and the guest's time in the exchange has to lie
 * between that pair and the one before, within the error of the exchange. If it does not, another machine was found:
 * exchanges alone are used from there on, with a warning. Between exchanges, which cost the guest time, pairs are made of
 * the values alone: GUEST_CLOCK_INTERVAL_NS apart, the host's clocks cannot wander more than 1.5 us from each other.
 *
 * If the values change, the counter was set: pairs of the new values follow, with a warning. */

#include "base/clock_ns.h"
#include "record/kernel/guest.h"

#define GUEST_CLOCK_INTERVAL_NS (150 * NSEC_PER_MSEC)

/* The clock by which the guest traces is known. WHAT, of SIZE bytes: a warning, or "". */
void guest_clock_begin(struct guest *guest, char *what, size_t size);
/* An exchange made PAIR. Calls KEEP for each pair that is to be kept. -errno of KEEP. WHAT as above. */
int guest_clock_pair(struct guest *guest, const struct guest_pair *pair,
                     int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                     size_t size);
/* When guest_clock_step() has something to do. UINT64_MAX: never. */
uint64_t guest_clock_due(const struct guest *guest);
/* Keeps a pair of KVM's values if one is due. The rest as above. */
int guest_clock_step(struct guest *guest, uint64_t now,
                     int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                     size_t size);
void guest_clock_done(struct guest *guest);
