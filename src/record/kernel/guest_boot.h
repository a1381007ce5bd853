/* SPDX-License-Identifier: MIT */
#pragma once

/* The boots of a guest: each has a trace of its own (struct guest_boot). */

#include <inttypes.h>

#include "record/kernel/guest.h"

/* The present boot. A guest that is open has one. */
struct guest_boot *guest_boot(struct guest *guest);
/* Another boot begins now. -ENOMEM. */
int guest_boot_begin(struct guest *guest);
/* It is of the same kernel as the one before, which was set back to an earlier state. */
void guest_boot_copy_facts(struct guest *guest);
/* The present boot ends now. */
void guest_boot_end(struct guest *guest);
/* Adds a problem to the trace's manifest: each once, and 64 of them at most. */
void guest_boot_problem(struct guest *guest, const char *what);
/* The same of events that were lost, or may be missing, and that no count has. */
void guest_boot_lost(struct guest *guest, const char *what);
#define GUEST_REPORTED_MORE "reported %" PRIu64 " more problems"
/* The same for what the guest itself reports, of which 32 are kept, and more are counted. True: it is new, and kept. */
bool guest_boot_report(struct guest *guest, const char *what);
/* Writes a pair of its clock and the host's, as guest_store_pair(). One that does not ascend is left out, as
 * timeline/clock_map.h requires. -errno. */
int guest_boot_pair(struct guest *guest, const struct guest_pair *pair, bool is_after_pause);
/* A migration from another QEMU brought the machine of GUEST, which went on here at NS, in ns of CLOCK_MONOTONIC; or one took it
 * away, and it had stopped at NS, 0: it goes on here. */
void guest_machine_came(struct guest *guest, uint64_t ns);
void guest_machine_left(struct guest *guest, uint64_t ns);
void guest_boots_done(struct guest *guest);
