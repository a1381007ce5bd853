/* SPDX-License-Identifier: MIT */
#include "event/own_threads.h"

#include <string.h>

#include "base/macro.h"

/* "strata" is the recorder and its children; the others are named where they begin: agent/, runtime/, cmd/record_watch.c. */
static const char *const names[] = {
    "strata",         "strata-agent", "strata-reader", "strata-sender",   "strata-receiver",
    "strata-control", "strata-watch", "strata-writer", "strata-snapshot",
};

bool own_thread_is(const struct origin *origin, int32_t pid, const char *name)
{
    if (pid > 0 && (pid == origin->recorder_pid || pid == origin->agent_pid))
        return true;
    /* Most names end here. */
    if (!name || strncmp(name, names[0], strlen(names[0])) != 0)
        return false;
    for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
