/* SPDX-License-Identifier: MIT */
#include "record/plan/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tracefs_find.h"
#include "proto/message.h"

#define AGENT "strata-agent"

/* Opens events/ of this machine's tracefs, where the agent will find it; -errno: it cannot be seen. */
static int open_events(void)
{
    char path[256];
    const char *shut;
    _cleanup_(closep) int tracefs = tracefs_find(path, sizeof path, &shut);
    int fd;

    if (tracefs == -ENOENT)
        tracefs = tracefs_mount_detached();
    if (tracefs < 0)
        return tracefs;
    fd = openat(tracefs, "events", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Whether this machine's kernel has the event PATTERN, or events of the system that it begins with: without the module
 * kvm there are none of kvm. EVENTS: open_events(). Where that cannot be seen, the agent will. */
static bool is_here(int events, const char *pattern)
{
    size_t len = strcspn(pattern, ":");
    char path[128];

    if (strpbrk(pattern, "*?"))
        snprintf(path, sizeof path, "%.*s", (int)len, pattern);
    else
        snprintf(path, sizeof path, "%.*s/%s", (int)len, pattern,
                 pattern + len + (pattern[len] == ':'));
    return events < 0 || faccessat(events, path, F_OK, AT_EACCESS) == 0;
}

const char *const *plan_kernel_usual(bool is_host, unsigned *ret_n)
{
    const char *const *usual = is_host ? event_set_usual.host : event_set_usual.guest;

    *ret_n = 0;
    while (usual[*ret_n])
        ++*ret_n;
    return usual;
}

int plan_kernel_events(const struct record_plan *plan, bool is_host, struct guest_event **ret,
                       uint32_t *ret_n)
{
    const struct plan_event_list *chosen = is_host ? &plan->chosen.host : &plan->chosen.guest;
    /* Those that guests need are among the chosen. */
    const struct strings needed = is_host ? plan->needs.host : (struct strings){0};
    unsigned n_more = needed.n, n = chosen->patterns.n;
    const char *const *more = n_more + n == 0 ? plan_kernel_usual(is_host, &n_more) : needed.items;
    _cleanup_(closep) int events = is_host ? open_events() : -1;
    struct guest_event *items = calloc(MAX(n + n_more, 1u), sizeof *items);

    if (!items)
        return -ENOMEM;
    for (unsigned i = 0; i < n; i++)
        items[i] = (struct guest_event){chosen->patterns.items[i], chosen->conditions.items[i]};
    for (unsigned i = 0; i < n_more; i++)
        if (!is_host || is_here(events, more[i]))
            items[n++] = (struct guest_event){more[i], ""};
    *ret = items;
    *ret_n = n;
    return 0;
}

int plan_kernel_make(const struct record_plan *plan, bool is_host, struct plan_kernel *ret)
{
    uint64_t buffer_size = plan->buffer_size;
    struct plan_kernel kernel = {0};
    uint32_t n;
    int r = plan_kernel_events(plan, is_host, &kernel.items, &n);

    if (r < 0)
        return r;
    kernel.trace = (struct trace_config){
        .events = kernel.items,
        .n_events = n,
        .clock = "",
        .keep_seconds = 60,
        .buffer_kib = (uint32_t)((buffer_size ? buffer_size : PLAN_KERNEL_BUFFER) >> 10),
        .wants = PROTO_WANT_CMDLINES | PROTO_WANT_PRINTK_FORMATS,
        .holds = record_plan_may_hold(plan),
        .drops_when_full = record_plan_has_flight(plan),
        .is_host = is_host,
    };
    /* This machine's kernel is the one that wakes us: seldom, unless somebody looks. */
    if (is_host)
        kernel.trace.wants |= plan->live.on ? PROTO_WANT_LIVE : PROTO_WANT_DELAY;
    *ret = kernel;
    return 0;
}

void plan_kernel_done(struct plan_kernel *kernel)
{
    free(kernel->items);
    *kernel = (struct plan_kernel){0};
}

const char *plan_kernel_agent(char *buf, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - sizeof AGENT);
    char *slash;

    buf[MAX(n, 0)] = '\0';
    slash = strrchr(buf, '/');
    if (slash) {
        memcpy(slash + 1, AGENT, sizeof AGENT);
        if (faccessat(AT_FDCWD, buf, X_OK, AT_EACCESS) == 0)
            return buf;
    }
    return AGENT;
}
