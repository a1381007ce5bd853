/* SPDX-License-Identifier: MIT */
#include "record/kernel/guest_manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "tracedir/host.h"

#define MONO_ERROR_NS 100

/* The texts and the guest that a source of the manifest points to. */
struct entry {
    char name[96], path[96], pairs[128], confined[64];
    struct manifest_guest guest;
    const char *const *filters;
    unsigned n_filters;
};

static const char *known(const char *s)
{
    return *s ? s : NULL;
}

/* Of this machine's kernel, "mono" is CLOCK_MONOTONIC, but may be off by a little while the clock is being adjusted.
 * Source: ktime_get_mono_fast_ns() in Linux's documentation of time. */
static struct manifest_clock clock_of(const struct guest *guest, const struct guest_boot *boot,
                                      const struct entry *entry)
{
    bool host = guest->config.is_host && strcmp(boot->clock, "mono") == 0;

    return (struct manifest_clock){
        .name = known(boot->clock),
        .hz = boot->hz,
        .pairs = boot->n_pairs && !host ? entry->pairs : NULL,
        .host = host,
        .error_ns = host ? MONO_ERROR_NS : 0,
    };
}

/* The events that have a filter, with it. -ENOMEM. */
static int list_filters(const struct guest *guest, struct arena *arena, struct entry *entry)
{
    const struct trace_config *trace = guest->config.trace;
    const char **filters;

    entry->filters = NULL;
    entry->n_filters = 0;
    if (guest->config.virtio_trace)
        return 0; /* what it records was chosen in the guest */
    filters = arena_alloc(arena, (trace->n_events + 1) * sizeof(char *));
    if (!filters)
        return -ENOMEM;
    for (unsigned i = 0; i < trace->n_events; i++) {
        const struct guest_event *event = &trace->events[i];
        size_t size = strlen(event->event) + strlen(event->filter) + sizeof "=";
        char *text;

        if (!*event->filter)
            continue;
        text = arena_alloc(arena, size);
        if (!text)
            return -ENOMEM;
        snprintf(text, size, "%s=%s", event->event, event->filter);
        filters[entry->n_filters++] = text;
    }
    entry->filters = filters;
    return 0;
}

static void fill(const struct guest *guest, unsigned n, bool complete, struct entry *entry,
                 struct manifest_source *source)
{
    const struct guest_boot *boot = &guest->boots[n];
    bool last = n + 1 == guest->n_boots;
    uint64_t lost = guest_lost(guest);

    guest_store_boot_name(&guest->store, n, entry->path, sizeof entry->path);
    snprintf(entry->name, sizeof entry->name, "%s",
             entry->path + (guest->config.is_host ? 0 : strlen(GUEST_PREFIX)));
    sandbox_names(guest->progress.measures, entry->confined, sizeof entry->confined);
    snprintf(entry->pairs, sizeof entry->pairs, "%s/" GUEST_PAIRS, entry->path);
    entry->guest = (struct manifest_guest){
        .agent = known(boot->agent),
        .agent_pid = host_here()->recorder > 0 ? (int32_t)guest->config.agent : 0,
        .release = known(boot->release),
        .machine = known(boot->machine),
        .boot_id = known(boot->boot_id),
        .kvm = boot->by_kvm && boot->n_pairs > 0,
        .is_away = last && guest_is_away(guest),
        .confined = known(entry->confined),
    };
    *source = (struct manifest_source){
        .name = entry->name,
        .kind = "ftrace",
        .layer = guest->config.is_host ? "host" : "guest",
        .path = entry->path,
        .clock = clock_of(guest, boot, entry),
        .host = host_here(),
        .guest = guest->config.virtio_trace ? NULL : &entry->guest,
        .began = boot->began,
        .ended = boot->ended,
        .came = boot->came,
        .left = boot->left,
        .lost_known = !guest->config.virtio_trace && (complete || !last),
        .lost = boot->ended.realtime_ns ? boot->lost : lost - MIN(boot->lost_before, lost),
        .lost_at_end = last ? guest->progress.unstated : 0,
        .lost_uncounted = boot->lost_uncounted,
        .complete = last ? complete && guest->error == 0 : true,
        .pid_filter = guest->config.pid_filter || boot->pid_filter,
        /* A guest's agent may not tell whether it was started with --pid. */
        .filters_known = guest->config.is_host || boot->states_pid_filter || entry->n_filters > 0,
        .filters = entry->filters,
        .n_filters = entry->n_filters,
        .problems = (const char *const *)boot->problems,
        .n_problems = boot->n_problems,
    };
}

/* One from which nothing came so far: it has no events, but may have said why. */
static void fill_silent(const struct guest *guest, struct entry *entry,
                        struct manifest_source *source)
{
    fill(guest, 0, false, entry, source);
    source->kind = MANIFEST_NO_EVENTS;
    source->clock = (struct manifest_clock){0};
    source->lost_known = false;
}

int guest_put_sources(const struct guest *guest, bool complete, enum guest_silent silent,
                      struct arena *arena, struct manifest_source **ret, unsigned *ret_n)
{
    struct entry *entries = arena_alloc(arena, guest->n_boots * sizeof *entries);
    struct manifest_source *sources = arena_alloc(arena, guest->n_boots * sizeof *sources);
    bool is_silent = silent != GUEST_SILENT_AS_OTHERS && guest_is_silent(guest);
    unsigned n = guest->n_boots;

    if (!entries || !sources || list_filters(guest, arena, &entries[0]) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < n && !is_silent; i++) {
        entries[i].filters = entries[0].filters;
        entries[i].n_filters = entries[0].n_filters;
        fill(guest, i, complete, &entries[i], &sources[i]);
    }
    if (is_silent) {
        n = silent == GUEST_SILENT_WITHOUT_EVENTS;
        fill_silent(guest, &entries[0], &sources[0]);
    }
    *ret = sources;
    *ret_n = n;
    return 0;
}
