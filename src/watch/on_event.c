/* SPDX-License-Identifier: MIT */
/* Conditions about events: a pattern, and a condition on fields. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "event/class_map.h"
#include "event/program.h"
#include "watch/rule.h"

struct class_decision {
    bool is_made, matches;
    struct condition *condition; /* may be NULL */
};

struct on_event {
    struct watch_rule rule;
    /* For a window. */
    struct arena arena;
    struct class_decision *classes; /* by class->index */
    unsigned n_classes;
    uint64_t n;
    int64_t first;
    struct text text; /* describes the first match */
};

static struct on_event *self_of(struct watch_rule *rule)
{
    return container_of(rule, struct on_event, rule);
}

static int begin(struct watch_rule *rule)
{
    struct on_event *self = self_of(rule);

    self->n = 0;
    self->text = TEXT_IN_MEMORY;
    return 0;
}

/* Decides about a class that was not seen in this window yet. */
static _cold_ int decide(struct on_event *self, const struct event_class *class)
{
    const struct watch_condition *condition = self->rule.condition;
    struct class_decision *decision;
    struct error error = {0};
    int r;

    if (class_map_grow(self->classes, self->n_classes, class) < 0)
        return -ENOMEM;
    decision = &self->classes[class->index];
    decision->is_made = true;
    decision->matches = event_class_matches(class, condition->event.pattern);
    if (!decision->matches || !condition->event.condition)
        return 0;
    r = condition_compile(condition->event.condition, class, &self->arena, &decision->condition,
                          &error);
    if (r == -EINVAL) {
        decision->matches = false;
        snprintf(self->rule.problem, sizeof self->rule.problem, "%.60s: %.180s", class->name,
                 error.what);
        return 0;
    }
    return r;
}

static void note_first(struct on_event *self, const struct item *item)
{
    self->first = item->time;
    watch_put_time(&self->text, item->time, item->error_ns);
    watch_put_where(&self->text, self->rule.window, item->origin, item_task_name(item), item->pid);
    text_put_literal(&self->text, ": ");
    text_put_str(&self->text, item->class->name);
    text_put_char(&self->text, ' ');
    item_put_text(item, &self->text);
}

static int put(struct watch_rule *rule, const struct item *items, unsigned n)
{
    struct on_event *self = self_of(rule);

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        const struct class_decision *decision;

        if (item->kind != ITEM_EVENT || !watch_is_in_window(rule, item->time))
            continue;
        if ((item->class->index >= self->n_classes || !self->classes[item->class->index].is_made) &&
            decide(self, item->class) < 0)
            return -ENOMEM;
        decision = &self->classes[item->class->index];
        if (likely(!decision->matches) ||
            (decision->condition && !condition_holds(decision->condition, item)))
            continue;
        if (self->n++ == 0)
            note_first(self, item);
    }
    return 0;
}

static int end(struct watch_rule *rule, struct watch_match *match)
{
    struct on_event *self = self_of(rule);

    match->n = self->n;
    match->ns = self->first;
    if (self->n == 0)
        return 0;
    text_printf(&match->text, "%" PRIu64 " event%s ", self->n, self->n == 1 ? "" : "s, first");
    text_put(&match->text, self->text.start, text_len(&self->text));
    return self->text.error;
}

static void clear(struct watch_rule *rule)
{
    struct on_event *self = self_of(rule);

    arena_done(&self->arena);
    free(self->classes);
    self->classes = NULL;
    self->n_classes = 0;
    text_done(&self->text);
    self->text = TEXT_IN_MEMORY;
}

static void free_rule(struct watch_rule *rule)
{
    free(self_of(rule));
}

struct watch_rule *watch_on_event(const struct watch_condition *condition)
{
    static const struct watch_rule_ops ops = {
        .begin = begin, .put = put, .end = end, .clear = clear, .free = free_rule};
    struct on_event *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->rule.ops = &ops;
    self->rule.condition = condition;
    self->text = TEXT_IN_MEMORY;
    return &self->rule;
}
