/* SPDX-License-Identifier: MIT */
/* strata record --attach: records a running program that was started with writer=none. */

#include <inttypes.h>
#include <stdio.h>

#include "cli/output.h"
#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "cmd/ring_drain.h"
#include "record/rings/attached_recorder.h"

static int sum_up(const struct record_run *run, const struct record_item *item)
{
    const struct attached_program *program = attached_recorder_program(item->recorder);
    const struct drain_stats *stats = &program->stats;
    char pid[16];

    output_line(stdout, "%s (process %" PRIu32 "): %" PRIu64 " events written to %s",
                program->program, program->pid, stats->events, program->trace);
    drain_stats_report_dropped(stats, " since it began", "");
    drain_stats_report_unwritten(stats);
    drain_stats_report_unreadable(stats);
    snprintf(pid, sizeof pid, "%" PRIu32, program->pid);
    drain_stats_report_kept(stats, pid);
    if (stats->unwritten)
        return EXIT_FAILURE;
    return run->plan->strict && !drain_stats_is_whole(stats) ? EXIT_LOSSES : EXIT_SUCCESS;
}

static int add(struct record_run *run)
{
    const struct record_plan *plan = run->plan;
    struct attached_recorder_settings settings = {
        .rings = run->subject.rings,
        .output = plan->output,
        .keep_rings = plan->keep,
    };
    struct record_item item = {.sum_up = sum_up};

    /* Alone, the native trace is all that there is: a recording without a directory of its own, unless what is kept of it is
     * limited, and to be saved. */
    if (run->n == 0 && !record_plan_has_flight(plan))
        run->dir = NULL;
    if (attached_recorder_new(&settings, &item.recorder) < 0)
        return cli_no_memory();
    return record_run_add(run, &item);
}

const struct record_about record_about_rings = {.add = add, .goes_on = true};
