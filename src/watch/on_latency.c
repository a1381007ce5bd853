/* SPDX-License-Identifier: MIT */
/* Conditions about latencies: spans longer than a limit, and percentiles of the spans that end in a window.
 *
 * A span exceeds the limit at its begin + limit, whether it ends soon after or never. It counts once, in the window
 * that has this moment, so a request that hangs is reported while it hangs. An open span has lasted until the end of
 * the window if its end would have been read; if its source is late or paused, it has lasted until the source's last
 * event. If it is unknown whether the span exceeds the limit, it counts in the window in which this becomes known, up
 * to UNDECIDED_MAX_NS later. So does a span whose begin a late source hands over later: when no source is late any
 * more, everything is read again from where the first one became late, or from UNDECIDED_MAX_NS before the window. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/coverage/source_ends.h"
#include "analysis/histogram.h"
#include "analysis/spans/span_match.h"
#include "analysis/spans/spans.h"
#include "base/ticks.h"
#include "watch/rule.h"

/* For percentiles, spans that begin earlier before a window are not seen. */
#define PERCENTILE_LOOK_BACK_NS INT64_C(1000000000)

#define UNDECIDED_MAX_NS (INT64_C(30) * 1000000000)
/* The begin of an undecided span may move by so much, because its source's clock is compared again meanwhile. */
#define MOVES_NS INT64_C(1000000000)
#define NOTED 4096u

/* A span that counted. */
struct noted {
    int64_t begin;
    int32_t pid, cpu;
    unsigned rule;
};

struct on_latency {
    struct watch_rule rule;
    struct spans spans;
    bool has_spans;
    struct source_ends ends;
    int64_t since;     /* spans that exceed the limit after this moment count */
    int64_t undecided; /* the first such moment that is undecided; INT64_MAX: none */
    int64_t began;     /* begin of the first window, if `has_begun` */
    /* Since this moment a source is late and has not handed over everything; INT64_MAX: none. */
    int64_t held;
    bool has_begun;
    /* The last spans that counted; they are seen again while others are undecided. */
    struct noted noted[NOTED];
    unsigned n_noted;
    struct histogram durations; /* for a percentile */
    bool is_over;
    uint64_t n;
    int64_t first, longest;
    struct text text; /* describes the longest span */
};

static struct on_latency *self_of(struct watch_rule *rule)
{
    return container_of(rule, struct on_latency, rule);
}

static void put_duration(struct text *text, int64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    unsigned unit = 0;

    for (; unit + 1 < ARRAY_SIZE(units) && value >= 999.5; unit++)
        value /= 1000;
    text_printf(text, "%.*f%s",
                unit == 0 || value >= 99.95 ? 0
                : value < 9.995             ? 2
                                            : 1,
                value, units[unit]);
}

static bool was_noted(const struct on_latency *self, const struct span *span)
{
    for (unsigned i = 0; i < MIN(self->n_noted, NOTED); i++) {
        const struct noted *noted = &self->noted[i];
        int64_t moved = ticks_between(noted->begin, span_begin(span));

        if (moved >= -(int64_t)span->begin_error_ns && moved <= (int64_t)span->begin_error_ns &&
            noted->pid == span->pid && noted->cpu == span->cpu &&
            noted->rule == span->kind->rule_number)
            return true;
    }
    return false;
}

/* Counts a span that exceeds the limit in this window. It has lasted NS, so far or, if HAS_ENDED, in all. */
static void note(struct on_latency *self, const struct span *span, int64_t ns, bool has_ended)
{
    int64_t crossed = ticks_sum(span_begin(span), self->rule.condition->latency.ns);

    if (crossed <= self->rule.window->from && was_noted(self, span))
        return;
    self->noted[self->n_noted++ % NOTED] = (struct noted){.begin = span_begin(span),
                                                          .pid = span->pid,
                                                          .cpu = span->cpu,
                                                          .rule = span->kind->rule_number};
    if (self->n++ == 0 || crossed < self->first)
        self->first = crossed;
    if (ns <= self->longest)
        return;
    self->longest = ns;
    self->text.next = self->text.start;
    put_duration(&self->text, ns);
    text_put_str(&self->text, has_ended ? " " : " and not ended, since ");
    watch_put_time(&self->text, span_begin(span), span->begin_error_ns);
    watch_put_where(&self->text, self->rule.window, span->origin,
                    origin_task_name(span->origin, span->pid), span->pid);
}

static bool crosses(const struct on_latency *self, const struct span *span, int64_t end)
{
    int64_t limit = self->rule.condition->latency.ns;
    int64_t crossed = ticks_sum(span_begin(span), limit);

    return ticks_between(span_begin(span), end) > limit && crossed > self->since &&
           crossed <= self->rule.window->to;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct on_latency *self = arg;
    int64_t ns = ticks_between(span_begin(span), span_end(span));

    (void)item;
    if (self->rule.condition->latency.permille > 0)
        return watch_is_in_window(&self->rule, span_end(span))
                   ? histogram_add(&self->durations, (uint64_t)MAX(ns, INT64_C(0)))
                   : 0;
    if (crosses(self, span, span_end(span)))
        note(self, span, ns, true);
    return 0;
}

static void incomplete(void *arg, const struct span *span, enum span_fate fate)
{
    struct on_latency *self = arg;
    int64_t limit = self->rule.condition->latency.ns;
    int64_t crossed = ticks_sum(span_begin(span), limit), end;

    if (fate != SPAN_OPEN || self->rule.condition->latency.permille > 0)
        return;
    end = MAX(source_ends_find_open(&self->ends, &self->spans, span).time, span_begin(span));
    if (crosses(self, span, end))
        note(self, span, ticks_between(span_begin(span), end), false);
    else if (ticks_between(span_begin(span), end) <= limit && crossed > self->since &&
             crossed <= self->rule.window->to)
        self->undecided =
            MIN(self->undecided, ticks_sum(crossed, -MAX((int64_t)span->begin_error_ns, MOVES_NS)));
}

static int begin(struct watch_rule *rule)
{
    static const struct spans_ops ops = {.complete = complete, .incomplete = incomplete};
    struct on_latency *self = self_of(rule);
    int r;

    if (!self->has_begun)
        self->since = self->began = rule->window->from;
    self->has_begun = true;
    self->n = 0;
    self->longest = 0;
    if (live_has_all(rule->window->late) && self->held != INT64_MAX)
        self->since = MIN(self->since, ticks_sum(self->held, rule->condition->latency.ns - 1));
    self->since = MAX(self->since, rule->window->from - UNDECIDED_MAX_NS);
    self->undecided = INT64_MAX;
    self->text = TEXT_IN_MEMORY;
    self->durations = (struct histogram){0};
    r = spans_init(&self->spans, &rule->window->trace->catalogue, rule->condition->latency.rules,
                   rule->condition->latency.n_rules, &ops, self);
    self->has_spans = r >= 0;
    return r;
}

static int put(struct watch_rule *rule, const struct item *items, unsigned n)
{
    struct on_latency *self = self_of(rule);
    int r = source_ends_put(&self->ends, items, n);

    return r < 0 ? r : spans_put(&self->spans, items, n);
}

static int begin_loss(struct watch_rule *rule, const struct item *item)
{
    return spans_begin_loss(&self_of(rule)->spans, item);
}

/* Notes that sources that are not late have no more items in this window. */
static int note_ends(struct on_latency *self)
{
    const struct live_window *window = self->rule.window;
    const struct catalogue *catalogue = &window->trace->catalogue;

    for (unsigned i = 0; i < catalogue->n_origins; i++) {
        int r = live_window_is_late(window, catalogue->origins[i])
                    ? 0
                    : source_ends_note(&self->ends, catalogue->origins[i], window->to, 0);

        if (r < 0)
            return r;
    }
    return 0;
}

static int end_percentile(struct on_latency *self, struct watch_match *match)
{
    const struct watch_condition *condition = self->rule.condition;
    unsigned permille = condition->latency.permille;
    bool was_over = self->is_over;
    uint64_t value;

    /* Of fewer, the percentile is no other than the longest. */
    if (self->durations.n * MIN(permille, 1000 - permille) < 1000)
        return 0;
    value = histogram_quantile(&self->durations, permille);
    self->is_over = value > (uint64_t)condition->latency.ns;
    if (!self->is_over || was_over)
        return 0;
    match->n = self->durations.n;
    match->ns = self->rule.window->to;
    text_printf(&match->text, "p%g of %" PRIu64 " spans is ", permille / 10.0, self->durations.n);
    put_duration(&match->text, (int64_t)value);
    text_put_char(&match->text, ' ');
    watch_put_time(&match->text, match->ns, 0);
    return 0;
}

/* Events without a key may not have the key's field at all. */
static void check_keys(struct on_latency *self)
{
    const struct catalogue *catalogue = &self->rule.window->trace->catalogue;

    for (unsigned i = 0; i < self->spans.n_kinds && !self->rule.problem[0]; i++) {
        const struct span_kind *kind = self->spans.kinds[i];
        struct error error = {0};

        if (kind->fates[SPAN_UNKEYED] > 0 &&
            span_rule_check(kind->rule, catalogue, &error) == -EINVAL)
            snprintf(self->rule.problem, sizeof self->rule.problem, "%.250s", error.what);
    }
}

/* Sets the look-back of the window after TO. */
static void set_look_back(struct on_latency *self, int64_t to)
{
    int64_t limit = self->rule.condition->latency.ns;

    self->rule.look_back = ticks_sum(limit, MIN(ticks_between(self->since, to), UNDECIDED_MAX_NS));
    self->rule.look_back_after_late =
        self->held == INT64_MAX
            ? 0
            : ticks_sum(limit, MIN(ticks_between(self->held, to), UNDECIDED_MAX_NS));
}

/* A span that began earlier may exceed the limit in this window. */
static void idle(struct watch_rule *rule, int64_t from, int64_t to)
{
    struct on_latency *self = self_of(rule);

    (void)from;
    if (self->has_begun && rule->condition->latency.permille == 0)
        set_look_back(self, to);
}

static int end(struct watch_rule *rule, struct watch_match *match)
{
    struct on_latency *self = self_of(rule);
    const struct live_window *window = rule->window;
    int64_t to = window->to;
    int r = note_ends(self);

    if (r < 0)
        return r;
    spans_finish(&self->spans);
    check_keys(self);
    if (rule->condition->latency.permille > 0)
        return end_percentile(self, match);
    self->since =
        self->undecided == INT64_MAX ? to : MAX(ticks_sum(self->undecided, -1), self->began);
    if (!window->late)
        self->held = INT64_MAX;
    else if (self->held == INT64_MAX)
        self->held = MAX(ticks_sum(window->from, -MOVES_NS), self->began);
    set_look_back(self, to);
    match->n = self->n;
    match->ns = self->first;
    if (self->n == 0)
        return 0;
    text_printf(&match->text, "%" PRIu64 " span%s", self->n,
                self->n == 1 ? ", " : "s, the longest ");
    text_put(&match->text, self->text.start, text_len(&self->text));
    return self->text.error;
}

static void clear(struct watch_rule *rule)
{
    struct on_latency *self = self_of(rule);

    if (self->has_spans)
        spans_done(&self->spans);
    self->has_spans = false;
    source_ends_done(&self->ends);
    histogram_done(&self->durations);
    self->durations = (struct histogram){0};
    text_done(&self->text);
    self->text = TEXT_IN_MEMORY;
}

static void free_rule(struct watch_rule *rule)
{
    free(self_of(rule));
}

struct watch_rule *watch_on_latency(const struct watch_condition *condition)
{
    static const struct watch_rule_ops ops = {.begin = begin,
                                              .put = put,
                                              .begin_loss = begin_loss,
                                              .end = end,
                                              .clear = clear,
                                              .idle = idle,
                                              .free = free_rule};
    struct on_latency *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->rule.ops = &ops;
    self->rule.condition = condition;
    self->rule.look_back = condition->latency.ns;
    self->held = INT64_MAX;
    if (condition->latency.permille > 0)
        self->rule.look_back = MAX(condition->latency.ns, PERCENTILE_LOOK_BACK_NS);
    self->text = TEXT_IN_MEMORY;
    return &self->rule;
}
