/* SPDX-License-Identifier: MIT */
#include "cmd/record/service.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "cli/service.h"
#include "record/kernel/host_leftover.h"
#include "record/rings/rings_dir.h"
#include "tracedir/registry.h"

struct unit {
    uint64_t size;
    const char *name;
};

/* N in the largest unit that it is a multiple of. */
static void put(char *buf, size_t size, uint64_t n, const struct unit *units)
{
    size_t len = strlen(buf);

    while (n % units->size != 0)
        units++;
    snprintf(buf + len, size - len, "%s%" PRIu64 "%s", len ? "," : "", n / units->size,
             units->name);
}

const char *record_limit_text(const struct retention_limit *limit, char buf[RECORD_LIMIT_MAX])
{
    static const struct unit times[] = {{3600, "h"}, {60, "m"}, {1, "s"}};
    static const struct unit sizes[] = {{1 << 30, "G"}, {1 << 20, "M"}, {1 << 10, "K"}, {1, ""}};

    buf[0] = '\0';
    if (limit->ns > 0 && limit->ns % NSEC_PER_SEC == 0)
        put(buf, RECORD_LIMIT_MAX, limit->ns / NSEC_PER_SEC, times);
    else if (limit->ns > 0)
        snprintf(buf, RECORD_LIMIT_MAX, "%" PRIu64 "ms", limit->ns / (NSEC_PER_SEC / 1000));
    if (limit->bytes > 0)
        put(buf, RECORD_LIMIT_MAX, limit->bytes, sizes);
    return buf;
}

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
