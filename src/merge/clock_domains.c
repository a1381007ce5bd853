/* SPDX-License-Identifier: MIT */
/* Finds which clocks are the same, and which one becomes the timeline. */

#include <ctype.h>
#include <string.h>

#include "base/wide.h"
#include "merge/internal.h"

static int add_domain(struct merge *merge, const struct merge_domain *domain, unsigned *ret)
{
    struct merge_domain *bigger = realloc(merge->domains, (merge->n_domains + 1) * sizeof *bigger);

    if (!bigger)
        return merge_no_memory(merge);
    merge->domains = bigger;
    bigger[merge->n_domains] = *domain;
    *ret = merge->n_domains++;
    return 0;
}

static bool same_string(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static const struct manifest_host *host_of(const struct merge_source *source)
{
    return source->recorded ? source->recorded->host : NULL;
}

/* True if its directory, or the trace itself, states how its clock relates to its host's. */
static bool is_of_host(const struct merge_source *source)
{
    return source->host_map.n > 0 || source->on_host_clock;
}

/* Assigns each source to the domain of its host if its directory states the host, otherwise to a domain of its own. */
static int first_domains(struct merge *merge)
{
    int r = 0;

    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++) {
        struct merge_source *source = &merge->sources[i];
        struct merge_domain domain = {.clock = source->clock.name, .hz = source->clock.hz};
        bool found = false;

        if (is_of_host(source)) {
            const struct manifest_host *host = host_of(source);

            for (unsigned j = 0; j < i && !found; j++) {
                if (!is_of_host(&merge->sources[j]) || !source->host ||
                    !same_string(source->host, merge->sources[j].host))
                    continue;
                source->domain = merge->sources[j].domain;
                found = true;
            }
            domain = (struct merge_domain){.boot_id = host ? host->boot_id : NULL,
                                           .host = host ? host->name : NULL,
                                           .clock = MERGE_MONOTONIC,
                                           .is_host = true,
                                           .hz = NANOSECONDS};
        }
        if (!found)
            r = add_domain(merge, &domain, &source->domain);
    }
    return r;
}

/* Moves all sources of the domain FROM to INTO. */
static void join(struct merge *merge, unsigned from, unsigned into)
{
    for (unsigned i = 0; i < merge->n_sources; i++)
        if (merge->sources[i].domain == from)
            merge->sources[i].domain = into;
}

static int unknown_name(struct merge *merge, const char *option, const char *name)
{
    return error_set(&merge->error, -EINVAL, NULL, "%s: no source '%s'", option, name);
}

bool merge_is_tsc(const struct clock *clock)
{
    return strcmp(clock->name, "tsc") == 0 || strcmp(clock->name, "x86-tsc") == 0;
}

int64_t merge_counter_time(const struct merge_counter *counter, int64_t ticks)
{
    wide since = wide_difference(ticks, counter->offset);

    return narrow(
        wide_div(wide_mul(since, wide_of_u64(counter->divisor)), wide_of_u64(counter->multiplier)));
}

int64_t merge_counter_ticks(const struct merge_counter *counter, int64_t time)
{
    wide since = wide_mul(wide_of(time), wide_of_u64(counter->multiplier));

    return narrow(
        wide_add(wide_div(since, wide_of_u64(counter->divisor)), wide_of(counter->offset)));
}

/* Finds the time of the host's clock when CLOCK had the value in MOMENT. */
static bool pair_of_moment(const struct clock *clock, const struct manifest_moment *moment,
                           struct clock_map_pair *ret)
{
    int64_t ticks = strcmp(clock->name, "realtime") == 0 ? moment->realtime_ns
                    : merge_is_tsc(clock)                ? (int64_t)moment->tsc
                                                         : 0;

    *ret = (struct clock_map_pair){
        .host_ns = moment->monotonic_ns, .ticks = ticks, .error_ns = moment->error_ns};
    return ticks > 0 && moment->monotonic_ns > 0 && moment->error_ns > 0;
}

/* Relates SOURCE, which was recorded on the same host as other sources, by the moments at which one of their recordings
 * began and ended. At these moments all clocks of the host were read together. */
static int relate_by_moments(struct merge *merge, struct merge_source *source)
{
    const struct strings *names = &merge->config->same_host;
    struct error error = {0};

    for (unsigned i = 0; i < names->n && source->host_map.n == 0; i++) {
        int at = merge_find_source(merge, names->items[i], strlen(names->items[i]));
        const struct merge_source *other = at < 0 ? NULL : &merge->sources[at];
        struct clock_map_pair pairs[2];
        unsigned n = 0;

        if (!other || !other->recorded || !is_of_host(other))
            continue;
        n += pair_of_moment(&source->clock, &other->recorded->began, &pairs[n]);
        n += pair_of_moment(&source->clock, &other->recorded->ended, &pairs[n]);
        if (n > 0 && clock_map_of_pairs(pairs, n, source->name, source->clock.hz, &source->host_map,
                                        &error) < 0)
            return error.code == -ENOMEM ? merge_no_memory(merge) : 0;
        if (n > 0)
            source->domain = other->domain;
    }
    return 0;
}

/* --same-host: clocks with equal names are one clock, and the monotonic clock is the host's. */
static int join_host(struct merge *merge)
{
    const struct strings *names = &merge->config->same_host;
    int host = -1;
    int r;

    for (unsigned i = 0; i < names->n; i++) {
        int at = merge_find_source(merge, names->items[i], strlen(names->items[i]));
        struct merge_source *source;
        struct merge_domain *domain;

        if (at < 0)
            return unknown_name(merge, "--same-host", names->items[i]);
        source = &merge->sources[at];
        r = is_of_host(source) ? 0 : relate_by_moments(merge, source);
        if (r < 0)
            return r;
        domain = &merge->domains[source->domain];
        if (domain->is_host && host >= 0 && merge->domains[host].boot_id && domain->boot_id &&
            !same_string(merge->domains[host].boot_id, domain->boot_id)) {
            return error_set(&merge->error, -EINVAL, NULL,
                             "--same-host: %s was recorded on another host, or after a reboot",
                             source->name);
        }
        if (!domain->is_host && strcmp(source->clock.name, MERGE_MONOTONIC) == 0) {
            domain->is_host = true;
            domain->hz = NANOSECONDS;
        }
        if (!domain->is_host)
            continue;
        if (host < 0 || (!merge->domains[host].boot_id && domain->boot_id)) {
            if (host >= 0)
                join(merge, (unsigned)host, source->domain);
            host = (int)source->domain;
        } else {
            join(merge, source->domain, (unsigned)host);
        }
    }
    /* Other clocks, as CLOCK_REALTIME, are at least each other's. */
    for (unsigned i = 0; i < names->n; i++) {
        int a = merge_find_source(merge, names->items[i], strlen(names->items[i]));

        for (unsigned j = 0; j < i; j++) {
            int b = merge_find_source(merge, names->items[j], strlen(names->items[j]));

            if (!is_of_host(&merge->sources[a]) && !is_of_host(&merge->sources[b]) &&
                strcmp(merge->sources[a].clock.name, merge->sources[b].clock.name) == 0 &&
                merge->sources[a].clock.hz == merge->sources[b].clock.hz)
                join(merge, merge->sources[a].domain, merge->sources[b].domain);
        }
    }
    return 0;
}

/* Parses "0.87" or "3/4" as a fraction. */
static bool parse_ratio(const char *s, uint64_t *ret_multiplier, uint64_t *ret_divisor)
{
    const char *slash = strchr(s, '/');
    uint64_t multiplier = 0, divisor = 1;
    bool point = false;

    for (const char *p = s; *p && p != slash; p++) {
        if (*p == '.' && !point && !slash) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*p) || multiplier > (UINT64_C(1) << 52) ||
            divisor > (UINT64_C(1) << 52))
            return false;
        multiplier = multiplier * 10 + (uint64_t)(*p - '0');
        divisor *= point ? 10 : 1;
    }
    if (slash) {
        divisor = 0;
        for (const char *p = slash + 1; *p; p++) {
            if (!isdigit((unsigned char)*p) || divisor > (UINT64_C(1) << 52))
                return false;
            divisor = divisor * 10 + (uint64_t)(*p - '0');
        }
    }
    *ret_multiplier = multiplier;
    *ret_divisor = divisor;
    return multiplier > 0 && divisor > 0;
}

/* Parses NAME, NAME=OFFSET or NAME=OFFSET*RATIO. */
static int parse_tsc(struct merge *merge, const char *given, unsigned *ret)
{
    size_t len = strcspn(given, "=");
    int at = merge_find_source(merge, given, len);
    struct merge_source *source;
    char *end;

    if (at < 0)
        return unknown_name(merge, "--tsc", given);
    source = &merge->sources[at];
    *ret = (unsigned)at;
    if (given[len] != '=')
        return 0;
    errno = 0;
    source->counter.offset = strtoll(given + len + 1, &end, 0);
    if (errno == 0 && end > given + len + 1 && *end == '\0')
        return 0;
    if (errno == 0 && *end == '*' &&
        parse_ratio(end + 1, &source->counter.multiplier, &source->counter.divisor))
        return 0;
    return error_set(&merge->error, -EINVAL, NULL,
                     "invalid --tsc '%s'; use NAME[=OFFSET[*RATIO]], whole ticks and a ratio "
                     "such as 0.87 or 7/8",
                     given);
}

/* Makes pairs of a host's time and SOURCE's ticks from KNOWN's pairs. */
static int counter_pairs(struct merge *merge, const struct merge_source *known,
                         struct merge_source *source)
{
    const struct clock_map *clock_map = &known->host_map;
    struct clock_map_pair *pairs = calloc(clock_map->n, sizeof *pairs);
    unsigned n = 0;
    int r;

    if (!pairs)
        return merge_no_memory(merge);
    for (unsigned i = 0; i < clock_map->n; i++) {
        const struct clock_map_pair *pair = &clock_map->pairs[i];
        int64_t ticks = merge_counter_time(&known->counter, pair->ticks);
        int64_t err;

        ticks = merge_counter_ticks(&source->counter, ticks);
        (void)clock_map_convert(clock_map, pair->ticks, &err);
        if (pair->is_paused) /* the bound of the pause is not that of the time before it */
            err = narrow(wide_sum(pair->error_ns, clock_map->set_back_ns));
        if (ticks >= 0 && (n == 0 || ticks > pairs[n - 1].ticks))
            pairs[n++] = (struct clock_map_pair){
                .host_ns = pair->host_ns, .ticks = ticks, .error_ns = narrow(wide_sum(err, 1))};
        if (n > 0)
            pairs[n - 1].is_paused |= pair->is_paused;
    }
    r = clock_map_of_pairs(pairs, n, source->name, source->clock.hz, &source->host_map,
                           &merge->error);
    free(pairs);
    return r;
}

/* --tsc: sources with the same counter. If the directory of one of them relates the counter to a host's clock, this
 * holds for all. */
static int join_tsc(struct merge *merge)
{
    const struct strings *given = &merge->config->tsc;
    unsigned at[MANIFEST_SOURCES_MAX] = {0};
    int known = -1;
    int r = 0;

    if (given->n > MANIFEST_SOURCES_MAX)
        return -EINVAL;
    if (given->n == 1)
        return error_set(&merge->error, -EINVAL, NULL,
                         "--tsc names only %s; name all sources that count the same counter",
                         given->items[0]);
    for (unsigned i = 0; i < given->n && r >= 0; i++) {
        r = parse_tsc(merge, given->items[i], &at[i]);
        if (r >= 0 && !merge_is_tsc(&merge->sources[at[i]].clock)) {
            r = error_set(&merge->error, -EINVAL, NULL,
                          "--tsc: the clock of %s is %s, not a time stamp counter",
                          merge->sources[at[i]].name, merge->sources[at[i]].clock.name);
        }
        if (r >= 0 && known < 0 && is_of_host(&merge->sources[at[i]]))
            known = (int)at[i];
    }
    for (unsigned i = 0; i < given->n && r >= 0; i++) {
        struct merge_source *source = &merge->sources[at[i]];
        unsigned into = merge->sources[known >= 0 ? (unsigned)known : at[0]].domain;

        if (known >= 0 && (int)at[i] != known) {
            clock_map_done(&source->host_map);
            source->has_pairs_file = false;
            r = counter_pairs(merge, &merge->sources[known], source);
        }
        join(merge, source->domain, into);
        /* Any of them may know the rate; an offset does not change it, a ratio does. */
        if (known < 0 && merge->domains[into].hz == 0)
            merge->domains[into].hz = (uint64_t)narrow(wide_div(
                wide_mul(wide_of_u64(source->clock.hz), wide_of_u64(source->counter.divisor)),
                wide_of_u64(source->counter.multiplier)));
    }
    return r;
}

/* ---- The reference ---- */

static bool is_hosts_monotonic(const struct merge *merge, unsigned i)
{
    const struct merge_source *source = &merge->sources[i];

    return merge->domains[source->domain].is_host ||
           (!source->recorded && source->layer != LAYER_GUEST &&
            strcmp(source->clock.name, MERGE_MONOTONIC) == 0);
}

static int choose_reference(struct merge *merge)
{
    const char *name = merge->config->reference;
    struct merge_domain *domain;
    int at = name ? merge_find_source(merge, name, strlen(name)) : -1;

    if (name && at < 0)
        return unknown_name(merge, "--reference", name);
    for (unsigned i = 0; i < merge->n_sources && at < 0; i++)
        if (is_hosts_monotonic(merge, i))
            at = (int)i;
    merge->reference = (unsigned)MAX(at, 0);
    domain = &merge->domains[merge->sources[merge->reference].domain];
    if (domain->hz == 0)
        return error_set(&merge->error, -EINVAL, NULL,
                         "%s: the rate of its clock (%s) is unknown, so it cannot make the "
                         "timeline; give --cpu-hz, or another --reference",
                         merge->sources[merge->reference].name, domain->clock);
    domain->related = true;
    domain->scaled = domain->hz != NANOSECONDS;
    return 0;
}

int merge_find_domains(struct merge *merge)
{
    int r = first_domains(merge);

    if (r >= 0)
        r = join_host(merge);
    if (r >= 0)
        r = join_tsc(merge);
    return r < 0 ? r : choose_reference(merge);
}
