/* SPDX-License-Identifier: MIT */
/* Conditions about the rate of VM exits. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_events.h"
#include "analysis/spans/span_match.h"
#include "event/class_map.h"
#include "tracedir/manifest.h"
#include "watch/rule.h"

/* Windows for the baseline: more than WATCH_BASELINE_NS has at the shortest period. */
#define WINDOWS_MAX 128u

enum { UNDECIDED, NO_EXIT, EXIT };

struct window_rate {
    uint64_t n;
    int64_t ns;
};

struct on_exits {
    struct watch_rule rule;
    uint8_t *classes; /* by class->index: EXIT plus its tracer */
    unsigned n_classes;
    uint64_t n[EXIT_TRACERS];
    bool is_over, has_loss; /* `has_loss`: the rate of the window may be too low */
    int64_t skipped;        /* length of windows with losses since the last window without, in ns */
    struct window_rate windows[WINDOWS_MAX]; /* previous windows; the newest is at `next` - 1 */
    unsigned next;
};

static struct on_exits *self_of(struct watch_rule *rule)
{
    return container_of(rule, struct on_exits, rule);
}

/* True if a source that may have exits has not handed over the whole window. */
static bool has_late(const struct trace *trace)
{
    for (unsigned i = 0; i < trace->n_inputs; i++) {
        const struct origin *origin = trace->inputs[i].origin;

        if (origin->layer != LAYER_GUEST && origin->layer != LAYER_PROGRAM && origin->is_live)
            return true;
    }
    return false;
}

static int begin(struct watch_rule *rule)
{
    memset(self_of(rule)->n, 0, sizeof self_of(rule)->n);
    self_of(rule)->has_loss = has_late(rule->window->trace);
    return 0;
}

static _cold_ int decide(struct on_exits *self, const struct event_class *class)
{
    size_t len;
    const char *star;

    if (class_map_grow(self->classes, self->n_classes, class) < 0)
        return -ENOMEM;
    self->classes[class->index] = NO_EXIT;
    for (unsigned i = 0; i < EXIT_TRACERS; i++)
        if (span_step_matches(&exit_rules[i].steps[0], class, &star, &len))
            self->classes[class->index] = (uint8_t)(EXIT + i);
    return 0;
}

static int put(struct watch_rule *rule, const struct item *items, unsigned n)
{
    struct on_exits *self = self_of(rule);

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        uint8_t decision;

        if (!watch_is_in_window(rule, item->time))
            continue;
        if (unlikely(item->kind != ITEM_EVENT)) {
            self->has_loss = true;
            continue;
        }
        if ((item->class->index >= self->n_classes ||
             self->classes[item->class->index] == UNDECIDED) &&
            decide(self, item->class) < 0)
            return -ENOMEM;
        decision = self->classes[item->class->index];
        if (decision >= EXIT)
            self->n[decision - EXIT]++;
    }
    return 0;
}

/* Computes the mean rate of the previous windows. False if they are too short. */
static bool baseline(const struct on_exits *self, double *ret_rate)
{
    uint64_t n = 0;
    int64_t ns = 0;

    for (unsigned i = 1; i <= WINDOWS_MAX && ns < WATCH_BASELINE_NS; i++) {
        const struct window_rate *window = &self->windows[(self->next - i) % WINDOWS_MAX];

        n += window->n;
        ns += window->ns;
    }
    if (ns < WATCH_BASELINE_MIN_NS)
        return false;
    *ret_rate = MAX((double)n * 1e9 / (double)ns, (double)WATCH_EXITS_IDLE);
    return true;
}

/* Adds the window to the baseline, unless its rate may be too low. */
static void add_window(struct on_exits *self, uint64_t n, int64_t from, int64_t to)
{
    int64_t ns = MAX(to - from, INT64_C(0));

    self->skipped = self->has_loss ? self->skipped + ns : 0;
    if (!self->has_loss)
        self->windows[self->next++ % WINDOWS_MAX] = (struct window_rate){n, ns};
    else if (self->skipped >= WATCH_BASELINE_NS && self->rule.condition->exits.factor > 0)
        snprintf(self->rule.problem, sizeof self->rule.problem,
                 "no usual rate of exits is known: each window of the last minute lost events");
}

static int end(struct watch_rule *rule, struct watch_match *match)
{
    struct on_exits *self = self_of(rule);
    const struct watch_condition *condition = rule->condition;
    const struct live_window *window = rule->window;
    /* Those that QEMU sees are among KVM's. */
    uint64_t n = self->n[EXITS_OF_KVM] + self->n[EXITS_OF_XEN];
    double rate, limit = condition->exits.rate, before = 0;
    bool known = condition->exits.factor == 0 || baseline(self, &before), was_over = self->is_over;

    n = n > 0 ? n : self->n[EXITS_OF_QEMU];
    rate = (double)n * 1e9 / (double)MAX(window->to - window->from, INT64_C(1));
    if (condition->exits.factor > 0)
        limit = before * condition->exits.factor;
    self->is_over = known && rate > limit;
    add_window(self, n, window->from, window->to);
    if (!self->is_over || was_over)
        return 0;
    match->n = n;
    match->ns = window->to;
    text_printf(&match->text, "%.0f exits/s", rate);
    if (condition->exits.factor > 0)
        text_printf(&match->text, ", %.1f times the %.0f/s of before", rate / before, before);
    text_put_char(&match->text, ' ');
    watch_put_time(&match->text, window->to, 0);
    return 0;
}

static void clear(struct watch_rule *rule)
{
    struct on_exits *self = self_of(rule);

    free(self->classes);
    self->classes = NULL;
    self->n_classes = 0;
}

static void idle(struct watch_rule *rule, int64_t from, int64_t to)
{
    self_of(rule)->has_loss = false;
    add_window(self_of(rule), 0, from, to);
    self_of(rule)->is_over = false;
}

static void free_rule(struct watch_rule *rule)
{
    free(self_of(rule));
}

struct watch_rule *watch_on_exits(const struct watch_condition *condition)
{
    static const struct watch_rule_ops ops = {
        .begin = begin, .put = put, .end = end, .clear = clear, .idle = idle, .free = free_rule};
    struct on_exits *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->rule.ops = &ops;
    self->rule.condition = condition;
    return &self->rule;
}
