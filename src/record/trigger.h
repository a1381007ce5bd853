/* SPDX-License-Identifier: MIT */
#pragma once

/* A condition that has a snapshot saved, as far as it needs no events of the trace. The grammar of all is in watch/condition.h. */

#include <time.h>

#include "record/recorder.h"

enum trigger_kind {
    TRIGGER_WATCHED, /* over events: record/watch_process.h reports it */
    TRIGGER_QMP,     /* QEMU's monitor sends an event */
    TRIGGER_EXIT,    /* what is recorded has ended by itself */
    TRIGGER_SIGNAL,  /* the recorder gets a signal */
    TRIGGER_TIME,    /* it is a time of day, local time */
};

#define TRIGGER_SLUG_MAX 40u

/* All borrowed. */
struct trigger {
    enum trigger_kind kind;
    const char *text;  /* as it was given */
    const char *event; /* of QMP: "STOP" */
    /* Of TRIGGER_EXIT: whether it is met by STATUS, as a shell has it (128 and more: by a signal); NULL: by any, also one that
     * is not known. */
    bool (*matches)(const void *condition, int status);
    const void *condition;
    int signal;
    unsigned second; /* of the day */
};

/* Whether EVENT meets it. */
bool trigger_is_met(const struct trigger *trigger, const struct recorder_event *event);
/* For a name of a file: "qmp-STOP", "latency-block": its words before any comparison. */
void trigger_slug(const struct trigger *trigger, char buf[static TRIGGER_SLUG_MAX]);
/* When the time of TRIGGER_TIME is next after NOW, both CLOCK_REALTIME in seconds. -1: the calendar does not say. */
time_t trigger_next_time(const struct trigger *trigger, time_t now);
