/* SPDX-License-Identifier: MIT */
#pragma once

/* The parts of what is collected from a guest: a trace of each kernel that it booted (struct guest_part). */

#include "guests/guests.h"

/* The part that grows. A guest that is open has one. */
struct guest_part *guest_part(struct guest *guest);
/* Another one, from now on. -ENOMEM. */
int guest_part_begin(struct guest *guest);
/* It ends now. */
void guest_part_end(struct guest *guest);
/* Something that whoever reads its trace should know; told once, and so many of them at most. */
void guest_part_problem(struct guest *guest, const char *what);
/* A pair of its clock and the host's is written. What does not ascend, as timeline/relation.h reads it, is left
 * out. -errno. */
int guest_part_pair(struct guest *guest, const struct guest_pair *pair);
void guest_parts_done(struct guest *guest);
