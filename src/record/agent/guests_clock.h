/* SPDX-License-Identifier: MIT */
#pragma once

/* Chooses the pairs of a guest's clock and the host's that are kept: those of message exchanges with its agent; or, if the
 * guest traces by its time stamp counter and KVM's values of that can be read (record/agent/guest_kvm.h), pairs made of
 * these values, which are exact.
 *
 * KVM's values are checked with each exchange: a pair is made of them, and the guest's time in the exchange has to lie
 * between that pair and the one before, within the error of the exchange. If it does not (another machine was found, or the
 * counter was set), exchanges alone are used from there on, with a warning. */

#include "record/agent/guests.h"

/* The clock by which the guest traces is known. WHAT, of SIZE bytes: a warning, or "". */
void guests_clock_begin(struct guest *guest, char *what, size_t size);
/* An exchange made PAIR. Calls KEEP for each pair that is to be kept. -errno of KEEP. WHAT as above. */
int guests_clock_pair(struct guest *guest, const struct guest_pair *pair,
                      int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                      size_t size);
void guests_clock_done(struct guest *guest);
