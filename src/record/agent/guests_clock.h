/* SPDX-License-Identifier: MIT */
#pragma once

/* Which pairs of a guest's clock and the host's are kept: those of its agent's exchanges, or, where the guest traces
 * by its time stamp counter and KVM tells how that stands to the host's (record/agent/guest_kvm.h), pairs made of that.
 *
 * KVM is taken at its word only where the agent's exchanges agree: with each of them a pair is made of what KVM
 * tells, and what the guest's clock showed in the exchange has to lie between that one and the one before, within what
 * the exchange leaves open. Where it does not (it is another machine, or the counter was set), exchanges alone are
 * believed from there on, and the user is told. */

#include "record/agent/guests.h"

/* The guest has told by which clock it traces. WHAT (of SIZE bytes): something that the user should know, or "". */
void guests_clock_begin(struct guest *guest, char *what, size_t size);
/* An exchange came. KEEP, for each pair that is to be kept: -errno from that. WHAT as above. */
int guests_clock_pair(struct guest *guest, const struct guest_pair *pair,
                      int (*keep)(struct guest *guest, const struct guest_pair *pair), char *what,
                      size_t size);
void guests_clock_done(struct guest *guest);
