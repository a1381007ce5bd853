/* SPDX-License-Identifier: MIT */
#pragma once

/* Reports problems while a recording runs that has no planned end, because its user would otherwise see them only at
 * the end. Each of these is reported once, by recorder_report(): a new problem of a recorder or its sources, a recorder
 * that ends while others continue, and lost events, at most once a minute for each source. Reports that a guest can
 * cause are limited: after the first FLIGHT_REPORT_BURST, one message every 10 seconds. The others are reported
 * later. */

#include "base/clock_ns.h"
#include "record/recorder.h"

#define FLIGHT_REPORT_INTERVAL_NS NSEC_PER_SEC
#define FLIGHT_REPORT_BURST 32u

struct flight_report;

/* Reports through RECORDER on the other recorders of its recording. -ENOMEM. */
int flight_report_new(struct recorder *recorder, struct flight_report **ret);
void flight_report_free(struct flight_report *report);
/* Looks at all recorders. NOW: CLOCK_MONOTONIC, ns. If memory is short, reports later. */
void flight_report_step(struct flight_report *report, uint64_t now);
