/* SPDX-License-Identifier: MIT */
#pragma once

/* The part of a recording that keeps its last seconds or bytes (record/retention.h), and saves them as snapshots.
 *
 * A snapshot is an ordinary trace directory, DIR/snapshots/NAME, of what all recorders have kept. Those that hold events back
 * are asked to bring them to their files first (R8 of record/recorder.h), for FLIGHT_FLUSH_NS at most. A child of fork() then
 * copies the files, so that nothing waits for a disk; meanwhile nothing is released. The directory has its name when it is
 * complete. Snapshots are taken one after the other.
 *
 * They are asked for by the socket DIR/control.sock, which its user alone may use: a line is a request,
 *
 *     snapshot [NAME]      NAME of letters, digits, '-', '_' and '.'; else the local time
 *
 * and the answer is "ok TEXT" or "error TEXT", and the end of the connection.
 *
 * It is a recorder without sources, added last, so that the recording calls it as it calls all others. */

#include "record/recorder.h"
#include "record/retention.h"

#define FLIGHT_SOCKET "control.sock"
#define FLIGHT_SNAPSHOTS "snapshots"
#define FLIGHT_FLUSH_NS NSEC_PER_SEC

/* LIMIT is copied; where it is 0, everything is kept. The recording has a directory. -ENOMEM. */
int flight_recorder_new(const struct retention_limit *limit, struct recorder **ret);

/* Asks the recording into DIR by its socket, and waits for the answer, which is in TEXT, allocated, also of -EREMOTE: it refused.
 * -ENOENT, -ECONNREFUSED: nothing is being recorded there (by this version); -EACCES; another negative errno. */
int flight_ask(const char *dir, const char *request, char **ret_text);
