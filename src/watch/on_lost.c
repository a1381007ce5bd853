/* SPDX-License-Identifier: MIT */
/* Conditions about lost events. */

#include <inttypes.h>
#include <stdlib.h>

#include "watch/rule.h"

struct on_lost {
    struct watch_rule rule;
    uint64_t n, n_losses;
    bool is_uncounted; /* the size of one of them is unknown */
    int64_t first;
    struct text text;
};

static struct on_lost *self_of(struct watch_rule *rule)
{
    return container_of(rule, struct on_lost, rule);
}

static int begin(struct watch_rule *rule)
{
    struct on_lost *self = self_of(rule);

    self->n = self->n_losses = 0;
    self->is_uncounted = false;
    self->text = TEXT_IN_MEMORY;
    return 0;
}

static int put(struct watch_rule *rule, const struct item *items, unsigned n)
{
    struct on_lost *self = self_of(rule);

    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        bool counted = item->lost != LOST_UNKNOWN;

        if (likely(item->kind != ITEM_LOSS) || item->goes_on ||
            !watch_is_in_window(rule, item->time))
            continue;
        if (self->n_losses++ == 0) {
            self->first = item->time;
            watch_put_time(&self->text, item->time, item->error_ns);
            watch_put_where(&self->text, rule->window, item->origin, NULL, PID_UNKNOWN);
        }
        self->n += counted ? MIN(item->lost, UINT64_MAX - self->n) : self->n < UINT64_MAX;
        self->is_uncounted |= !counted;
    }
    return 0;
}

static int end(struct watch_rule *rule, struct watch_match *match)
{
    struct on_lost *self = self_of(rule);

    if (self->n <= rule->condition->lost.more_than)
        return 0;
    match->n = self->n_losses;
    match->ns = self->first;
    text_printf(&match->text, "%s%" PRIu64 " event%s lost, first ",
                self->is_uncounted ? "at least " : "", self->n, self->n == 1 ? "" : "s");
    text_put(&match->text, self->text.start, text_len(&self->text));
    return self->text.error;
}

static void clear(struct watch_rule *rule)
{
    text_done(&self_of(rule)->text);
    self_of(rule)->text = TEXT_IN_MEMORY;
}

static void free_rule(struct watch_rule *rule)
{
    free(self_of(rule));
}

struct watch_rule *watch_on_lost(const struct watch_condition *condition)
{
    static const struct watch_rule_ops ops = {
        .begin = begin, .put = put, .end = end, .clear = clear, .free = free_rule};
    struct on_lost *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->rule.ops = &ops;
    self->rule.condition = condition;
    self->rule.is_known = true;
    self->text = TEXT_IN_MEMORY;
    return &self->rule;
}
