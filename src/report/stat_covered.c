/* SPDX-License-Identifier: MIT */
#include "report/stat_covered.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macro.h"

/* Lists the sources that ROW counts, and returns their number. Rows by fields may count any source. */
static unsigned list_origins(const struct stat_report *stat, const struct tally_row *row,
                             const struct origin **ret)
{
    bool of_layer = stat->tally.by == TALLY_BY_EVENT || stat->tally.by == TALLY_BY_LAYER;
    bool of_any = stat->tally.by == TALLY_BY_KEYS && !stat->tally.options.separate;
    const struct tally_cover *cover = &stat->tally.cover;
    unsigned n = 0;

    for (unsigned i = 0; i < cover->n_sources; i++) {
        const struct origin *origin = cover->sources[i].origin;

        if (of_any || origin == row->origin || (of_layer && origin->layer == row->origin->layer))
            ret[n++] = origin;
    }
    return n;
}

static bool has_key(const struct stat_report *stat, enum group_key_kind kind)
{
    const struct grouping *grouping = &stat->tally.options.grouping;

    for (unsigned i = 0; stat->tally.by == TALLY_BY_KEYS && i < grouping->n; i++)
        if (grouping->keys[i].kind == kind)
            return true;
    return false;
}

static bool is_by_cpu(const struct stat_report *stat)
{
    return stat->tally.by == TALLY_BY_CPU || has_key(stat, GROUP_BY_CPU);
}

/* True if the vCPU number is the CPU number, as in a guest's kernel. */
static bool vcpu_is_cpu(const struct stat_report *stat, const struct origin *origin)
{
    return stat->tally.by == TALLY_BY_VCPU && origin->layer == LAYER_GUEST;
}

static int32_t row_cpu(const struct stat_report *stat, const struct tally_row *row)
{
    bool is_of_one = is_by_cpu(stat) || (vcpu_is_cpu(stat, row->origin) && row->vcpu == row->cpu);

    return is_of_one ? row->cpu : CPU_UNKNOWN;
}

/* True if rows count something that need not be on all CPUs: a task, a vCPU, a value of a field. */
static bool rows_move(const struct stat_report *stat)
{
    switch (stat->tally.by) {
    case TALLY_BY_TASK:
    case TALLY_BY_VCPU: return true;
    case TALLY_BY_KEYS:
        return !is_by_cpu(stat) &&
               (grouping_moves(&stat->tally.options.grouping) || has_key(stat, GROUP_BY_VCPU));
    default: return false;
    }
}

static int make_covered(const struct stat_report *stat, const struct origin *origin,
                        struct stat_covered *ret)
{
    coverage_init(&ret->coverage);
    ret->origin = origin;
    ret->coverage.from = stat->from;
    ret->coverage.cpus = stat->cpus;
    return tally_cover_make(&stat->tally.cover, origin, &ret->coverage);
}

/* Computes COVERED for ORIGIN, if sources have different clocks. 0, -ENOMEM. */
static int cover_origin(const struct stat_report *stat, const struct origin *origin,
                        struct stat_covered *covered)
{
    if (!stat->tally.options.separate || covered->origin == origin)
        return 0;
    coverage_done(&covered->coverage);
    return make_covered(stat, origin, covered);
}

int stat_covered_seconds(const struct stat_report *stat, struct stat_covered *covered,
                         const struct tally_row *row, double *ret)
{
    const struct coverage_events events = {row_cpu(stat, row), rows_move(stat)};
    _cleanup_free_ const struct origin **origins = NULL;
    int64_t ticks = 0;
    int r;

    *ret = 0;
    if (stat->clock.hz == 0)
        return 0;
    r = cover_origin(stat, row->origin, covered);
    if (r < 0)
        return r;
    origins = malloc(stat->tally.cover.n_sources * sizeof *origins);
    if (!origins)
        return -ENOMEM;
    r = coverage_covered_events(&covered->coverage, origins, list_origins(stat, row, origins),
                                &events, &ticks);
    *ret = (double)ticks / (double)stat->clock.hz;
    return r;
}

/* Finds if rates are lower bounds, because events of the rows may be missing in the time that they divide by. 0,
 * -ENOMEM. */
static int find_least(const struct stat_report *stat, struct stat_covered *covered, bool *ret)
{
    static const struct coverage_events alike = {CPU_UNKNOWN, false}, moving = {CPU_UNKNOWN, true};

    *ret = false;
    for (unsigned i = 0;
         i < stat->tally.cover.n_sources && stat->clock.hz && rows_move(stat) && !*ret; i++) {
        const struct origin *origin = stat->tally.cover.sources[i].origin;
        int64_t covers = 0, spans = 0;
        int r = cover_origin(stat, origin, covered);

        if (r == 0 && vcpu_is_cpu(stat, origin))
            continue;
        if (r == 0)
            r = coverage_covered_events(&covered->coverage, &origin, 1, &alike, &covers);
        if (r == 0)
            r = coverage_covered_events(&covered->coverage, &origin, 1, &moving, &spans);
        if (r < 0)
            return r;
        *ret = spans > covers;
    }
    return 0;
}

int stat_covered_make(const struct stat_report *stat, struct stat_covered *ret)
{
    int r = make_covered(stat, NULL, ret);

    return r < 0 ? r : find_least(stat, ret, &ret->rates_are_least);
}
