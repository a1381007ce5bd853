/* SPDX-License-Identifier: MIT */
#pragma once

/* A condition upon which a snapshot is saved, as far as it needs no events of the trace. watch/condition.h has the
 * grammar. */

#include <time.h>

#include "record/recorder.h"

enum trigger_kind {
    TRIGGER_WATCHED, /* a condition over events, reported by record/watch_process.h */
    TRIGGER_QMP,     /* QEMU's monitor sends an event */
    TRIGGER_EXIT,    /* the recorded process has ended by itself */
    TRIGGER_SIGNAL,  /* the recorder gets a signal */
    TRIGGER_TIME,    /* a time of day, local time */
};

#define TRIGGER_SLUG_MAX 40u

/* All pointers are borrowed. */
struct trigger {
    enum trigger_kind kind;
    const char *text;  /* as given by the user */
    const char *event; /* event of QMP: "STOP" */
    /* For TRIGGER_EXIT: true if STATUS meets the condition, in the form of a shell (128 and more: a signal). NULL: any
     * status meets it, even an unknown one. */
    bool (*matches)(const void *condition, int status);
    const void *condition;
    int signal;
    unsigned second; /* since midnight */
};

/* True if EVENT meets the trigger. */
bool trigger_is_met(const struct trigger *trigger, const struct recorder_event *event);
/* Writes a short text for a file name to BUF ("qmp-STOP", "latency-block"): the trigger's words before any
 * comparison. */
void trigger_slug(const struct trigger *trigger, char buf[static TRIGGER_SLUG_MAX]);
/* The next time of a TRIGGER_TIME after NOW, both CLOCK_REALTIME in seconds. -1: the calendar has no such time. */
time_t trigger_next_time(const struct trigger *trigger, time_t now);
