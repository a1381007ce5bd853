/* SPDX-License-Identifier: MIT */
#include "event/own_threads.h"

#include <string.h>

#include "event/item.h"

bool own_thread_is(const struct origin *origin, int32_t pid, const char *name)
{
    if (pid > 0 && (pid == origin->recorder_pid || pid == origin->agent_pid))
        return true;
    /* Most names end here. */
    if (!name || strncmp(name, "strata", strlen("strata")) != 0)
        return false;
    name += strlen("strata");
    return *name == '-' || (*name == '\0' && origin->recorder_pid == PID_UNKNOWN);
}
