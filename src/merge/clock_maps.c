/* SPDX-License-Identifier: MIT */
/* Relates the clocks of the domains to the reference's clock. */

#include <stdio.h>
#include <string.h>

#include "base/wide.h"
#include "event/program.h"
#include "merge/internal.h"

/* ---- Times ---- */

int64_t merge_domain_time(const struct merge_source *source, int64_t ticks, int64_t *ret_error_ns)
{
    if (source->host_map.n)
        return clock_map_convert(&source->host_map, ticks, ret_error_ns);
    *ret_error_ns = source->error_ns;
    return merge_counter_time(&source->counter, ticks);
}

int64_t merge_time(const struct merge *merge, const struct merge_source *source, int64_t ticks,
                   int64_t *ret_error_ns)
{
    const struct merge_domain *domain = &merge->domains[source->domain];
    int64_t own_error, error = 0;
    int64_t time = merge_domain_time(source, ticks, &own_error);

    if (domain->map.n)
        time = clock_map_convert(&domain->map, time, &error);
    else if (domain->scaled)
        time = narrow(wide_div(wide_product(time, NANOSECONDS), wide_of_u64(domain->hz)));
    *ret_error_ns = narrow(wide_sum(own_error, error));
    return time;
}

/* ---- Common events ---- */

/* The resolution of a source's times, which are rounded down. QEMU's log has microseconds. */
static int64_t step_ns(const struct merge_source *source, const struct common_events *marks)
{
    uint64_t hz = source->clock.hz;

    if (hz == 0 || marks->n < 4)
        return hz ? (int64_t)(NANOSECONDS / hz) + 1 : 0;
    return narrow(wide_div(wide_product(marks->step, NANOSECONDS), wide_of_u64(hz))) +
           (marks->step == 1);
}

struct all_marks {
    struct clock_fit_mark *items;
    size_t n;
    struct text evidence; /* where the marks come from, in words */
};

static const char *const by_texts[] = {
    [MATCHED_BY_TEXT] = "by their text",
    [MATCHED_IN_ORDER] = "in their order",
    [MATCHED_BY_INTERVALS] = "by the times between them",
};

static int match_sides(struct merge *merge, const struct merge_sync *sync,
                       struct event_matches *ret)
{
    struct occurrences sides[2];
    const struct merge_side *of[] = {&sync->a, &sync->b};
    struct error error = {0};
    int r;

    for (size_t i = 0; i < 2; i++) {
        const struct common_events *marks = &of[i]->marks[of[i]->source];

        sides[i] = (struct occurrences){
            .items = marks->items, .n = marks->n, .hz = merge->sources[of[i]->source].clock.hz};
    }
    r = event_match_find(&sides[0], &sides[1], common_texts(&sync->rule), ret, &error);
    if (r < 0)
        error_set(&merge->error, r, NULL, "--sync='%s': %s", sync->rule.given, error.what);
    return r;
}

/* Adds the marks of SYNC to ALL if one side is in a related domain and the other side is not. */
static int add_marks(struct merge *merge, const struct merge_sync *sync, bool a_known,
                     struct all_marks *all)
{
    const struct merge_side *known = a_known ? &sync->a : &sync->b;
    const struct merge_side *other = a_known ? &sync->b : &sync->a;
    const struct merge_source *from = &merge->sources[known->source];
    const struct merge_source *to = &merge->sources[other->source];
    const struct common_events *from_marks = &known->marks[known->source];
    const struct common_events *to_marks = &other->marks[other->source];
    int64_t steps = step_ns(from, from_marks) + step_ns(to, to_marks);
    struct event_matches matches;
    struct clock_fit_mark *bigger;
    int r = match_sides(merge, sync, &matches);

    if (r < 0)
        return r;
    bigger = realloc(all->items, (all->n + matches.n) * sizeof *bigger);
    if (!bigger) {
        event_matches_done(&matches);
        return merge_no_memory(merge);
    }
    all->items = bigger;
    for (size_t i = 0; i < matches.n; i++) {
        uint32_t in_from = a_known ? matches.items[i].a : matches.items[i].b;
        uint32_t in_to = a_known ? matches.items[i].b : matches.items[i].a;
        int64_t from_error, to_error;
        struct clock_fit_mark mark = {
            .ns = merge_time(merge, from, from_marks->items[in_from].time, &from_error),
            .ticks = merge_domain_time(to, to_marks->items[in_to].time, &to_error),
            .order = !sync->rule.ordered ? CLOCK_FIT_ANY_ORDER
                     : a_known           ? CLOCK_FIT_REFERENCE_FIRST
                                         : CLOCK_FIT_REFERENCE_LAST,
        };

        mark.error_ns = narrow(wide_add(wide_sum(from_error, to_error), wide_of(steps)));
        bigger[all->n++] = mark;
    }
    if (all->evidence.start)
        text_put_literal(&all->evidence, "; ");
    text_printf(&all->evidence, "%zu common events of %s, matched %s ('", matches.n, from->name,
                by_texts[matches.by]);
    text_put_safe(&all->evidence, sync->rule.given, strlen(sync->rule.given));
    text_put_literal(&all->evidence, "')");
    event_matches_done(&matches);
    return 0;
}

static bool is_related(const struct merge *merge, const struct merge_side *side)
{
    return merge->domains[merge->sources[side->source].domain].related;
}

/* Relates the domain INTO by all rules between it and related domains. */
static int relate_domain(struct merge *merge, unsigned into)
{
    struct merge_domain *domain = &merge->domains[into];
    struct all_marks all = {.evidence = TEXT_IN_MEMORY};
    struct error error = {0};
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
        r = clock_fit_find(all.items, all.n, domain->hz, &domain->fit, &error);
    if (r >= 0)
        r = clock_map_of_pairs(domain->fit.pairs, domain->fit.n_pairs, domain->clock, domain->hz,
                               &domain->map, &error);
    text_put_char(&all.evidence, '\0');
    if (r >= 0 && !all.evidence.error) {
        domain->evidence = strdup(all.evidence.start);
        domain->related = true;
    }
    if (r < 0 && error.code)
        error_set(&merge->error, r, NULL, "--sync: %s: %s",
                  all.evidence.error ? "" : all.evidence.start, error.what);
    text_done(&all.evidence);
    free(all.items);
    if (r >= 0 && !domain->evidence)
        r = merge_no_memory(merge);
    return r;
}

/* Checks a rule whose sides were related without it: how far apart its events are. */
static int check_sync(struct merge *merge, const struct merge_sync *sync)
{
    const struct merge_source *a = &merge->sources[sync->a.source];
    const struct merge_source *b = &merge->sources[sync->b.source];
    int64_t least = INT64_MAX, most = INT64_MIN;
    size_t outside = 0;
    struct event_matches matches;
    int r = match_sides(merge, sync, &matches);

    if (r < 0)
        return r;
    for (size_t i = 0; i < matches.n; i++) {
        int64_t error_a, error_b;
        int64_t time_a = merge_time(
            merge, a, sync->a.marks[sync->a.source].items[matches.items[i].a].time, &error_a);
        int64_t time_b = merge_time(
            merge, b, sync->b.marks[sync->b.source].items[matches.items[i].b].time, &error_b);
        int64_t off = narrow(wide_difference(time_b, time_a));

        least = MIN(least, off);
        most = MAX(most, off);
        /* Later is what an ordered rule says: only earlier contradicts it. */
        outside += wide_is_less(wide_sum(error_a, error_b), wide_of(off < 0              ? -off
                                                                    : sync->rule.ordered ? 0
                                                                                         : off));
    }
    text_printf(&merge->checks,
                "%zu common events ('%s', matched %s): %s has them %.1f to %.1f us later than %s",
                matches.n, sync->rule.given, by_texts[matches.by], b->name, (double)least / 1e3,
                (double)most / 1e3, a->name);
    if (outside)
        text_printf(&merge->checks, "; %zu %s more than the stated error", outside,
                    sync->rule.ordered ? "earlier, by" : "by");
    text_put_char(&merge->checks, '\n');
    event_matches_done(&matches);
    return merge->checks.error;
}

/* ---- All domains ---- */

static int not_related(struct merge *merge, const struct merge_source *source)
{
    const char *reference = merge->sources[merge->reference].name;

    if (strcmp(source->clock.name, MERGE_MONOTONIC) == 0 && source->layer != LAYER_GUEST)
        return error_set(&merge->error, -EINVAL, NULL,
                         "%s: its clock (%s) cannot be related to the clock of %s; give "
                         "--same-host=%s,%s if both "
                         "were recorded on one host, else name events that both contain by --sync",
                         source->name, source->clock.name, reference, reference, source->name);
    return error_set(
        &merge->error, -EINVAL, NULL,
        "%s: its clock (%s) cannot be related to the clock of %s; name events that both contain, "
        "as in "
        "--sync='%s:EVENT~TEXT = %s:EVENT'%s",
        source->name, source->clock.name, reference, reference, source->name,
        merge_is_tsc(&source->clock) ? ", or give --tsc if both count one time stamp counter" : "");
}

/* The name of the timeline: a host's boot ID, or an ID that no host has. */
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
        int err = errno;

        if (file)
            fclose(file);
        return error_set(&merge->error, -EIO, "/proc/sys/kernel/random/uuid", "cannot read: %s",
                         strerror(err));
    }
    fclose(file);
    uuid[strcspn(uuid, "\n")] = '\0';
    snprintf(merge->boot_id, sizeof merge->boot_id, "merge:%s", uuid);
    return 0;
}

int merge_relate(struct merge *merge)
{
    int r = merge_find_domains(merge);
    bool more = true;

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
            r = check_sync(merge, &merge->syncs[i]);
    return r >= 0 ? name_timeline(merge) : r;
}
