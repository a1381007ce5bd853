/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files of record/agent/guests.h call of each other. Inside of this layer. */

#include "record/agent/guests.h"

#define SECOND UINT64_C(1000000000)
/* After a connection is lost, or cannot be made, so long until the next try; then longer. */
#define RETRY_FIRST (SECOND / 20)

/* Lines about one guest that are printed at once. */
#define GUEST_MESSAGES_MAX 64u

/* A message about GUEST for the user. One that has had many lately is counted instead, and the count printed with the
 * next one, or at the end. */
void guest_tell(const struct guests *guests, struct guest *guest, const char *what);
/* The end of a guest's collecting. ERROR, where it is negative, and WHAT say what went wrong. The first end is the one
 * that holds. */
void guest_end(struct guest *guest, int error, const char *what);
/* The first file of its trace. -errno with ERROR. */
int guest_make_first(struct guest *guest, struct error *error);

/* Takes what the guest's process has said (guests_hear.c). */
void guest_read_messages(struct guests *guests, struct guest *guest, uint64_t now);
/* Nothing can be sent to that: it has ended, and may have said why, which is still to be heard. */
void guest_read_last_messages(struct guests *guests, struct guest *guest);

/* Makes the connections whose time has come, and gives up what is too late (guests_links.c). */
void guests_do_links(struct guests *guests, uint64_t now);
/* One that was being made is made, or is not to be. -errno: nothing can be sent to the guest's process. */
int guest_connected(struct guests *guests, struct guest *guest, uint64_t now);
/* When there is something to do for guests_do_links(). UINT64_MAX: never. */
uint64_t guests_next_retry(const struct guests *guests);
