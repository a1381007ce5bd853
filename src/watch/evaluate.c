/* SPDX-License-Identifier: MIT */
#include "watch/evaluate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "tracedir/manifest.h"
#include "watch/rule.h"

struct watch_evaluator {
    struct sink sink;
    struct watch_report report;
    struct watch_rule **rules;
    unsigned n;
};

/* ---- All conditions ---- */

static struct watch_rule *new_rule(const struct watch_condition *condition)
{
    switch (condition->kind) {
    case WATCH_EVENT: return watch_on_event(condition);
    case WATCH_LATENCY: return watch_on_latency(condition);
    case WATCH_EXITS: return watch_on_exits(condition);
    case WATCH_LOST: return watch_on_lost(condition);
    default: return watch_on_share(condition);
    }
}

static int put(struct sink *sink, const struct item *items, unsigned n)
{
    struct watch_evaluator *evaluator = container_of(sink, struct watch_evaluator, sink);
    int r = 0;

    for (unsigned i = 0; i < evaluator->n && r >= 0; i++)
        r = evaluator->rules[i]->ops->put(evaluator->rules[i], items, n);
    return r;
}

static int begin_loss(struct sink *sink, const struct item *item)
{
    struct watch_evaluator *evaluator = container_of(sink, struct watch_evaluator, sink);
    int r = 0;

    for (unsigned i = 0; i < evaluator->n && r >= 0; i++)
        if (evaluator->rules[i]->ops->begin_loss)
            r = evaluator->rules[i]->ops->begin_loss(evaluator->rules[i], item);
    return r;
}

int watch_evaluator_new(const struct watch_condition *conditions, unsigned n,
                        const struct watch_report *report, struct watch_evaluator **ret)
{
    static const struct sink_ops ops = {.put = put, .begin_loss = begin_loss};
    struct watch_evaluator *evaluator = calloc(1, sizeof *evaluator);

    if (evaluator)
        evaluator->rules = calloc(MAX(n, 1u), sizeof(struct watch_rule *));
    if (!evaluator || !evaluator->rules) {
        free(evaluator);
        return -ENOMEM;
    }
    evaluator->sink.ops = &ops;
    evaluator->report = *report;
    for (unsigned i = 0; i < n; i++) {
        struct watch_rule *rule;

        if (!watch_condition_needs_events(&conditions[i]))
            continue;
        rule = new_rule(&conditions[i]);
        if (!rule) {
            watch_evaluator_free(evaluator);
            return -ENOMEM;
        }
        rule->index = i;
        evaluator->rules[evaluator->n++] = rule;
    }
    *ret = evaluator;
    return 0;
}

static void clear(struct watch_evaluator *evaluator)
{
    for (unsigned i = 0; i < evaluator->n; i++) {
        if (evaluator->rules[i]->ops->clear)
            evaluator->rules[i]->ops->clear(evaluator->rules[i]);
        evaluator->rules[i]->window = NULL;
    }
}

void watch_evaluator_free(struct watch_evaluator *evaluator)
{
    if (!evaluator)
        return;
    clear(evaluator);
    for (unsigned i = 0; i < evaluator->n; i++)
        evaluator->rules[i]->ops->free(evaluator->rules[i]);
    free(evaluator->rules);
    free(evaluator);
}

int64_t watch_evaluator_look_back(const struct watch_evaluator *evaluator, const char *late)
{
    int64_t most = 0;

    for (unsigned i = 0; i < evaluator->n; i++) {
        const struct watch_rule *rule = evaluator->rules[i];

        most = MAX(most, rule->look_back);
        if (live_has_all(late))
            most = MAX(most, rule->look_back_after_late);
    }
    return most;
}

int watch_evaluator_begin(struct watch_evaluator *evaluator, const struct live_window *window,
                          struct sink **ret_sink)
{
    int r = 0;

    for (unsigned i = 0; i < evaluator->n; i++)
        evaluator->rules[i]->window = window;
    for (unsigned i = 0; i < evaluator->n && r >= 0; i++)
        r = evaluator->rules[i]->ops->begin(evaluator->rules[i]);
    if (r < 0) {
        clear(evaluator);
        return r;
    }
    *ret_sink = &evaluator->sink;
    return 0;
}

/* Reports a problem of RULE once. */
static int report_problem(struct watch_evaluator *evaluator, struct watch_rule *rule)
{
    if (!rule->is_known && !rule->problem[0]) {
        int r = watch_rule_check_names(rule);

        if (r < 0 && r != -EAGAIN)
            return r;
        rule->is_known = r > 0;
    }
    if (!rule->problem[0] || rule->is_problem_reported)
        return 0;
    rule->is_problem_reported = true;
    evaluator->report.problem(evaluator->report.arg, rule->index, rule->problem);
    return 0;
}

static int end_rule(struct watch_evaluator *evaluator, struct watch_rule *rule)
{
    struct watch_match match = {.text = TEXT_IN_MEMORY};
    int r = rule->ops->end(rule, &match);

    if (r >= 0 && match.n > 0) {
        text_put_char(&match.text, '\0');
        r = match.text.error;
    }
    if (r >= 0 && match.n > 0)
        evaluator->report.fired(evaluator->report.arg, rule->index, match.ns, match.text.start);
    text_done(&match.text);
    return r;
}

int watch_evaluator_end(struct watch_evaluator *evaluator, int r)
{
    for (unsigned i = 0; i < evaluator->n && r >= 0; i++) {
        r = end_rule(evaluator, evaluator->rules[i]);
        if (r >= 0)
            r = report_problem(evaluator, evaluator->rules[i]);
    }
    clear(evaluator);
    return r;
}

void watch_evaluator_idle(struct watch_evaluator *evaluator, int64_t from, int64_t to)
{
    for (unsigned i = 0; i < evaluator->n; i++)
        if (evaluator->rules[i]->ops->idle)
            evaluator->rules[i]->ops->idle(evaluator->rules[i], from, to);
}
