/* SPDX-License-Identifier: MIT */
#include "record/trigger.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

bool trigger_is_met(const struct trigger *trigger, const struct recorder_event *event)
{
    int status = event->status;

    if (trigger->kind == TRIGGER_QMP)
        return event->kind == RECORDER_EVENT_QMP && strcmp(event->name, trigger->event) == 0;
    if (trigger->kind != TRIGGER_EXIT || event->kind != RECORDER_EVENT_END)
        return false;
    if (!trigger->matches)
        return true;
    return status >= 0 &&
           trigger->matches(trigger->condition,
                            WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

void trigger_slug(const struct trigger *trigger, char buf[static TRIGGER_SLUG_MAX])
{
    size_t len = 0;

    for (const char *s = trigger->text; *s && len < TRIGGER_SLUG_MAX - 1; s++) {
        if (strchr("<>=!&|({[", *s))
            break;
        if (isalnum((unsigned char)*s) || *s == '_')
            buf[len++] = *s;
        else if (len > 0 && buf[len - 1] != '-')
            buf[len++] = '-';
    }
    while (len > 0 && buf[len - 1] == '-')
        len--;
    buf[len] = '\0';
    if (len == 0)
        snprintf(buf, TRIGGER_SLUG_MAX, "trigger");
}

time_t trigger_next_time(const struct trigger *trigger, time_t now)
{
    struct tm tm;
    time_t next;

    if (!localtime_r(&now, &tm))
        return -1;
    for (int day = 0; day <= 1; day++) {
        struct tm then = tm;

        then.tm_mday += day;
        then.tm_hour = (int)trigger->second / 3600;
        then.tm_min = (int)trigger->second / 60 % 60;
        then.tm_sec = (int)trigger->second % 60;
        then.tm_isdst = -1;
        next = mktime(&then);
        if (next > now)
            return next;
    }
    return -1;
}
