/* SPDX-License-Identifier: MIT */
#include "analysis/spans/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/condition.h"
#include "analysis/spans/span_keys.h"
#include "analysis/spans/span_sources.h"
#include "analysis/spans/span_steps.h"
#include "base/macro.h"
#include "base/map.h"
#include "base/ticks.h"
#include "event/clock_error.h"
#include "event/value.h"

#define EARLY_MAX 4096

struct open_span {
    uint32_t hash;
    uint32_t chain;                      /* next in the bucket; only for the first span of a key */
    uint32_t same_next, same_prev, last; /* with the same key; the first knows the last */
    uint32_t older, newer;
    uint32_t sequence;
    uint32_t name;
    uint32_t source; /* 0: several sources */
    uint32_t error_ns;
    uint16_t rule;
    uint8_t step; /* last step that was seen */
    bool counted; /* spans->selects selects it */
    bool early;   /* it is an end */
    uint8_t clock_part;
    uint64_t place;
    uint64_t keys[SPAN_KEYS];
    struct span_kind *kind;
    const struct origin *origin;
    int32_t cpu, pid, vcpu;
    uint64_t tag;
    int64_t at[]; /* for each step */
};

const char *span_fate_name(enum span_fate fate)
{
    static const char *const names[SPAN_FATES] = {
        [SPAN_COMPLETE] = "complete", [SPAN_NO_BEGIN] = "no_begin",
        [SPAN_OPEN] = "open",         [SPAN_LOST] = "lost",
        [SPAN_EARLY] = "early",       [SPAN_AGAIN] = "again",
        [SPAN_GONE] = "gone",         [SPAN_CONTRADICTED] = "contradicted",
        [SPAN_UNKEYED] = "unkeyed",   [SPAN_GIVEN_UP] = "given_up",
    };

    return names[fate];
}

static inline struct rule_shape shape_of(const struct spans *spans, unsigned rule)
{
    const struct span_rule *r = spans->rules[rule];

    return (struct rule_shape){r->n_steps, r->n_keys, spans->rule_keys[rule].n_found_by, r->again};
}

static inline struct open_span *get_open(const struct spans *spans, uint32_t n)
{
    return (struct open_span *)(void *)(spans->open + n * spans->open_size);
}

/* True if SOURCE lost events, where SPAN may have an end, since SPAN began. */
static inline bool lost_since(const struct spans *spans, const struct open_span *span,
                              const struct source_losses *source)
{
    if (likely(source->all <= span->sequence))
        return false;
    if (spans->rules[span->rule]->place != SPAN_ON_CPU || span->cpu < 0)
        return true;
    return source->any_cpu > span->sequence ||
           ((unsigned)span->cpu < source->n_cpus && source->cpus[span->cpu].lost > span->sequence);
}

/* True if the thread or vCPU of SPAN, which has an event on CPU now, has not left this CPU since SPAN began there. Then
 * losses of other CPUs are about others. */
static _cold_ bool has_stayed(const struct spans *spans, const struct open_span *span,
                              const struct source_losses *source, int32_t cpu)
{
    return spans->rules[span->rule]->place != SPAN_ANYWHERE && cpu == span->cpu &&
           (unsigned)cpu < source->n_cpus && source->has_switches &&
           source->cpus[cpu].switched <= span->at[0] && source->cpus[cpu].lost <= span->sequence &&
           source->any_cpu <= span->sequence;
}

bool spans_stayed(struct spans *spans, const struct span *span, const struct item *end)
{
    enum span_place place = span->kind->rule->place;
    const struct source_losses *source;

    if (span->origin != end->origin || span->cpu != end->cpu || place == SPAN_ANYWHERE)
        return false;
    if (place == SPAN_ON_CPU)
        return true;
    source = get_source(spans, end->origin);
    return source && source->has_switches;
}

/* True if the CPU of SPAN has run other threads since SPAN began, whose events SOURCE does not have. */
static _cold_ bool was_hidden(const struct spans *spans, const struct open_span *span,
                              const struct source_losses *source)
{
    return spans->rules[span->rule]->place == SPAN_ON_CPU && (unsigned)span->cpu < source->n_cpus &&
           source->cpus[span->cpu].switched > span->at[0];
}

/* P2: true if the end of SPAN may be among what SOURCE lost. CPU: of the event that continues SPAN. */
static inline bool may_have_ended(const struct spans *spans, const struct open_span *span,
                                  const struct source_losses *source, int32_t cpu)
{
    if (spans->rules[span->rule]->unique)
        return false;
    return (unlikely(lost_since(spans, span, source)) && !has_stayed(spans, span, source, cpu)) ||
           (unlikely(source->is_filtered) && was_hidden(spans, span, source));
}

bool spans_may_be_lost(const struct spans *spans, unsigned rule, const struct origin *origin,
                       int32_t cpu, const struct item *loss)
{
    const struct span_rule *r = spans->rules[rule];

    if (loss->origin != origin || r->unique || spans->rule_keys[rule].crossings != 0)
        return false;
    return r->place != SPAN_ON_CPU || cpu < 0 || !span_loss_has_cpu(loss) || cpu == loss->cpu;
}

/* True if the thread of SPAN ended since SPAN began. */
static bool is_gone(const struct spans *spans, const struct open_span *span)
{
    if (likely(spans->n_ended_threads == 0) || spans->rules[span->rule]->place != SPAN_ON_THREAD)
        return false;
    return (uintptr_t)map_get(&spans->ended_threads, thread_key(span->source, span->pid)) >
           span->sequence;
}

/* ---- open spans: a hash table of keys, each with a list; and lists by age ---- */

static inline bool has_key(const struct open_span *span, const struct key *key, unsigned n)
{
    if (span->hash != key->hash || span->name != key->name || span->source != key->source ||
        span->place != key->place)
        return false;
    for (unsigned i = 0; i < n; i++)
        if (span->keys[i] != key->keys[i])
            return false;
    return true;
}

/* In the bucket's chain from PLACE on, returns the place of the first span with KEY, or of none. */
static inline uint32_t *find_from(struct spans *spans, uint32_t *place, const struct key *key,
                                  unsigned n_keys)
{
    while (*place != 0 && !has_key(get_open(spans, *place), key, n_keys))
        place = &get_open(spans, *place)->chain;
    return place;
}

static inline uint32_t *find(struct spans *spans, const struct key *key, unsigned n_keys)
{
    return find_from(spans, &spans->buckets[key->hash & (spans->n_buckets - 1)], key, n_keys);
}

static void take_from_ages(struct spans *spans, struct span_ages *ages, struct open_span *span)
{
    if (span->older != 0)
        get_open(spans, span->older)->newer = span->newer;
    else
        ages->oldest = span->newer;
    if (span->newer != 0)
        get_open(spans, span->newer)->older = span->older;
    else
        ages->newest = span->older;
    ages->n--;
}

/* Removes N from the chain of its key, which is at PLACE. */
static void take_from_chain(struct spans *spans, uint32_t *place, uint32_t n)
{
    struct open_span *span = get_open(spans, n);

    if (*place == n) {
        if (span->same_next != 0) {
            struct open_span *next = get_open(spans, span->same_next);

            next->same_prev = 0;
            next->last = span->last;
            next->chain = span->chain;
            *place = span->same_next;
        } else {
            *place = span->chain;
        }
    } else {
        get_open(spans, span->same_prev)->same_next = span->same_next;
        if (span->same_next != 0)
            get_open(spans, span->same_next)->same_prev = span->same_prev;
        else
            get_open(spans, *place)->last = span->same_prev;
    }
}

/* Puts N into the chain at PLACE, before or after others with the same key. */
static inline void put_in_chain(struct spans *spans, uint32_t *place, uint32_t n, bool in_front)
{
    struct open_span *span = get_open(spans, n);
    struct open_span *first;

    if (*place == 0) {
        span->same_next = span->same_prev = span->chain = 0;
        span->last = n;
        *place = n;
        return;
    }
    first = get_open(spans, *place);
    if (in_front) {
        span->same_prev = 0;
        span->same_next = *place;
        span->last = first->last;
        span->chain = first->chain;
        first->same_prev = n;
        *place = n;
    } else {
        span->same_next = 0;
        span->same_prev = first->last;
        get_open(spans, first->last)->same_next = n;
        first->last = n;
    }
}

/* Removes N, whose key's chain is at PLACE. */
static void take_out(struct spans *spans, uint32_t *place, uint32_t n)
{
    struct open_span *span = get_open(spans, n);

    take_from_chain(spans, place, n);
    take_from_ages(spans, span->early ? &spans->early : &spans->begun, span);
    span->chain = spans->free;
    spans->free = n;
    spans->n_open--;
}

/* Removes span N, which ended by FATE. */
static void give_up(struct spans *spans, uint32_t n, enum span_fate fate);

static _cold_ int grow(struct spans *spans)
{
    uint32_t room = spans->open_room == 0 ? 256 : spans->open_room * 2;
    char *open = realloc(spans->open, room * spans->open_size);
    uint32_t *buckets;

    if (!open)
        return -ENOMEM;
    spans->open = open;
    buckets = calloc(room, sizeof *buckets);
    if (!buckets)
        return -ENOMEM;
    /* The first of each key; the others hang on these. */
    for (uint32_t i = 0; i < spans->n_buckets; i++) {
        uint32_t n = spans->buckets[i];

        while (n != 0) {
            struct open_span *span = get_open(spans, n);
            uint32_t next = span->chain;
            uint32_t *place = &buckets[span->hash & (room - 1)];

            span->chain = *place;
            *place = n;
            n = next;
        }
    }
    free(spans->buckets);
    spans->buckets = buckets;
    spans->n_buckets = room;
    for (uint32_t n = room - 1; n >= MAX(spans->open_room, 1u); n--) {
        get_open(spans, n)->chain = spans->free;
        spans->free = n;
    }
    spans->open_room = room;
    return 0;
}

static inline bool selects(const struct spans *spans, const struct item *item)
{
    return likely(!spans->selects) || spans->selects(spans->arg, item);
}

/* Adds a span for KEY, before or after others with the same key. PLACE: the result of find(), or NULL if unknown. 0 if
 * out of memory. */
static inline __attribute__((always_inline)) uint32_t
put_in_shape(struct spans *spans, const struct key *key, uint32_t *place,
             const struct step_use *use, const struct item *item, bool early, bool in_front,
             struct rule_shape shape)
{
    struct span_ages *ages = early ? &spans->early : &spans->begun;
    struct open_span *span;
    uint32_t n;

    if (early && ages->n == EARLY_MAX) {
        give_up(spans, ages->oldest, SPAN_NO_BEGIN);
        place = NULL;
    }
    if (unlikely(spans->n_open == SPANS_OPEN_MAX)) {
        give_up(spans, ages->oldest, SPAN_GIVEN_UP);
        place = NULL;
    }
    if (unlikely(spans->free == 0)) {
        if (grow(spans) < 0)
            return 0;
        place = NULL;
    }
    if (unlikely(!place))
        place = find(spans, key, shape.n_found_by);
    n = spans->free;
    span = get_open(spans, n);
    spans->free = span->chain;
    spans->n_open++;
    span->hash = key->hash;
    span->sequence = spans->sequence;
    span->name = key->name;
    span->source = key->source;
    span->error_ns = item->error_ns;
    span->rule = (uint16_t)use->rule;
    span->step = (uint8_t)use->step;
    span->early = early;
    span->counted = selects(spans, item);
    span->clock_part = item->clock_part;
    span->place = key->place;
    for (unsigned i = 0; i < shape.n_keys; i++)
        span->keys[i] = key->keys[i];
    span->kind = use->kind;
    span->origin = item->origin;
    span->cpu = item->cpu;
    span->pid = item->pid;
    span->vcpu = item->vcpu;
    for (unsigned i = 0; i < shape.n_steps; i++)
        span->at[i] = TIME_UNKNOWN;
    span->at[use->step] = item->time;
    span->tag = 0;

    span->older = ages->newest;
    span->newer = 0;
    if (ages->newest != 0)
        get_open(spans, ages->newest)->newer = n;
    else
        ages->oldest = n;
    ages->newest = n;
    ages->n++;

    put_in_chain(spans, place, n, in_front);
    return n;
}

static uint32_t put_in(struct spans *spans, const struct key *key, uint32_t *place,
                       const struct step_use *use, const struct item *item, bool early,
                       bool in_front)
{
    return put_in_shape(spans, key, place, use, item, early, in_front, shape_of(spans, use->rule));
}

/* ---- begins and ends ---- */

static inline __attribute__((always_inline)) void
make_span_shape(const struct open_span *open, struct span *span, struct rule_shape shape)
{
    span->kind = open->kind;
    span->origin = open->origin;
    for (unsigned i = 0; i < shape.n_steps; i++)
        span->at[i] = open->at[i];
    span->cpu = open->cpu;
    span->pid = open->pid;
    span->vcpu = open->vcpu;
    span->error_ns = 0;
    span->begin_error_ns = open->error_ns;
    span->tag = open->tag;
}

static void end_without_end(struct spans *spans, const struct open_span *open, enum span_fate fate)
{
    struct span span;

    /* A step that came before its begin is nothing without that, unless it is the end. */
    if (open->early && open->step != open->kind->rule->n_steps - 1)
        return;
    open->kind->fates[fate] += open->counted;
    if (open->early || !spans->ops->incomplete)
        return;
    make_span_shape(open, &span, shape_of(spans, open->rule));
    span.error_ns = open->error_ns;
    spans->ops->incomplete(spans->arg, &span, fate);
}

/* The key by which SPAN is found. */
static struct key key_of(const struct spans *spans, const struct open_span *span)
{
    struct key key = {
        .hash = span->hash, .name = span->name, .source = span->source, .place = span->place};

    for (unsigned i = 0; i < spans->rule_keys[span->rule].n_found_by; i++)
        key.keys[i] = span->keys[i];
    return key;
}

static void give_up(struct spans *spans, uint32_t n, enum span_fate fate)
{
    struct open_span *span = get_open(spans, n);
    struct key key = key_of(spans, span);

    end_without_end(spans, span, fate);
    take_out(spans, find(spans, &key, spans->rule_keys[span->rule].n_found_by), n);
}

static inline bool begins_in_front(const struct span_rule *rule)
{
    return rule->again != SPAN_AGAIN_QUEUE;
}

/* Adds their source to the keys of open spans, whose rule was assumed to cross sources until now. */
static _cold_ int narrow(struct spans *spans)
{
    uint32_t next;

    for (uint32_t n = spans->early.oldest; n != 0; n = next) {
        const struct open_span *span = get_open(spans, n);

        next = span->newer;
        if (spans->rule_keys[span->rule].crossings == 0)
            give_up(spans, n, SPAN_NO_BEGIN);
    }
    for (uint32_t n = spans->begun.oldest; n != 0; n = next) {
        struct open_span *span = get_open(spans, n);
        const struct rule_keys *rule_keys = &spans->rule_keys[span->rule];
        struct key key = key_of(spans, span);
        const struct source_losses *source;

        next = span->newer;
        if (rule_keys->crossings != 0 || span->source != 0)
            continue;
        source = get_source(spans, span->origin);
        if (!source)
            return -ENOMEM;
        take_from_chain(spans, find(spans, &key, rule_keys->n_found_by), n);
        key.source = span->source = source->number;
        key.hash = span->hash = hash_key(&key, rule_keys->n_found_by);
        put_in_chain(spans, find(spans, &key, rule_keys->n_found_by), n,
                     begins_in_front(spans->rules[span->rule]));
    }
    spans->narrowed = false;
    return 0;
}

/* Finds what CLASS means, and which rules do not cross sources because of it. */
static _cold_ int find_steps(struct spans *spans, const struct event_class *class)
{
    int r = span_steps_find(spans, class);

    return r == 0 && spans->narrowed ? narrow(spans) : r;
}

/* Why SPAN has no end, if not by FATE. SOURCE: where its end would have been. */
static enum span_fate fate_of(const struct spans *spans, const struct open_span *span,
                              const struct source_losses *source, int32_t cpu, enum span_fate fate)
{
    if (may_have_ended(spans, span, source, cpu))
        return source->all == source->complete && lost_since(spans, span, source) ? SPAN_EARLY
                                                                                  : SPAN_LOST;
    return is_gone(spans, span) ? SPAN_GONE : fate;
}

/* True if a step of RULE after its first may be an event of ORIGIN. */
static bool may_go_on_in(const struct span_rule *rule, const struct origin *origin)
{
    for (unsigned i = 1; i < rule->n_steps; i++)
        if (rule->steps[i].layers == 0 || rule->steps[i].layers >> origin->layer & 1)
            return true;
    return false;
}

/* Why SPAN has no end at the end of the trace. Unlike in fate_of(), no end was seen. So the end may be lost with unique
 * keys, too, and in each source in which steps of the rule may be. */
static enum span_fate fate_at_finish(const struct spans *spans, const struct open_span *span)
{
    bool crosses = spans->rule_keys[span->rule].crossings != 0;
    enum span_fate fate = SPAN_OPEN;
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&spans->sources, &iter, &key, &value)) {
        const struct origin *origin = (const struct origin *)(uintptr_t)key;
        const struct source_losses *source = value;

        if (!(crosses ? may_go_on_in(spans->rules[span->rule], origin) : origin == span->origin))
            continue;
        /* Any thread may run where it ends, as in an interrupt. */
        if ((origin->pid_filter || origin->threads_only) &&
            spans->rules[span->rule]->place != SPAN_ON_THREAD)
            return SPAN_LOST;
        /* On the CPU that was cut, also if it began later than what is left of that. */
        if (origin->is_cut && spans->rules[span->rule]->place != SPAN_ON_CPU)
            return SPAN_LOST;
        if (!lost_since(spans, span, source))
            continue;
        if (source->all != source->complete)
            return SPAN_LOST;
        fate = SPAN_EARLY;
    }
    return fate == SPAN_OPEN && is_gone(spans, span) ? SPAN_GONE : fate;
}

/* True if OPEN, which was found for KEY, has the whole key. For a rule with one open span per place, it may be
 * another. */
static inline bool is_same(struct rule_shape shape, const struct open_span *open,
                           const struct step_use *use, const struct key *key)
{
    if (likely(shape.again != SPAN_AGAIN_REPLACE))
        return true;
    for (unsigned i = 0; i < shape.n_keys; i++)
        if (open->keys[i] != key->keys[i])
            return false;
    return open->kind == use->kind;
}

/* P4: the step at *PLACE, which is not the last, came before ITEM, the begin of its span. */
static int begin_late(struct spans *spans, uint32_t *place, const struct step_use *use,
                      const struct item *item, const struct key *key)
{
    struct open_span early = *get_open(spans, *place);
    int64_t at = get_open(spans, *place)->at[early.step];
    struct open_span *span;
    uint64_t tag = 0;
    uint32_t n;

    take_out(spans, place, *place);
    if (spans->ops->begin)
        tag = spans->ops->begin(spans->arg, use->kind, item);
    n = put_in(spans, key, NULL, use, item, false, begins_in_front(spans->rules[use->rule]));
    if (n == 0)
        return -ENOMEM;
    span = get_open(spans, n);
    span->at[early.step] = at;
    span->step = early.step;
    span->tag = tag;
    return 0;
}

/* P4: the end at *PLACE came before ITEM, its begin. */
static int complete_early(struct spans *spans, uint32_t *place, const struct step_use *use,
                          const struct item *item)
{
    struct open_span *early = get_open(spans, *place);
    unsigned last = use->kind->rule->n_steps - 1;
    struct span span = {.kind = use->kind,
                        .origin = item->origin,
                        .cpu = item->cpu,
                        .pid = item->pid,
                        .vcpu = item->vcpu,
                        .error_ns = clock_errors_sum(early->error_ns, item->error_ns),
                        .begin_error_ns = item->error_ns};

    for (unsigned i = 0; i < last; i++)
        span.at[i] = TIME_UNKNOWN;
    span.at[last] = early->at[last];
    span.at[0] = item->time;
    if (spans->ops->begin)
        span.tag = spans->ops->begin(spans->arg, use->kind, item);
    take_out(spans, place, *place);
    use->kind->fates[SPAN_COMPLETE] += selects(spans, item);
    return spans->ops->complete(spans->arg, &span, item);
}

/* True if STEP of RULE may follow step SEEN. */
static inline bool may_follow(const struct span_rule *rule, unsigned seen, unsigned step)
{
    if (seen >= step)
        return false;
    for (unsigned i = seen + 1; i < step; i++)
        if (!rule->steps[i].optional)
            return false;
    return true;
}

static inline __attribute__((always_inline)) int
begin(struct spans *spans, const struct step_use *use, const struct item *item,
      const struct key *key, const struct source_losses *source, struct rule_shape shape)
{
    const struct span_rule *rule = spans->rules[use->rule];
    uint32_t *place = NULL;
    uint64_t tag = 0;
    uint32_t n;

    if (likely(spans->n_buckets > 0)) {
        struct open_span *open;

        place = find(spans, key, shape.n_found_by);
        for (; unlikely(*place != 0); place = find_from(spans, place, key, shape.n_found_by)) {
            open = get_open(spans, *place);
            if (open->early) {
                if (is_same(shape, open, use, key) && may_follow(rule, 0, open->step) &&
                    (uint64_t)item->time - (uint64_t)open->at[open->step] <=
                        clock_errors_sum(open->error_ns, item->error_ns))
                    return open->step == shape.n_steps - 1
                               ? complete_early(spans, place, use, item)
                               : begin_late(spans, place, use, item, key);
                end_without_end(spans, open, SPAN_NO_BEGIN);
                take_out(spans, place, *place);
                continue;
            }
            if (shape.again == SPAN_AGAIN_NEST || shape.again == SPAN_AGAIN_QUEUE)
                break;
            if (shape.again == SPAN_AGAIN_FIRST &&
                !may_have_ended(spans, open, source, item->cpu) && !is_gone(spans, open)) {
                open->kind->fates[SPAN_AGAIN] += selects(spans, item);
                return 0;
            }
            end_without_end(spans, open, fate_of(spans, open, source, item->cpu, SPAN_AGAIN));
            take_out(spans, place, *place);
        }
    }
    if (spans->ops->begin)
        tag = spans->ops->begin(spans->arg, use->kind, item);
    n = put_in_shape(spans, key, place, use, item, false, shape.again != SPAN_AGAIN_QUEUE, shape);
    if (unlikely(n == 0))
        return -ENOMEM;
    get_open(spans, n)->tag = tag;
    return 0;
}

/* P4: the step ITEM, for which no span is open, may have come before the begin of its span. */
static int put_early(struct spans *spans, const struct step_use *use, const struct item *item,
                     const struct key *key)
{
    const struct rule_keys *rule_keys = &spans->rule_keys[use->rule];
    bool is_last = use->step == spans->rules[use->rule]->n_steps - 1;

    if (item->error_ns > 0 && rule_keys->crossings >> use->step & 1) {
        /* Of a step in between, only where it cannot be of a span that is open. */
        if (is_last || spans->n_buckets == 0 || *find(spans, key, rule_keys->n_found_by) == 0)
            return put_in(spans, key, NULL, use, item, true, false) == 0 ? -ENOMEM : 0;
        return 0;
    }
    if (is_last)
        use->kind->fates[SPAN_NO_BEGIN] += selects(spans, item);
    return 0;
}

/* True if the step ITEM may belong to OPEN, by its source. */
static inline bool may_be_of(const struct spans *spans, const struct open_span *open,
                             const struct step_use *use, const struct item *item)
{
    unsigned crossings = spans->rule_keys[use->rule].crossings;

    return likely(crossings == 0) || crossings >> use->step & 1 || open->origin == item->origin;
}

/* The end ITEM of SPAN states how long it took. This counts, not the times of the two events. */
static _cold_ void set_measured(const struct step_use *use, const struct item *item,
                                struct span *span)
{
    unsigned last = span->kind->rule->n_steps - 1;
    struct value to = item_value(item, (unsigned)use->measured_to);
    struct value from = {.present = true};
    uint64_t ns;

    if (use->measured_from >= 0)
        from = item_value(item, (unsigned)use->measured_from);
    ns = to.u - from.u;
    /* 0: it was not measured. */
    if (!to.present || !from.present || to.u == 0 || to.u < from.u || ns > INT64_MAX ||
        item->origin->clock.hz == 0)
        return;
    span->at[last] = ticks_sum(span->at[0], clock_from_ns(&item->origin->clock, ns));
    /* A text has seven digits of it. */
    span->error_ns = 0;
    for (uint64_t least = 10000000; use->measured_from < 0 && ns >= least && span->error_ns < 1000;
         least *= 10)
        span->error_ns = MAX(span->error_ns * 10, 10u);
}

/* ITEM is a step after the first. Returns 1 if it belongs to a span that was open, or that was given up here because it
 * may have ended before; 0 if it belongs to none. */
static inline __attribute__((always_inline)) int
go_on(struct spans *spans, const struct step_use *use, const struct item *item,
      const struct key *key, const struct source_losses *source, struct rule_shape shape)
{
    const struct span_rule *rule = spans->rules[use->rule];
    struct open_span *open;
    struct span span;
    bool may_be_end = false; /* of a span that may have ended before */
    uint32_t *place;
    uint32_t n = 0;
    int r;

    if (likely(spans->n_buckets > 0)) {
        place = find(spans, key, shape.n_found_by);
        n = *place;
    }
    /* The first of a list is the one to end next, by `again`; of a chain of steps, the first that got so far. */
    while (n != 0) {
        uint32_t next;

        open = get_open(spans, n);
        next = open->same_next;
        if (open->early || !is_same(shape, open, use, key))
            return 0;
        if (unlikely(!may_be_of(spans, open, use, item))) {
            n = next;
            continue;
        }
        if (unlikely(may_have_ended(spans, open, source, item->cpu) || is_gone(spans, open))) {
            may_be_end |= !is_gone(spans, open);
            end_without_end(spans, open, fate_of(spans, open, source, item->cpu, SPAN_LOST));
            take_out(spans, place, n);
        } else if (likely(may_follow(rule, open->step, use->step))) {
            break;
        }
        n = next;
    }
    if (n == 0)
        return may_be_end;
    if (use->step != shape.n_steps - 1) {
        open->at[use->step] = item->time;
        open->step = (uint8_t)use->step;
        spans->rule_keys[use->rule].went_on = use->begins_too;
        return 1;
    }
    make_span_shape(open, &span, shape);
    span.at[use->step] = item->time;
    if (likely(item->origin == open->origin))
        span.error_ns = clock_duration_error(item->origin, ticks_between(open->at[0], item->time),
                                             clock_parts_join(open->clock_part, item->clock_part),
                                             clock_errors_sum(open->error_ns, item->error_ns));
    else
        span.error_ns = clock_errors_sum(clock_end_error(open->origin, open->error_ns),
                                         clock_end_error(item->origin, item->error_ns));
    if (unlikely(use->measured_to >= 0))
        set_measured(use, item, &span);
    take_out(spans, place, n);
    span.kind = open->kind;
    open->kind->fates[SPAN_COMPLETE] += open->counted;
    r = spans->ops->complete(spans->arg, &span, item);
    return r < 0 ? r : 1;
}

/* True if ITEM has what USE needs. */
static inline __attribute__((always_inline)) bool
can_use(struct spans *spans, const struct step_use *use, const struct item *item,
        const struct source_losses *source, struct rule_shape shape, struct key *key)
{
    if (unlikely(use->condition) && !condition_holds(use->condition, item))
        return false;
    if (likely(make_key(spans, use, item, source->number, shape, key)))
        return true;
    use->kind->fates[SPAN_UNKEYED] += selects(spans, item);
    return false;
}

/* ITEM is at most one step of one span, by the N uses of a rule whose steps it may be. */
static inline __attribute__((always_inline)) int
put_step(struct spans *spans, const struct step_use *uses, unsigned n, const struct item *item,
         const struct source_losses *source, struct rule_shape shape)
{
    const struct step_use *missed = NULL;
    struct key key, missed_key;
    int r;

    if (likely(n == 1)) {
        if (!can_use(spans, uses, item, source, shape, &key))
            return 0;
        r = go_on(spans, uses, item, &key, source, shape);
        return unlikely(r == 0) ? put_early(spans, uses, item, &key) : MIN(r, 0);
    }
    for (unsigned i = 0; i < n; i++) {
        if (!can_use(spans, &uses[i], item, source, shape, &key))
            continue;
        r = go_on(spans, &uses[i], item, &key, source, shape);
        if (r != 0)
            return r < 0 ? r : 0;
        if (!missed) {
            missed = &uses[i];
            missed_key = key;
        }
    }
    return missed ? put_early(spans, missed, item, &missed_key) : 0;
}

static int end_thread(struct spans *spans, const struct class_steps *steps, const struct item *item)
{
    int32_t pid = kernel_ended_thread(&steps->thread_end, item);

    return likely(pid == PID_UNKNOWN) ? 0 : span_sources_end_thread(spans, item, pid);
}

/* Handles ITEM by USE and by the following uses of the same rule. A rule with two steps has no others in between. */
static inline __attribute__((always_inline)) int
put_use_shape(struct spans *spans, const struct step_use *use, const struct item *item,
              const struct source_losses *source, struct rule_shape shape)
{
    struct key key;

    if (use->step > 0)
        return put_step(spans, use, shape.n_steps == 2 ? 1 : use->n_same, item, source, shape);
    if (shape.n_steps > 2 && unlikely(spans->rule_keys[use->rule].went_on))
        spans->rule_keys[use->rule].went_on = false;
    else if (can_use(spans, use, item, source, shape, &key))
        return begin(spans, use, item, &key, source, shape);
    return 0;
}

static int put_use(struct spans *spans, const struct step_use *use, const struct item *item,
                   const struct source_losses *source)
{
    return put_use_shape(spans, use, item, source, shape_of(spans, use->rule));
}

static int put_steps(struct spans *spans, const struct class_steps *steps, const struct item *item)
{
    struct source_losses *source = get_source(spans, item->origin);

    if (!source)
        return -ENOMEM;
    if (unlikely(source->complete == SPAN_LOSS_HAS_BEGUN) &&
        item->time >= item->origin->complete_from)
        span_sources_complete(spans, source);
    for (const struct step_use *use = steps->uses, *end = use + steps->n; use != end;
         use += use->step == 0 ? 1 : use->n_same) {
        int r = likely(use->is_simple) ? put_use_shape(spans, use, item, source, SIMPLE_SHAPE)
                                       : put_use(spans, use, item, source);

        if (unlikely(r < 0))
            return r;
    }
    if (unlikely(steps->switches) && span_sources_put_switch(spans, item) < 0)
        return -ENOMEM;
    return unlikely(steps->thread_end.may) ? end_thread(spans, steps, item) : 0;
}

/* Counts events without a time. */
static _cold_ void count_unkeyed(const struct class_steps *steps)
{
    for (unsigned i = 0; i < steps->n; i++)
        steps->uses[i].kind->fates[SPAN_UNKEYED]++;
}

_hot_ int spans_put(struct spans *spans, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct item *item = &items[i];
        const struct class_steps *steps = NULL;
        int r = 0;

        if (unlikely(item->kind != ITEM_EVENT)) {
            r = span_sources_put_loss(spans, item);
            if (r >= 0 && item->before_loss)
                r = span_sources_begin_loss(spans, item);
            if (r < 0)
                return r;
            continue;
        }
        if (likely(item->class->index < spans->n_classes))
            steps = spans->classes[item->class->index];
        if (unlikely(!steps)) {
            r = find_steps(spans, item->class);
            if (r < 0)
                return r;
            steps = spans->classes[item->class->index];
        }
        if (steps->is_nothing && !item->before_loss)
            continue;
        if (unlikely(item->time == TIME_UNKNOWN))
            count_unkeyed(steps);
        else if (!steps->is_nothing)
            r = put_steps(spans, steps, item);
        if (unlikely(item->before_loss) && r >= 0)
            r = span_sources_begin_loss(spans, item);
        if (unlikely(r < 0))
            return r;
    }
    return 0;
}

int spans_begin_loss(struct spans *spans, const struct item *item)
{
    return span_sources_begin_loss(spans, item);
}

int spans_concern(struct spans *spans, const struct event_class *class)
{
    if (class->index >= spans->n_classes || !spans->classes[class->index]) {
        int r = find_steps(spans, class);

        if (r < 0)
            return r;
    }
    return !spans->classes[class->index]->is_nothing;
}

uint64_t *spans_open_tag(struct spans *spans, unsigned rule, const struct item *item)
{
    const struct source_losses *source;
    struct step_use use = {.rule = rule};
    struct open_span *open;
    struct key key;
    uint32_t n;

    if (!spans_has_open(spans))
        return NULL;
    source = get_source(spans, item->origin);
    use.name = span_steps_name(spans, rule, "", 0);
    if (!source || !make_key(spans, &use, item, source->number, SIMPLE_SHAPE, &key))
        return NULL;
    n = *find(spans, &key, 0);
    if (n == 0)
        return NULL;
    open = get_open(spans, n);
    return open->early || may_have_ended(spans, open, source, item->cpu) ? NULL : &open->tag;
}

/* ---- life ---- */

int spans_add_rule(struct spans *spans, const struct span_rule *rule)
{
    struct rule_keys *rule_keys =
        realloc(spans->rule_keys, (spans->n_rules + 1) * sizeof *rule_keys);
    const struct span_rule **rules;
    struct rule_keys *keys;

    if (!rule_keys)
        return -ENOMEM;
    spans->rule_keys = rule_keys;
    rules = realloc(spans->rules, (spans->n_rules + 1) * sizeof *rules);
    if (!rules)
        return -ENOMEM;
    spans->rules = rules;
    keys = &rule_keys[spans->n_rules];
    *keys = (struct rule_keys){.has_star = true};
    keys->n_found_by = rule->again == SPAN_AGAIN_REPLACE ? 0 : rule->n_keys;
    for (unsigned i = 0; i < rule->n_steps; i++)
        keys->has_star = keys->has_star && strchr(rule->steps[i].event, '*');
    spans->has_threads = spans->has_threads || rule->place == SPAN_ON_THREAD;
    spans->has_vcpus = spans->has_vcpus || rule->place == SPAN_ON_VCPU;
    if (!spans->open)
        spans->open_size =
            MAX(spans->open_size, sizeof(struct open_span) + rule->n_steps * sizeof(int64_t));
    rules[spans->n_rules++] = rule;
    span_steps_forget(spans, rule);
    return (int)spans->n_rules - 1;
}

int spans_init(struct spans *spans, const struct catalogue *catalogue,
               const struct span_rule *rules, unsigned n_rules, const struct spans_ops *ops,
               void *arg)
{
    *spans = (struct spans){.catalogue = catalogue,
                            .ops = ops,
                            .arg = arg,
                            .open_size = sizeof(struct open_span) + 2 * sizeof(int64_t)};
    for (unsigned i = 0; i < n_rules; i++)
        if (spans_add_rule(spans, &rules[i]) < 0)
            return -ENOMEM;
    return 0;
}

void spans_finish(struct spans *spans)
{
    while (spans->early.n > 0)
        give_up(spans, spans->early.oldest, SPAN_NO_BEGIN);
    while (spans->begun.n > 0) {
        uint32_t n = spans->begun.oldest;

        give_up(spans, n, fate_at_finish(spans, get_open(spans, n)));
    }
}

void spans_done(struct spans *spans)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&spans->sources, &iter, &key, &value))
        free(((struct source_losses *)value)->cpus);
    map_done(&spans->sources);
    map_done(&spans->ended_threads);
    for (unsigned i = 0; i < spans->n_rules; i++)
        map_done(&spans->rule_keys[i].names);
    free(spans->rule_keys);
    free(spans->rules);
    free(spans->classes);
    free(spans->kinds);
    free(spans->open);
    free(spans->buckets);
    arena_done(&spans->arena);
    *spans = (struct spans){0};
}
