/* SPDX-License-Identifier: MIT */
#include "cmd/record/service.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/fd.h"
#include "cli/service.h"
#include "record/kernel/host_leftover.h"
#include "record/rings/rings_dir.h"
#include "tracedir/registry.h"

void record_service_rescue(int dir, const char *path)
{
    _cleanup_(closep) int host = openat(dir, "host", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t agent = host < 0 ? 0 : registry_find_agent(getenv("XDG_RUNTIME_DIR"), path);

    rings_dir_rescue();
    if (agent > 0)
        host_leftover_drain(agent, host);
}

void record_service_begun(const char *dir)
{
    _cleanup_free_ char *state = NULL;

    if (asprintf(&state, "READY=1\nSTATUS=Recording%s%s", dir ? " into " : "", dir ? dir : "") < 0)
        return;
    service_notify(state);
}
