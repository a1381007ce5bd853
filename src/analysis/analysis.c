/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"

#include <errno.h>
#include <inttypes.h>

#include "event/late_text.h"

unsigned analysis_default_order(const struct analysis *analysis)
{
    return analysis->ops->is_ordered ? RESULT_IN_ORDER : 0;
}

int analysis_note_hidden_ends(struct result *result)
{
    if (!coverage_threads(result->coverage).are_filtered)
        return 0;
    return result_add_note(result, "an end that is missing may be taken from a later one of the "
                                   "same key: such durations are the most that they can be");
}

int analysis_result(struct analysis *analysis, const struct coverage *coverage,
                    struct result *ret_result)
{
    const struct selection *select = analysis->settings.select;
    struct coverage_threads threads = coverage_threads(coverage);
    char buf[LATE_TEXT_SIZE];
    int r;

    result_init(ret_result, analysis->ops->name, &analysis->settings.clock, coverage);
    ret_result->ends_before = select && select->options->to.given && selection_is_over(select);
    analysis->ops->add_columns(analysis, ret_result);
    if (coverage->n_late > 0 &&
        result_add_note(ret_result, "%s", late_text(buf, coverage->n_late)) < 0)
        return -ENOMEM;
    if (threads.are_selected &&
        result_add_note(ret_result,
                        "only certain threads were recorded: what others did is unknown, and "
                        "so are rates and shares of the time") < 0)
        return -ENOMEM;
    if (threads.are_filtered && !analysis->ops->notes_filter &&
        result_add_note(ret_result,
                        "events of some threads are missing: what is not of a thread is there "
                        "only while others ran, and has no rates and no shares of the time") < 0)
        return -ENOMEM;
    if (analysis->unplaced > 0 &&
        result_add_note(
            ret_result, "the CPU of %" PRIu64 " %s%s is not known: no --cpu selects %s",
            analysis->unplaced, analysis->unplaced_name ? analysis->unplaced_name : "span",
            analysis->unplaced == 1 ? "" : "s", analysis->unplaced == 1 ? "it" : "them") < 0)
        return -ENOMEM;
    if (ret_result->error)
        return ret_result->error;
    r = analysis->ops->add_rows(analysis, ret_result);
    if (r >= 0 && ret_result->rates_are_least)
        r = result_add_note(ret_result,
                            "rates and shares are the least that they can be: spans of a row "
                            "may be missing on the CPUs that lost events");
    return r < 0 ? r : result_forget_times(ret_result);
}

/* ---- One analysis ---- */

static void pass_begin(struct sink *sink)
{
    sink_begin(&container_of(sink, struct analysis_pass, sink)->analysis->sink);
}

static int pass_put(struct sink *sink, const struct item *items, unsigned n)
{
    struct analysis_pass *pass = container_of(sink, struct analysis_pass, sink);
    int r = coverage_put_selected(&pass->coverage, pass->analysis->settings.select, items, n);

    if (r < 0)
        return r;
    r = sink_put(&pass->analysis->sink, items, n);
    return r < 0 ? sink_fail(sink, &pass->analysis->sink, r) : 0;
}

static int pass_begin_loss(struct sink *sink, const struct item *item)
{
    return sink_begin_loss(&container_of(sink, struct analysis_pass, sink)->analysis->sink, item);
}

static int pass_finish(struct sink *sink)
{
    struct analysis_pass *pass = container_of(sink, struct analysis_pass, sink);
    int r = sink_finish(&pass->analysis->sink);

    return r < 0 ? sink_fail(sink, &pass->analysis->sink, r) : 0;
}

void analysis_pass_init(struct analysis_pass *pass, struct analysis *analysis)
{
    static const struct sink_ops ops = {
        .begin = pass_begin, .put = pass_put, .begin_loss = pass_begin_loss, .finish = pass_finish};

    *pass = (struct analysis_pass){.sink.ops = &ops, .analysis = analysis};
    coverage_init(&pass->coverage);
}
