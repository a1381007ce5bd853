/* SPDX-License-Identifier: MIT */
/* Conditions about the share of time in which threads wait for a CPU, or in which time is stolen from vCPUs.
 *
 * The waits in the window and in twice the length of the share before it are collected as stretches and sorted. Those
 * of each vCPU or thread are contiguous in the array and do not overlap. The largest share in any stretch of the given
 * length ends where a wait ends. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/states/steal.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/ticks.h"
#include "tracedir/manifest.h"
#include "watch/rule.h"

#define STRETCHES_MAX (UINT32_C(1) << 20)

/* A wait of a vCPU or thread, from `begin` to `end`. */
struct stretch {
    uint64_t key;
    int64_t begin, end;
    const struct origin *origin;
    int32_t id; /* of the vCPU or thread */
    char name[STATE_NAME_SIZE];
};

struct stretches {
    struct stretch *items;
    uint32_t n, room;
};

/* Keys of vCPUs and threads that were over the limit, ascending. */
struct key_set {
    uint64_t *keys;
    unsigned n;
};

struct on_share {
    struct watch_rule rule;
    struct states states;
    bool has_states;
    struct steal steal; /* decides which waits of vCPUs count */
    struct stretches waits;
    struct key_set over; /* at the end of the previous window */
};

static struct on_share *self_of(struct watch_rule *rule)
{
    return container_of(rule, struct on_share, rule);
}

static bool is_of_vcpus(const struct on_share *self)
{
    return !self->rule.condition->share.task;
}

static int add(struct stretches *list, const struct stretch *stretch)
{
    if (list->n == STRETCHES_MAX)
        return 0;
    if (list->n == list->room) {
        uint32_t room = list->room ? list->room * 2 : 1024;
        struct stretch *bigger = realloc(list->items, room * sizeof *bigger);

        if (!bigger)
            return -ENOMEM;
        list->items = bigger;
        list->room = room;
    }
    list->items[list->n++] = *stretch;
    return 0;
}

/* Returns a key that is the same in all windows, because origins are not. */
static uint64_t key_of(const struct on_share *self, const struct origin *origin, int32_t id)
{
    const struct trace *trace = self->rule.window->trace;
    const struct trace_input *input = &trace->inputs[trace_input_of(trace, origin)];
    const char *name = input->recorded ? input->recorded->name : "";

    return hash_mix(hash_bytes(name, strlen(name)), (uint32_t)id);
}

static int add_of_vcpu(struct on_share *self, int32_t vcpu, const struct origin *origin,
                       int64_t begin, int64_t end)
{
    const struct stretch stretch = {.key = key_of(self, origin, vcpu),
                                    .begin = begin,
                                    .end = end,
                                    .origin = origin,
                                    .id = vcpu};

    return add(&self->waits, &stretch);
}

/* Counts a wait, unless the guest's CPU is known to be idle. */
static int put_wait(void *arg, const struct steal_wait *wait)
{
    return wait->part == STEAL_STOLEN_IDLE
               ? 0
               : add_of_vcpu(arg, wait->vcpu, wait->origin, wait->begin, wait->end);
}

static int put_vcpu(struct on_share *self, const struct state_interval *interval)
{
    const struct origin *origin = interval->origin;
    const void *vm = steal_vm(interval);
    bool is_guest = origin->layer == LAYER_GUEST;
    int32_t vcpu = interval->of == STATE_SUBJECT_VCPU ? interval->id : interval->vcpu;

    if (interval->of == STATE_SUBJECT_CPU)
        return is_guest && self->rule.condition->kind == WATCH_STOLEN
                   ? steal_put(&self->steal, vm, interval)
                   : 0;
    if (is_guest || vcpu == VCPU_UNKNOWN)
        return 0;
    if (vm)
        return steal_put(&self->steal, vm, interval);
    return state_waits((enum state)interval->state)
               ? add_of_vcpu(self, vcpu, origin, interval->begin, interval->end)
               : 0;
}

static int put_interval(struct on_share *self, const struct state_interval *interval)
{
    struct stretch stretch;

    if (is_of_vcpus(self))
        return put_vcpu(self, interval);
    if (interval->of != STATE_SUBJECT_THREAD || !state_waits((enum state)interval->state) ||
        !glob_match(self->rule.condition->share.task, interval->name))
        return 0;
    stretch = (struct stretch){
        .key = key_of(self, interval->origin, interval->id),
        .begin = interval->begin,
        .end = interval->end,
        .origin = interval->origin,
        .id = interval->id,
    };
    snprintf(stretch.name, sizeof stretch.name, "%s", interval->name ? interval->name : "");
    return add(&self->waits, &stretch);
}

static int put_intervals(void *arg, const struct state_interval *intervals, unsigned n)
{
    int r = 0;

    for (unsigned i = 0; i < n && r >= 0; i++)
        r = put_interval(arg, &intervals[i]);
    return r;
}

static int begin(struct watch_rule *rule)
{
    static const struct states_ops ops = {put_intervals};
    struct on_share *self = self_of(rule);

    states_init(&self->states, &ops, self);
    self->steal = (struct steal){.put_wait = put_wait, .arg = self};
    self->states.wanted = STATE_SUBJECTS(STATE_SUBJECT_THREAD);
    if (is_of_vcpus(self))
        self->states.wanted |=
            STATE_SUBJECTS(STATE_SUBJECT_VCPU) | STATE_SUBJECTS(STATE_SUBJECT_CPU);
    self->has_states = true;
    return 0;
}

static int put(struct watch_rule *rule, const struct item *items, unsigned n)
{
    return states_put(&self_of(rule)->states, items, n);
}

static int begin_loss(struct watch_rule *rule, const struct item *item)
{
    states_begin_loss(&self_of(rule)->states, item);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool contains(const struct key_set *set, uint64_t key)
{
    return set->n > 0 && bsearch(&key, set->keys, set->n, sizeof *set->keys, compare_keys);
}

static int add_key(struct key_set *set, uint64_t key)
{
    uint64_t *bigger = realloc(set->keys, (set->n + 1) * sizeof *bigger);

    if (!bigger)
        return -ENOMEM;
    set->keys = bigger;
    set->keys[set->n++] = key;
    return 0;
}

/* The share of one vCPU or thread. */
struct peak {
    /* Longest waiting time in ns in a stretch of the given length, and the end of this stretch. */
    int64_t most, at;
    int64_t last;    /* … in the stretch that ends with the window */
    int64_t over_at; /* end of the first stretch over the limit; 0: none */
};

/* Finds the peak in N sorted stretches without overlap. */
static struct peak find_peak(const struct on_share *self, const struct stretch *stretches,
                             uint32_t n, int64_t limit)
{
    const struct live_window *window = self->rule.window;
    int64_t length = self->rule.condition->share.ns, sum = 0;
    struct peak peak = {0};
    uint32_t first = 0;

    for (uint32_t i = 0; i <= n; i++) {
        /* After the last one: up to the end of the window. */
        int64_t end = i < n ? MIN(stretches[i].end, window->to) : window->to;
        int64_t waited;

        if (i < n)
            sum += ticks_between(stretches[i].begin, end);
        for (; first < i && stretches[first].end <= end - length; first++)
            sum -= ticks_between(stretches[first].begin, stretches[first].end);
        /* The first one may reach out of it. */
        waited = sum;
        if (first < n && stretches[first].begin < end - length)
            waited -= end - length - stretches[first].begin;
        if (i == n)
            peak.last = waited;
        if (end <= window->from)
            continue;
        if (waited > peak.most) {
            peak.most = waited;
            peak.at = end;
        }
        if (waited > limit && peak.over_at == 0)
            peak.over_at = end;
    }
    return peak;
}

static void describe(const struct on_share *self, const struct stretch *stretch,
                     const struct peak *peak, struct text *text)
{
    const struct watch_condition *condition = self->rule.condition;

    text_printf(text, "%.1f%% of the %.3gs before ",
                (double)peak->most * 100 / (double)condition->share.ns,
                (double)condition->share.ns / 1e9);
    text_printf(text, "%" PRId64 ".%06" PRId64, peak->at / 1000000000,
                peak->at % 1000000000 / 1000);
    if (is_of_vcpus(self))
        text_printf(text, " of vCPU %" PRId32, stretch->id);
    watch_put_where(text, self->rule.window, stretch->origin,
                    is_of_vcpus(self) ? NULL : stretch->name,
                    is_of_vcpus(self) ? PID_UNKNOWN : stretch->id);
}

static int end(struct watch_rule *rule, struct watch_match *match)
{
    struct on_share *self = self_of(rule);
    const struct watch_condition *condition = rule->condition;
    int64_t limit = condition->share.ns / 1000 * condition->share.permille, most = 0;
    struct key_set over = {0};
    int r = states_finish(&self->states);

    if (r >= 0)
        r = steal_finish(&self->steal);
    if (self->waits.n > 0)
        qsort(self->waits.items, self->waits.n, sizeof *self->waits.items, compare);
    for (uint32_t i = 0, n; r >= 0 && i < self->waits.n; i += n) {
        const struct stretch *stretches = &self->waits.items[i];
        struct peak peak;

        for (n = 1; i + n < self->waits.n && stretches[n].key == stretches->key;)
            n++;
        peak = find_peak(self, stretches, n, limit);
        if (peak.last > limit)
            r = add_key(&over, stretches->key);
        if (peak.over_at == 0 || contains(&self->over, stretches->key))
            continue;
        if (match->n++ == 0 || peak.over_at < match->ns)
            match->ns = peak.over_at;
        if (peak.most > most) {
            most = peak.most;
            match->text.next = match->text.start;
            describe(self, stretches, &peak, &match->text);
        }
    }
    if (match->n > 1)
        text_printf(&match->text, ", and %" PRIu64 " more", match->n - 1);
    free(self->over.keys);
    self->over = over;
    return r;
}

static void clear(struct watch_rule *rule)
{
    struct on_share *self = self_of(rule);

    if (self->has_states)
        states_done(&self->states);
    self->has_states = false;
    steal_done(&self->steal);
    free(self->waits.items);
    self->waits = (struct stretches){0};
}

static void idle(struct watch_rule *rule, int64_t from, int64_t to)
{
    (void)from;
    (void)to;
    free(self_of(rule)->over.keys);
    self_of(rule)->over = (struct key_set){0};
}

static void free_rule(struct watch_rule *rule)
{
    free(self_of(rule)->over.keys);
    free(self_of(rule));
}

struct watch_rule *watch_on_share(const struct watch_condition *condition)
{
    static const struct watch_rule_ops ops = {.begin = begin,
                                              .put = put,
                                              .begin_loss = begin_loss,
                                              .end = end,
                                              .clear = clear,
                                              .idle = idle,
                                              .free = free_rule};
    struct on_share *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    self->rule.ops = &ops;
    self->rule.condition = condition;
    self->rule.look_back = 2 * condition->share.ns;
    return &self->rule;
}
