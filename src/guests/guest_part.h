/* SPDX-License-Identifier: MIT */
#pragma once

/* The parts of what is collected from a guest: a trace of each kernel that it booted (struct guest_part). */

#include <inttypes.h>

#include "guests/guests.h"

/* The part that grows. A guest that is open has one. */
struct guest_part *guest_part(struct guest *guest);
/* Another one, from now on. -ENOMEM. */
int guest_part_begin(struct guest *guest);
/* It ends now. */
void guest_part_end(struct guest *guest);
/* Something that readers of its trace should know; kept once, and 64 of them at most. */
void guest_part_problem(struct guest *guest, const char *what);
#define GUEST_REPORTED_MORE "reported %" PRIu64 " more problems"
/* The same of what the guest itself reports, of which 32 are kept, and more are counted. Whether it is kept and new. */
bool guest_part_report(struct guest *guest, const char *what);
/* A pair of its clock and the host's is written. What does not ascend, as timeline/relation.h reads it, is left
 * out. -errno. */
int guest_part_pair(struct guest *guest, const struct guest_pair *pair);
void guest_parts_done(struct guest *guest);
