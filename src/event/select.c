/* SPDX-License-Identifier: MIT */
#include "event/select.h"

#include <ctype.h>
#include <string.h>

#include "base/macro.h"
#include "base/ticks.h"
#include "base/wide.h"
#include "event/class_map.h"
#include "event/source.h"

enum {
    SELECT_UNDECIDED,
    SELECT_NO,
    SELECT_YES,
};

/* After this many consecutive items later than `to`, no later item can be before it: sources are out of
 * order by at most SOURCE_DISORDER_MAX items. */
#define AFTER_ENOUGH (4 * SOURCE_DISORDER_MAX)

int select_parse_time(void *member, const char *value, struct error *error)
{
    struct time_limit limit = {.given = true};
    const char *p = value;
    bool negative = false;
    uint32_t unit = NANOSECONDS;

    if (*p == '+' || *p == '-') {
        limit.relative = *p == '+';
        negative = *p == '-';
        p++;
    }
    if (!isdigit((unsigned char)*p))
        return error_set(error, -EINVAL, NULL,
                         "is not a time (examples: 12.5 for seconds, +0.5 for half a second "
                         "after the start of the trace)");
    for (; isdigit((unsigned char)*p); p++)
        if (__builtin_mul_overflow(limit.whole, 10, &limit.whole) ||
            __builtin_add_overflow(limit.whole, *p - '0', &limit.whole))
            return error_set(error, -EINVAL, NULL, "is too large a time");
    if (*p == '.') {
        limit.fraction = true;
        for (p++; isdigit((unsigned char)*p); p++) {
            unit /= 10;
            if (unit == 0)
                return error_set(error, -EINVAL, NULL, "has more than nine decimals");
            limit.ns += unit * (uint32_t)(*p - '0');
        }
    }
    if (*p != '\0')
        return error_set(error, -EINVAL, NULL, "is not a time: unexpected '%s'", p);
    if (negative) {
        limit.whole = -limit.whole - (limit.ns > 0);
        limit.ns = limit.ns > 0 ? NANOSECONDS - limit.ns : 0;
    }
    *(struct time_limit *)member = limit;
    return 0;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a;
    const struct range *y = b;

    return (x->low > y->low) - (x->low < y->low);
}

/* Sorts and joins those that touch. */
static void tidy_ranges(struct ranges *ranges)
{
    unsigned n = 0;

    qsort(ranges->items, ranges->n, sizeof *ranges->items, compare_ranges);
    for (unsigned i = 0; i < ranges->n; i++) {
        struct range range = ranges->items[i];
        if (n > 0 && range.low <= (uint64_t)ranges->items[n - 1].high + 1)
            ranges->items[n - 1].high = MAX(ranges->items[n - 1].high, range.high);
        else
            ranges->items[n++] = range;
    }
    ranges->n = n;
}

int select_parse_ranges(void *member, const char *value, struct error *error)
{
    struct ranges *ranges = member;
    const char *p = value;

    for (;;) {
        struct range range;
        struct range *bigger;

        if (range_parse(&p, NULL, &range) < 0 || range.high < range.low || range.high > INT32_MAX)
            return error_set(error, -EINVAL, NULL, "is not a list of numbers like 0,2-5");
        bigger = realloc(ranges->items, (ranges->n + 1) * sizeof *bigger);
        if (!bigger)
            return -ENOMEM;
        ranges->items = bigger;
        ranges->items[ranges->n++] = range;
        if (*p == '\0')
            break;
        if (*p++ != ',')
            return error_set(error, -EINVAL, NULL, "is not a list of numbers like 0,2-5");
    }
    tidy_ranges(ranges);
    return 0;
}

int select_parse_layers(void *member, const char *value, struct error *error)
{
    unsigned *layers = member;
    char name[16];

    for (;;) {
        size_t len = strcspn(value, ",");
        enum layer layer;

        memcpy(name, value, MIN(len, sizeof name - 1));
        name[MIN(len, sizeof name - 1)] = '\0';
        if (layer_by_name(name, &layer) < 0)
            return error_set(error, -EINVAL, NULL,
                             "is not a list of layers: vmm, hypervisor, guest, host, program");
        *layers |= 1u << layer;
        if (value[len] == '\0')
            return 0;
        value += len + 1;
    }
}

void select_options_done(struct select_options *options)
{
    strings_done(&options->events);
    free(options->cpus.items);
    free(options->pids.items);
    free(options->vcpus.items);
    *options = (struct select_options){0};
}

static bool limits_places(const struct select_options *options)
{
    return options->cpus.n > 0 || options->pids.n > 0 || options->vcpus.n > 0;
}

static bool limits_times(const struct select_options *options)
{
    return options->from.given || options->to.given;
}

bool selection_limits_rows(const struct select_options *options)
{
    return limits_places(options) || limits_times(options);
}

bool select_is_part(const struct select_options *options)
{
    return selection_limits_rows(options) || options->limited;
}

bool selection_is_part(const struct selection *selection)
{
    const struct select_options *options = selection->options;

    return selection->of_rows ? limits_times(options) || options->limited : select_is_part(options);
}

static int init(struct selection *selection, const struct select_options *options, bool of_rows)
{
    struct selection s = {.options = options, .left = UINT64_MAX, .of_rows = of_rows};

    if (options->limited)
        s.left = options->limit;
    s.all = options->events.n == 0 && !limits_times(options) &&
            (of_rows || !limits_places(options)) && options->layers == 0 && !options->limited;
    s.matched = calloc(options->events.n + 1, sizeof *s.matched);
    if (!s.matched)
        return -ENOMEM;
    *selection = s;
    return 0;
}

int selection_init(struct selection *selection, const struct select_options *options)
{
    return init(selection, options, false);
}

int selection_init_rows(struct selection *selection, const struct select_options *options)
{
    return init(selection, options, true);
}

int selection_init_times(struct selection *selection, int64_t from, int64_t to)
{
    static const struct select_options times = {.from.given = true, .to.given = true};
    int r = init(selection, &times, false);

    selection->started = true;
    selection->from = selection->rows_from = from;
    selection->to = selection->rows_to = to;
    return r;
}

void selection_done(struct selection *selection)
{
    free(selection->classes);
    free(selection->matched);
    *selection = (struct selection){0};
}

/* A class that no pattern matches is selected only if the first pattern excludes. */
static bool choose(struct selection *selection, const struct event_class *class)
{
    const struct strings *patterns = &selection->options->events;
    bool chosen = patterns->n == 0 || patterns->items[0][0] == '-';

    for (unsigned i = 0; i < patterns->n; i++) {
        const char *pattern = patterns->items[i];
        bool leaves_out = *pattern == '-';

        if (event_class_matches(class, pattern + leaves_out)) {
            chosen = !leaves_out;
            selection->matched[i] = true;
        }
    }
    return chosen;
}

static _cold_ int decide_class(struct selection *selection, const struct event_class *class)
{
    if (class_map_grow(selection->classes, selection->n_classes, class) < 0)
        return -ENOMEM;
    selection->classes[class->index] = choose(selection, class) ? SELECT_YES : SELECT_NO;
    return selection->classes[class->index];
}

int selection_has_class(struct selection *selection, const struct event_class *class)
{
    int r;

    if (likely(class->index < selection->n_classes &&
               selection->classes[class->index] != SELECT_UNDECIDED))
        return selection->classes[class->index] == SELECT_YES;
    r = decide_class(selection, class);
    return r < 0 ? r : r == SELECT_YES;
}

static bool in_ranges(const struct ranges *ranges, int32_t number)
{
    unsigned low = 0;
    unsigned high = ranges->n;

    if (number < 0)
        return false;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        if ((uint32_t)number > ranges->items[middle].high)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ranges->n && (uint32_t)number >= ranges->items[low].low;
}

bool ranges_include(const struct ranges *ranges, int32_t number)
{
    return ranges->n == 0 || in_ranges(ranges, number);
}

int64_t time_limit_ticks(const struct time_limit *limit, uint64_t hz, int64_t first, bool end)
{
    wide ns, ticks;

    if (hz == 0) {
        ticks = wide_add(wide_sum(limit->whole, limit->relative ? first : 0), wide_of(end));
    } else {
        ns = wide_add(wide_product(limit->whole, NANOSECONDS), wide_of((int64_t)limit->ns + end));
        if (limit->relative)
            ns = wide_add(ns, wide_div(wide_product(first, NANOSECONDS), wide_of_u64(hz)));
        /* Rounded up. */
        ticks = wide_mul(ns, wide_of_u64(hz));
        if (wide_is_less(wide_of(0), ticks))
            ticks = wide_add(ticks, wide_of(NANOSECONDS - 1));
        ticks = wide_div(ticks, wide_of(NANOSECONDS));
    }
    return wide_clamp(ticks);
}

/* Items around the times of rows are read, too. Where the rate of the clock is not known, these are all. */
static void widen(struct selection *selection)
{
    wide around = wide_div(wide_mul(wide_of(SELECT_AROUND_NS), wide_of_u64(selection->hz)),
                           wide_of(NANOSECONDS));

    if (selection->hz == 0) {
        selection->from = INT64_MIN;
        selection->to = INT64_MAX;
        return;
    }
    if (selection->options->from.given)
        selection->from = wide_clamp(wide_sub(wide_of(selection->from), around));
    if (selection->options->to.given)
        selection->to = wide_clamp(wide_add(wide_of(selection->to), around));
}

/* Turns the time limits into ticks, once the clock and the first time are known. */
static int start(struct selection *selection, const struct item *item, struct error *error)
{
    const struct select_options *options = selection->options;
    uint64_t hz = item->origin->clock.hz;

    if (hz == 0 && ((options->from.given && options->from.fraction) ||
                    (options->to.given && options->to.fraction)))
        return error_set(error, -EINVAL, item->origin->path,
                         "the rate of its clock is not known: give time limits in whole "
                         "ticks, or the rate (--cpu-hz)");
    selection->from = INT64_MIN;
    selection->to = INT64_MAX; /* INT64_MAX itself is excluded */
    selection->first = item->time;
    if (options->from.given)
        selection->from = time_limit_ticks(&options->from, hz, item->time, false);
    if (options->to.given)
        selection->to = time_limit_ticks(&options->to, hz, item->time, true);
    selection->hz = hz;
    selection->rows_from = selection->from;
    selection->rows_to = selection->to;
    if (selection->of_rows)
        widen(selection);
    selection->started = true;
    return 0;
}

static inline bool is_after(const struct selection *selection, const struct item *item)
{
    return item->time >= selection->to && selection->options->to.given;
}

/* Where a vCPU has a name (format/xentrace/xentrace.h), its number within its domain is the lower half. */
static int32_t vcpu_number(const struct origin *origin, int32_t vcpu)
{
    return vcpu != VCPU_UNKNOWN && origin->put_vcpu ? vcpu & 0xffff : vcpu;
}

static bool has_row_on_cpu(const struct selection *selection, const struct origin *origin,
                           int64_t time, int32_t pid, int32_t vcpu)
{
    const struct select_options *options = selection->options;

    return selection_has_time(selection, time) && ranges_include(&options->pids, pid) &&
           ranges_include(&options->vcpus, vcpu_number(origin, vcpu));
}

bool selection_has_row(const struct selection *selection, const struct origin *origin, int64_t time,
                       int32_t cpu, int32_t pid, int32_t vcpu)
{
    return ranges_include(&selection->options->cpus, cpu) &&
           has_row_on_cpu(selection, origin, time, pid, vcpu);
}

bool selection_lacks_cpu(const struct selection *selection, const struct origin *origin,
                         int64_t time, int32_t cpu, int32_t pid, int32_t vcpu)
{
    return cpu < 0 && selection->options->cpus.n > 0 &&
           has_row_on_cpu(selection, origin, time, pid, vcpu);
}

int64_t selection_time_within(const struct selection *selection, int64_t begin, int64_t end)
{
    if (selection->started) {
        begin = MAX(begin, selection->rows_from);
        end = MIN(end, selection->rows_to);
    }
    return begin < end ? ticks_between(begin, end) : 0;
}

unsigned selection_next_in_time(const struct selection *selection, const struct item *items,
                                unsigned n, unsigned *start)
{
    unsigned from = *start, to;

    if (!limits_times(selection->options))
        return n - from;
    while (from < n && items[from].time != TIME_UNKNOWN &&
           !selection_has_time(selection, items[from].time))
        from++;
    for (to = from; to < n && (items[to].time == TIME_UNKNOWN ||
                               selection_has_time(selection, items[to].time));
         to++)
        ;
    *start = from;
    return to - from;
}

/* Whether the place of ITEM is selected. The lost events may have been of any class or thread. */
static inline bool has_place(const struct select_options *options, const struct item *item,
                             bool is_event)
{
    if (options->cpus.n && (is_event || item->cpu >= 0) && !in_ranges(&options->cpus, item->cpu))
        return false;
    if (options->vcpus.n && (is_event || item->vcpu >= 0) &&
        !in_ranges(&options->vcpus, vcpu_number(item->origin, item->vcpu)))
        return false;
    return !is_event || !options->pids.n || in_ranges(&options->pids, item->pid);
}

/* Returns 1 if selected. */
static inline int test(struct selection *selection, const struct item *item)
{
    const struct select_options *options = selection->options;
    bool is_event = item->kind == ITEM_EVENT;

    if (options->layers && !(options->layers >> item->origin->layer & 1))
        return 0;
    if (unlikely(!selection->started || item->time == TIME_UNKNOWN))
        return 1; /* a loss without a time */
    /* A loss without an end goes on in what is selected. */
    if (item->time < selection->from && (is_event || !item->is_open))
        return 0;
    if (is_after(selection, item))
        return 0;
    if (!selection->of_rows && !has_place(options, item, is_event))
        return 0;
    return !is_event || options->events.n == 0 ? 1 : selection_has_class(selection, item->class);
}

bool selection_has_loss_after(struct selection *selection, const struct item *item)
{
    struct item loss = *item;

    loss.kind = ITEM_LOSS;
    loss.is_open = false;
    loss.vcpu = VCPU_UNKNOWN;
    return test(selection, &loss) > 0;
}

int selection_next_run(struct selection *selection, const struct item *items, unsigned n,
                       unsigned *start_at, struct error *error)
{
    unsigned i = *start_at;
    unsigned from;
    int r = 0;

    if (selection->all || i == n)
        return (int)(n - i);
    for (unsigned j = i; unlikely(!selection->started) && j < n; j++) {
        if (items[j].time != TIME_UNKNOWN && (r = start(selection, &items[j], error)) < 0)
            return r;
    }
    for (; i < n && (r = test(selection, &items[i])) == 0; i++)
        selection->n_after = is_after(selection, &items[i]) ? selection->n_after + 1 : 0;
    if (r < 0)
        return r;
    if (i < n)
        selection->n_after = 0;
    for (from = i; i < n && selection->left > 0; i++) {
        r = i == from ? 1 : test(selection, &items[i]);
        if (r < 0)
            return r;
        if (r == 0)
            break;
        if (items[i].kind == ITEM_EVENT &&
            (!selection->of_rows || items[i].time >= selection->rows_from))
            selection->left--;
    }
    *start_at = from;
    return (int)(i - from);
}

bool selection_start(const struct selection *selection, int64_t *ret_time)
{
    if (!selection->started || !selection->options->from.given || selection->from == INT64_MIN)
        return false;
    *ret_time = selection->from;
    return true;
}

bool selection_is_over(const struct selection *selection)
{
    return selection->left == 0 || selection->n_after >= AFTER_ENOUGH;
}

void selection_get_end(const struct selection *selection, struct selection_end *ret)
{
    *ret = (struct selection_end){.is_given = selection->options->to.given,
                                  .to = selection->to,
                                  .n_after = selection->n_after};
}

bool selection_end_pass(struct selection_end *end, const struct item *items, unsigned n)
{
    if (!end->is_given)
        return false;
    for (unsigned i = 0; i < n; i++)
        end->n_after = items[i].time >= end->to ? end->n_after + 1 : 0;
    return end->n_after >= AFTER_ENOUGH;
}

void selection_unmatched(struct selection *selection, struct event_class *const *classes,
                         unsigned n, void (*put)(void *arg, const char *pattern), void *arg)
{
    const struct strings *patterns = &selection->options->events;

    if (patterns->n == 0)
        return;
    for (unsigned i = 0; i < n; i++)
        choose(selection, classes[i]);
    for (unsigned i = 0; i < patterns->n; i++)
        if (!selection->matched[i])
            put(arg, patterns->items[i]);
}
