/* SPDX-License-Identifier: MIT */
/* Relates the clocks of traces to one timeline, the host's CLOCK_MONOTONIC. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "format/ctf/ctf.h"
#include "timeline/clock_convert.h"
#include "timeline/clock_tighten.h"
#include "trace/open.h"

/* Times are put on a straight line if durations become so many times as exact. */
#define STRAIGHT_GAIN 4

/* ---- How one clock relates to its host's ---- */

/* Records in printf format why INPUT cannot be put on a timeline. -ENOMEM. */
_printf_(3, 4) static int unrelated(struct trace *trace, struct trace_input *input,
                                    const char *format, ...)
{
    char why[1200];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    input->unrelated = arena_strdup(&trace->catalogue.arena, why);
    return input->unrelated ? 0 : -ENOMEM;
}

/* The identity of the host that recorded a source: its boot ID, or if it is unknown, the boot ID of another source in
 * its directory, or else the directory. */
static const char *find_host(const struct trace_input *input)
{
    const struct manifest *manifest = input->manifest;

    if (input->recorded->host && input->recorded->host->boot_id)
        return input->recorded->host->boot_id;
    for (unsigned i = 0; i < manifest->n_sources; i++)
        if (manifest->sources[i].host && manifest->sources[i].host->boot_id)
            return manifest->sources[i].host->boot_id;
    return input->path;
}

/* The pairs of a CTF trace are in ticks of its clock, but its reader lends ns. */
static int convert_pairs(const struct trace_input *input, struct clock_map *clock_map,
                         struct error *error)
{
    struct clock_map of_ns;
    int r;

    for (unsigned i = 0; i < clock_map->n_given; i++)
        clock_map->given[i].ticks = ctf_time_of(input->origin, clock_map->given[i].ticks);
    r = clock_map_of_pairs(clock_map->given, clock_map->n_given, input->path, NANOSECONDS, &of_ns,
                           error);
    if (r < 0)
        return r;
    clock_map_widen(&of_ns, clock_map->extra_ns);
    clock_map_widen(&of_ns, clock_map->set_back_ns);
    clock_map_done(clock_map);
    *clock_map = of_ns;
    return 0;
}

/* Finds the rate of the host's time stamp counter, in ns per tick, from the moments at which recordings began and
 * ended. The longest recording is used. False if there is none. */
static bool find_tsc_rate(const struct trace_input *input, double *ret_least, double *ret_most)
{
    const struct manifest *manifest = input->manifest;
    double longest = 0;

    for (unsigned i = 0; i < manifest->n_sources; i++) {
        const struct manifest_host *host = manifest->sources[i].host;
        const struct manifest_moment *a = &manifest->sources[i].began;
        const struct manifest_moment *b = &manifest->sources[i].ended;
        double ns = (double)(b->monotonic_ns - a->monotonic_ns), error;

        if (!host || !host->boot_id || strcmp(host->boot_id, input->host) != 0 ||
            trace_input_is_merged(input) || !a->tsc || !b->tsc || b->tsc <= a->tsc ||
            !a->error_ns || !b->error_ns || ns <= longest)
            continue;
        error = (double)(a->error_ns + b->error_ns) + ns * CLOCK_MAP_WANDER_PPM / 1e6;
        *ret_least = (ns - error) / (double)(b->tsc - a->tsc);
        *ret_most = (ns + error) / (double)(b->tsc - a->tsc);
        longest = ns;
    }
    return longest > 0 && *ret_least > 0;
}

/* A guest's time stamp counter mostly runs at the host's rate. This is assumed if the rate in the guest's kernel
 * agrees. The kernel measured it by another clock, so it may be wrong, but would not be equal to the host's rate by
 * chance. */
static int limit_rate(const struct trace_input *input, struct clock_map *map)
{
    double given = map->given_hz > 0 ? 1e9 / (double)map->given_hz : 0;
    double least = 0, most = 0;

    if (strcmp(input->origin->clock.name, "x86-tsc") != 0 || !find_tsc_rate(input, &least, &most))
        return 0;
    if (input->origin->layer != LAYER_HOST) {
        if (given < least * (1 - CLOCK_MAP_DRIFT_PPM / 1e6) ||
            given > most * (1 + CLOCK_MAP_DRIFT_PPM / 1e6))
            return 0;
        least = MIN(least, given * (1 - CLOCK_MAP_WANDER_PPM / 1e6));
        most = MAX(most, given * (1 + CLOCK_MAP_WANDER_PPM / 1e6));
    }
    return clock_map_limit_rate(map, least, most);
}

/* Puts times on a straight line through the pairs if this makes durations several times as exact. Between inexact
 * pairs, or pairs close to each other, times would run too fast or too slowly. The largest error of a time does not
 * grow, because only the pairs are known. */
static int straighten(struct clock_map *map)
{
    const struct clock_map_pair *pairs = map->pairs;
    struct clock_bounds bounds;
    struct clock_map line;
    int64_t by;
    int r = clock_bounds_init(&bounds, map);

    if (r < 0)
        return r;
    r = clock_bounds_map(&bounds, &line, &by);
    clock_bounds_done(&bounds);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (line.duration_error * STRAIGHT_GAIN > map->duration_error ||
        (map->limit_most == 0 &&
         clock_map_bound(&line, pairs[0].ticks, pairs[map->n - 1].ticks) >
             clock_map_bound(map, pairs[0].ticks, pairs[map->n - 1].ticks))) {
        clock_map_done(&line);
        return 0;
    }
    clock_map_done(map);
    *map = line;
    return 0;
}

static int read_pairs(const struct trace_input *input, struct clock_map *ret, struct error *error)
{
    _cleanup_free_ char *path = NULL;
    uint64_t hz = input->origin->clock.hz;
    int r = manifest_resolve(input->path, input->recorded->clock.pairs, &path, error);

    if (r >= 0)
        r = clock_map_read(path, hz ? hz : input->recorded->clock.hz, ret, error);
    if (r < 0)
        return r;
    if (strcmp(input->origin->format, "ctf") == 0)
        r = convert_pairs(input, ret, error);
    if (r >= 0 && strcmp(input->origin->clock.name, "realtime") == 0)
        r = clock_map_set_steady(ret);
    if (r >= 0)
        r = limit_rate(input, ret);
    if (r < 0)
        clock_map_done(ret);
    return r;
}

/* The begin and the end of a recording are pairs of the time stamp counter and the host's clock. */
static int take_moments(const struct trace_input *input, struct clock_map *ret, struct error *error)
{
    const struct manifest_moment *moments[] = {&input->recorded->began, &input->recorded->ended};
    struct clock_map_pair pairs[ARRAY_SIZE(moments)];
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(moments); i++)
        if (moments[i]->tsc && moments[i]->error_ns)
            pairs[n++] = (struct clock_map_pair){.host_ns = moments[i]->monotonic_ns,
                                                 .ticks = (int64_t)moments[i]->tsc,
                                                 .error_ns = moments[i]->error_ns};
    return clock_map_of_pairs(pairs, n, input->path, input->origin->clock.hz, ret, error);
}

/* A clock map applies to an input only if one clock stamps all its buffers. */
static bool has_one_clock(const struct trace *trace, const struct trace_input *input)
{
    for (unsigned i = 1; i < input->n_origins; i++) {
        const struct clock *clock = &trace->catalogue.origins[input->first_origin + i]->clock;

        if (strcmp(clock->name, input->origin->clock.name) != 0 ||
            clock->hz != input->origin->clock.hz)
            return false;
    }
    return true;
}

static int find_relation(struct trace *trace, struct trace_input *input)
{
    const struct manifest_clock *clock = &input->recorded->clock;
    bool by_moments = !clock->pairs && strcmp(input->origin->clock.name, "tsc") == 0 &&
                      input->recorded->began.tsc && input->recorded->began.error_ns;
    struct clock_map clock_map;
    struct error error;
    char why[1024];
    int r;

    error_clear(&error);
    if (!clock->pairs && !by_moments)
        return unrelated(trace, input,
                         "the trace does not state how its clock relates to the host's");
    r = by_moments ? take_moments(input, &clock_map, &error)
                   : read_pairs(input, &clock_map, &error);
    if (error_is_local(r))
        return r;
    if (r < 0) {
        error_print(&error, why, sizeof why);
        return unrelated(trace, input, "%s", why);
    }
    input->n_exchanges = clock_map.n_given;
    r = straighten(&clock_map);
    if (r < 0) {
        clock_map_done(&clock_map);
        return r;
    }
    input->clock_map = malloc(sizeof *input->clock_map);
    if (!input->clock_map) {
        clock_map_done(&clock_map);
        return -ENOMEM;
    }
    *input->clock_map = clock_map;
    /* What counts cycles at an unknown rate: this is one. */
    for (unsigned i = 0; i < input->n_origins; i++) {
        struct clock *own = &trace->catalogue.origins[input->first_origin + i]->clock;

        if (own->hz == 0 && clock->pairs) {
            own->hz = clock_map.hz;
            trace->catalogue.origins[input->first_origin + i]->rate_error =
                clock_map_rate_error(&clock_map);
        }
    }
    return 0;
}

int host_time_find(struct trace *trace, struct trace_input *input)
{
    const struct clock *clock = &input->origin->clock;

    if (!has_one_clock(trace, input))
        return unrelated(trace, input, "its buffers have different clocks");
    if (!input->recorded)
        return unrelated(trace, input, "its host is unknown");
    input->host = find_host(input);
    /* Of a log that is empty, or of which nothing is kept, nothing is known, and nothing need be. */
    if (strcmp(clock->name, "line") == 0 && !input->origin->is_empty)
        return unrelated(trace, input, "its lines have no times");
    if (!input->recorded->clock.host)
        return find_relation(trace, input);
    if (clock->hz != NANOSECONDS)
        return unrelated(trace, input,
                         "declared to use the host's clock, but does not count nanoseconds");
    input->on_host_clock = true;
    input->host_error_ns = (uint32_t)MIN(input->recorded->clock.error_ns, (int64_t)UINT32_MAX);
    return 0;
}

/* ---- One timeline ---- */

/* Guests boot separately, so their clocks are unrelated even if their names are the same. */
static const char *machine_of(const struct trace_input *input)
{
    const struct manifest_guest *guest = input->recorded ? input->recorded->guest : NULL;

    return guest && guest->boot_id ? guest->boot_id : "";
}

static bool same_host(const struct trace_input *a, const struct trace_input *b)
{
    return !a->host || !b->host || strcmp(a->host, b->host) == 0;
}

/* True if pairs relate the clock of INPUT but nothing identifies the host. Pairs alone do not show whether it is the
 * host of another input with the same clock name. */
static bool is_by_itself(const struct trace_input *input)
{
    return input->clock_map && input->recorded->clock.pairs && machine_of(input)[0] == '\0';
}

static bool same_clock(const struct trace_input *a, const struct trace_input *b)
{
    if (a != b && (is_by_itself(a) || is_by_itself(b)))
        return false;
    return strcmp(a->origin->clock.name, b->origin->clock.name) == 0 &&
           a->origin->clock.hz == b->origin->clock.hz && strcmp(machine_of(a), machine_of(b)) == 0;
}

/* True if all inputs have one clock without conversion. */
static bool is_one_clock(const struct trace *trace)
{
    const struct trace_input *inputs = trace->inputs;

    for (unsigned i = 0; i < trace->n_inputs; i++)
        if (!has_one_clock(trace, &inputs[i]) || !same_clock(&inputs[0], &inputs[i]) ||
            (trace->n_inputs > 1 && !same_host(&inputs[0], &inputs[i])))
            return false;
    return true;
}

/* True if there are several sources, and each says that its clock is the host's. */
static bool is_on_timeline(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_inputs; i++)
        if (!trace->inputs[i].on_host_clock)
            return false;
    return trace->n_inputs > 1;
}

/* "trace", or "the source 'qemu' of trace". */
static const char *name_of(const struct trace_input *input, char *buf, size_t size)
{
    if (!input->recorded)
        return input->path;
    snprintf(buf, size, "the source '%s' of %s", input->recorded->name, input->path);
    return buf;
}

/* Fails because INPUT and OTHER cannot be put on one timeline: WHY. */
static int refuse(const struct trace_input *input, const struct trace_input *other, const char *why,
                  struct error *error)
{
    char a[512], b[512];

    if (input == other)
        return error_set(error, -EINVAL, input->path, "cannot be put in one order: %s", why);
    return error_set(error, -EINVAL, input->path,
                     "the clock (%s) of %s is another than that (%s) of %s, so the two cannot be "
                     "put in one order: %s; 'strata merge' relates separate traces, "
                     "or show them one by one%s",
                     input->origin->clock.name, name_of(input, a, sizeof a),
                     other->origin->clock.name, name_of(other, b, sizeof b), why,
                     input->recorded || other->recorded ? " (--source)" : "");
}

/* True if the user declares that the clock of INPUT is the host's, which the trace does not say. */
static bool may_be_host_clock(const struct trace_input *input)
{
    return (!input->recorded || !input->recorded->guest) &&
           strcmp(input->origin->clock.name, "monotonic") == 0 &&
           input->origin->clock.hz == NANOSECONDS;
}

/* True if INPUT can be put on the timeline. Otherwise records the reason. */
static bool is_related(const struct trace_input *input, bool wanted)
{
    return !input->unrelated || (wanted && may_be_host_clock(input));
}

static const char *another_host(const struct trace_input *a, const struct trace_input *b, char *buf,
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

/* Checks that all inputs can be put on one timeline. */
static int check(const struct trace *trace, bool wanted, struct error *error)
{
    const struct trace_input *inputs = trace->inputs;
    const struct trace_input *known = NULL;
    char why[600];

    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct trace_input *input = &inputs[i];

        if (input->is_left_out)
            continue;
        if (!is_related(input, wanted)) {
            /* The one that it differs from is the first, or, if it is that, any other. */
            const struct trace_input *other = &inputs[0];

            for (unsigned j = 1;
                 j < trace->n_inputs && (other == input || same_clock(input, other)); j++)
                other = &inputs[j];
            if (wanted)
                return error_set(error, -EINVAL, input->path,
                                 "its clock cannot be related to the host's: %s", input->unrelated);
            if (!input->recorded && may_be_host_clock(input)) {
                snprintf(why, sizeof why,
                         "%s (use --host-time if it was recorded on the same host)",
                         input->unrelated);
                return refuse(input, other, why, error);
            }
            return refuse(input, other, input->unrelated, error);
        }
        if (input->host && known && !same_host(known, input))
            return refuse(input, known, another_host(known, input, why, sizeof why), error);
        if (input->host && !known)
            known = input;
    }
    return 0;
}

/* True if the traces say themselves that their clocks differ. For sources of a trace directory the manifest says it
 * better. */
static bool has_other_clock(const struct trace_input *a, const struct trace_input *b)
{
    const struct origin *x = a->origin, *y = b->origin;

    if (a->recorded && b->recorded)
        return false;
    /* Hosts of two names may be containers of one machine. */
    if (x->clock_uuid && y->clock_uuid)
        return strcasecmp(x->clock_uuid, y->clock_uuid) != 0;
    return x->host_name && y->host_name && strcmp(x->host_name, y->host_name) != 0;
}

static bool is_realtime(const struct trace_input *input)
{
    return strcmp(input->origin->clock.name, "realtime") == 0;
}

static const char *other_clock(const struct trace_input *a, const struct trace_input *b, char *buf,
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

/* Rejects traces with clocks of different hosts. Times since 1970 are comparable as far as the hosts' clocks agree;
 * then a note says so. */
static int check_hosts(struct trace *trace, struct error *error)
{
    bool noted = false;
    char why[600];

    for (unsigned i = 1; i < trace->n_inputs; i++)
        for (unsigned j = 0; j < i; j++) {
            const struct trace_input *input = &trace->inputs[i], *other = &trace->inputs[j];

            if (!has_other_clock(other, input))
                continue;
            other_clock(other, input, why, sizeof why);
            if (!is_realtime(input) || !is_realtime(other))
                return refuse(input, other, why, error);
            if (!noted &&
                trace_note(trace,
                           "%s and %s: %s: their order is right only as far as these hosts' "
                           "clocks agree; 'strata merge' relates them",
                           other->path, input->path, why) < 0)
                return -ENOMEM;
            noted = true;
        }
    return 0;
}

static int put_on_timeline(struct trace *trace, struct trace_input *input)
{
    int64_t came = input->recorded ? input->recorded->came.monotonic_ns : 0;

    for (unsigned i = 0; i < input->n_origins; i++)
        trace->catalogue.origins[input->first_origin + i]->clock =
            (struct clock){"monotonic", NANOSECONDS};
    if (input->clock_map)
        trace_set_duration_error(trace, input);
    else if (input->host_error_ns == 0)
        return 0;
    for (unsigned i = 0; i < input->n_sources; i++) {
        struct source *source = input->sources[i];
        int r;

        input->sources[i] = NULL;
        r = input->clock_map
                ? clock_convert_open(source, input->clock_map, came ? came : TIME_UNKNOWN,
                                     &input->sources[i])
                : clock_convert_error_open(source, input->host_error_ns, &input->sources[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Closes the readers of inputs that cannot be put on the timeline, or are of another host than earlier inputs. */
static int leave_out_unrelated(struct trace *trace)
{
    const struct trace_input *known = NULL;
    char why[600];
    int r = 0;

    for (unsigned i = 0; i < trace->n_inputs && r >= 0; i++) {
        struct trace_input *input = &trace->inputs[i];
        bool of_another = input->host && known && !same_host(known, input);
        struct error error = {0};

        if (!input->recorded || (!input->unrelated && !of_another)) {
            known = known ? known : input->host ? input : NULL;
            continue;
        }
        error_set(&error, -EINVAL, NULL, "%s",
                  of_another ? another_host(known, input, why, sizeof why) : input->unrelated);
        r = recorded_leave_out(trace, input->recorded, &error);
        for (unsigned j = 0; j < input->n_sources; j++)
            source_free(input->sources[j]);
        free(input->sources);
        input->sources = NULL;
        input->n_sources = 0;
        input->is_left_out = true;
    }
    return r;
}

int host_time_choose_timebase(struct trace *trace, const struct trace_options *options,
                              struct error *error)
{
    bool wanted = options->host_time;
    int r = check_hosts(trace, error);

    if (r >= 0 && wanted && options->leave_out_unrelated)
        r = leave_out_unrelated(trace);
    if (r < 0)
        return r;
    if (!wanted && is_one_clock(trace) && !is_on_timeline(trace))
        return 0;
    r = check(trace, wanted, error);
    for (unsigned i = 0; i < trace->n_inputs && r >= 0; i++)
        r = put_on_timeline(trace, &trace->inputs[i]);
    trace->host_time = r >= 0;
    return r;
}
