/* SPDX-License-Identifier: MIT */
/* Relates the clocks of traces to one timeline, the host's CLOCK_MONOTONIC. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "format/ctf/ctf.h"
#include "timeline/clock_convert.h"
#include "trace/open.h"

/* ---- How one clock relates to its host's ---- */

/* Records a printf-like reason why PART cannot be put on a timeline. -ENOMEM. */
_printf_(3, 4) static int unrelated(struct trace *trace, struct trace_part *part,
                                    const char *format, ...)
{
    char why[1200];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    part->unrelated = arena_strdup(&trace->catalogue.arena, why);
    return part->unrelated ? 0 : -ENOMEM;
}

/* The identity of the host that recorded a source: its boot ID; if that is not known, that of another
 * source in its directory, or else the directory. */
static const char *find_host(const struct trace_part *part)
{
    const struct manifest *manifest = part->manifest;

    if (part->recorded->host && part->recorded->host->boot_id)
        return part->recorded->host->boot_id;
    for (unsigned i = 0; i < manifest->n_sources; i++)
        if (manifest->sources[i].host && manifest->sources[i].host->boot_id)
            return manifest->sources[i].host->boot_id;
    return part->path;
}

/* The pairs of a CTF trace are in its clock's ticks, but its reader returns ns. */
static int convert_pairs(const struct trace_part *part, struct clock_map *clock_map,
                         struct error *error)
{
    struct clock_map of_ns;
    int r;

    for (unsigned i = 0; i < clock_map->n_given; i++)
        clock_map->given[i].ticks = ctf_time_of(part->origin, clock_map->given[i].ticks);
    r = clock_map_of_pairs(clock_map->given, clock_map->n_given, part->path, NANOSECONDS, &of_ns,
                           error);
    if (r < 0)
        return r;
    clock_map_done(clock_map);
    *clock_map = of_ns;
    return 0;
}

static int read_pairs(const struct trace_part *part, struct clock_map *ret, struct error *error)
{
    _cleanup_free_ char *path = NULL;
    uint64_t hz = part->origin->clock.hz;
    int r = manifest_resolve(part->path, part->recorded->clock.pairs, &path, error);

    if (r >= 0)
        r = clock_map_read(path, hz ? hz : part->recorded->clock.hz, ret, error);
    if (r < 0)
        return r;
    if (strcmp(part->origin->clock.name, "realtime") == 0)
        r = clock_map_set_steady(ret);
    if (r >= 0 && strcmp(part->origin->format, "ctf") == 0)
        r = convert_pairs(part, ret, error);
    if (r < 0)
        clock_map_done(ret);
    return r;
}

/* The moments at which a recording began and ended are pairs of the time stamp counter and the host's
 * clock. */
static int take_moments(const struct trace_part *part, struct clock_map *ret, struct error *error)
{
    const struct manifest_moment *moments[] = {&part->recorded->began, &part->recorded->ended};
    struct clock_map_pair pairs[ARRAY_SIZE(moments)];
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(moments); i++)
        if (moments[i]->tsc && moments[i]->error_ns)
            pairs[n++] = (struct clock_map_pair){.host_ns = moments[i]->monotonic_ns,
                                                 .ticks = (int64_t)moments[i]->tsc,
                                                 .error_ns = moments[i]->error_ns};
    return clock_map_of_pairs(pairs, n, part->path, part->origin->clock.hz, ret, error);
}

/* A clock map applies to a part only if one clock stamps all its buffers. */
static bool has_one_clock(const struct trace *trace, const struct trace_part *part)
{
    for (unsigned i = 1; i < part->n_origins; i++) {
        const struct clock *clock = &trace->catalogue.origins[part->first_origin + i]->clock;

        if (strcmp(clock->name, part->origin->clock.name) != 0 ||
            clock->hz != part->origin->clock.hz)
            return false;
    }
    return true;
}

static int find_relation(struct trace *trace, struct trace_part *part)
{
    const struct manifest_clock *clock = &part->recorded->clock;
    bool by_moments = !clock->pairs && strcmp(part->origin->clock.name, "tsc") == 0 &&
                      part->recorded->began.tsc && part->recorded->began.error_ns;
    struct clock_map clock_map;
    struct error error;
    char why[1024];
    int r;

    error_clear(&error);
    if (!clock->pairs && !by_moments)
        return unrelated(trace, part,
                         "the trace does not state how its clock relates to the host's");
    r = by_moments ? take_moments(part, &clock_map, &error) : read_pairs(part, &clock_map, &error);
    if (error_is_local(r))
        return r;
    if (r < 0) {
        error_print(&error, why, sizeof why);
        return unrelated(trace, part, "%s", why);
    }
    part->clock_map = malloc(sizeof *part->clock_map);
    if (!part->clock_map) {
        clock_map_done(&clock_map);
        return -ENOMEM;
    }
    *part->clock_map = clock_map;
    /* What counts cycles at an unknown rate: this is one. */
    for (unsigned i = 0; i < part->n_origins; i++) {
        struct clock *own = &trace->catalogue.origins[part->first_origin + i]->clock;

        if (own->hz == 0 && clock->pairs)
            own->hz = clock_map.hz;
    }
    return 0;
}

int host_time_find(struct trace *trace, struct trace_part *part)
{
    const struct clock *clock = &part->origin->clock;
    struct stat st;

    if (!has_one_clock(trace, part))
        return unrelated(trace, part, "its buffers have different clocks");
    if (!part->recorded)
        return unrelated(trace, part, "its host is unknown");
    part->host = find_host(part);
    /* Of a log that is empty nothing is known, and nothing need be. */
    if (strcmp(clock->name, "line") == 0 && (stat(part->origin->path, &st) < 0 || st.st_size > 0))
        return unrelated(trace, part, "its lines have no times");
    if (!part->recorded->clock.host)
        return find_relation(trace, part);
    if (clock->hz != NANOSECONDS)
        return unrelated(trace, part,
                         "declared to use the host's clock, but does not count nanoseconds");
    part->on_host_clock = true;
    part->host_error_ns = (uint32_t)MIN(part->recorded->clock.error_ns, (int64_t)UINT32_MAX);
    return 0;
}

/* ---- One timeline ---- */

/* Guests boot by themselves: their clocks have nothing in common, even by the same name. */
static const char *machine_of(const struct trace_part *part)
{
    const struct manifest_guest *guest = part->recorded ? part->recorded->guest : NULL;

    return guest && guest->boot_id ? guest->boot_id : "";
}

static bool same_host(const struct trace_part *a, const struct trace_part *b)
{
    return !a->host || !b->host || strcmp(a->host, b->host) == 0;
}

/* True if pairs relate its clock, but nothing identifies the host: it may be another machine's than
 * that of a part with the same clock name, because pairs alone do not show it. */
static bool is_by_itself(const struct trace_part *part)
{
    return part->clock_map && part->recorded->clock.pairs && machine_of(part)[0] == '\0';
}

static bool same_clock(const struct trace_part *a, const struct trace_part *b)
{
    if (a != b && (is_by_itself(a) || is_by_itself(b)))
        return false;
    return strcmp(a->origin->clock.name, b->origin->clock.name) == 0 &&
           a->origin->clock.hz == b->origin->clock.hz && strcmp(machine_of(a), machine_of(b)) == 0;
}

/* Whether all is of one clock as it is. */
static bool is_one_clock(const struct trace *trace)
{
    const struct trace_part *parts = trace->parts;

    for (unsigned i = 0; i < trace->n_parts; i++)
        if (!has_one_clock(trace, &parts[i]) || !same_clock(&parts[0], &parts[i]) ||
            (trace->n_parts > 1 && !same_host(&parts[0], &parts[i])))
            return false;
    return true;
}

/* True if each of several sources says that its clock is the host's. */
static bool is_on_timeline(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_parts; i++)
        if (!trace->parts[i].on_host_clock)
            return false;
    return trace->n_parts > 1;
}

/* "trace", or "the source 'qemu' of trace". */
static const char *name_of(const struct trace_part *part, char *buf, size_t size)
{
    if (!part->recorded)
        return part->path;
    snprintf(buf, size, "the source '%s' of %s", part->recorded->name, part->path);
    return buf;
}

/* PART and OTHER cannot be put on one timeline, because of WHY. */
static int refuse(const struct trace_part *part, const struct trace_part *other, const char *why,
                  struct error *error)
{
    char a[512], b[512];

    if (part == other)
        return error_set(error, -EINVAL, part->path, "cannot be put in one order: %s", why);
    return error_set(error, -EINVAL, part->path,
                     "the clock (%s) of %s is another than that (%s) of %s, so the two cannot be "
                     "put in one order: %s; 'strata merge' relates separate traces, "
                     "or show them one by one%s",
                     part->origin->clock.name, name_of(part, a, sizeof a),
                     other->origin->clock.name, name_of(other, b, sizeof b), why,
                     part->recorded || other->recorded ? " (--source)" : "");
}

/* True if the user declares that its clock is the host's, although the trace does not say so. */
static bool may_be_host_clock(const struct trace_part *part)
{
    return (!part->recorded || !part->recorded->guest) &&
           strcmp(part->origin->clock.name, "monotonic") == 0 &&
           part->origin->clock.hz == NANOSECONDS;
}

/* True if PART can be put on the timeline; otherwise records a reason. */
static bool is_related(const struct trace_part *part, bool wanted)
{
    return !part->unrelated || (wanted && may_be_host_clock(part));
}

static const char *another_host(const struct trace_part *a, const struct trace_part *b, char *buf,
                                size_t size)
{
    const struct manifest_host *x = a->recorded->host, *y = b->recorded->host;

    if (x && y && x->name && y->name && strcmp(x->name, y->name) != 0)
        snprintf(buf, size, "they were recorded on different hosts (%s, %s)", x->name, y->name);
    else if (x && y && x->boot_id && y->boot_id)
        snprintf(buf, size,
                 "they were recorded on different hosts, or their host was rebooted "
                 "between them");
    else
        snprintf(buf, size, "it is unknown whether they were recorded on the same host");
    return buf;
}

/* Whether all can be put on one timeline. */
static int check(const struct trace *trace, bool wanted, struct error *error)
{
    const struct trace_part *parts = trace->parts;
    const struct trace_part *known = NULL;
    char why[600];

    for (unsigned i = 0; i < trace->n_parts; i++) {
        const struct trace_part *part = &parts[i];

        if (!is_related(part, wanted)) {
            /* The one that it differs from is the first, or, if it is that, any other. */
            const struct trace_part *other = &parts[0];

            for (unsigned j = 1; j < trace->n_parts && (other == part || same_clock(part, other));
                 j++)
                other = &parts[j];
            if (wanted)
                return error_set(error, -EINVAL, part->path,
                                 "its clock cannot be related to the host's: %s", part->unrelated);
            if (!part->recorded && may_be_host_clock(part)) {
                snprintf(why, sizeof why,
                         "%s (use --host-time if it was recorded on the same host)",
                         part->unrelated);
                return refuse(part, other, why, error);
            }
            return refuse(part, other, part->unrelated, error);
        }
        if (part->host && known && !same_host(known, part))
            return refuse(part, known, another_host(known, part, why, sizeof why), error);
        if (part->host && !known)
            known = part;
    }
    return 0;
}

/* True if the traces themselves say that their clocks differ. The manifest of a trace directory says
 * more about its own sources. */
static bool has_other_clock(const struct trace_part *a, const struct trace_part *b)
{
    const struct origin *x = a->origin, *y = b->origin;

    if (a->recorded && b->recorded)
        return false;
    /* Hosts of two names may be containers of one machine. */
    if (x->clock_uuid && y->clock_uuid)
        return strcasecmp(x->clock_uuid, y->clock_uuid) != 0;
    return x->host_name && y->host_name && strcmp(x->host_name, y->host_name) != 0;
}

static bool is_realtime(const struct trace_part *part)
{
    return strcmp(part->origin->clock.name, "realtime") == 0;
}

static const char *other_clock(const struct trace_part *a, const struct trace_part *b, char *buf,
                               size_t size)
{
    const char *x = a->origin->host_name, *y = b->origin->host_name;

    if (x && y && strcmp(x, y) != 0)
        snprintf(buf, size, "they were recorded on different hosts (%s, %s)", x, y);
    else
        snprintf(buf, size, "the UUIDs of their clocks differ (%s, %s)", a->origin->clock_uuid,
                 b->origin->clock_uuid);
    return buf;
}

/* Rejects traces with clocks of different hosts. Times since 1970 are comparable as far as the hosts'
 * clocks agree; a note says so. */
static int check_hosts(struct trace *trace, struct error *error)
{
    bool noted = false;
    char why[600];

    for (unsigned i = 1; i < trace->n_parts; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct trace_part *part = &trace->parts[i], *other = &trace->parts[j];

            if (!has_other_clock(other, part))
                continue;
            other_clock(other, part, why, sizeof why);
            if (!is_realtime(part) || !is_realtime(other))
                return refuse(part, other, why, error);
            if (!noted &&
                trace_note(trace,
                           "%s and %s: %s: their order is right only as far as these hosts' "
                           "clocks agree; 'strata merge' relates them",
                           other->path, part->path, why) < 0)
                return -ENOMEM;
            noted = true;
        }
    return 0;
}

static int put_on_timeline(struct trace *trace, struct trace_part *part)
{
    for (unsigned i = 0; i < part->n_origins; i++)
        trace->catalogue.origins[part->first_origin + i]->clock =
            (struct clock){"monotonic", NANOSECONDS};
    if (!part->clock_map && part->host_error_ns == 0)
        return 0;
    for (unsigned i = 0; i < part->n_sources; i++) {
        struct source *source = part->sources[i];
        int r;

        part->sources[i] = NULL;
        r = part->clock_map
                ? clock_convert_open(source, part->clock_map, &part->sources[i])
                : clock_convert_error_open(source, part->host_error_ns, &part->sources[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int host_time_choose_timebase(struct trace *trace, bool wanted, struct error *error)
{
    int r = check_hosts(trace, error);

    if (r < 0)
        return r;
    if (!wanted && is_one_clock(trace) && !is_on_timeline(trace))
        return 0;
    r = check(trace, wanted, error);
    for (unsigned i = 0; i < trace->n_parts && r >= 0; i++)
        r = put_on_timeline(trace, &trace->parts[i]);
    trace->host_time = r >= 0;
    return r;
}
