/* SPDX-License-Identifier: MIT */
/* strata merge: which clocks are one, and how the others relate to that of the reference. */

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/merge.h"
#include "event/program.h"

#define MONOTONIC "monotonic"

__extension__ typedef __int128 wide;

static int no_memory(void)
{
    cmd_error("out of memory");
    return -ENOMEM;
}

static int64_t narrow(wide v)
{
    if (v > INT64_MAX)
        return INT64_MAX;
    return v < -INT64_MAX ? -INT64_MAX : (int64_t)v;
}

/* ---- Times ---- */

int64_t merge_domain_time(const struct merge_source *source, int64_t ticks, int64_t *ret_error_ns)
{
    const struct merge_counter *counter = &source->counter;

    if (source->own.n)
        return relation_convert(&source->own, ticks, ret_error_ns);
    *ret_error_ns = source->error_ns;
    return narrow(((wide)ticks - counter->offset) * (wide)counter->by / (wide)counter->times);
}

int64_t merge_time(const struct merge *merge, const struct merge_source *source, int64_t ticks,
                   int64_t *ret_error_ns)
{
    const struct merge_domain *domain = &merge->domains[source->domain];
    int64_t own_error, error = 0;
    int64_t time = merge_domain_time(source, ticks, &own_error);

    if (domain->map.n)
        time = relation_convert(&domain->map, time, &error);
    else if (domain->scaled)
        time = narrow((wide)time * NANOSECONDS / (wide)domain->hz);
    *ret_error_ns = narrow((wide)own_error + error);
    return time;
}

/* ---- Domains ---- */

static int add_domain(struct merge *merge, const struct merge_domain *domain, unsigned *ret)
{
    struct merge_domain *bigger = realloc(merge->domains, (merge->n_domains + 1) * sizeof *bigger);

    if (!bigger)
        return no_memory();
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

/* Whether its folder, or the capture itself, says how its clock relates to its host's. */
static bool is_of_host(const struct merge_source *source)
{
    return source->own.n > 0 || source->on_host_clock;
}

/* The domain of each source by what the folders say: of their host, else its own. */
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
                                           .clock = MONOTONIC,
                                           .is_host = true,
                                           .hz = NANOSECONDS};
        }
        if (!found)
            r = add_domain(merge, &domain, &source->domain);
    }
    return r;
}

/* All of the domain FROM become of INTO. */
static void join(struct merge *merge, unsigned from, unsigned into)
{
    for (unsigned i = 0; i < merge->n_sources; i++)
        if (merge->sources[i].domain == from)
            merge->sources[i].domain = into;
}

static int unknown_name(const char *option, const char *name)
{
    cmd_error("%s: there is no source '%s'", option, name);
    return -EINVAL;
}

static bool is_tsc(const struct clock *clock)
{
    return strcmp(clock->name, "tsc") == 0 || strcmp(clock->name, "x86-tsc") == 0;
}

/* What the host's own clock showed when CLOCK stood where MOMENT has it. */
static bool pair_of_moment(const struct clock *clock, const struct manifest_moment *moment,
                           struct relation_pair *ret)
{
    int64_t ticks = strcmp(clock->name, "realtime") == 0 ? moment->realtime_ns
                    : is_tsc(clock)                      ? (int64_t)moment->tsc
                                                         : 0;

    *ret = (struct relation_pair){
        .host_ns = moment->monotonic_ns, .ticks = ticks, .error_ns = moment->error_ns};
    return ticks > 0 && moment->monotonic_ns > 0 && moment->error_ns > 0;
}

/* Relates SOURCE, of which nothing is known but that it was taken on one host with others, by the moments at which
 * a recording of one of these began and ended: the host's clocks were read together then. */
static int relate_by_moments(struct merge *merge, struct merge_source *source)
{
    const struct strings *names = &merge->options->same_host;
    struct fault fault = {0};

    for (unsigned i = 0; i < names->n && source->own.n == 0; i++) {
        int at = merge_find_source(merge, names->items[i], strlen(names->items[i]));
        const struct merge_source *other = at < 0 ? NULL : &merge->sources[at];
        struct relation_pair pairs[2];
        unsigned n = 0;

        if (!other || !other->recorded || !is_of_host(other))
            continue;
        n += pair_of_moment(&source->clock, &other->recorded->began, &pairs[n]);
        n += pair_of_moment(&source->clock, &other->recorded->ended, &pairs[n]);
        if (n > 0 &&
            relation_of_pairs(pairs, n, source->name, source->clock.hz, &source->own, &fault) < 0)
            return fault.error == -ENOMEM ? no_memory() : 0;
        if (n > 0)
            source->domain = other->domain;
    }
    return 0;
}

/* --same-host: clocks of one name are one clock, and the monotonic one is the host's. */
static int join_host(struct merge *merge)
{
    const struct strings *names = &merge->options->same_host;
    int host = -1;
    int r;

    for (unsigned i = 0; i < names->n; i++) {
        int at = merge_find_source(merge, names->items[i], strlen(names->items[i]));
        struct merge_source *source;
        struct merge_domain *domain;

        if (at < 0)
            return unknown_name("--same-host", names->items[i]);
        source = &merge->sources[at];
        r = is_of_host(source) ? 0 : relate_by_moments(merge, source);
        if (r < 0)
            return r;
        domain = &merge->domains[source->domain];
        if (domain->is_host && host >= 0 && merge->domains[host].boot_id && domain->boot_id &&
            !same_string(merge->domains[host].boot_id, domain->boot_id)) {
            cmd_error("--same-host: %s was recorded on another host, or after it had booted anew",
                      source->name);
            return -EINVAL;
        }
        if (!domain->is_host && strcmp(source->clock.name, MONOTONIC) == 0) {
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

/* "0.87", "3/4" as a fraction. */
static bool parse_ratio(const char *s, uint64_t *ret_times, uint64_t *ret_by)
{
    const char *slash = strchr(s, '/');
    uint64_t times = 0, by = 1;
    bool point = false;

    for (const char *p = s; *p && p != slash; p++) {
        if (*p == '.' && !point && !slash) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*p) || times > (UINT64_C(1) << 52) || by > (UINT64_C(1) << 52))
            return false;
        times = times * 10 + (uint64_t)(*p - '0');
        by *= point ? 10 : 1;
    }
    if (slash) {
        by = 0;
        for (const char *p = slash + 1; *p; p++) {
            if (!isdigit((unsigned char)*p) || by > (UINT64_C(1) << 52))
                return false;
            by = by * 10 + (uint64_t)(*p - '0');
        }
    }
    *ret_times = times;
    *ret_by = by;
    return times > 0 && by > 0;
}

/* NAME, or NAME=OFFSET, or NAME=OFFSET*RATIO. */
static int parse_tsc(struct merge *merge, const char *given, unsigned *ret)
{
    size_t len = strcspn(given, "=");
    int at = merge_find_source(merge, given, len);
    struct merge_source *source;
    char *end;

    if (at < 0)
        return unknown_name("--tsc", given);
    source = &merge->sources[at];
    *ret = (unsigned)at;
    if (given[len] != '=')
        return 0;
    errno = 0;
    source->counter.offset = strtoll(given + len + 1, &end, 0);
    if (errno == 0 && end > given + len + 1 && *end == '\0')
        return 0;
    if (errno == 0 && *end == '*' &&
        parse_ratio(end + 1, &source->counter.times, &source->counter.by))
        return 0;
    cmd_error("--tsc=%s: wants NAME[=OFFSET[*RATIO]], whole ticks and a ratio as 0.87 or 7/8",
              given);
    return -EINVAL;
}

/* Pairs of a host's time and COUNTER's ticks, from those of the very counter and of KNOWN's. */
static int counter_pairs(const struct merge_source *known, struct merge_source *source)
{
    const struct relation *relation = &known->own;
    struct relation_pair *pairs = calloc(relation->n, sizeof *pairs);
    struct fault fault = {0};
    unsigned n = 0;
    int r;

    if (!pairs)
        return no_memory();
    for (unsigned i = 0; i < relation->n; i++) {
        int64_t error;
        int64_t ticks = narrow(((wide)relation->pairs[i].ticks - known->counter.offset) *
                               (wide)known->counter.by / (wide)known->counter.times);

        ticks = narrow((wide)ticks * (wide)source->counter.times / (wide)source->counter.by +
                       source->counter.offset);
        (void)relation_convert(relation, relation->pairs[i].ticks, &error);
        if (ticks < 0 || (n > 0 && ticks <= pairs[n - 1].ticks))
            continue;
        pairs[n++] = (struct relation_pair){
            .host_ns = relation->pairs[i].host_ns, .ticks = ticks, .error_ns = error + 1};
    }
    r = relation_of_pairs(pairs, n, source->name, source->clock.hz, &source->own, &fault);
    free(pairs);
    if (r < 0)
        cmd_fault(&fault);
    return r;
}

/* --tsc: sources that count one counter. Where the folder of one of them relates it to a host's clock, that does
 * so for all of them. */
static int join_tsc(struct merge *merge)
{
    const struct strings *given = &merge->options->tsc;
    unsigned at[MANIFEST_SOURCES_MAX];
    int known = -1;
    int r = 0;

    if (given->n > MANIFEST_SOURCES_MAX)
        return -EINVAL;
    if (given->n == 1) {
        cmd_error("--tsc: names one source alone, %s; it wants those that count the same counter",
                  given->items[0]);
        return -EINVAL;
    }
    for (unsigned i = 0; i < given->n && r >= 0; i++) {
        r = parse_tsc(merge, given->items[i], &at[i]);
        if (r >= 0 && !is_tsc(&merge->sources[at[i]].clock)) {
            cmd_error("--tsc: the clock of %s is %s, no time stamp counter",
                      merge->sources[at[i]].name, merge->sources[at[i]].clock.name);
            r = -EINVAL;
        }
        if (r >= 0 && known < 0 && is_of_host(&merge->sources[at[i]]))
            known = (int)at[i];
    }
    for (unsigned i = 0; i < given->n && r >= 0; i++) {
        struct merge_source *source = &merge->sources[at[i]];
        unsigned into = merge->sources[known >= 0 ? (unsigned)known : at[0]].domain;

        if (known >= 0 && (int)at[i] != known) {
            relation_done(&source->own);
            source->own_file = false;
            r = counter_pairs(&merge->sources[known], source);
        }
        join(merge, source->domain, into);
        /* Any of them may tell its rate; an offset makes no other one, a ratio does. */
        if (known < 0 && merge->domains[into].hz == 0)
            merge->domains[into].hz = (uint64_t)narrow(
                (wide)source->clock.hz * (wide)source->counter.by / (wide)source->counter.times);
    }
    return r;
}

/* ---- The reference ---- */

static bool is_hosts_monotonic(const struct merge *merge, unsigned i)
{
    const struct merge_source *source = &merge->sources[i];

    return merge->domains[source->domain].is_host ||
           (!source->recorded && source->layer != LAYER_GUEST &&
            strcmp(source->clock.name, MONOTONIC) == 0);
}

static int choose_reference(struct merge *merge)
{
    const char *name = merge->options->reference;
    struct merge_domain *domain;
    int at = name ? merge_find_source(merge, name, strlen(name)) : -1;

    if (name && at < 0)
        return unknown_name("--reference", name);
    for (unsigned i = 0; i < merge->n_sources && at < 0; i++)
        if (is_hosts_monotonic(merge, i))
            at = (int)i;
    merge->reference = (unsigned)MAX(at, 0);
    domain = &merge->domains[merge->sources[merge->reference].domain];
    if (domain->hz == 0) {
        cmd_error("%s: the rate of its clock, %s, is not known, so it cannot make the timeline; "
                  "give --cpu-hz, or another --reference",
                  merge->sources[merge->reference].name, domain->clock);
        return -EINVAL;
    }
    domain->related = true;
    domain->scaled = domain->hz != NANOSECONDS;
    return 0;
}

/* ---- Common events ---- */

/* By how much a time may be cut: QEMU's log has microseconds. */
static int64_t step_ns(const struct merge_source *source, const struct common_events *marks)
{
    uint64_t hz = source->clock.hz;

    if (hz == 0 || marks->n < 4)
        return hz ? (int64_t)(NANOSECONDS / hz) + 1 : 0;
    return narrow((wide)marks->step * NANOSECONDS / (wide)hz) + (marks->step == 1);
}

struct all_marks {
    struct sync_mark *items;
    size_t n;
    size_t capacity;
    struct text how;
};

static const char *const by_texts[] = {
    [MATCHED_BY_TEXT] = "by their text",
    [MATCHED_IN_ORDER] = "in their order",
    [MATCHED_BY_INTERVALS] = "by the times between them",
};

static int match_sides(const struct merge *merge, const struct merge_sync *sync,
                       struct matches *ret)
{
    struct occurrences sides[2];
    const struct merge_side *of[] = {&sync->a, &sync->b};
    struct fault fault = {0};
    int r;

    for (size_t i = 0; i < 2; i++) {
        const struct common_events *marks = &of[i]->marks[of[i]->source];

        sides[i] = (struct occurrences){
            .items = marks->items, .n = marks->n, .hz = merge->sources[of[i]->source].clock.hz};
    }
    r = match(&sides[0], &sides[1], common_texts(&sync->given), ret, &fault);
    if (r < 0)
        cmd_error("--sync='%s': %s", sync->given.given, fault.what);
    return r;
}

/* Puts the marks of SYNC, whose sides are of a domain that is related and one that is not, among ALL. */
static int add_marks(const struct merge *merge, const struct merge_sync *sync, bool a_known,
                     struct all_marks *all)
{
    const struct merge_side *known = a_known ? &sync->a : &sync->b;
    const struct merge_side *other = a_known ? &sync->b : &sync->a;
    const struct merge_source *from = &merge->sources[known->source];
    const struct merge_source *to = &merge->sources[other->source];
    const struct common_events *from_marks = &known->marks[known->source];
    const struct common_events *to_marks = &other->marks[other->source];
    int64_t steps = step_ns(from, from_marks) + step_ns(to, to_marks);
    struct matches matches;
    struct sync_mark *bigger;
    int r = match_sides(merge, sync, &matches);

    if (r < 0)
        return r;
    bigger = realloc(all->items, (all->n + matches.n) * sizeof *bigger);
    if (!bigger) {
        matches_done(&matches);
        return no_memory();
    }
    all->items = bigger;
    for (size_t i = 0; i < matches.n; i++) {
        uint32_t in_from = a_known ? matches.items[i].a : matches.items[i].b;
        uint32_t in_to = a_known ? matches.items[i].b : matches.items[i].a;
        int64_t from_error, to_error;
        struct sync_mark mark = {
            .ns = merge_time(merge, from, from_marks->items[in_from].time, &from_error),
            .ticks = merge_domain_time(to, to_marks->items[in_to].time, &to_error),
            .order = !sync->given.ordered ? SYNC_ANY_ORDER
                     : a_known            ? SYNC_REFERENCE_FIRST
                                          : SYNC_REFERENCE_LAST,
        };

        mark.error_ns = narrow((wide)from_error + to_error + steps);
        bigger[all->n++] = mark;
    }
    if (all->how.start)
        text_put_literal(&all->how, "; ");
    text_printf(&all->how, "%zu common events of %s, matched %s ('", matches.n, from->name,
                by_texts[matches.by]);
    text_put_safe(&all->how, sync->given.given, strlen(sync->given.given));
    text_put_literal(&all->how, "')");
    matches_done(&matches);
    return 0;
}

static bool is_related(const struct merge *merge, const struct merge_side *side)
{
    return merge->domains[merge->sources[side->source].domain].related;
}

/* Relates the domain INTO by all that relates it to what is related already. */
static int relate_domain(struct merge *merge, unsigned into)
{
    struct merge_domain *domain = &merge->domains[into];
    struct all_marks all = {.how = TEXT_IN_MEMORY};
    struct fault fault = {0};
    int r = 0;

    for (unsigned i = 0; i < merge->n_syncs && r >= 0; i++) {
        struct merge_sync *sync = &merge->syncs[i];
        bool a = is_related(merge, &sync->a), b = is_related(merge, &sync->b);
        const struct merge_side *other = a ? &sync->b : &sync->a;

        if (a == b || merge->sources[other->source].domain != into)
            continue;
        sync->used = true;
        r = add_marks(merge, sync, a, &all);
    }
    if (r >= 0)
        r = sync_relate(all.items, all.n, domain->hz, &domain->sync, &fault);
    if (r >= 0)
        r = relation_of_pairs(domain->sync.pairs, domain->sync.n_pairs, domain->clock, domain->hz,
                              &domain->map, &fault);
    text_put_char(&all.how, '\0');
    if (r >= 0 && !all.how.error) {
        domain->how = strdup(all.how.start);
        domain->related = true;
    }
    if (r < 0 && fault.error)
        cmd_error("--sync: %s: %s", all.how.start, fault.what);
    text_done(&all.how);
    free(all.items);
    if (r >= 0 && !domain->how)
        r = no_memory();
    return r;
}

/* What was named although both sides were related without it: tells how well they are. */
static int check(struct merge *merge, const struct merge_sync *sync)
{
    const struct merge_source *a = &merge->sources[sync->a.source];
    const struct merge_source *b = &merge->sources[sync->b.source];
    int64_t least = INT64_MAX, most = INT64_MIN;
    size_t outside = 0;
    struct matches matches;
    int r = match_sides(merge, sync, &matches);

    if (r < 0)
        return r;
    for (size_t i = 0; i < matches.n; i++) {
        int64_t error_a, error_b;
        int64_t time_a = merge_time(
            merge, a, sync->a.marks[sync->a.source].items[matches.items[i].a].time, &error_a);
        int64_t time_b = merge_time(
            merge, b, sync->b.marks[sync->b.source].items[matches.items[i].b].time, &error_b);
        int64_t off = narrow((wide)time_b - time_a);

        least = MIN(least, off);
        most = MAX(most, off);
        outside += (off < 0 ? -off : off) > narrow((wide)error_a + error_b);
    }
    text_printf(&merge->checks,
                "%zu common events ('%s', matched %s): those of %s are %.1f to %.1f us later than "
                "those of %s",
                matches.n, sync->given.given, by_texts[matches.by], b->name, (double)least / 1e3,
                (double)most / 1e3, a->name);
    if (outside)
        text_printf(&merge->checks, "; %zu by more than the stated error", outside);
    text_put_char(&merge->checks, '\n');
    matches_done(&matches);
    return merge->checks.error;
}

/* ---- All of it ---- */

static int not_related(const struct merge *merge, const struct merge_source *source)
{
    const char *reference = merge->sources[merge->reference].name;

    if (strcmp(source->clock.name, MONOTONIC) == 0 && source->layer != LAYER_GUEST)
        cmd_error("%s: nothing relates its clock (%s) to that of %s; where both were taken on one "
                  "host, say so by --same-host=%s,%s, else name events that both saw by --sync",
                  source->name, source->clock.name, reference, reference, source->name);
    else
        cmd_error("%s: nothing relates its clock (%s) to that of %s; name events that both saw, as "
                  "in --sync='%s:EVENT~TEXT = %s:EVENT'%s",
                  source->name, source->clock.name, reference, reference, source->name,
                  is_tsc(&source->clock) ? ", or, where both count one time stamp counter, --tsc"
                                         : "");
    return -EINVAL;
}

/* The name of the timeline: a host's, or one that no host has. */
static int name_timeline(struct merge *merge)
{
    const struct merge_domain *domain = &merge->domains[merge->sources[merge->reference].domain];
    FILE *file;
    char uuid[40] = "";

    if (domain->boot_id) {
        snprintf(merge->boot_id, sizeof merge->boot_id, "%.60s", domain->boot_id);
        return 0;
    }
    file = fopen("/proc/sys/kernel/random/uuid", "re");
    if (!file || !fgets(uuid, sizeof uuid, file)) {
        cmd_error("/proc/sys/kernel/random/uuid: cannot read it: %s", strerror(errno));
        if (file)
            fclose(file);
        return -EIO;
    }
    fclose(file);
    uuid[strcspn(uuid, "\n")] = '\0';
    snprintf(merge->boot_id, sizeof merge->boot_id, "merge:%s", uuid);
    return 0;
}

int merge_relate(struct merge *merge)
{
    int r = first_domains(merge);
    bool more = true;

    if (r >= 0)
        r = join_host(merge);
    if (r >= 0)
        r = join_tsc(merge);
    if (r >= 0)
        r = choose_reference(merge);
    while (more && r >= 0) {
        more = false;
        for (unsigned i = 0; i < merge->n_syncs && r >= 0 && !more; i++) {
            const struct merge_sync *sync = &merge->syncs[i];
            bool a = is_related(merge, &sync->a);

            if (a == is_related(merge, &sync->b))
                continue;
            r = relate_domain(merge, merge->sources[a ? sync->b.source : sync->a.source].domain);
            more = true;
        }
    }
    for (unsigned i = 0; i < merge->n_sources && r >= 0; i++)
        if (!merge->domains[merge->sources[i].domain].related)
            r = not_related(merge, &merge->sources[i]);
    for (unsigned i = 0; i < merge->n_syncs && r >= 0; i++)
        if (!merge->syncs[i].used)
            r = check(merge, &merge->syncs[i]);
    return r >= 0 ? name_timeline(merge) : r;
}
