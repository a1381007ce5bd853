/* SPDX-License-Identifier: MIT */
/* What the kinds of recordings use. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/cmd.h"
#include "cmd/record/run.h"
#include "event/clock.h"
#include "trace/clocks.h"

int record_run_failed(const struct record_plan *plan, struct error *error, int r)
{
    if (r == -RECORD_MISUSE && *error->path) {
        cli_print_error(error);
        return EXIT_USAGE;
    }
    if (r == -RECORD_MISUSE)
        return cli_usage_error(plan->verb, "%s", error->what);
    return cli_print_failure(error, r);
}

int record_run_add(struct record_run *run, const struct record_item *item)
{
    struct record_item *bigger = realloc(run->items, (run->n + 1) * sizeof *bigger);

    if (bigger) {
        run->items = bigger;
        run->items[run->n++] = *item;
        return EXIT_SUCCESS;
    }
    item->recorder->ops->free(item->recorder);
    if (item->free)
        item->free(item->userdata);
    return cli_no_memory();
}

int record_others_add(struct record_run *run)
{
    const struct plan_recorder *other = run->plan->recorders;
    int status = EXIT_SUCCESS;

    for (; other && other->type && status == EXIT_SUCCESS; other++) {
        unsigned n = other->type->count(other->options);

        for (unsigned i = 0; i < n && status == EXIT_SUCCESS; i++) {
            struct record_item item = {0};
            struct error error = {0};
            int r = other->type->make(other->options, run->plan, i, &item.recorder, &error);

            status = r < 0 ? record_run_failed(run->plan, &error, r) : record_run_add(run, &item);
        }
    }
    return status;
}

bool record_run_is_void(const struct record_run *run)
{
    /* With these, the directory may have snapshots. */
    if (!run->dir || run->plan->restarts || record_plan_has_flight(run->plan))
        return false;
    for (unsigned i = 0; i < run->n; i++) {
        const struct record_item *item = &run->items[i];

        if (item->is_void && item->is_void(item))
            return !record_run_has_others(run, item);
    }
    return false;
}

FILE *record_run_summary_file(const struct record_run *run)
{
    return run->plan->live.on || run->plan->kind == RECORD_COMMAND ? stderr : stdout;
}

const char *record_error_text(char *buf, size_t size, int64_t ns)
{
    static const struct clock clock = {"", NANOSECONDS};

    return duration_text(buf, size, &clock, trace_clock_round_up(ns));
}

const char *record_lost_text(uint64_t lost, bool is_open, char buf[static RECORD_LOST_MAX])
{
    if (is_open && lost == 0)
        return "an unknown number lost";
    snprintf(buf, RECORD_LOST_MAX, "%s%" PRIu64 " lost", is_open ? "at least " : "", lost);
    return buf;
}

void record_run_print_length(const struct record_run *run, double seconds)
{
    cli_message("strata: %.1f seconds were recorded into %s", seconds, run->dir);
}

bool record_run_has_others(const struct record_run *run, const struct record_item *item)
{
    struct arena arena = {0};
    bool any = false;

    for (unsigned i = 0; i < run->n; i++) {
        const struct recorder *recorder = run->items[i].recorder;
        struct recorder_sources sources = {0};

        if ((!item || recorder != item->recorder) && recorder->ops->sources &&
            recorder->ops->sources(recorder, &arena, &sources) >= 0)
            any |= sources.n > 0;
    }
    arena_done(&arena);
    return any;
}
