/* SPDX-License-Identifier: MIT */
#pragma once

/* The boots of a guest. Each boot has its own trace (struct guest_boot). */

#include <inttypes.h>

#include "record/kernel/guest.h"

/* The present boot. An open guest always has one. */
struct guest_boot *guest_boot(struct guest *guest);
/* Begins another boot now. -ENOMEM. */
int guest_boot_begin(struct guest *guest);
/* Copies what is known of the kernel from the previous boot: the present boot is the same kernel, set back to an
 * earlier state. */
void guest_boot_copy_facts(struct guest *guest);
/* Ends the present boot now. */
void guest_boot_end(struct guest *guest);
/* Adds a problem to the trace's manifest. Each problem is added once, and at most 64 are kept. */
void guest_boot_problem(struct guest *guest, const char *what);
/* The same for events that were or may have been lost, and that no count includes. */
void guest_boot_lost(struct guest *guest, const char *what);
#define GUEST_REPORTED_MORE "reported %" PRIu64 " more problems"
/* The same for a problem that the guest itself reports. At most 32 of these are kept, and more are counted. Returns
 * true if the problem is new and kept. */
bool guest_boot_report(struct guest *guest, const char *what);
/* Writes a pair of clocks by guest_store_pair(). Leaves out a pair that does not ascend, as timeline/clock_map.h
 * requires. -errno. */
int guest_boot_pair(struct guest *guest, const struct guest_pair *pair, bool is_after_pause);
/* Report migrations of the machine of GUEST. came: a migration from another QEMU brought it, and it continued here at
 * NS (CLOCK_MONOTONIC, ns). left: a migration took it away, and it had stopped at NS; 0: it has not left and continues
 * here. */
void guest_machine_came(struct guest *guest, uint64_t ns);
void guest_machine_left(struct guest *guest, uint64_t ns);
void guest_boots_done(struct guest *guest);
