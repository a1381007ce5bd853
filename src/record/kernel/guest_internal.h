/* SPDX-License-Identifier: MIT */
#pragma once

/* Functions shared by the files that implement record/kernel/guest.h. Inside of this layer. */

#include "base/clock_ns.h"
#include "record/kernel/guest.h"

/* Why no agent has answered if the port's socket serves another client. */
#define GUEST_TAKEN "another collector is connected to its port, which serves one at a time"

/* Time from a lost or failed connection to the next try. Later tries take longer. */
#define RETRY_FIRST (NSEC_PER_SEC / 20)

/* How many messages about one guest are printed without a pause. */
#define GUEST_MESSAGES_MAX 64u

/* Prints a message about GUEST. If many messages were printed recently, the message is only counted, and the count is
 * printed with the next message or at the end. */
void guest_report(struct guest *guest, const char *what);
/* Ends the recording of GUEST. If ERROR is negative, WHAT says what went wrong. Does nothing if it has ended. */
void guest_end(struct guest *guest, int error, const char *what);
/* Creates the file for the pages of CPU 0, so that a trace without events can be read. -errno with ERROR. */
int guest_make_first_file(struct guest *guest, struct error *error);

/* The guest has rebooted: ends the trace of this boot and begins the trace of the next one (guest_reboot.c). -E2BIG
 * with ERROR: too many boots for the sources of a trace. Other -errno with ERROR. */
int guest_reboot(struct guest *guest, struct error *error);
/* The same after its state went back to an earlier state. Files and facts of the kernel are copied. */
int guest_rewind(struct guest *guest, struct error *error);

/* Handles packets of the guest's child (child_messages.c). */
void guest_read_messages(struct guest *guest, uint64_t now);
/* Keeps a pair of clocks from KVM's values, if one is due. */
void guest_read_kvm(struct guest *guest, uint64_t now);
/* Call it if nothing can be sent to the child because it has exited. Handles its last packets, which may say why. */
void guest_read_last_messages(struct guest *guest);

/* Connects if that is due, and ends a guest that did not come back in time (agent_connection.c). */
void guest_reconnect(struct guest *guest, uint64_t now);
/* Call it when connect() has completed or failed. -errno: nothing can be sent to the guest's child. */
int guest_connected(struct guest *guest, uint64_t now);
/* When to call guest_reconnect(). UINT64_MAX: never. */
uint64_t guest_next_retry(const struct guest *guest);
