/* SPDX-License-Identifier: MIT */
#include "cmd/diff_side.h"

#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"

static int init_stat(struct diff_side *side, const struct analysis_settings *settings)
{
    return tally_result_init(&side->analyses.stat, settings);
}

static void done_stat(struct diff_side *side)
{
    tally_result_done(&side->analyses.stat);
}

static int init_latency(struct diff_side *side, const struct analysis_settings *settings)
{
    static const struct strings none = {0};
    struct error error = {0};
    int r = span_rules_user_read(&side->pairs, NULL, 0, &none, &none, &error);

    return r < 0 ? r
                 : latency_init(&side->analyses.latency, settings, side->pairs.rules.rules,
                                side->pairs.rules.n, &side->trace->catalogue);
}

static void done_latency(struct diff_side *side)
{
    latency_done(&side->analyses.latency);
}

static int init_io(struct diff_side *side, const struct analysis_settings *settings)
{
    return io_init(&side->analyses.io, settings);
}

static void done_io(struct diff_side *side)
{
    io_done(&side->analyses.io);
}

static int init_irq(struct diff_side *side, const struct analysis_settings *settings)
{
    return irq_init(&side->analyses.irq, settings, &side->trace->catalogue);
}

static void done_irq(struct diff_side *side)
{
    irq_done(&side->analyses.irq);
}

static int init_exits(struct diff_side *side, const struct analysis_settings *settings)
{
    return exits_init(&side->analyses.exits, settings, &(struct exits_settings){0},
                      &side->trace->catalogue);
}

static void done_exits(struct diff_side *side)
{
    exits_done(&side->analyses.exits);
}

static int init_sched(struct diff_side *side, const struct analysis_settings *settings)
{
    /* Threads of two recordings are the same ones by their names. */
    static const struct sched_options options = {.view = SCHED_STATES, .no_pids = true};

    return sched_init(&side->analyses.sched, settings, &options);
}

static void done_sched(struct diff_side *side)
{
    sched_done(&side->analyses.sched);
}

static const struct diff_verb verbs[] = {
    {"stat", init_stat, done_stat, .of_items = true},
    {"latency", init_latency, done_latency, .has_by = true},
    {"io", init_io, done_io, .has_by = true},
    {"irq", init_irq, done_irq, .has_by = true},
    {"exits", init_exits, done_exits, .has_by = true},
    {"sched", init_sched, done_sched},
};

const struct diff_verb *diff_verb_find(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(verbs); i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

void diff_side_done(struct diff_side *side)
{
    if (side->has_result)
        result_done(&side->result);
    if (side->verb)
        side->verb->done(side);
    span_rules_user_done(&side->pairs);
    selection_done(&side->selection);
    coverage_done(&side->pass.coverage);
    trace_free(side->trace);
    *side = (struct diff_side){0};
}

int diff_side_read(struct diff_side *side, const struct open_options *open,
                   const struct select_options *select, char *path, bool again,
                   const struct diff_verb *verb, const struct analysis_settings *settings)
{
    struct analysis_settings copy = *settings;
    struct text out = TEXT_IN_MEMORY;
    struct walk walk = {.reading.selection = &side->selection,
                        .out = &out,
                        .again = again,
                        .reading.sink = &side->pass.sink,
                        .losses = &side->pass.coverage.losses};
    int status = EXIT_FAILURE, r;
    bool was_failed;

    *side = (struct diff_side){0};
    analysis_pass_init(&side->pass, &side->analyses.analysis);
    r = verb->of_items ? selection_init(&side->selection, select)
                       : selection_init_rows(&side->selection, select);
    if (r < 0)
        return cli_no_memory();
    side->trace = again ? walk_open_again(open, &path, 1) : walk_open(open, &path, 1);
    if (!side->trace)
        return EXIT_FAILURE;
    walk.reading.trace = side->trace;
    copy.clock = side->trace->inputs[0].origin->clock;
    copy.select = !verb->of_items && selection_limits_rows(select) ? &side->selection : NULL;
    side->verb = verb;
    r = verb->init(side, &copy);
    if (r == -EINVAL)
        cli_error("--by has more keys than rows of %s have room for", verb->name);
    if (r < 0)
        return r == -EINVAL ? EXIT_FAILURE : cli_no_memory();
    sink_begin(&side->pass.sink);
    status = walk_through(&walk);
    side->has_losses = walk_has_losses(&walk);
    side->is_read = walk.reading.error.code != -ENOMEM;
    was_failed = side->pass.sink.error.code != 0;
    if (sink_finish(&side->pass.sink) < 0) {
        if (!was_failed)
            cli_print_error(&side->pass.sink.error);
        side->is_read = false;
        status = EXIT_FAILURE;
    }
    text_done(&out);
    return status;
}
