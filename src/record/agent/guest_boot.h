/* SPDX-License-Identifier: MIT */
#pragma once

/* The parts of what is collected from a guest: a trace of each kernel that it booted (struct guest_boot). */

#include <inttypes.h>

#include "record/agent/guests.h"

/* The part that grows. A guest that is open has one. */
struct guest_boot *guest_boot(struct guest *guest);
/* Another one, from now on. -ENOMEM. */
int guest_boot_begin(struct guest *guest);
/* It ends now. */
void guest_boot_end(struct guest *guest);
/* Something that readers of its trace should know; kept once, and 64 of them at most. */
void guest_boot_problem(struct guest *guest, const char *what);
#define GUEST_REPORTED_MORE "reported %" PRIu64 " more problems"
/* The same of what the guest itself reports, of which 32 are kept, and more are counted. Whether it is kept and new. */
bool guest_boot_report(struct guest *guest, const char *what);
/* A pair of its clock and the host's is written. What does not ascend, as timeline/clock_map.h reads it, is left
 * out. -errno. */
int guest_boot_pair(struct guest *guest, const struct guest_pair *pair);
void guest_boots_done(struct guest *guest);
