/* SPDX-License-Identifier: MIT */
#include "cmd/record_kernel.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "link/message.h"
#include "timeline/relation.h"

#define AGENT "strata-agent"

/* What tells how a machine fares. */
static const char *const usual_of_guests[] = {
    "sched:sched_switch", "sched:sched_wakeup", "irq:*", "timer:hrtimer_*", NULL,
};
static const char *const usual_of_host[] = {
    "kvm:*", "sched:sched_switch", "sched:sched_wakeup", "irq:*", NULL,
};

/* Whether this machine's kernel has events of the system that PATTERN begins with: without the module kvm there
 * are none of kvm. Where that cannot be seen, the agent will. */
static bool is_here(const char *pattern)
{
    static const char folder[] = "/sys/kernel/tracing/events";
    char path[128];

    snprintf(path, sizeof path, "%s/%.*s", folder, (int)strcspn(pattern, ":"), pattern);
    return access(folder, F_OK) < 0 || access(path, F_OK) == 0;
}

int record_kernel_choose(char *given, bool is_host, struct record_kernel *ret, struct fault *fault)
{
    struct record_kernel kernel = {0};
    const char *const *usual = is_host ? usual_of_host : usual_of_guests;
    int r = *given ? strings_split(&kernel.words, given, fault) : 0;

    for (; r >= 0 && !*given && *usual; usual++)
        if (!is_host || is_here(*usual))
            r = strings_add(&kernel.words, *usual);
    if (r >= 0) {
        kernel.items = calloc(MAX(kernel.words.n, 1u), sizeof *kernel.items);
        r = kernel.items ? 0 : -ENOMEM;
    }
    if (r < 0) {
        record_kernel_done(&kernel);
        return r == -ENOMEM ? fault_plain(fault, r, NULL, "out of memory") : r;
    }
    for (unsigned i = 0; i < kernel.words.n; i++)
        kernel.items[i] = (struct guest_event){kernel.words.items[i], ""};
    kernel.wishes = (struct guest_wishes){
        .events = kernel.items,
        .n_events = kernel.words.n,
        .clock = "",
        .keep_seconds = 60,
        .buffer_kib = 4096,
        .wants = LINK_WANT_CMDLINES | LINK_WANT_PRINTK_FORMATS,
    };
    *ret = kernel;
    return 0;
}

void record_kernel_done(struct record_kernel *kernel)
{
    free(kernel->items);
    strings_done(&kernel->words);
    *kernel = (struct record_kernel){0};
}

const char *record_kernel_agent(char *buf, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buf, size - sizeof AGENT);
    char *slash;

    buf[MAX(n, 0)] = '\0';
    slash = strrchr(buf, '/');
    if (slash) {
        memcpy(slash + 1, AGENT, sizeof AGENT);
        if (access(buf, X_OK) == 0)
            return buf;
    }
    return AGENT;
}

/* By how many ns any of its times may be wrong on the host's timeline, between the first and the last pair; -1: not
 * known. */
static int64_t worst_error(const char *folder, const struct guest *guest)
{
    const struct guest_part *part = &guest->parts[guest->n_parts - 1];
    struct relation relation;
    char name[96], path[PATH_MAX];
    int64_t worst;

    guest_store_part_name(&guest->store, guest->n_parts - 1, name, sizeof name);
    snprintf(path, sizeof path, "%s/%s/" GUEST_PAIRS, folder, name);
    if (relation_read(path, part->hz, &relation, NULL) < 0)
        return -1;
    worst =
        relation_bound(&relation, relation.pairs[0].ticks, relation.pairs[relation.n - 1].ticks);
    relation_done(&relation);
    return worst;
}

bool record_kernel_tell(const char *folder, const struct guest *guest)
{
    const struct guest_progress *progress = &guest->progress;
    const struct guest_part *part = &guest->parts[guest->n_parts - 1];
    const char *plural = progress->events == 1 ? "" : "s";
    int64_t worst = -1;

    if (guest_is_silent(guest)) {
        cmd_message("  %-6s nothing", guest->plan.name);
        return true;
    }
    if (!guest->plan.is_host)
        worst = worst_error(folder, guest);
    if (worst >= 0)
        cmd_message("  %-6s %" PRIu64 " event%s, %" PRIu64 " lost, times within %.0f us; Linux %s",
                    guest->plan.name, progress->events, plural, progress->lost,
                    (double)worst / 1000, part->release);
    else
        cmd_message("  %-6s %" PRIu64 " event%s, %" PRIu64 " lost; Linux %s", guest->plan.name,
                    progress->events, plural, progress->lost, part->release);
    return progress->lost == 0 && progress->gaps == 0;
}
