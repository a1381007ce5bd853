/* SPDX-License-Identifier: MIT */
/* Makes the result of `strata io`: its columns, the order of its rows, and the notes about what is missing. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/io_internal.h"
#include "base/macro.h"
#include "base/wide.h"

void io_add_columns(struct analysis *analysis, struct result *result)
{
    const struct grouping *grouping = &analysis->settings.grouping;
    struct io *io = io_of_analysis(analysis);

    result_add_key(result, "layer", "LAYER", false);
    result_add_key(result, "device", "DEVICE", false);
    result_add_key(result, "kind", "KIND", false);
    for (unsigned i = 0; i < grouping->n; i++)
        result_add_key(result, grouping->keys[i].name, grouping->keys[i].title,
                       grouping_is_number(grouping, i));
    result_add_key(result, "stage", "STAGE", false);
    result_add_duration_columns(result, &analysis->settings.percentiles, &io->columns);
    io->bytes = result_add_column(result, "bytes", "BYTES", RESULT_COUNT);
    io->part = result_add_column(result, "part", "PART", RESULT_SHARE);
}

static int compare_groups(const void *a, const void *b)
{
    const struct io_group *x = a, *y = b;
    const struct row *v = x->rows[IO_TOTAL], *w = y->rows[IO_TOTAL];

    /* One without a total is what memory ran out for. */
    if (!v || !w)
        return (w != NULL) - (v != NULL);
    if (v->n != w->n)
        return v->n > w->n ? -1 : 1;
    return (v->number > w->number) - (v->number < w->number);
}

/* True if a request of GROUP is over. Groups without one are not in the rows. */
static bool has_requests(const struct io_group *group)
{
    return group->rows[IO_TOTAL] && group->rows[IO_TOTAL]->n > 0;
}

/* True if other requests of the guest, with the same keys as GROUP before the keys of `by`, are joined with a VMM's. */
static bool has_joined(const struct io *io, const struct io_group *group)
{
    for (unsigned i = 0; i < io->n_groups && !group->has_vmm; i++) {
        const struct io_group *other = &io->groups[i];

        if (other->has_vmm && has_requests(other) &&
            other->numbers[0] == (group->numbers[0] ^ 1u) &&
            other->numbers[1] == group->numbers[1] && other->numbers[2] == group->numbers[2])
            return true;
    }
    return false;
}

/* Makes the keys of each row unique among the rows of the same guest. */
static int name_not_joined(struct io *io, struct result *result)
{
    char name[64];

    for (unsigned i = 0; i < io->n_groups; i++) {
        const struct io_group *group = &io->groups[i];
        bool is_renamed = has_joined(io, group);

        for (unsigned j = 0; is_renamed && j < ARRAY_SIZE(group->rows); j++) {
            struct result_row *row = group->rows[j] ? result->rows[group->rows[j]->number] : NULL;

            if (!row)
                continue;
            snprintf(name, sizeof name, "%s" IO_NOT_JOINED, row->keys[result->n_keys - 1]);
            if (result_set_key(result, row, result->n_keys - 1, name) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* Puts the total of each group first, then its stages in their order. */
static int order_rows(struct io *io, struct result *result)
{
    struct result_row **rows = malloc((result->n_rows + 1) * sizeof *rows);
    unsigned n = 0;

    if (!rows)
        return -ENOMEM;
    if (io->n_groups > 0)
        qsort(io->groups, io->n_groups, sizeof *io->groups, compare_groups);
    for (unsigned i = 0; i < io->n_groups; i++) {
        const struct io_group *group = &io->groups[i];
        const struct row *total = has_requests(group) ? group->rows[IO_TOTAL] : NULL;
        struct result_row *whole = total ? result->rows[total->number] : NULL;
        wide rest = total ? total->sum : wide_of(0);

        for (unsigned j = 0; total && j < ARRAY_SIZE(group->rows); j++) {
            struct result_row *row = group->rows[j] ? result->rows[group->rows[j]->number] : NULL;

            if (!row)
                continue;
            if (j == IO_TOTAL)
                result_set_number(row, io->bytes, (int64_t)group->bytes);
            else
                rest = wide_sub(rest, group->rows[j]->sum);
            if (wide_is_less(wide_of(0), total->sum))
                result_set_real(row, io->part,
                                wide_to_double(group->rows[j]->sum) / wide_to_double(total->sum));
            rows[n++] = row;
        }
        if (whole) {
            whole->is_whole = true;
            whole->rest = wide_clamp(rest);
            whole->longest_part = group->longest_stage;
            whole->longest_share =
                group->longest > 0 ? (double)group->stage_ticks / (double)group->longest : 0;
        }
    }
    if (n > 0)
        memcpy(result->rows, rows, n * sizeof(struct result_row *));
    result->n_rows = n;
    free(rows);
    return 0;
}

bool io_has_events(const struct analysis *analysis)
{
    const struct io *io = container_of(analysis, const struct io, analysis);

    if (io->tracker.counts.points == 0)
        return false;
    for (unsigned fate = 0; fate < SPAN_FATES; fate++)
        if (io->tracker.counts.fates[fate] > 0)
            return true;
    return io->n_groups > 0 || io->analysis.left_out > 0 || io->has_unselected;
}

/* Notes what is missing, and how to record it. */
static int add_notes(const struct io *io, struct result *result)
{
    const struct io_counts *counts = &io->tracker.counts;
    struct text missing = TEXT_IN_MEMORY;
    int r = 0;

    for (unsigned i = 0; i < IO_POINTS; i++)
        if (!(counts->points >> i & 1)) {
            text_put_str(&missing, missing.start ? ", " : "");
            io_point_put_events((enum io_point)i, &missing);
        }
    if (r >= 0 && io->n_groups > 0 && text_len(&missing) > 0)
        r = result_add_note(result,
                            IO_NOTE_MISSING "%.*s; the stage that each would end is part of the "
                                            "next one",
                            (int)text_len(&missing), missing.start);
    for (unsigned i = 0; i < IO_POINTS && r >= 0 && io->n_groups > 0; i++)
        if (!(counts->points >> i & 1) && counts->unknown[i])
            r = result_add_note(
                result, "the trace has '%s', which may end stage '%s'; %s", counts->unknown[i],
                io_stage_name(MAX((enum io_point)i, IO_ISSUED)),
                counts->undeclared >> i & 1
                    ? "it has no fields, because its declaration is missing, and is not "
                      "used; give the trace-events-all of the QEMU that wrote the "
                      "trace with --trace-events"
                    : "its name or its fields match no known version, and it is not used");
    if (r >= 0 && counts->ambiguous > 0)
        r = result_add_note(
            result,
            counts->ambiguous == 1
                ? "%" PRIu64 " request may belong to several of the other layer, "
                  "and is not joined"
                : "%" PRIu64
                  " requests may belong to several of the other layer, and are not joined",
            counts->ambiguous);
    if (r >= 0 && counts->unthreaded > 0)
        r = result_add_note(
            result,
            "%" PRIu64 " submission%s to QEMU's thread pool while several requests were handled "
            "%s of an unknown thread, as in the log of QEMU 11.1: with several iothreads, stages "
            "vmm and backend may belong to another request",
            counts->unthreaded, counts->unthreaded == 1 ? "" : "s",
            counts->unthreaded == 1 ? "is" : "are");
    if (r >= 0 && counts->opaque > 0)
        r = result_add_note(
            result,
            "%" PRIu64 " submission%s to the thread pool may belong to several "
            "requests, and %s not joined; record blk_co_preadv and blk_co_pwritev, too",
            counts->opaque, counts->opaque == 1 ? "" : "s", counts->opaque == 1 ? "is" : "are");
    if (r >= 0)
        r = io_note_missing_states(io, result);
    text_done(&missing);
    return r;
}

int io_add_rows(struct analysis *analysis, struct result *result)
{
    struct io *io = io_of_analysis(analysis);
    int r = result_add_duration_rows(result, &io->columns, &io->rows);

    for (unsigned fate = SPAN_NO_BEGIN; fate < SPAN_FATES; fate++)
        result->unpaired[fate] = io->tracker.counts.fates[fate];
    if (r >= 0)
        r = io_add_slowest(io, result);
    if (r >= 0)
        r = name_not_joined(io, result);
    if (r >= 0 && result->n_rows > 0)
        r = analysis_note_hidden_ends(result);
    if (r >= 0)
        r = order_rows(io, result);
    return r >= 0 ? add_notes(io, result) : r;
}
