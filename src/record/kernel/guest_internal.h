/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions shared by the files that implement record/kernel/guest.h. Inside of this layer. */

#include "base/clock_ns.h"
#include "record/kernel/guest.h"

/* Why no agent has answered, where the port's socket serves another client. */
#define GUEST_TAKEN "another collector is connected to its port, which serves one at a time"

/* From a lost connection, or one that cannot be made, to the next try. Later tries take longer. */
#define RETRY_FIRST (NSEC_PER_SEC / 20)

/* Messages about one guest that are printed without a pause. */
#define GUEST_MESSAGES_MAX 64u

/* Prints a message about GUEST. If many were printed lately, it is counted instead, and the count is printed with the next
 * one, or at the end. */
void guest_report(struct guest *guest, const char *what);
/* Ends the recording of GUEST; with an ERROR that is negative, WHAT says what went wrong. Does nothing if it has ended. */
void guest_end(struct guest *guest, int error, const char *what);
/* Makes the file for the pages of CPU 0, so that a trace without events can be read. -errno with ERROR. */
int guest_make_first_file(struct guest *guest, struct error *error);

/* The guest has rebooted: ends the trace of its boot and begins that of the next (guest_reboot.c). -E2BIG: more boots than
 * a trace has sources for; -errno. With ERROR. */
int guest_reboot(struct guest *guest, struct error *error);
/* The same when its state went back to an earlier one: files and facts of the kernel are the same. */
int guest_rewind(struct guest *guest, struct error *error);

/* Handles packets of the guest's child (child_messages.c). */
void guest_read_messages(struct guest *guest, uint64_t now);
/* Keeps a pair of the guest's clock and the host's, of KVM's values, if one is due. */
void guest_read_kvm(struct guest *guest, uint64_t now);
/* Nothing can be sent to the child: it has exited. Its last packets, which may say why, are handled first. */
void guest_read_last_messages(struct guest *guest);

/* Makes the connection if it is due, and ends a guest that did not come back in time (agent_connection.c). */
void guest_reconnect(struct guest *guest, uint64_t now);
/* connect() has completed, or failed. -errno: nothing can be sent to the guest's child. */
int guest_connected(struct guest *guest, uint64_t now);
/* When guest_reconnect() has something to do. UINT64_MAX: never. */
uint64_t guest_next_retry(const struct guest *guest);
