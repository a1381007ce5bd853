/* SPDX-License-Identifier: MIT */
#include "record/flight.h"

#include <limits.h>
#include <string.h>

#include "record/flight_report.h"
#include "record/recorder_internal.h"

/* A message may have a path. */
#define TEXT_MAX (PATH_MAX + 256u)

struct flight {
    struct recorder *recorder;
    struct retention *retention;
    struct flight_report *report; /* NULL: everything is kept, and the end reports */
    uint64_t report_at;           /* CLOCK_MONOTONIC, ns */
    bool is_retention_reported;   /* that it failed */
    bool is_short_reported;       /* … that the disk was nearly full */
};

int flight_new(const struct retention_limit *limit, struct recorder *recorder, struct flight **ret,
               struct error *error)
{
    struct flight *flight = calloc(1, sizeof *flight);
    bool has_limit = limit->ns > 0 || limit->bytes > 0;
    int r;

    if (!flight)
        return error_set(error, -ENOMEM, NULL, "out of memory");
    flight->recorder = recorder;
    r = retention_new(limit, recording_dir(recorder->recording),
                      recording_path(recorder->recording), &flight->retention, error);
    if (r >= 0 && has_limit && flight_report_new(recorder, &flight->report) < 0)
        r = error_set(error, -ENOMEM, NULL, "out of memory");
    if (r < 0) {
        flight_free(flight);
        return r;
    }
    *ret = flight;
    return 0;
}

void flight_free(struct flight *flight)
{
    if (!flight)
        return;
    retention_free(flight->retention);
    flight_report_free(flight->report);
    free(flight);
}

const struct retention *flight_retention(const struct flight *flight)
{
    return flight->retention;
}

static void report_shortage(struct flight *flight)
{
    bool is_short = retention_is_short(flight->retention);

    if (is_short && !flight->is_short_reported)
        recorder_report(flight->recorder,
                        "the disk is nearly full: less is kept than --flight says, and events that "
                        "cannot be written are dropped; free space");
    flight->is_short_reported |= is_short;
}

static void keep(struct flight *flight, uint64_t now, bool may_release)
{
    unsigned n_recorders, n = 0;
    struct recorder *const *recorders =
        recording_recorders(flight->recorder->recording, &n_recorders);
    struct manifest_source *sources = NULL;
    struct error error = {0};
    struct arena arena = {0};
    char text[TEXT_MAX];
    int r = recorders_put_sources(recorders, n_recorders, 0, &arena, &sources, &n);

    if (r >= 0)
        r = retention_step(flight->retention, sources, n, now, may_release, &error);
    arena_done(&arena);
    report_shortage(flight);
    if (r >= 0 || flight->is_retention_reported)
        return;
    flight->is_retention_reported = true;
    error_set(&error, r, NULL, "%s", strerror(-r));
    error_print(&error, text, sizeof text);
    recorder_report(flight->recorder, "more is kept than --flight says: %s", text);
}

uint64_t flight_due(const struct flight *flight, bool is_stopping)
{
    uint64_t due = retention_due(flight->retention);

    return flight->report && !is_stopping ? MIN(due, flight->report_at) : due;
}

void flight_step(struct flight *flight, uint64_t now, bool is_stopping, bool may_release)
{
    if (flight->report && !is_stopping && now >= flight->report_at) {
        flight_report_step(flight->report, now);
        flight->report_at = now + FLIGHT_REPORT_INTERVAL_NS;
    }
    keep(flight, now, may_release);
}
