/* SPDX-License-Identifier: MIT */
#include "analysis/path/wakes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/origin_key.h"
#include "base/macro.h"
#include "event/class_map.h"
#include "event/kernel_event.h"
#include "event/value.h"

/* common_flags of the kernel's events: in an interrupt, in a softirq. */
#define IN_INTERRUPT 0x18

enum wake_role {
    ROLE_NONE,
    ROLE_WAKE,
    ROLE_HANDLER_BEGINS,
    ROLE_SOFTIRQ_BEGINS,
    ROLE_TIMER_BEGINS,
    ROLE_OTHER_BEGINS,
    ROLE_ENDS,
    ROLE_COMPLETE,
};

struct wake_class {
    bool known;
    uint8_t role; /* enum wake_role */
    int16_t number, name;
    const char *vector; /* of ROLE_OTHER_BEGINS: "reschedule" */
};

struct wake_cpu {
    struct wake_cause nested[WAKES_NESTED];
    unsigned depth;          /* may be more than are kept */
    struct wake_cause ended; /* the last one, if … */
    bool has_ended;
    bool knows_flags; /* of its source: events tell whether they are in an interrupt */
};

static _cold_ int add_class(struct wakes *wakes, const struct item *item)
{
    static const struct {
        const char *group, *name;
        enum wake_role role;
        const char *number, *text;
    } events[] = {
        {"sched", "sched_waking", ROLE_WAKE, "pid", NULL},
        {"sched", "sched_wakeup", ROLE_WAKE, "pid", NULL},
        {"sched", "sched_wakeup_new", ROLE_WAKE, "pid", NULL},
        {"irq", "irq_handler_entry", ROLE_HANDLER_BEGINS, "irq", "name"},
        {"irq", "irq_handler_exit", ROLE_ENDS, NULL, NULL},
        {"irq", "softirq_entry", ROLE_SOFTIRQ_BEGINS, "vec", NULL},
        {"irq", "softirq_exit", ROLE_ENDS, NULL, NULL},
        {"irq_vectors", "local_timer_entry", ROLE_TIMER_BEGINS, NULL, NULL},
        {"irq_vectors", "*_entry", ROLE_OTHER_BEGINS, NULL, NULL},
        {"irq_vectors", "*_exit", ROLE_ENDS, NULL, NULL},
        {"ipi", "ipi_entry", ROLE_OTHER_BEGINS, NULL, NULL},
        {"ipi", "ipi_exit", ROLE_ENDS, NULL, NULL},
        {"timer", "hrtimer_expire_entry", ROLE_TIMER_BEGINS, NULL, NULL},
        {"timer", "hrtimer_expire_exit", ROLE_ENDS, NULL, NULL},
        {"timer", "timer_expire_entry", ROLE_TIMER_BEGINS, NULL, NULL},
        {"timer", "timer_expire_exit", ROLE_ENDS, NULL, NULL},
        {"block", "block_rq_complete", ROLE_COMPLETE, "nr_sector", "rwbs"},
    };
    const struct event_class *class = item->class;
    struct wake_class found = {.known = true, .number = -1, .name = -1};

    if (class_map_grow(wakes->classes, wakes->n_classes, class) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < ARRAY_SIZE(events) && found.role == ROLE_NONE; i++) {
        if ((item->origin->layer != LAYER_GUEST && item->origin->layer != LAYER_HOST) ||
            !kernel_event_is(class, events[i].group, events[i].name))
            continue;
        found.role = (uint8_t)events[i].role;
        if (events[i].number)
            found.number = (int16_t)kernel_event_field(class, events[i].number);
        if (events[i].text)
            found.name = (int16_t)event_class_field(class, events[i].text);
        if (found.role == ROLE_WAKE && found.number < 0)
            found.role = ROLE_NONE;
    }
    if (found.role == ROLE_OTHER_BEGINS) {
        found.vector =
            arena_strndup(&wakes->arena, class->name, strlen(class->name) - strlen("_entry"));
        if (!found.vector)
            return -ENOMEM;
    }
    wakes->classes[class->index] = found;
    return 0;
}

static struct wake_cpu *get_cpu(struct wakes *wakes, const struct origin *origin, int32_t cpu)
{
    uint64_t key = origin_key(origin, cpu);
    struct wake_cpu *found = map_get(&wakes->cpus, key);

    if (likely(found != NULL))
        return found;
    found = calloc(1, sizeof *found);
    if (!found || map_put(&wakes->cpus, key, found) < 0) {
        free(found);
        return NULL;
    }
    return found;
}

/* The name of the handler that ITEM begins, which is kept. *RET_NAME is NULL: it has none. */
static int get_name(struct wakes *wakes, const struct item *item, const struct wake_class *class,
                    const char **ret_name)
{
    struct value number, name;
    uint64_t key;

    *ret_name = NULL;
    if (class->number < 0)
        return 0;
    number = item_value(item, (unsigned)class->number);
    if (!number.present)
        return 0;
    key = origin_key(item->origin, (int32_t)number.u);
    *ret_name = map_get(&wakes->names, key);
    if (*ret_name || class->name < 0)
        return 0;
    name = item_value(item, (unsigned)class->name);
    if (!name.present || name.len == 0)
        return 0;
    *ret_name = arena_strndup(&wakes->arena, name.s, name.len);
    return *ret_name ? map_put(&wakes->names, key, (void *)(uintptr_t)*ret_name) : -ENOMEM;
}

static int begin_interrupt(struct wakes *wakes, struct wake_cpu *cpu, const struct item *item,
                           const struct wake_class *class)
{
    static const char *const softirqs[] = {"HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
                                           "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};
    struct wake_cause cause = {.completed_at = TIME_UNKNOWN};
    struct value number;
    int r = 0;

    switch ((enum wake_role) class->role) {
    case ROLE_HANDLER_BEGINS:
        cause.interrupt = INTERRUPT_HANDLER;
        r = get_name(wakes, item, class, &cause.name);
        break;
    case ROLE_SOFTIRQ_BEGINS:
        cause.interrupt = INTERRUPT_HANDLER;
        if (class->number < 0)
            break;
        number = item_value(item, (unsigned)class->number);
        if (number.present && number.u < ARRAY_SIZE(softirqs))
            cause.name = softirqs[number.u];
        if (number.present && (number.u == 1 || number.u == 8))
            cause.interrupt = INTERRUPT_TIMER;
        break;
    case ROLE_TIMER_BEGINS: cause.interrupt = INTERRUPT_TIMER; break;
    case ROLE_OTHER_BEGINS: cause.name = class->vector; break;
    default: break;
    }
    if (cpu->depth < WAKES_NESTED)
        cpu->nested[cpu->depth] = cause;
    cpu->depth++;
    return r;
}

/* Whether ITEM, on CPU, happened in an interrupt. */
static bool find_cause(const struct wake_cpu *cpu, const struct item *item,
                       struct wake_cause *ret_cause)
{
    struct kernel_context context;
    bool has_context = kernel_event_context(item, &context);

    *ret_cause = (struct wake_cause){.completed_at = TIME_UNKNOWN};
    if (cpu && cpu->depth > 0 && cpu->depth <= WAKES_NESTED) {
        *ret_cause = cpu->nested[cpu->depth - 1];
        return true;
    }
    return (cpu && cpu->depth > 0) || (has_context && (context.flags & IN_INTERRUPT));
}

bool wakes_find_interrupt(const struct wakes *wakes, const struct item *item,
                          struct wake_cause *ret_cause)
{
    const struct wake_cpu *cpu;

    if (item->cpu == CPU_UNKNOWN || item->class->index >= wakes->n_classes)
        return false;
    cpu = map_get(&wakes->cpus, origin_key(item->origin, item->cpu));
    if (cpu && cpu->has_ended && wakes->classes[item->class->index].role == ROLE_ENDS) {
        *ret_cause = cpu->ended;
        return true;
    }
    return find_cause(cpu, item, ret_cause);
}

static int put_wake(struct wakes *wakes, const struct wake_cpu *cpu, const struct item *item,
                    const struct wake_class *class)
{
    struct wake wake = {.time = item->time, .origin = item->origin};
    struct value pid;

    pid = item_value(item, (unsigned)class->number);
    if (!pid.present)
        return 0;
    wake.pid = (int32_t)pid.u;
    wake.in_interrupt = find_cause(cpu, item, &wake.cause);
    wake.call = calls_find(&wakes->calls, item->origin, wake.pid);
    if (!wake.in_interrupt && !wake.call)
        return 0;
    if (wakes->n == wakes->room) {
        unsigned room = MAX(wakes->room + wakes->room / 2, 1024u);
        struct wake *more = realloc(wakes->wakes, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        wakes->wakes = more;
        wakes->room = room;
    }
    wakes->wakes[wakes->n++] = wake;
    return 0;
}

/* Whether ITEM completes a request. The completion of an empty write that flushes first is none: the flush was issued in its place. */
static bool completes_request(const struct item *item, const struct wake_class *class)
{
    struct value sectors;

    if (class->number < 0 || class->name < 0)
        return true;
    sectors = item_value(item, (unsigned)class->number);
    return !sectors.present || sectors.u > 0 ||
           kernel_event_rwbs(item, (unsigned)class->name) == 'F';
}

/* The CPUs of ORIGIN, or CPU of it, handle no interrupt that is known. */
static void forget_interrupts(struct wakes *wakes, const struct origin *origin, int32_t cpu)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&wakes->cpus, &iter, &key, &value))
        if (key >> 32 == origin->number && (cpu == CPU_UNKNOWN || (int32_t)(uint32_t)key == cpu))
            ((struct wake_cpu *)value)->depth = 0;
}

/* Of its source: that its events tell whether they are in an interrupt. */
static _cold_ int note_flags(struct wakes *wakes, const struct item *item)
{
    struct wake_cpu *any = get_cpu(wakes, item->origin, CPU_UNKNOWN);
    struct kernel_context context;

    if (!any)
        return -ENOMEM;
    any->knows_flags = kernel_event_context(item, &context);
    return 0;
}

int wakes_put(struct wakes *wakes, const struct item *item)
{
    const struct wake_class *class;
    struct wake_cpu *cpu;

    if (calls_put(&wakes->calls, item) < 0)
        return -ENOMEM;
    if (unlikely(item->kind != ITEM_EVENT)) {
        forget_interrupts(wakes, item->origin, item->cpu);
        return 0;
    }
    if (unlikely(item->class->index >= wakes->n_classes ||
                 !wakes->classes[item->class->index].known) &&
        (add_class(wakes, item) < 0 || note_flags(wakes, item) < 0))
        return -ENOMEM;
    class = &wakes->classes[item->class->index];
    if (likely(class->role == ROLE_NONE) || item->cpu == CPU_UNKNOWN)
        return 0;
    cpu = get_cpu(wakes, item->origin, item->cpu);
    if (!cpu)
        return -ENOMEM;
    switch ((enum wake_role) class->role) {
    case ROLE_WAKE: return put_wake(wakes, cpu, item, class);
    case ROLE_ENDS:
        cpu->has_ended = cpu->depth > 0 && cpu->depth <= WAKES_NESTED;
        if (cpu->has_ended)
            cpu->ended = cpu->nested[cpu->depth - 1];
        cpu->depth -= cpu->depth > 0;
        return 0;
    case ROLE_COMPLETE:
        if (cpu->depth > 0 && cpu->depth <= WAKES_NESTED && completes_request(item, class))
            cpu->nested[cpu->depth - 1].completed_at = item->time;
        return 0;
    default: return begin_interrupt(wakes, cpu, item, class);
    }
}

bool wakes_tell_interrupts(const struct wakes *wakes, const struct origin *origin)
{
    const struct wake_cpu *any = map_get(&wakes->cpus, origin_key(origin, CPU_UNKNOWN));

    return any && any->knows_flags;
}

const struct wake *wakes_find(const struct wakes *wakes, const struct origin *origin, int32_t pid,
                              int64_t time)
{
    unsigned low = 0, high = wakes->n;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (wakes->wakes[middle].time >= time)
            high = middle;
        else
            low = middle + 1;
    }
    for (; low < wakes->n && wakes->wakes[low].time == time; low++)
        if (wakes->wakes[low].pid == pid && wakes->wakes[low].origin == origin)
            return &wakes->wakes[low];
    return NULL;
}

void wakes_drop(struct wakes *wakes, int64_t until)
{
    unsigned n = 0;

    while (n < wakes->n && wakes->wakes[n].time <= until)
        n++;
    if (n > 0)
        memmove(wakes->wakes, wakes->wakes + n, (wakes->n - n) * sizeof *wakes->wakes);
    wakes->n -= n;
}

void wakes_done(struct wakes *wakes)
{
    size_t iter = 0;
    uint64_t key;
    void *value;

    while (map_next(&wakes->cpus, &iter, &key, &value))
        free(value);
    calls_done(&wakes->calls);
    map_done(&wakes->cpus);
    map_done(&wakes->names);
    arena_done(&wakes->arena);
    free(wakes->classes);
    free(wakes->wakes);
    *wakes = (struct wakes){0};
}
