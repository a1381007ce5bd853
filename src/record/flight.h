/* SPDX-License-Identifier: MIT */
#pragma once

/* The flight recorder: keeps only the last seconds or bytes of a recording (record/retention.h), and reports problems
 * of a recording that has no planned end (record/flight_report.h). The control server (record/control_server.h), which
 * each recording has, calls it. Without a limit, everything is kept and nothing is reported. */

#include "record/recorder.h"
#include "record/retention.h"

struct flight;

/* LIMIT is copied. RECORDER is borrowed: its recording is watched, and messages are reported through it. -errno with
 * ERROR. */
int flight_new(const struct retention_limit *limit, struct recorder *recorder, struct flight **ret,
               struct error *error);
void flight_free(struct flight *flight);
const struct retention *flight_retention(const struct flight *flight);
/* When the next step is due; CLOCK_MONOTONIC, ns. IS_STOPPING: nothing is reported any more. */
uint64_t flight_due(const struct flight *flight, bool is_stopping);
/* MAY_RELEASE: no snapshot is being copied. */
void flight_step(struct flight *flight, uint64_t now, bool is_stopping, bool may_release);
