/* SPDX-License-Identifier: MIT */
#include "timeline/stray.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/ticks.h"
#include "event/item_block.h"

#define KEPT 64u
#define FAR_TICKS INT64_C(50000000000) /* of a clock with an unknown rate */

struct run {
    const struct item *items;
    unsigned n;
};

struct stray {
    struct source source;
    struct source *input;
    const struct origin *origin; /* NULL: there was no event */
    bool is_off;                 /* by X3 */
    struct stray_bounds bounds;
    int64_t far;  /* SOURCE_STRAY_NS, in ticks */
    int64_t last; /* time of the last event; TIME_UNKNOWN: there was none */
    uint64_t n_stray;
    char hint[512];
    int result;      /* the input's last answer */
    struct run run;  /* is lent next: of the input's last run, or of a block */
    struct run rest; /* follows `run`; of the input's last run */
    /* One holds `run`, the other is filled next. Not allocated before they are needed. */
    struct item_block blocks[2];
    unsigned next_block;
};

static struct stray *stray_of(const struct source *source)
{
    return container_of(source, struct stray, source);
}

/* The first event decides what is looked at. */
static void look_at_origin(struct stray *s, const struct origin *origin)
{
    s->origin = origin;
    s->is_off = origin->clock.name && strcmp(origin->clock.name, "realtime") == 0;
    s->far = origin->clock.hz > 0 ? clock_from_ns(&origin->clock, SOURCE_STRAY_NS) : FAR_TICKS;
}

static bool is_event(const struct item *item)
{
    return item->kind == ITEM_EVENT && item->time != TIME_UNKNOWN;
}

static inline bool is_far(const struct stray *s, int64_t from, int64_t to)
{
    int64_t step = ticks_between(from, to);

    return step > s->far || step < -s->far;
}

/* X4. */
static bool is_outside(const struct stray *s, int64_t time)
{
    return time < s->bounds.least || time > s->bounds.most;
}

/* Counts the first events of N items that are each at most FAR ticks from the previous one; *REF_LAST is the time
 * before the first, and must be known. Sets *REF_LAST to the time of the last counted event. */
static inline unsigned count_near(const struct item *items, unsigned n, int64_t far,
                                  int64_t *ref_last)
{
    int64_t last = *ref_last;
    const struct item *item = items;

    for (const struct item *end = items + n; item != end && is_event(item); item++) {
        int64_t step = ticks_between(last, item->time);

        if (unlikely(step > far || step < -far))
            break;
        last = item->time;
    }
    *ref_last = last;
    return (unsigned)(item - items);
}

/* The first item of RUN that is far from the one before, or cannot have been; its number of items: there is none. */
static unsigned find_step(struct stray *s, const struct run *run)
{
    int64_t last = s->last;

    for (unsigned i = 0; i < run->n; i++) {
        const struct item *item;

        if (likely(last != TIME_UNKNOWN)) {
            i += count_near(run->items + i, run->n - i, s->far, &last);
            if (i == run->n)
                break;
        }
        item = &run->items[i];
        if (unlikely(!is_event(item)))
            continue;
        if (unlikely(last == TIME_UNKNOWN)) {
            if (!s->origin)
                look_at_origin(s, item->origin);
            if (unlikely(is_outside(s, item->time)) && !s->is_off)
                return i;
        } else if (unlikely(is_far(s, last, item->time)) && !s->is_off) {
            return i;
        }
        last = item->time;
    }
    return run->n;
}

/* The time of the last event of N items; BEFORE: there is none. */
static int64_t last_time(const struct item *items, unsigned n, int64_t before)
{
    while (n > 0 && !is_event(&items[n - 1]))
        n--;
    return n > 0 ? items[n - 1].time : before;
}

/* Whether the CPU of item AT, which is after a step, goes on where it was, from item FROM on: in a text that has one CPU after
 * the other, the next CPU begins there. */
static bool comes_back(const struct stray *s, const struct run *run, unsigned at, unsigned from,
                       int64_t last)
{
    const struct item *stray = &run->items[at];

    if (stray->cpu == CPU_UNKNOWN)
        return true;
    for (unsigned i = from; i < run->n && i - at <= STRAY_ITEMS; i++) {
        const struct item *item = &run->items[i];

        if (is_event(item) && item->cpu == stray->cpu && is_far(s, stray->time, item->time) &&
            (item->time < stray->time) == (last < stray->time))
            return true;
    }
    return false;
}

/* The item of RUN at which a step leads back, after item AT, which is after one (X1); 0: none does. */
static unsigned find_return(const struct stray *s, const struct run *run, unsigned at)
{
    int64_t last = last_time(run->items, at, s->last), before = run->items[at].time;

    for (unsigned i = at + 1; i < run->n && i - at <= STRAY_ITEMS; i++) {
        if (!is_event(&run->items[i]))
            continue;
        if (is_far(s, before, run->items[i].time) && !is_far(s, last, run->items[i].time))
            return comes_back(s, run, at, i, last) ? i : 0;
        before = run->items[i].time;
    }
    return 0;
}

/* Marks the last event of CPU among N items: a loss follows (struct item). */
static void mark_last(struct item *items, unsigned n, int32_t cpu)
{
    while (n > 0 && (items[n - 1].kind != ITEM_EVENT || items[n - 1].cpu != cpu))
        n--;
    if (n > 0)
        items[n - 1].before_loss = true;
}

/* The end of losses in the place of the items AT to N of the run: the item that follows, or where none does, what is before. */
static int64_t find_end(const struct stray *s, unsigned at, unsigned n)
{
    int64_t last;

    if (n < s->run.n)
        return s->run.items[n].time;
    last = last_time(s->run.items, at, s->last);
    return last != TIME_UNKNOWN ? last
                                : MIN(MAX(s->run.items[at].time, s->bounds.least), s->bounds.most);
}

/* The first of the losses right before item AT of the run that are as far from what is before them: of a page with losses before its
 * events, the time of both is damaged. AT: there is none. */
static unsigned find_losses_before(const struct stray *s, unsigned at)
{
    const struct item *items = s->run.items;
    unsigned first = at;
    int64_t last;

    while (first > 0 && items[first - 1].kind == ITEM_LOSS && items[first - 1].cpu == items[at].cpu)
        first--;
    last = last_time(items, first, s->last);
    while (first < at && !is_outside(s, items[first].time) &&
           (last == TIME_UNKNOWN || !is_far(s, last, items[first].time)))
        first++;
    return first;
}

/* Puts losses in the place of the items AT to N of the run, which are stray: one for each stretch of a CPU. */
static void take_out(struct stray *s, unsigned at, unsigned n)
{
    bool is_open = n == s->run.n && s->rest.n == 0 && s->result <= 0;
    int64_t time = find_end(s, at, n);
    struct item *items = (struct item *)(uintptr_t)s->run.items; /* S6 */
    unsigned end;

    at = find_losses_before(s, at);
    end = at;
    for (unsigned i = at; i < n; i++) {
        struct item *before = end > at ? &items[end - 1] : NULL;
        struct item loss = {
            .kind = ITEM_LOSS,
            .cause = LOSS_UNREADABLE,
            .origin = items[i].origin,
            .time = time,
            .since = items[i].kind == ITEM_LOSS ? items[i].since : TIME_UNKNOWN,
            .lost = items[i].kind == ITEM_EVENT ? 1 : items[i].lost,
            .cpu = items[i].cpu,
            .pid = items[i].cpu == CPU_UNKNOWN ? items[i].pid : PID_UNKNOWN,
            .vcpu = VCPU_UNKNOWN,
            .is_open = is_open,
        };

        s->n_stray += items[i].kind == ITEM_EVENT;
        if (before && before->cpu == loss.cpu && before->lost != LOST_UNKNOWN &&
            loss.lost != LOST_UNKNOWN) {
            before->lost += loss.lost;
        } else {
            mark_last(items, at, loss.cpu);
            items[end++] = loss;
        }
    }
    memmove(items + n - end, items, end * sizeof *items);
    s->run.items += n - end;
    s->run.n -= n - end;
}

/* Puts the run and more of the input into one block. Returns false if there is no more input or no room. */
static bool gather(struct stray *s)
{
    struct item_block *block = &s->blocks[s->next_block];
    unsigned n;

    if (!block->items && item_block_init(block) < 0)
        return false;
    item_block_clear(block);
    if (item_block_put(block, NULL, s->run.items, s->run.n) < s->run.n)
        return false;
    s->run = (struct run){block->items, block->n};
    s->next_block ^= 1;
    if (s->rest.n == 0 && s->result > 0) {
        s->result = source_next(s->input, &s->rest.items);
        s->rest.n = s->result > 0 ? (unsigned)s->result : 0;
    }
    n = item_block_put(block, NULL, s->rest.items, s->rest.n);
    s->rest.items += n;
    s->rest.n -= n;
    s->run.n = block->n;
    return n > 0;
}

/* The item of RUN, from AT on, that can have been when it says; its number of items: there is none. */
static unsigned find_inside(const struct stray *s, const struct run *run, unsigned at)
{
    while (at < run->n && !(is_event(&run->items[at]) && !is_outside(s, run->items[at].time)))
        at++;
    return at;
}

/* Item AT of the run is after a step, or the first: whether there is one back decides what it is. Returns how many items can be lent. */
static unsigned judge_step(struct stray *s, unsigned at)
{
    unsigned n;

    if (is_outside(s, s->run.items[at].time)) {
        while ((n = find_inside(s, &s->run, at)) == s->run.n && gather(s))
            ;
        if (n < s->run.n || last_time(s->run.items, at, s->last) != TIME_UNKNOWN) {
            take_out(s, at, n);
            return 0;
        }
        s->bounds = STRAY_UNBOUNDED;
    }
    while ((n = find_return(s, &s->run, at)) == 0 && s->run.n <= at + STRAY_ITEMS && gather(s))
        ;
    if (n == 0)
        return at + 1;
    take_out(s, at, n);
    return 0;
}

/* Copies the one item of the run, and has the next ones of the input. False: they are after a step, and in the run now. */
static bool keep_last(struct stray *s)
{
    struct item_block *block = &s->blocks[s->next_block];
    int64_t last = last_time(s->run.items, 1, s->last);

    if (!block->items && item_block_init(block) < 0)
        return true;
    item_block_clear(block);
    if (item_block_put(block, NULL, s->run.items, 1) < 1)
        return true;
    s->run.items = block->items;
    s->next_block ^= 1;
    s->result = source_next(s->input, &s->rest.items);
    s->rest.n = s->result > 0 ? (unsigned)s->result : 0;
    for (unsigned i = 0; i < s->rest.n; i++)
        if (is_event(&s->rest.items[i]))
            return last == TIME_UNKNOWN || !is_far(s, last, s->rest.items[i].time) || !gather(s);
    return true;
}

/* Whether an item is late among the last of N: what orders the input then looks at the next ones (timeline/reorder.c), which have to be in
 * the same run. */
static bool steps_back_at_end(const struct stray *s, unsigned n)
{
    const struct item *items = s->run.items;

    for (unsigned i = n > 3 ? n - 3 : 1; s->source.may_restart && i < n; i++)
        if (items[i].time < items[i - 1].time)
            return true;
    return false;
}

/* The number of items of the run that can be returned: all before a step except a few, the last of which may be marked
 * for a CPU, and the last item of an input run only when it is known what follows it. 0: look again. */
static unsigned find_lendable(struct stray *s)
{
    unsigned n = find_step(s, &s->run);

    if (unlikely(n < s->run.n))
        return n > KEPT ? n - KEPT : judge_step(s, n);
    if (s->is_off || s->rest.n > 0 || s->result <= 0)
        return n;
    if (n > 1)
        return steps_back_at_end(s, n) ? n : n - 1;
    return keep_last(s) ? n : 0;
}

static int stray_next(struct source *source, const struct item **ret_items)
{
    struct stray *s = stray_of(source);
    unsigned n = 0;

    while (n == 0) {
        if (s->run.n == 0) {
            s->run = s->rest;
            s->rest.n = 0;
        }
        if (s->run.n == 0) {
            if (s->result > 0)
                s->result = source_next(s->input, &s->run.items);
            if (s->result <= 0) {
                if (s->result < 0)
                    source->error = s->input->error;
                return s->result;
            }
            s->run.n = (unsigned)s->result;
        }
        n = find_lendable(s);
    }
    *ret_items = s->run.items;
    s->last = last_time(s->run.items, n, s->last);
    s->run.items += n;
    s->run.n -= n;
    return (int)n;
}

static void stray_free(struct source *source)
{
    struct stray *s = stray_of(source);

    source_free(s->input);
    for (unsigned i = 0; i < ARRAY_SIZE(s->blocks); i++)
        item_block_done(&s->blocks[i]);
    free(s);
}

static void stray_facts(const struct source *source,
                        void (*put)(void *arg, const char *key, const char *value), void *arg)
{
    const struct source *input = stray_of(source)->input;

    if (input->ops->facts)
        input->ops->facts(input, put, arg);
}

static void stray_progress(const struct source *source, uint64_t *ret_done, uint64_t *ret_total)
{
    const struct source *input = stray_of(source)->input;

    *ret_done = *ret_total = 0;
    if (input->ops->progress)
        input->ops->progress(input, ret_done, ret_total);
}

/* What follows need not be near what was read. */
static void stray_seek(struct source *source, int64_t time)
{
    struct stray *s = stray_of(source);

    s->last = TIME_UNKNOWN;
    source_seek(s->input, time);
}

static const char *stray_hint(const struct source *source)
{
    struct stray *s = stray_of(source);
    const char *hint = s->input->ops->hint ? s->input->ops->hint(s->input) : NULL;

    if (s->n_stray == 0)
        return hint;
    snprintf(
        s->hint, sizeof s->hint,
        "%s%sevents with a time far from those around them, or far outside of the recording, are "
        "damaged and count as lost (%" PRIu64 ")",
        hint ? hint : "", hint ? "; " : "", s->n_stray);
    return s->hint;
}

static const struct source_ops stray_ops = {
    .next = stray_next,
    .free = stray_free,
    .facts = stray_facts,
    .progress = stray_progress,
    .seek = stray_seek,
    .hint = stray_hint,
};

int stray_open(struct source *input, const struct stray_bounds *bounds, struct source **ret_source)
{
    struct stray *s = calloc(1, sizeof *s);

    if (!s) {
        source_free(input);
        return -ENOMEM;
    }
    s->source = (struct source){
        .ops = &stray_ops,
        .ordered = input->ordered,
        .one_buffer = input->one_buffer,
        .may_restart = input->may_restart,
        .tells_losses_late = input->tells_losses_late,
        .skips = input->skips,
    };
    s->input = input;
    s->bounds = *bounds;
    s->result = 1;
    s->last = TIME_UNKNOWN;
    *ret_source = &s->source;
    return 0;
}
