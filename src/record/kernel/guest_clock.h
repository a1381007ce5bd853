/* SPDX-License-Identifier: MIT */
#pragma once

/* Chooses which pairs of a guest's clock and the host's clock are kept. Pairs come from message exchanges with the
 * agent. If the guest traces by its time stamp counter and KVM's values of the counter can be read
 * (record/kernel/guest_kvm.h), exact pairs are made from these values instead.
 *
 * Each exchange checks KVM's values. A pair is made from the values, and the guest's time in the exchange must lie
 * between this pair and the pair before, within the error of the exchange. Otherwise the values are of another machine;
 * from then on only exchanges are used, with a warning. Exchanges cost the guest time, so between them pairs are made
 * from the values alone, every GUEST_CLOCK_INTERVAL_NS. In this interval, the host's clocks cannot drift apart by more
 * than 1.5 us.
 *
 * If the values change, the counter was set. Pairs from the new values follow, with a warning. */

#include "base/clock_ns.h"
#include "record/kernel/guest.h"

#define GUEST_CLOCK_INTERVAL_NS (150 * NSEC_PER_MSEC)

/* Call it when the guest's trace clock is known. WHAT, of SIZE bytes: a warning, or "". */
void guest_clock_begin(struct guest *guest, char *what, size_t size);
/* Handles PAIR, made by an exchange. Calls KEEP for each pair to be kept, and returns its -errno. WHAT as above. */
int guest_clock_pair(struct guest *guest, const struct guest_pair *pair,
                     int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                     size_t size);
/* When to call guest_clock_step(). UINT64_MAX: never. */
uint64_t guest_clock_due(const struct guest *guest);
/* Keeps a pair from KVM's values if one is due. The rest as above. */
int guest_clock_step(struct guest *guest, uint64_t now,
                     int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                     size_t size);
void guest_clock_done(struct guest *guest);
