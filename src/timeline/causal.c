/* SPDX-License-Identifier: MIT */
#include "timeline/causal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macro.h"
#include "base/ticks.h"
#include "event/class_map.h"
#include "event/kernel_event.h"
#include "event/value.h"

#define SLOTS 16384u
#define REQUESTS 4096u
#define VCPUS_MAX 64u
#define HISTORY 64u
#define FIELDS 4u

enum event {
    EVENT_NONE,
    EVENT_ISSUE,
    EVENT_HANDLE_READ,
    EVENT_HANDLE_WRITE,
    EVENT_RETURN,
    EVENT_COMPLETE,
    EVENT_SWITCH,
    EVENT_ENTRY,
    EVENT_EXIT,
};

static const struct {
    const char *group; /* of a kernel's; NULL: of QEMU */
    const char *name;
    enum event event;
    enum layer layer;
    const char *fields[FIELDS];
} events[] = {
    {"block", "block_rq_issue", EVENT_ISSUE, LAYER_GUEST, {"sector", "nr_sector", "rwbs"}},
    {"block", "block_rq_complete", EVENT_COMPLETE, LAYER_GUEST, {"sector", "nr_sector", "rwbs"}},
    {NULL,
     "virtio_blk_handle_read",
     EVENT_HANDLE_READ,
     LAYER_VMM,
     {"sector", "nsectors", "vdev", "req"}},
    {NULL,
     "virtio_blk_handle_write",
     EVENT_HANDLE_WRITE,
     LAYER_VMM,
     {"sector", "nsectors", "vdev", "req"}},
    {NULL, "virtio_blk_req_complete", EVENT_RETURN, LAYER_VMM, {"vdev", "req"}},
    {"sched", "sched_switch", EVENT_SWITCH, LAYER_HOST, {"prev_pid", "next_pid"}},
    {KERNEL_GUEST_GROUP, KERNEL_GUEST_ENTRY, EVENT_ENTRY, LAYER_HOST, {0}},
    {KERNEL_GUEST_GROUP, KERNEL_GUEST_EXIT, EVENT_EXIT, LAYER_HOST, {0}},
};

struct causal_class {
    bool known;
    uint8_t event; /* enum event */
    int8_t fields[FIELDS];
};

/* A time of a source, and its stated error. */
struct point {
    int64_t time;
    int64_t error;
    unsigned source;
    unsigned n; /* how many there were */
};

enum { ISSUED, HANDLED, RETURNED, COMPLETED, POINTS };

struct key {
    uint64_t sector, sectors;
    bool writes;
};

/* All that happened to a sector within a window. */
struct causal_slot {
    struct key key;
    struct point points[POINTS];
    int64_t last;       /* time */
    int64_t void_until; /* a slot that begins before is not used */
    unsigned generation;
    bool is_used, is_void;
};

/* A request that the VMM handles. */
struct causal_request {
    const struct origin *origin; /* NULL: none */
    uint64_t device, request;
    struct key key;
};

struct causal_vcpu {
    int32_t number, thread;
    unsigned generation;
    bool has_kvm;
    bool is_out, has_gap;
    int64_t out_since;
    int64_t gap_from, gap_until,
        gap_error;                 /* the last interval: an event after it is still awaited */
    unsigned source;               /* of the host's kernel */
    struct point history[HISTORY]; /* the last events of the guest's CPU */
    unsigned n_history;
};

/* ---- What a cause and its effect say ---- */

static void count_violation(struct causal_clock *clock, int64_t by, int64_t at, const char *what)
{
    clock->violations++;
    if (by <= clock->worst_ns)
        return;
    clock->worst_ns = by;
    clock->worst_at = at;
    clock->worst = what;
}

static void use_pair(struct causal *causal, const struct point *cause, const struct point *effect,
                     const char *what)
{
    struct causal_clock *a = &causal->clocks[cause->source];
    struct causal_clock *b = &causal->clocks[effect->source];
    int64_t late = ticks_between(effect->time, cause->time);

    if (cause->source == effect->source || cause->error >= UINT32_MAX ||
        effect->error >= UINT32_MAX)
        return;
    a->pairs++;
    b->pairs++;
    if (late > cause->error + effect->error) {
        if (a->bounds.map)
            count_violation(a, late - cause->error - effect->error, effect->time, what);
        if (b->bounds.map)
            count_violation(b, late - cause->error - effect->error, effect->time, what);
        return;
    }
    clock_bounds_add_most(&a->bounds, cause->time, effect->error - late);
    clock_bounds_add_least(&b->bounds, effect->time, late - cause->error);
}

/* ---- Requests ---- */

static void evaluate(struct causal *causal, struct causal_slot *slot)
{
    const struct point *points = slot->points;

    if (!slot->is_used || slot->is_void || slot->generation != causal->generation)
        return;
    if (points[ISSUED].n == 1 && points[HANDLED].n == 1)
        use_pair(causal, &points[ISSUED], &points[HANDLED],
                 "virtio_blk_handle_* before its block_rq_issue");
    if (points[RETURNED].n == 1 && points[COMPLETED].n == 1)
        use_pair(causal, &points[RETURNED], &points[COMPLETED],
                 "block_rq_complete before its virtio_blk_req_complete");
}

static unsigned place(uint64_t a, uint64_t b, unsigned n)
{
    return (unsigned)(hash_mix(hash_mix(0, a), b) % n);
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->sector == b->sector && a->sectors == b->sectors && a->writes == b->writes;
}

/* What happened at NOW to the sector of KEY, as POINT. */
static void put_point(struct causal *causal, const struct item *item, const struct key *key,
                      unsigned point)
{
    struct causal_slot *slot =
        &causal->slots[place(key->sector, key->sectors << 1 | key->writes, SLOTS)];
    bool is_over = !slot->is_used || ticks_between(slot->last, item->time) > CAUSAL_WINDOW_NS ||
                   slot->generation != causal->generation;

    if (is_over || !is_same(&slot->key, key)) {
        int64_t void_until = slot->void_until;

        if (is_over)
            evaluate(causal, slot);
        else /* what is forgotten here could be paired wrongly later */
            void_until = item->time + CAUSAL_WINDOW_NS;
        *slot = (struct causal_slot){.key = *key,
                                     .is_used = true,
                                     .is_void = item->time < MAX(void_until, causal->quiet_until),
                                     .void_until = void_until,
                                     .generation = causal->generation};
    }
    slot->last = item->time;
    slot->points[point] =
        (struct point){item->time, item->error_ns, causal->source_of(causal->arg, item->origin),
                       slot->points[point].n + 1};
}

static uint64_t field(const struct item *item, const struct causal_class *class, unsigned i)
{
    return class->fields[i] < 0 ? 0 : item_value(item, (unsigned)class->fields[i]).u;
}

/* A request of the guest's block layer. */
static void put_block(struct causal *causal, const struct item *item,
                      const struct causal_class *class, unsigned point)
{
    char kind = kernel_event_rwbs(item, (unsigned)class->fields[2]);
    struct key key = {field(item, class, 0), field(item, class, 1), kind == 'W'};

    /* A flush has no sector. */
    if ((kind != 'R' && kind != 'W') || key.sectors == 0)
        return;
    put_point(causal, item, &key, point);
}

static struct causal_request *find_request(struct causal *causal, uint64_t device, uint64_t request)
{
    return &causal->requests[place(device, request, REQUESTS)];
}

static void put_handled(struct causal *causal, const struct item *item,
                        const struct causal_class *class)
{
    struct key key = {field(item, class, 0), field(item, class, 1),
                      class->event == EVENT_HANDLE_WRITE};
    uint64_t device = field(item, class, 2), request = field(item, class, 3);

    *find_request(causal, device, request) =
        (struct causal_request){item->origin, device, request, key};
    put_point(causal, item, &key, HANDLED);
}

static void put_returned(struct causal *causal, const struct item *item,
                         const struct causal_class *class)
{
    uint64_t device = field(item, class, 0), number = field(item, class, 1);
    struct causal_request *request = find_request(causal, device, number);

    if (request->origin != item->origin || request->device != device || request->request != number)
        return;
    put_point(causal, item, &request->key, RETURNED);
    request->origin = NULL;
}

/* ---- Where a vCPU did not run ---- */

static struct causal_vcpu *find_vcpu(struct causal *causal, int32_t number)
{
    struct causal_vcpu *vcpu;

    for (unsigned i = 0; i < causal->n_vcpus; i++)
        if (causal->vcpus[i].number == number)
            return &causal->vcpus[i];
    if (number < 0 || causal->n_vcpus == VCPUS_MAX)
        return NULL;
    vcpu = &causal->vcpus[causal->n_vcpus++];
    *vcpu = (struct causal_vcpu){.number = number, .thread = PID_UNKNOWN};
    return vcpu;
}

static struct causal_vcpu *find_thread(struct causal *causal, int32_t thread)
{
    for (unsigned i = 0; i < causal->n_vcpus; i++)
        if (causal->vcpus[i].thread == thread)
            return &causal->vcpus[i];
    return NULL;
}

/* An event of the guest near the last interval without VCPU. False: it says nothing. */
static bool use_gap(struct causal *causal, struct causal_vcpu *vcpu, const struct point *event)
{
    struct causal_clock *clock = &causal->clocks[event->source];
    int64_t error = event->error + vcpu->gap_error;
    bool before = event->time + error < vcpu->gap_until; /* so it was before the interval */
    bool after = event->time - error > vcpu->gap_from;

    if ((!before && !after) || !clock->bounds.map || event->error >= UINT32_MAX)
        return false;
    clock->pairs++;
    if (before && after)
        count_violation(clock,
                        MIN(event->time - vcpu->gap_from, vcpu->gap_until - event->time) - error,
                        event->time, "event of the guest's CPU while its vCPU did not run");
    else if (before)
        clock_bounds_add_most(&clock->bounds, event->time,
                              vcpu->gap_from - event->time + vcpu->gap_error);
    else
        clock_bounds_add_least(&clock->bounds, event->time,
                               vcpu->gap_until - event->time - vcpu->gap_error);
    return true;
}

/* The interval is over: the last event before it, and the first after it. */
static void close_gap(struct causal *causal, struct causal_vcpu *vcpu)
{
    unsigned n = MIN(vcpu->n_history, HISTORY);
    const struct point *last = NULL, *first = NULL;

    for (unsigned i = 0; i < n; i++) {
        const struct point *event = &vcpu->history[(vcpu->n_history - 1 - i) % HISTORY];
        int64_t error = event->error + vcpu->gap_error;

        if (!last && event->time + error < vcpu->gap_until)
            last = event;
        if (event->time - error > vcpu->gap_from)
            first = event;
        else if (last)
            break;
    }
    if (last)
        (void)use_gap(causal, vcpu, last);
    if (first && first != last)
        (void)use_gap(causal, vcpu, first);
    vcpu->has_gap = !first;
}

static void reset(struct causal *causal, struct causal_vcpu *vcpu)
{
    vcpu->is_out = vcpu->has_gap = false;
    vcpu->n_history = 0;
    vcpu->generation = causal->generation;
}

static void leave(struct causal_vcpu *vcpu, const struct item *item)
{
    vcpu->is_out = true;
    vcpu->out_since = item->time;
}

static void enter(struct causal *causal, struct causal_vcpu *vcpu, const struct item *item)
{
    if (vcpu->is_out && item->time > vcpu->out_since) {
        vcpu->gap_from = vcpu->out_since;
        vcpu->gap_until = item->time;
        vcpu->gap_error = item->error_ns;
        close_gap(causal, vcpu);
    }
    vcpu->is_out = false;
}

/* An event of the guest's CPU. */
static void put_guest(struct causal *causal, const struct item *item)
{
    struct causal_vcpu *vcpu = find_vcpu(causal, item->vcpu);
    struct point event = {item->time, item->error_ns, causal->source_of(causal->arg, item->origin),
                          1};

    if (!vcpu)
        return;
    if (vcpu->generation != causal->generation)
        reset(causal, vcpu);
    vcpu->history[vcpu->n_history++ % HISTORY] = event;
    if (vcpu->n_history == 2 * HISTORY)
        vcpu->n_history = HISTORY;
    if (vcpu->has_gap && event.time - event.error - vcpu->gap_error > vcpu->gap_from) {
        (void)use_gap(causal, vcpu, &event);
        vcpu->has_gap = false;
    }
}

static void put_switch(struct causal *causal, const struct item *item,
                       const struct causal_class *class, struct causal_vcpu *from)
{
    int32_t next = (int32_t)field(item, class, 1);
    struct causal_vcpu *to = find_thread(causal, next);

    if (from && !from->has_kvm && from->thread == (int32_t)field(item, class, 0))
        leave(from, item);
    if (to && !to->has_kvm && to->generation == causal->generation)
        enter(causal, to, item);
}

/* An event of the host's kernel. */
static void put_host(struct causal *causal, const struct item *item,
                     const struct causal_class *class)
{
    struct causal_vcpu *vcpu = item->vcpu == VCPU_UNKNOWN ? NULL : find_vcpu(causal, item->vcpu);

    if (vcpu) {
        if (vcpu->generation != causal->generation || vcpu->thread != item->pid)
            reset(causal, vcpu);
        vcpu->thread = item->pid;
        if (class->event == EVENT_ENTRY || class->event == EVENT_EXIT) {
            if (!vcpu->has_kvm)
                vcpu->is_out = false;
            vcpu->has_kvm = true;
        } else if (!vcpu->has_kvm) {
            /* It runs here, whatever the switches say: one is missing. */
            vcpu->is_out = false;
        }
    }
    if (class->event == EVENT_SWITCH)
        put_switch(causal, item, class, vcpu);
    else if (vcpu && class->event == EVENT_EXIT)
        leave(vcpu, item);
    else if (vcpu && class->event == EVENT_ENTRY)
        enter(causal, vcpu, item);
}

/* ---- Items ---- */

static void know_class(struct causal_class *known, const struct event_class *class)
{
    known->known = true;
    for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
        bool has_all = true;

        if (events[i].layer != class->origin->layer ||
            !(events[i].group ? kernel_event_is(class, events[i].group, events[i].name)
                              : event_class_is_named(class, events[i].name)))
            continue;
        for (unsigned j = 0; j < FIELDS; j++) {
            int at = kernel_event_field(class, events[i].fields[j]);

            known->fields[j] = (int8_t)at;
            has_all &= at >= 0 || !events[i].fields[j];
        }
        known->event = (uint8_t)(has_all ? events[i].event : EVENT_NONE);
    }
}

static const struct causal_class *get_class(struct causal *causal, const struct event_class *class)
{
    if (class_map_grow(causal->classes, causal->n_classes, class) < 0)
        return NULL;
    if (!causal->classes[class->index].known)
        know_class(&causal->classes[class->index], class);
    return &causal->classes[class->index];
}

static int put_event(struct causal *causal, const struct item *item)
{
    const struct causal_class *class = get_class(causal, item->class);

    if (!class)
        return -ENOMEM;
    if (item->origin->layer == LAYER_GUEST) {
        if (causal->guest && causal->guest != item->origin)
            causal->has_several_guests = true;
        causal->guest = item->origin;
        put_guest(causal, item);
    } else if (item->origin->layer == LAYER_HOST) {
        put_host(causal, item, class);
    }
    switch ((enum event) class->event) {
    case EVENT_ISSUE: put_block(causal, item, class, ISSUED); break;
    case EVENT_COMPLETE: put_block(causal, item, class, COMPLETED); break;
    case EVENT_HANDLE_READ:
    case EVENT_HANDLE_WRITE: put_handled(causal, item, class); break;
    case EVENT_RETURN: put_returned(causal, item, class); break;
    default: break;
    }
    return 0;
}

static void put_loss(struct causal *causal, const struct item *item)
{
    causal->generation++;
    if (item->is_open)
        causal->quiet_until = INT64_MAX;
    else if (item->time != TIME_UNKNOWN)
        causal->quiet_until = MAX(causal->quiet_until, ticks_sum(item->time, CAUSAL_WINDOW_NS));
    memset(causal->requests, 0, REQUESTS * sizeof *causal->requests);
}

int causal_put(struct causal *causal, const struct item *items, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int r = 0;

        if (items[i].kind == ITEM_LOSS)
            put_loss(causal, &items[i]);
        else if (items[i].time >= 0 && items[i].time < INT64_MAX / 4)
            r = put_event(causal, &items[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

int causal_init(struct causal *causal, unsigned n,
                unsigned (*source_of)(void *arg, const struct origin *origin), void *arg)
{
    *causal = (struct causal){.n_clocks = n, .source_of = source_of, .arg = arg};
    causal->clocks = calloc(n, sizeof *causal->clocks);
    causal->slots = calloc(SLOTS, sizeof *causal->slots);
    causal->requests = calloc(REQUESTS, sizeof *causal->requests);
    causal->vcpus = calloc(VCPUS_MAX, sizeof *causal->vcpus);
    if (causal->clocks && causal->slots && causal->requests && causal->vcpus)
        return 0;
    causal_done(causal);
    return -ENOMEM;
}

int causal_set_map(struct causal *causal, unsigned number, const struct clock_map *map)
{
    return clock_bounds_init(&causal->clocks[number].bounds, map);
}

void causal_finish(struct causal *causal)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        evaluate(causal, &causal->slots[i]);
        causal->slots[i] = (struct causal_slot){0};
    }
    if (!causal->has_several_guests)
        return;
    for (unsigned i = 0; i < causal->n_clocks; i++) {
        causal->clocks[i].pairs = causal->clocks[i].violations = 0;
        clock_bounds_done(&causal->clocks[i].bounds);
    }
}

void causal_done(struct causal *causal)
{
    for (unsigned i = 0; causal->clocks && i < causal->n_clocks; i++)
        clock_bounds_done(&causal->clocks[i].bounds);
    free(causal->clocks);
    free(causal->classes);
    free(causal->slots);
    free(causal->requests);
    free(causal->vcpus);
    *causal = (struct causal){0};
}
