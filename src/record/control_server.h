/* SPDX-License-Identifier: MIT */
#pragma once

/* The control server of a recording: programs ask it for what the recorders hold, and for snapshots.
 *
 * They ask by the socket DIR/control.sock (tracedir/ask.h), which its user alone may use: a line is a request,
 *
 *     snapshot [NAME]      NAME of letters, digits, '-', '_' and '.'; else the local time
 *     flush                brings to the files what all recorders hold: "ok NS[ late SOURCE …][; paused SOURCE …]"
 *
 * and the answer is "ok TEXT" or "error TEXT", and the end of the connection. What was recorded up to NS (CLOCK_MONOTONIC,
 * ns) is then in the files, except that of each SOURCE whose recorder has not answered within CONTROL_FLUSH_NS, or which is
 * paused and cannot. Requests that come while a flush goes on share the next one.
 *
 * A snapshot is an ordinary trace directory, DIR/snapshots/NAME, of what all recorders have kept. Those that hold events back
 * are asked to bring them to their files first (R8 of record/recorder.h), for CONTROL_FLUSH_NS at most. A child then copies
 * the files (record/snapshot_saver.h); meanwhile nothing is released. Snapshots are taken one after the other. The recording
 * itself asks by control_server_ask(), one at a time.
 *
 * It is a recorder without sources, added last, so that the recording calls it as it calls all others. What is kept it leaves
 * to the flight recorder (record/flight.h). */

#include "record/recorder.h"
#include "record/retention.h"
#include "record/snapshot.h"

#define CONTROL_FLUSH_NS NSEC_PER_SEC

/* LIMIT is copied; if it is 0, everything is kept. The recording has a directory. -ENOMEM. */
int control_server_new(const struct retention_limit *limit, struct recorder **ret);

/* A snapshot for the recording itself. */
struct snapshot_request {
    char name[SNAPSHOT_NAME_MAX];          /* if there is one of that name: NAME-2, and so on */
    const struct manifest_snapshot *about; /* of its manifest */
    /* TEXT is the path of the snapshot, or why it was not saved. Another request may be made. */
    void (*done)(void *userdata, bool is_saved, const char *text);
    void *userdata;
};

/* Borrows REQUEST until done() is called, at the end of the recording at the latest. */
void control_server_ask(struct recorder *recorder, struct snapshot_request *request);
/* The recorder does not end before each hold is released: what happens at the end of the recording is to be saved. */
void control_server_hold(struct recorder *recorder);
void control_server_release(struct recorder *recorder);
