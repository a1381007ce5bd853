/* SPDX-License-Identifier: MIT */
#pragma once

/* What goes wrong while a recording goes on that has no planned end: its user would see it at the end only. Reports, by
 * recorder_report(), once each: what is added to the problems of a recorder or its sources, a recorder that ends while others
 * go on, and lost events, of a source at most once a minute. What a guest can cause is limited: a message every 10 seconds,
 * after the first FLIGHT_REPORT_BURST; the others come later. */

#include "base/clock_ns.h"
#include "record/recorder.h"

#define FLIGHT_REPORT_INTERVAL_NS NSEC_PER_SEC
#define FLIGHT_REPORT_BURST 32u

struct flight_report;

/* By RECORDER, of what the others of its recording record. -ENOMEM. */
int flight_report_new(struct recorder *recorder, struct flight_report **ret);
void flight_report_free(struct flight_report *report);
/* Looks at all recorders; NOW: CLOCK_MONOTONIC, ns. Where memory is short, it reports later. */
void flight_report_step(struct flight_report *report, uint64_t now);
