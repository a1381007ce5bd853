/* SPDX-License-Identifier: MIT */
#pragma once

/* The control server of a recording: programs ask it to bring recorded data to the files, and to make snapshots.
 *
 * Programs connect to the socket DIR/control.sock (tracedir/ask.h), which only its user may use. A request is a line:
 *
 *     snapshot [NAME]      NAME has letters, digits, '-', '_' and '.'; default: the local time
 *     flush                brings all recorded data to the files; answer: "ok NS[ late SOURCE …][; paused SOURCE …]"
 *
 * The answer is "ok TEXT" or "error TEXT", after which the server closes the connection. After a flush, the files have
 * everything that was recorded up to NS (CLOCK_MONOTONIC, ns). Exceptions: a `late` SOURCE, whose recorder has not
 * answered within CONTROL_FLUSH_NS, and a `paused` SOURCE, which cannot answer. Requests that come during a flush share
 * the next flush.
 *
 * A snapshot is an ordinary trace directory, DIR/snapshots/NAME, with everything that all recorders have kept. First,
 * recorders that hold events back bring them to their files (REC-8 of record/recorder.h), which takes at most
 * CONTROL_FLUSH_NS. Then a child copies the files (record/snapshot_saver.h). During the copy, nothing is released.
 * Snapshots are made one after the other. The recording itself requests snapshots by control_server_ask(), one at a
 * time.
 *
 * The server is a recorder without sources. It is added last, and the recording calls it like any other recorder. The
 * flight recorder (record/flight.h) decides what is kept. */

#include "record/recorder.h"
#include "record/retention.h"
#include "record/snapshot.h"

#define CONTROL_FLUSH_NS NSEC_PER_SEC

/* LIMIT is copied. Limit 0: everything is kept. The recording must have a directory. -ENOMEM. */
int control_server_new(const struct retention_limit *limit, struct recorder **ret);

/* A request of the recording itself. */
struct snapshot_request {
    char name[SNAPSHOT_NAME_MAX];          /* if this name is taken: NAME-2, and so on */
    const struct manifest_snapshot *about; /* for the snapshot's manifest */
    /* TEXT: the path of the snapshot, or why it was not saved. The function may make another request. */
    void (*done)(void *userdata, bool is_saved, const char *text);
    void *userdata;
};

/* Borrows REQUEST until done() is called, which happens before the recording ends. */
void control_server_ask(struct recorder *recorder, struct snapshot_request *request);
/* The recorder does not end until each hold is released, so that a snapshot can be saved at the end of the
 * recording. */
void control_server_hold(struct recorder *recorder);
void control_server_release(struct recorder *recorder);
