/* SPDX-License-Identifier: MIT */
#include "schema/xen/table.h"

#include "base/macro.h"
#include "schema/xen/table_parser.h"

/* data/xen-events, made into an array by the build. */
extern const char xen_events_text[];
extern const size_t xen_events_text_len;

xen_version xen_version_parse(const char *s, size_t len)
{
    uint32_t major;
    uint32_t minor;
    const char *end = s + len;
    size_t n = xen_read_number(s, end, &major);

    if (n == 0 || n == len || s[n] != '.' || major == 0 || major > 99)
        return 0;
    s += n + 1;
    n = xen_read_number(s, end, &minor);
    if (n == 0 || minor > 99 || (s + n != end && s[n] != '.' && s[n] != '-'))
        return 0;
    return (xen_version)(major * 100 + minor);
}

enum xen_cpu xen_cpu_parse(const char *s)
{
    static const struct {
        const char *name;
        enum xen_cpu cpu;
    } known[] = {
        {"amd", XEN_CPU_AMD},        {"AuthenticAMD", XEN_CPU_AMD},
        {"hygon", XEN_CPU_AMD},      {"HygonGenuine", XEN_CPU_AMD},
        {"intel", XEN_CPU_INTEL},    {"GenuineIntel", XEN_CPU_INTEL},
        {"centaur", XEN_CPU_INTEL},  {"CentaurHauls", XEN_CPU_INTEL},
        {"shanghai", XEN_CPU_INTEL}, {"  Shanghai  ", XEN_CPU_INTEL},
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(known[i].name, s) == 0)
            return known[i].cpu;
    return XEN_CPU_UNKNOWN;
}

const char *xen_event_group(uint32_t id)
{
    switch (id >> 16 & 0xfff) {
    case 0x001: return "gen";
    case 0x002: return "sched";
    case 0x004: return "dom0op";
    case 0x008: return "hvm";
    case 0x010: return "mem";
    case 0x020: return "pv";
    case 0x040: return "shadow";
    case 0x080: return "hw";
    case 0x800: return "guest";
    default: return "other";
    }
}

int xen_table_add(struct xen_table *table, const struct xen_event *event)
{
    struct xen_event *copy = arena_memdup(&table->arena, event, sizeof *event);

    if (!copy)
        return -ENOMEM;
    copy->before = map_get(&table->events, event->id);
    copy->fields =
        arena_memdup(&table->arena, event->fields, event->n_fields * sizeof *event->fields);
    if ((!copy->fields && event->n_fields > 0) || map_put(&table->events, event->id, copy) < 0)
        return -ENOMEM;
    table->n_events++;
    return 0;
}

int xen_table_built_in(struct xen_table *table, struct error *error)
{
    return xen_table_parse(table, NULL, xen_events_text, xen_events_text_len, error);
}

void xen_table_done(struct xen_table *table)
{
    map_done(&table->events);
    map_done(&table->enums);
    arena_done(&table->arena);
    *table = (struct xen_table){0};
}

const struct xen_event *xen_table_find(const struct xen_table *table, uint32_t id, unsigned words,
                                       xen_version version, enum xen_cpu cpu)
{
    const struct xen_event *event = map_get(&table->events, id);

    for (; event; event = event->before) {
        if (words < event->words_min || words > event->words_max)
            continue;
        if ((event->since || event->until) && version == 0)
            continue;
        if (event->cpu && event->cpu != cpu)
            continue;
        if (event->since && version < event->since)
            continue;
        if (event->until && version > event->until)
            continue;
        return event;
    }
    return NULL;
}
