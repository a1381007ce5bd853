/* SPDX-License-Identifier: MIT */
/* strata top: why vCPUs left their guests, and for how long. Exits are spans by the rules of strata exits. The engine
 * lasts from window to window (live/persistent_items.h), so an exit may begin in one window and end in another, however
 * long it is. */

#include <errno.h>
#include <stdlib.h>

#include "analysis/exit_spans.h"
#include "base/macro.h"
#include "base/text.h"
#include "base/ticks.h"
#include "live/persistent_items.h"
#include "top/model.h"

struct top_exit_spans {
    struct top_model *model;
    struct persistent_items *persistent;
    struct spans spans;
    struct sink bound;           /* gets the bound items */
    struct exit_classes classes; /* of the bound classes */
    bool has_spans;
    bool is_new; /* this is its first window */
};

/* NULL if out of memory, or if there are too many. */
static struct top_exit *find_exit(struct top_model *model, const struct exit_class *class,
                                  const struct item *item)
{
    struct text text = TEXT_IN_MEMORY;
    struct exit_reason reason;
    struct top_exit *exit;
    uint64_t number;

    exit_reason_of(class, item, &reason);
    number = reason.number ^ (uint64_t)reason.isa << 40 ^ (uint64_t)reason.is_nested << 48 ^
             (uint64_t) class->tracer << 52;
    for (unsigned i = 0; i < model->n_exits; i++)
        if (model->exits[i].number == number)
            return &model->exits[i];
    if (model->n_exits == TOP_EXITS_MAX) {
        model->is_too_much = true;
        return NULL;
    }
    if (model->n_exits == model->exits_room) {
        unsigned room = MAX(model->exits_room * 2, 16u);
        struct top_exit *exits = realloc(model->exits, room * sizeof *exits);

        if (!exits) {
            model->no_memory = true;
            return NULL;
        }
        model->exits = exits;
        model->exits_room = room;
    }
    exit = &model->exits[model->n_exits];
    *exit = (struct top_exit){.number = number};
    exit_reason_put(class, item, &reason, &text);
    text_put_char(&text, '\0');
    if (!text.error)
        top_copy_name(exit->reason, text.start);
    model->no_memory |= text.error != 0;
    text_done(&text);
    model->n_exits++;
    return exit;
}

/* ---- Spans ---- */

/* Returns the exit's index plus one as the span's tag, or 0 if it does not count. */
static uint64_t begin(void *arg, const struct span_kind *kind, const struct item *item)
{
    struct top_exit_spans *exits = arg;
    struct top_model *model = exits->model;
    struct top_exit *exit;

    model->has_kvm |= kind->rule_number == EXITS_OF_KVM;
    if (kind->rule_number == EXITS_OF_QEMU && model->has_kvm)
        return 0;
    exit = find_exit(model, exits->classes.of[item->class->index], item);
    if (!exit)
        return 0;
    exit->n[model->slot]++;
    return (uint64_t)(exit - model->exits) + 1;
}

static int complete(void *arg, const struct span *span, const struct item *item)
{
    struct top_model *model = ((struct top_exit_spans *)arg)->model;
    int64_t duration = ticks_between(span_begin(span), span_end(span));
    struct top_exit *exit;

    (void)item;
    if (span->tag == 0)
        return 0;
    exit = &model->exits[span->tag - 1];
    exit->timed[model->slot]++;
    exit->sum[model->slot] = ticks_sum(exit->sum[model->slot], duration);
    exit->max[model->slot] = MAX(exit->max[model->slot], duration);
    return 0;
}

static int put_bound(struct sink *sink, const struct item *items, unsigned n)
{
    struct top_exit_spans *exits = container_of(sink, struct top_exit_spans, bound);

    return exit_spans_put(&exits->spans, &exits->classes, items, n, &exits->model->has_exit_ends);
}

/* ---- Windows ---- */

static void forget(struct top_exit_spans *exits)
{
    if (exits->has_spans)
        spans_done(&exits->spans);
    exit_classes_done(&exits->classes);
    persistent_items_free(exits->persistent);
    *exits = (struct top_exit_spans){.model = exits->model, .bound = exits->bound};
}

/* Begins again without open spans. */
static int begin_again(struct top_exit_spans *exits)
{
    static const struct spans_ops ops = {.begin = begin, .complete = complete};
    int r;

    forget(exits);
    r = persistent_items_new(&exits->persistent);
    if (r < 0)
        return r;
    r = spans_init(&exits->spans, persistent_items_catalogue(exits->persistent), exit_rules,
                   EXIT_TRACERS, &ops, exits);
    exits->has_spans = exits->is_new = r >= 0;
    return r;
}

int top_exits_begin(struct top_model *model)
{
    static const struct sink_ops bound_ops = {.put = put_bound};
    struct top_exit_spans *exits = model->exit_spans;
    int r = 0;

    if (!exits) {
        exits = model->exit_spans = calloc(1, sizeof *exits);
        if (!exits)
            return -ENOMEM;
        exits->model = model;
        exits->bound.ops = &bound_ops;
    }
    if (!exits->has_spans || model->has_gap[model->slot] ||
        persistent_items_is_worn(exits->persistent))
        r = begin_again(exits);
    else
        exits->is_new = false;
    return r < 0 ? r : persistent_items_open(exits->persistent, model->trace);
}

int top_exits_put(struct top_model *model, const struct item *items, unsigned n)
{
    struct top_exit_spans *exits = model->exit_spans;

    return persistent_items_put(exits->persistent, items, n, &exits->bound);
}

int top_exits_begin_loss(struct top_model *model, const struct item *item)
{
    struct top_exit_spans *exits = model->exit_spans;
    struct item bound = *item;
    const struct bound_origin *origin;

    /* A window before has had ITEM. */
    if (!exits->is_new)
        return 0;
    origin = persistent_items_origin(exits->persistent, item->origin);
    if (!origin)
        return -ENOMEM;
    bound.origin = &origin->origin;
    return spans_begin_loss(&exits->spans, &bound);
}

void top_exits_end(struct top_model *model)
{
    if (model->exit_spans && model->exit_spans->persistent)
        persistent_items_close(model->exit_spans->persistent);
}

void top_exits_done(struct top_model *model)
{
    if (!model->exit_spans)
        return;
    forget(model->exit_spans);
    free(model->exit_spans);
    model->exit_spans = NULL;
}
