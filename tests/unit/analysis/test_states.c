/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/states/states.h"
#include "base/macro.h"
#include "byte_order.h"
#include "event/kernel.h"
#include "event/xen_vcpu.h"
#include "random.h"

/* ---- a world of a kernel and a Xen, and a record of the intervals ---- */

#define NUMBER(field, at, bytes, signed)                                             \
    {                                                                                \
        .name = (field), .c_type = "int", .type = (signed) ? FIELD_INT : FIELD_UINT, \
        .offset = (at), .size = (bytes)                                              \
    }
#define LITTLE(field, at, bytes)                                                              \
    {                                                                                         \
        .name = (field), .c_type = "int", .type = FIELD_INT, .offset = (at), .size = (bytes), \
        .swap = SWAP_LITTLE                                                                   \
    }
#define NAME(field, at)                                                                      \
    {                                                                                        \
        .name = (field), .c_type = "char[16]", .type = FIELD_STRING, .storage = STORE_ARRAY, \
        .offset = (at), .size = 16                                                           \
    }

static const struct field switch_fields[] = {
    NAME("prev_comm", 0),  NUMBER("prev_pid", 16, 4, true), NUMBER("prev_state", 20, 8, true),
    NAME("next_comm", 28), NUMBER("next_pid", 44, 4, true),
};
static const struct field wake_fields[] = {
    NUMBER("pid", 0, 4, true), NUMBER("target_cpu", 4, 4, true), NUMBER("dest_cpu", 4, 4, true),
    NUMBER("old_pid", 4, 4, true)};
static const struct field runstate_fields[] = {NUMBER("vcpu", 0, 2, false),
                                               NUMBER("dom", 2, 2, false)};

static const struct field destroy_fields[] = {NUMBER("dom", 0, 4, false)};

struct payload {
    uint8_t bytes[48];
};

#define RECORDED_MAX 400000

struct world {
    struct catalogue catalogue;
    struct origin *kernel, *xen;
    struct event_class *change, *waking, *wakeup, *wakeup_new, *migrate, *exit, *exec, *other, *irq,
        *irq_end, *entry, *left, *dom_rem, *destroy, *timer, *vmentry, *vmexit, *runstates[4][4];
    int32_t vcpu;     /* of the events that are put */
    bool before_loss; /* the event, or loss, that is put next is */
    struct states states;
    struct state_interval *intervals;
    unsigned n;
};

static const struct origin_kernel a_kernel = {.long_size = 8};

static struct event_class *add(struct world *world, struct origin *origin, const char *name,
                               const struct field *fields, unsigned n)
{
    struct event_class class = {.name = name, .origin = origin, .fields = fields, .n_fields = n};
    struct event_class *added;

    assert_int_equal(catalogue_add(&world->catalogue, &class, &added), 0);
    return added;
}

static int record(void *arg, const struct state_interval *intervals, unsigned n)
{
    struct world *w = arg;

    for (unsigned i = 0; i < n; i++) {
        assert_true(w->n < RECORDED_MAX);
        assert_true(intervals[i].end >= intervals[i].begin);
        w->intervals[w->n++] = intervals[i];
    }
    return 0;
}

static const struct states_ops ops = {record};

static int setup(void **state)
{
    static const char *const xen_states[] = {"running", "runnable", "blocked", "offline"};
    static char names[4][4][32];
    struct world *w = calloc(1, sizeof *w);
    struct origin origin = {.layer = LAYER_GUEST,
                            .format = "made",
                            .path = "g",
                            .clock = {"monotonic", NANOSECONDS},
                            .kernel = &a_kernel};

    w->kernel = catalogue_add_origin(&w->catalogue, &origin);
    origin.layer = LAYER_HYPERVISOR;
    origin.kernel = NULL;
    w->xen = catalogue_add_origin(&w->catalogue, &origin);
    w->change = add(w, w->kernel, "sched_switch", switch_fields, ARRAY_SIZE(switch_fields));
    w->waking = add(w, w->kernel, "sched_waking", wake_fields, ARRAY_SIZE(wake_fields));
    w->wakeup = add(w, w->kernel, "sched_wakeup", wake_fields, ARRAY_SIZE(wake_fields));
    w->wakeup_new = add(w, w->kernel, "sched_wakeup_new", wake_fields, ARRAY_SIZE(wake_fields));
    w->migrate = add(w, w->kernel, "sched_migrate_task", wake_fields, ARRAY_SIZE(wake_fields));
    w->exit = add(w, w->kernel, "sched_process_exit", wake_fields, ARRAY_SIZE(wake_fields));
    w->exec = add(w, w->kernel, "sched_process_exec", wake_fields, ARRAY_SIZE(wake_fields));
    w->other = add(w, w->kernel, "other", wake_fields, 1);
    w->irq = add(w, w->kernel, "irq_handler_entry", wake_fields, 1);
    w->irq_end = add(w, w->kernel, "irq_handler_exit", wake_fields, 1);
    w->entry = add(w, w->kernel, "kvm_entry", wake_fields, 1);
    w->left = add(w, w->kernel, "kvm_exit", wake_fields, 1);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < 4; j++) {
            snprintf(names[i][j], sizeof names[i][j], "%s_to_%s", xen_states[i], xen_states[j]);
            w->runstates[i][j] =
                add(w, w->xen, names[i][j], runstate_fields, ARRAY_SIZE(runstate_fields));
        }
    }
    w->dom_rem = add(w, w->xen, "dom_rem", destroy_fields, ARRAY_SIZE(destroy_fields));
    w->destroy = add(w, w->xen, "domain_destroy", destroy_fields, ARRAY_SIZE(destroy_fields));
    w->timer = add(w, w->xen, "timer", destroy_fields, ARRAY_SIZE(destroy_fields));
    w->vmentry = add(w, w->xen, "vmentry", destroy_fields, ARRAY_SIZE(destroy_fields));
    w->vmexit = add(w, w->xen, "vmexit", destroy_fields, ARRAY_SIZE(destroy_fields));
    w->xen->known_until = 1000000;
    w->vcpu = VCPU_UNKNOWN;
    w->intervals = calloc(RECORDED_MAX, sizeof *w->intervals);
    states_init(&w->states, &ops, w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    states_done(&w->states);
    catalogue_done(&w->catalogue);
    free(w->intervals);
    free(w);
    return 0;
}

static void restart(struct world *w)
{
    states_done(&w->states);
    states_init(&w->states, &ops, w);
    w->n = 0;
}

static void put(struct world *w, const struct event_class *class, int64_t time, int cpu, int pid,
                const void *payload, uint32_t size)
{
    struct item item = {.kind = ITEM_EVENT,
                        .time = time,
                        .origin = class->origin,
                        .class = class,
                        .payload = payload,
                        .size = size,
                        .cpu = cpu,
                        .pid = pid,
                        .vcpu = w->vcpu,
                        .before_loss = w->before_loss};

    w->before_loss = false;
    assert_int_equal(states_put(&w->states, &item, 1), 0);
}

/* By a thread that its event calls PID, and PREV otherwise. */
static void change_by(struct world *w, int64_t time, int cpu, int pid, int prev, int64_t prev_state,
                      int next)
{
    struct payload p = {0};
    int32_t ids[2] = {prev, next};

    snprintf((char *)p.bytes, 16, "t%d", prev);
    memcpy(p.bytes + 16, &ids[0], 4);
    memcpy(p.bytes + 20, &prev_state, 8);
    snprintf((char *)p.bytes + 28, 16, "t%d", next);
    memcpy(p.bytes + 44, &ids[1], 4);
    put(w, w->change, time, cpu, pid, p.bytes, 48);
}

static void change(struct world *w, int64_t time, int cpu, int prev, int64_t prev_state, int next)
{
    change_by(w, time, cpu, prev, prev, prev_state, next);
}

static void about(struct world *w, const struct event_class *class, int64_t time, int cpu, int pid,
                  int32_t of, int32_t where)
{
    int32_t numbers[2] = {of, where};

    put(w, class, time, cpu, pid, numbers, sizeof numbers);
}

static void lose(struct world *w, const struct origin *origin, int64_t since, int64_t time, int cpu)
{
    struct item item = {.kind = ITEM_LOSS,
                        .time = time,
                        .origin = origin,
                        .lost = 1,
                        .since = since,
                        .cpu = cpu,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN,
                        .before_loss = w->before_loss};

    w->before_loss = false;
    assert_int_equal(states_put(&w->states, &item, 1), 0);
}

/* Nothing of CPU follows. */
static void cut(struct world *w, int64_t time, int cpu)
{
    struct item item = {.kind = ITEM_LOSS,
                        .time = time,
                        .origin = w->kernel,
                        .lost = LOST_UNKNOWN,
                        .since = time,
                        .cpu = cpu,
                        .is_open = true,
                        .pid = PID_UNKNOWN,
                        .vcpu = VCPU_UNKNOWN};

    assert_int_equal(states_put(&w->states, &item, 1), 0);
}

/* As "7 running 10-20@1": what is not complete has a '?' where nothing was seen. */
static void expect_of(struct world *w, enum state_subject of, const char *expected)
{
    char text[4096] = "";
    size_t len = 0;

    assert_int_equal(states_finish(&w->states), 0);
    for (unsigned i = 0; i < w->n; i++) {
        const struct state_interval *v = &w->intervals[i];

        if (v->of == of)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%d %s %s%d-%d%s",
                                    len > 0 ? ", " : "", v->id, state_name(v->state),
                                    v->begin_seen ? "" : "?", (int)v->begin, (int)v->end,
                                    v->end_seen ? "" : "?");
    }
    assert_string_equal(text, expected);
}

static const struct state_counts *counts(const struct world *w)
{
    const struct origin *origin;

    return states_counts(&w->states, 0, &origin);
}

/* ---- kernels ---- */

static void test_threads(void **state)
{
    struct world *w = *state;

    about(w, w->other, 1, 0, 0, 0, 0);
    about(w, w->waking, 5, 0, 0, 7, 0);
    about(w, w->wakeup, 6, 0, 0, 7, 0);
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 0x100, 8); /* preempted */
    change(w, 30, 0, 8, 1, 7);
    about(w, w->waking, 35, 0, 7, 8, 0);
    change(w, 40, 0, 7, 2, 8);
    change(w, 50, 0, 8, 0x20, 0); /* it is gone */
    about(w, w->wakeup_new, 55, 0, 0, 8, 0);
    change(w, 60, 0, 0, 0, 8);
    change(w, 70, 0, 8, 0x80, 0); /* an idle worker */
    about(w, w->other, 80, 0, 0, 0, 0);
    expect_of(
        w, STATE_SUBJECT_THREAD,
        "7 woken 5-10, 7 running 10-20, 8 running 20-30, 7 preempted 20-30, 8 sleeping 30-35, "
        "7 running 30-40, 8 woken 35-40, 8 running 40-50, 8 woken 55-60, 8 running 60-70, "
        "7 uninterruptible 40-80?, 8 sleeping 70-80?");
    assert_int_equal(counts(w)->contradictions, 0);
    assert_int_equal(counts(w)->wakes, 2);
    assert_int_equal(counts(w)->early_wakes, 0);
    assert_string_equal(w->intervals[w->n - 1].name, "t8");
}

static const struct state_interval *woken_at(const struct world *w, int64_t time)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->intervals[i].state == STATE_WOKEN && w->intervals[i].begin == time)
            return &w->intervals[i];
    fail_msg("nothing is woken at %d", (int)time);
    return NULL;
}

/* Where it waited is known of the one for which the kernel tells where it was woken, or moved to. */
static void test_moves(void **state)
{
    struct world *w = *state;

    change(w, 1, 0, 0, 0, 9);
    change(w, 1, 1, 0, 0, 6);
    about(w, w->waking, 5, 0, 9, 7, 0);
    change(w, 10, 1, 6, 1, 7);
    about(w, w->waking, 15, 0, 9, 8, 0);
    about(w, w->migrate, 16, 0, 9, 8, 1);
    change(w, 20, 1, 7, 1, 8);
    change(w, 30, 1, 8, 1, 0);
    assert_int_equal(states_finish(&w->states), 0);
    assert_int_equal(woken_at(w, 5)->moved_from, STATE_MOVED_UNSEEN);
    assert_int_equal(woken_at(w, 5)->moved_at, 10);
    /* A wait has the name that the thread has when it ends. */
    assert_string_equal(woken_at(w, 5)->name, "t7");
    assert_int_equal(woken_at(w, 15)->moved_from, 0);
    assert_int_equal(woken_at(w, 15)->cpu, 1);
    assert_int_equal(counts(w)->unseen_moves, 1);
}

/* T13: what began unseen may be what wakes, once the trace has interrupts; a switch shows that there is none. */
static void test_wakers_unseen(void **state)
{
    struct world *w = *state;

    about(w, w->waking, 5, 0, 9, 7, 0);
    change(w, 10, 1, 6, 1, 7);
    about(w, w->waking, 12, 1, 7, 6, 1);
    about(w, w->irq_end, 15, 0, 9, 0, 0);
    about(w, w->waking, 16, 0, 9, 8, 0);
    change(w, 20, 0, 9, 1, 8);
    about(w, w->waking, 25, 0, 8, 9, 0);
    about(w, w->irq, 26, 0, 8, 0, 0);
    about(w, w->waking, 27, 0, 8, 5, 0);
    about(w, w->irq_end, 28, 0, 8, 0, 0);
    change(w, 30, 0, 8, 1, 9);
    change(w, 40, 0, 9, 1, 5);
    change(w, 50, 1, 7, 1, 6);
    assert_int_equal(states_finish(&w->states), 0);
    assert_int_equal(woken_at(w, 5)->by, PID_UNKNOWN);
    assert_int_equal(woken_at(w, 12)->by, 7);
    assert_int_equal(woken_at(w, 16)->by, PID_UNKNOWN);
    assert_int_equal(woken_at(w, 25)->by, 8);
    assert_int_equal(woken_at(w, 27)->by, STATE_BY_INTERRUPT);
    restart(w);
    /* Without interrupts in the trace, threads wake. */
    about(w, w->waking, 5, 0, 9, 7, 0);
    change(w, 10, 0, 9, 1, 7);
    assert_int_equal(states_finish(&w->states), 0);
    assert_int_equal(woken_at(w, 5)->by, 9);
}

/* T13: without sched_waking, waits begin with sched_wakeup; but the trace may begin between the two, unless a thread that it saw
 * sleep was woken without it. */
static void test_no_waking(void **state)
{
    struct world *w = *state;

    about(w, w->wakeup, 5, 0, 0, 7, 0);
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    expect_of(w, STATE_SUBJECT_THREAD, "7 woken ?5-10, 7 running 10-20, 7 sleeping 20-20?");
    assert_int_equal(counts(w)->no_begin, 1);

    restart(w);
    about(w, w->wakeup, 5, 0, 0, 7, 0);
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->wakeup, 25, 0, 0, 7, 0);
    change(w, 30, 0, 0, 0, 7);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 woken 5-10, 7 running 10-20, 7 sleeping 20-25, 7 woken 25-30, 7 running 30-30?");
    assert_int_equal(counts(w)->no_begin, 0);

    restart(w);
    change(w, 1, 0, 0, 0, 7);
    change(w, 2, 0, 7, 1, 0);
    w->before_loss = true; /* the sched_waking is lost */
    about(w, w->other, 3, 1, 0, 0, 0);
    about(w, w->wakeup, 5, 0, 0, 7, 0);
    change(w, 10, 0, 0, 0, 7);
    lose(w, w->kernel, 3, 12, 1);
    about(w, w->wakeup, 25, 0, 7, 9, 0);
    change(w, 30, 0, 7, 1, 9);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 1-2, 7 unknown ?2-5?, 7 unknown ?5-10?, 7 running 10-30, 9 woken ?25-30, "
              "7 sleeping 30-30?, 9 running 30-30?");
}

/* T13: the sched_waking of the first sched_wakeup may be before the trace. */
static void test_first_wakeup(void **state)
{
    struct world *w = *state;

    about(w, w->wakeup, 5, 0, 9, 7, 0);
    about(w, w->wakeup, 6, 0, 9, 8, 0);
    change(w, 10, 0, 9, 1, 7);
    about(w, w->waking, 15, 0, 7, 9, 0);
    about(w, w->wakeup, 16, 0, 7, 9, 0);
    change(w, 20, 0, 7, 1, 8);
    change(w, 30, 0, 8, 1, 9);
    assert_int_equal(states_finish(&w->states), 0);
    assert_false(woken_at(w, 5)->begin_seen);
    assert_false(woken_at(w, 6)->begin_seen);
    assert_true(woken_at(w, 15)->begin_seen);
    assert_int_equal(counts(w)->no_begin, 2);
}

/* T3: of a CPU without any event, a loss says since when. */
static void test_loss_of_unseen(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->waking, 25, 0, 0, 7, 0);
    change(w, 30, 0, 0, 0, 7);
    change(w, 40, 0, 7, 1, 0);
    lose(w, w->kernel, 28, 45, 3);
    change(w, 50, 0, 0, 0, 9);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 7 sleeping 20-25, 7 unknown ?25-30?, 7 running 30-40, "
              "7 unknown ?40-50?, 9 running 50-50?");
}

static void test_cpus(void **state)
{
    struct world *w = *state;

    about(w, w->other, 1, 0, 0, 0, 0);
    change(w, 10, 0, 0, 0, 7);
    about(w, w->irq, 12, 0, 7, 0, 0);
    about(w, w->irq, 13, 0, 7, 0, 0);
    about(w, w->irq_end, 14, 0, 7, 0, 0);
    about(w, w->irq_end, 15, 0, 7, 0, 0);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->other, 30, 0, 0, 0, 0);
    expect_of(w, STATE_SUBJECT_CPU,
              "0 idle ?1-10, 0 running 10-12, 0 interrupt 12-15, 0 running 15-20, 0 idle 20-30?");
}

/* The trace begins in an interrupt: the CPU did not run its thread up to the end of that. */
static void test_begin_in_interrupt(void **state)
{
    struct world *w = *state;

    about(w, w->other, 1, 0, 7, 0, 0);
    about(w, w->irq_end, 4, 0, 7, 0, 0);
    about(w, w->irq, 6, 0, 7, 0, 0);
    about(w, w->irq_end, 8, 0, 7, 0, 0);
    change(w, 10, 0, 7, 1, 0);
    about(w, w->other, 20, 0, 0, 0, 0);
    expect_of(w, STATE_SUBJECT_CPU,
              "0 unknown ?1-4?, 0 running ?4-6, 0 interrupt 6-8, 0 running 8-10, 0 idle 10-20?");
}

/* T2: the switch from idle to 7 is missing. */
static void test_contradictions(void **state)
{
    struct world *w = *state;

    about(w, w->other, 1, 0, 0, 0, 0);
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->other, 22, 0, 7, 0, 0); /* as while it switches */
    about(w, w->other, 25, 0, 0, 0, 0);
    about(w, w->waking, 30, 1, 9, 7, 0);
    about(w, w->other, 40, 0, 7, 0, 0);
    change(w, 50, 0, 7, 1, 0);
    about(w, w->other, 60, 0, 0, 0, 0);
    expect_of(w, STATE_SUBJECT_CPU,
              "0 idle ?1-10, 0 running 10-20, 1 unknown ?1-30?, 0 idle 20-25?, 0 unknown "
              "?25-40?, 0 running ?40-50, 0 idle 50-60?, 1 running ?30-60?");
    assert_int_equal(counts(w)->contradictions, 1);
    assert_int_equal(states_cpu_contradictions(&w->states, 0, 0), 1);
    assert_int_equal(counts(w)->contradicted, 1);
    restart(w);
    /* The same, and nothing says so before the next switch. */
    about(w, w->other, 1, 0, 0, 0, 0);
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->waking, 30, 1, 9, 7, 0);
    change(w, 50, 0, 7, 1, 0);
    about(w, w->other, 60, 0, 0, 0, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 7 sleeping 20-30, 7 unknown ?30-50?, 7 sleeping 50-60?, "
              "9 running ?30-60?");
    restart(w);
    /* A thread that runs on two CPUs, and one that nobody woke. */
    change(w, 10, 0, 0, 0, 7);
    about(w, w->other, 12, 0, 7, 0, 0);
    change(w, 20, 1, 0, 0, 7);
    about(w, w->waking, 21, 1, 7, 8, 1);
    change(w, 25, 1, 7, 1, 8);
    change(w, 30, 1, 8, 1, 7);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-12?, 7 unknown ?12-20?, 7 running 20-25, 8 woken 21-25, 8 running "
              "25-30, 7 unknown ?25-30?, 7 running 30-30?, 8 sleeping 30-30?");
    assert_int_equal(counts(w)->contradictions, 1);
    assert_int_equal(counts(w)->missing_wakes, 1);
}

/* Of a thread that the last switch took off, what only shows if it was switched to again. */
static void test_left_thread(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 0, 9);
    about(w, w->other, 22, 0, 7, 0, 0); /* as while it switches */
    about(w, w->irq, 30, 0, 7, 0, 0);
    about(w, w->irq_end, 40, 0, 7, 0, 0);
    change(w, 50, 0, 7, 1, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 9 running 20-20?, 7 unknown ?20-30?, 7 running ?30-50, "
              "7 sleeping 50-50?, 9 unknown ?20-50?");
    assert_int_equal(counts(w)->contradictions, 1);
    restart(w);
    /* Long after the switch, any event does. */
    change(w, 10, 0, 0, 0, 7);
    change(w, 1000, 0, 7, 0, 9);
    about(w, w->other, 101000, 0, 7, 0, 0);
    about(w, w->other, 101001, 0, 7, 0, 0);
    change(w, 200000, 0, 7, 1, 0);
    expect_of(w, STATE_SUBJECT_CPU,
              "0 running 10-1000, 0 unknown ?1000-101001?, 0 running ?101001-200000");
    restart(w);
    /* 9 is seen where 7 is meant to have gone on. */
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 0, 9);
    about(w, w->waking, 30, 0, 7, 8, 0);
    about(w, w->other, 40, 0, 9, 0, 0);
    expect_of(w, STATE_SUBJECT_CPU, "0 running 10-20, 0 unknown ?20-30?, 0 unknown ?30-40?");
}

/* What events tell of their threads counts in all formats, unless switches refute it. */
static void test_stamps(void **state)
{
    struct world *w = *state;

    w->kernel->kernel = NULL;
    change(w, 10, 0, 0, 0, 7);
    about(w, w->other, 15, 0, 7, 0, 0);
    about(w, w->other, 20, 0, 8, 0, 0);
    change(w, 50, 0, 8, 1, 0);
    expect_of(w, STATE_SUBJECT_CPU, "0 running 10-15?, 0 unknown ?15-20?, 0 running ?20-50");
    assert_int_equal(counts(w)->contradictions, 1);
    restart(w);
    /* As in a container: 7 is called 1007 there. */
    change(w, 10, 0, 0, 0, 1007);
    change_by(w, 20, 0, 7, 1007, 0, 9);
    about(w, w->other, 25, 0, 5, 0, 0);
    change_by(w, 30, 0, 5, 9, 0, 1007);
    expect_of(w, STATE_SUBJECT_CPU, "0 running 10-20, 0 running 20-30");
    assert_int_equal(counts(w)->contradictions, 0);
}

/* T14: without switches, two events of a thread do not show that it ran in between, nor a wake-up that it waits. */
static void test_no_switches(void **state)
{
    struct world *w = *state;

    for (int i = 1; i <= 6; i++)
        about(w, w->other, i * 10, 0, i / 2, 0, 0);
    about(w, w->waking, 70, 0, 3, 7, 0);
    expect_of(w, STATE_SUBJECT_CPU, "");
    expect_of(w, STATE_SUBJECT_THREAD, "");
    assert_int_equal(counts(w)->contradictions, 0);
    restart(w);
    for (int i = 1; i <= 2 * STATES_HELD; i++)
        about(w, w->waking, i * 10, 0, 1 + i % 2, 7, 0);
    assert_int_equal(w->n, 0);
    expect_of(w, STATE_SUBJECT_CPU, "");
    expect_of(w, STATE_SUBJECT_THREAD, "");
    restart(w);
    /* A switch shows that they would be in the trace. */
    about(w, w->other, 10, 0, 1, 0, 0);
    about(w, w->other, 20, 0, 1, 0, 0);
    change(w, 30, 0, 1, 1, 0);
    expect_of(w, STATE_SUBJECT_CPU, "0 running ?10-30");
    expect_of(w, STATE_SUBJECT_THREAD, "1 running ?10-30, 1 sleeping 30-30?");
}

/* A wake-up of a thread that still runs; the waker waits until it has left its CPU. */
static void test_early_wake(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 7);
    about(w, w->waking, 15, 1, 9, 7, 0);
    change(w, 20, 0, 7, 1, 0);
    change(w, 30, 0, 0, 0, 7);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 7 woken 20-30, 7 running 30-30?, 9 running ?15-30?");
    assert_int_equal(counts(w)->early_wakes, 1);
    restart(w);
    /* One that was preempted on its way to sleep is woken once. */
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 0, 9);
    about(w, w->waking, 25, 1, 8, 7, 0);
    change(w, 30, 0, 9, 1, 7);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 9 running 20-30, 7 preempted 20-30, 7 running 30-30?, "
              "9 sleeping 30-30?, 8 running ?25-30?");
    assert_int_equal(counts(w)->early_wakes, 1);
    assert_int_equal(counts(w)->contradicted, 0);
}

/* Waits that the trace refutes: what ran and slept meanwhile is woken again, moved or ended. */
static void test_refuted_waits(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->waking, 30, 1, 9, 7, 0);
    about(w, w->wakeup, 31, 1, 9, 7, 0);
    about(w, w->waking, 90, 1, 9, 7, 0);
    about(w, w->wakeup, 91, 1, 9, 7, 0);
    change(w, 95, 0, 0, 0, 7);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 7 sleeping 20-30, 7 unknown ?30-90?, 7 woken 90-95, "
              "7 running 95-95?, 9 running ?30-95?");
    assert_int_equal(counts(w)->contradicted, 1);
    restart(w);
    /* Preempted, and woken twice. */
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 0, 0);
    about(w, w->waking, 30, 1, 9, 7, 0);
    about(w, w->waking, 60, 1, 9, 7, 0);
    change(w, 70, 0, 0, 0, 7);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 7 unknown ?20-60?, 7 woken 60-70, 7 running 70-70?, "
              "9 running ?30-70?");
    restart(w);
    /* What runs is not moved to another CPU. */
    change(w, 10, 0, 0, 0, 7);
    about(w, w->other, 12, 0, 7, 0, 0);
    about(w, w->migrate, 40, 1, 9, 7, 1);
    about(w, w->other, 50, 1, 9, 0, 0);
    expect_of(w, STATE_SUBJECT_THREAD, "7 running 10-12?, 7 unknown ?12-50?, 9 running ?40-50?");
    assert_int_equal(counts(w)->contradictions, 1);
}

/* Where events do not tell their thread, its end does. */
static void test_exit_runs(void **state)
{
    struct world *w = *state;

    w->kernel->kernel = NULL;
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    about(w, w->waking, 30, 1, PID_UNKNOWN, 7, 0);
    about(w, w->exit, 80, 0, PID_UNKNOWN, 7, 0);
    change(w, 90, 0, 7, 0x20, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-20, 7 sleeping 20-30, 7 unknown ?30-80?, 7 running ?80-90");
}

/* T3. */
static void test_losses(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 7);
    change(w, 11, 1, 0, 0, 8);
    about(w, w->waking, 15, 0, 7, 9, 1);
    change(w, 20, 1, 8, 1, 9);
    about(w, w->waking, 21, 1, 9, 8, 1);
    change(w, 25, 0, 7, 1, 0);
    about(w, w->waking, 27, 1, 9, 10, 0);
    lose(w, w->kernel, 25, 30, 0);
    about(w, w->waking, 32, 1, 9, 7, 1);
    change(w, 40, 1, 9, 0, 7); /* 8 is unknown: it may have run on CPU 0 */
    change(w, 45, 1, 7, 1, 10);
    change(w, 50, 1, 10, 1, 8);
    expect_of(w, STATE_SUBJECT_THREAD,
              "8 running 11-20, 9 woken 15-20, 8 sleeping 20-21, 7 running 10-25, 7 unknown "
              "?25-32?, 9 running 20-40, 7 woken 32-40, 7 running 40-45, 10 unknown ?27-45?, "
              "10 running 45-50, 8 unknown ?21-50?, 7 sleeping 45-50?, 8 running 50-50?, "
              "9 preempted 40-50?, 10 sleeping 50-50?");
    restart(w);
    /* What ended while CPU 0 lost events is taken back when that is known. */
    change(w, 10, 0, 0, 0, 7);
    about(w, w->waking, 15, 1, 9, 8, 1);
    change(w, 20, 1, 9, 1, 8);
    lose(w, w->kernel, 12, 30, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "9 running ?15-20, 8 unknown ?15-20?, 7 running 10-12?, 7 unknown ?12-20?, 9 "
              "unknown ?20-20?, 8 running 20-20?");
    assert_int_equal(counts(w)->lost, 1);
}

/* T8: threads may have run on the CPU whose data end early, or are missing. */
static void test_cut(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 7);
    change(w, 10, 1, 0, 0, 8);
    cut(w, 12, 0);
    change(w, 20, 1, 8, 0, 9);
    change(w, 30, 1, 9, 1, 8);
    about(w, w->waking, 40, 1, 8, 9, 1);
    change(w, 50, 1, 8, 1, 9);
    change(w, 60, 1, 9, 1, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "7 running 10-12?, 8 running 10-20, 9 running 20-30, 8 unknown ?20-30?, 8 "
              "running 30-50, 9 unknown ?30-50?, 9 running 50-60, 7 unknown ?12-60?, 8 unknown "
              "?50-60?");
    assert_int_equal(counts(w)->lost, 2);
    assert_int_equal(counts(w)->missing_wakes, 0);
    restart(w);
    cut(w, 5, 1);
    change(w, 10, 0, 0, 0, 7);
    change(w, 20, 0, 7, 1, 0);
    change(w, 30, 0, 0, 0, 7);
    expect_of(w, STATE_SUBJECT_CPU, "0 running 10-20, 0 idle 20-30, 1 unknown ?10-30?");
}

/* T3, of a CPU of which less is kept than of another: what waited for it may have run there. */
static void test_uneven_begins(void **state)
{
    struct world *w = *state;

    for (unsigned unevenly = 0; unevenly < 2; unevenly++) {
        restart(w);
        w->kernel->complete_from = unevenly ? 30 : 0;
        change(w, 10, 1, 0, 0, 9);
        about(w, w->waking, 15, 1, 9, 7, 0);
        change(w, 20, 1, 9, 0, 8);
        change(w, 30, 0, 0, 0, 6);
        change(w, 40, 1, 8, 1, 9);
        expect_of(w, STATE_SUBJECT_THREAD,
                  unevenly
                      ? "9 running 10-20, 8 running 20-40, 9 unknown ?20-40?, 9 running 40-40?, "
                        "7 unknown ?15-40?, 8 sleeping 40-40?, 6 running 30-40?"
                      : "9 running 10-20, 8 running 20-40, 9 preempted 20-40, 9 running 40-40?, "
                        "7 woken 15-40?, 8 sleeping 40-40?, 6 running 30-40?");
    }
    w->kernel->complete_from = 0;
}

/* T7, of more than is held back. */
static void test_early(void **state)
{
    struct world *w = *state;
    unsigned n = STATES_HELD, waits = 0;

    w->kernel->complete_from = 40 * (int64_t)n;
    about(w, w->waking, 1, 1, 9, 7, 0); /* it may run on CPU 0, of which nothing is kept yet */
    for (unsigned i = 0; i < 2 * n; i++)
        change(w, 10 * (int64_t)(i + 1), 1, 8 + (int)(i % 2), 0, 9 - (int)(i % 2));
    change(w, 40 * (int64_t)n, 0, 0, 0, 7);
    change(w, 40 * (int64_t)n + 1, 1, 8, 0, 9);
    change(w, 40 * (int64_t)n + 2, 1, 9, 0, 8);
    assert_int_equal(states_finish(&w->states), 0);
    for (unsigned i = 0; i < w->n; i++) {
        const struct state_interval *v = &w->intervals[i];

        if (v->of != STATE_SUBJECT_THREAD || v->state == STATE_RUNNING || v->state == STATE_UNKNOWN)
            continue;
        assert_true(v->begin >= w->kernel->complete_from);
        waits++;
    }
    assert_int_equal(waits, 2);
    assert_true(counts(w)->early >= 2 * n - 2);
    assert_int_equal(counts(w)->lost, 0);
    w->kernel->complete_from = 0;
}

/* T3, of a loss in which more than is held back ends: its reader found it at its begin. */
static void test_long_loss(void **state)
{
    struct world *w = *state;
    const int64_t end = 40 * (int64_t)STATES_HELD;
    unsigned waits = 0;

    change(w, 1, 0, 0, 0, 7);
    change(w, 2, 1, 9, 0, 8);
    w->before_loss = true;
    about(w, w->other, 5, 0, 7, 0, 0);
    for (unsigned i = 0; i < 2 * STATES_HELD; i++)
        change(w, 10 * (int64_t)(i + 1), 1, 8 + (int)(i % 2), 0, 9 - (int)(i % 2));
    lose(w, w->kernel, 5, end, 0);
    change(w, end + 1, 1, 8, 0, 9);
    change(w, end + 2, 1, 9, 0, 8);
    change(w, end + 3, 1, 8, 0, 9);
    assert_int_equal(states_finish(&w->states), 0);
    for (unsigned i = 0; i < w->n; i++) {
        const struct state_interval *v = &w->intervals[i];

        if (v->of != STATE_SUBJECT_THREAD || v->state == STATE_RUNNING || v->state == STATE_UNKNOWN)
            continue;
        assert_true(v->begin >= end || v->end <= 5);
        waits += v->begin >= end;
    }
    assert_int_equal(waits, 3);
    assert_true(counts(w)->lost >= 2 * STATES_HELD - 2);
}

/* The same where its CPU has no event between it and the loss before. */
static void test_long_loss_again(void **state)
{
    struct world *w = *state;
    const int64_t end = 40 * (int64_t)STATES_HELD;

    change(w, 1, 0, 0, 0, 7);
    change(w, 2, 1, 9, 0, 8);
    w->before_loss = true;
    about(w, w->other, 3, 0, 7, 0, 0);
    w->before_loss = true;
    lose(w, w->kernel, 3, 5, 0);
    for (unsigned i = 0; i < 2 * STATES_HELD; i++)
        change(w, 10 * (int64_t)(i + 1), 1, 8 + (int)(i % 2), 0, 9 - (int)(i % 2));
    lose(w, w->kernel, 5, end, 0);
    assert_int_equal(states_finish(&w->states), 0);
    for (unsigned i = 0; i < w->n; i++)
        if (w->intervals[i].of == STATE_SUBJECT_THREAD && w->intervals[i].end > 3)
            assert_true(w->intervals[i].state == STATE_RUNNING ||
                        w->intervals[i].state == STATE_UNKNOWN);
    assert_true(counts(w)->lost >= 2 * STATES_HELD - 2);
}

/* What was released is not taken back, and not given again. */
static void test_release(void **state)
{
    struct world *w = *state;

    assert_int_equal(states_release(&w->states), 0);
    change(w, 10, 0, 0, 0, 7);
    about(w, w->waking, 15, 1, 9, 8, 1);
    change(w, 20, 1, 9, 1, 8);
    assert_int_equal(states_release(&w->states), 0);
    assert_int_equal(states_release(&w->states), 0);
    lose(w, w->kernel, 12, 30, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "9 running ?15-20, 8 woken 15-20, 7 running 10-12?, 7 unknown ?12-20?, 9 unknown "
              "?20-20?, 8 running 20-20?");
    assert_int_equal(counts(w)->lost, 0);
}

/* Of a loss that its reader found at its begin, nothing is released that the loss takes. */
static void test_release_in_loss(void **state)
{
    struct world *w = *state;

    change(w, 1, 0, 0, 0, 7);
    w->before_loss = true;
    about(w, w->other, 12, 0, 7, 0, 0);
    about(w, w->waking, 15, 1, 9, 8, 1);
    change(w, 20, 1, 9, 1, 8);
    assert_int_equal(states_release(&w->states), 0);
    lose(w, w->kernel, 12, 30, 0);
    expect_of(w, STATE_SUBJECT_THREAD,
              "9 running ?15-20, 8 unknown ?15-20?, 7 running 1-12?, 7 unknown ?12-20?, 9 unknown "
              "?20-20?, 8 running 20-20?");
    assert_int_equal(counts(w)->lost, 1);
}

/* As in the CTF of perf: the names are strings of any length, after the numbers. */
static void test_string_names(void **state)
{
    static const struct field fields[] = {
        LITTLE("prev_pid", 0, 4),
        LITTLE("prev_state", 4, 8),
        LITTLE("next_pid", 12, 4),
        {.name = "prev_comm",
         .c_type = "string",
         .type = FIELD_STRING,
         .storage = STORE_NUL_ENDED,
         .offset = 16},
        {.name = "next_comm",
         .c_type = "string",
         .type = FIELD_STRING,
         .storage = STORE_NUL_ENDED,
         .place = PLACE_AFTER_PREVIOUS},
    };
    static const char payload[] =
        "\7\0\0\0\1\0\0\0\0\0\0\0\10\0\0\0seven\0a-name-of-more-than-fifteen";
    struct world *w = *state;
    const struct event_class *class;

    w->xen->layer = LAYER_HOST;
    class = add(w, w->xen, "sched_switch", fields, ARRAY_SIZE(fields));
    put(w, class, 10, 0, 7, payload, sizeof payload);
    put(w, class, 20, 0, 7, payload, 20); /* ends in a name */
    assert_int_equal(states_finish(&w->states), 0);
    for (unsigned i = 0; i < w->n; i++)
        if (w->intervals[i].of == STATE_SUBJECT_THREAD && w->intervals[i].begin == 10)
            assert_string_equal(w->intervals[i].name,
                                w->intervals[i].id == 7 ? "seven" : "a-name-of-more-t");
    assert_true(w->n > 0);
}

static void test_exec(void **state)
{
    struct world *w = *state;

    change(w, 10, 0, 0, 0, 8);
    about(w, w->exec, 20, 0, 7, 7, 8);
    change(w, 30, 0, 7, 1, 0);
    expect_of(w, STATE_SUBJECT_THREAD, "8 running 10-20, 7 running ?20-30, 7 sleeping 30-30?");
    assert_int_equal(counts(w)->contradictions, 0);
}

/* T5. */
static void test_many_threads(void **state)
{
    struct world *w = *state;

    for (int i = 1; i <= 300000; i++)
        about(w, w->waking, i, 0, 0, i, 0);
    assert_int_equal(states_finish(&w->states), 0);
    assert_int_equal(counts(w)->given_up, 300000 - STATES_THREADS_MAX);
    assert_int_equal(counts(w)->open, 300000);
    restart(w);
    for (int i = 0; i < 100; i++)
        about(w, w->waking, i, i * 1000, i + 1, i, i);
    about(w, w->other, 200, INT32_MAX, 5, 0, 0);
    about(w, w->other, 200, CPU_UNKNOWN, 5, 0, 0);
    assert_int_equal(states_finish(&w->states), 0);
}

/* ---- Xen ---- */

enum { RUN, WAIT, BLOCK, OFF };

static void runstate(struct world *w, int64_t time, int cpu, unsigned domain, unsigned vcpu,
                     int from, int to)
{
    uint16_t numbers[2] = {(uint16_t)vcpu, (uint16_t)domain};

    put(w, w->runstates[from][to], time, cpu, PID_UNKNOWN, numbers, sizeof numbers);
}

/* The first run of thread or vCPU 5 was INSIDE of a guest for so long; -1: this is not known. ENTERS: it enters guests. */
static void expect_inside(struct world *w, int64_t inside, bool enters)
{
    unsigned i = 0;

    assert_int_equal(states_finish(&w->states), 0);
    while (i < w->n && (w->intervals[i].of == STATE_SUBJECT_CPU || w->intervals[i].id != 5 ||
                        w->intervals[i].state != STATE_RUNNING))
        i++;
    assert_true(i < w->n);
    assert_int_equal(w->intervals[i].inside, inside);
    assert_int_equal(w->intervals[i].enters, enters);
    restart(w);
}

/* T12. */
static void test_guest_time(void **state)
{
    struct world *w = *state;

    change(w, 5, 1, 0, 0, 9);
    about(w, w->other, 10, 0, 5, 5, 0);
    about(w, w->entry, 20, 0, 5, 0, 0);
    about(w, w->left, 30, 0, 5, 0, 0);
    change(w, 40, 0, 5, 1, 0);
    expect_inside(w, 10, true);
    about(w, w->other, 10, 0, 5, 5, 0);
    about(w, w->left, 30, 0, 5, 0, 0);
    about(w, w->entry, 35, 0, 5, 0, 0);
    about(w, w->entry, 36, 0, 5, 0, 0);
    about(w, w->left, 38, 0, 5, 0, 0);
    change(w, 40, 0, 5, 1, 0);
    expect_inside(w, 20 + 3, true);
    change(w, 10, 0, 0, 0, 5);
    change(w, 20, 0, 5, 1, 0);
    expect_inside(w, 0, false);
    /* It stops by no event, and began by none. */
    change(w, 5, 1, 0, 0, 9);
    about(w, w->other, 10, 0, 5, 5, 0);
    about(w, w->other, 20, 0, 5, 5, 0);
    lose(w, w->kernel, 20, 30, 0);
    about(w, w->left, 40, 0, 5, 0, 0);
    about(w, w->entry, 45, 0, 5, 0, 0);
    expect_inside(w, -1, false);
}

/* T12, where it is not known which vCPU runs before it stops. Meanwhile it wakes another one. */
static void test_guest_time_found(void **state)
{
    struct world *w = *state;

    about(w, w->vmentry, 10, 0, PID_UNKNOWN, 0, 0);
    about(w, w->vmexit, 20, 0, PID_UNKNOWN, 0, 0);
    runstate(w, 21, 0, 0, 6, BLOCK, WAIT);
    about(w, w->vmentry, 25, 0, PID_UNKNOWN, 0, 0);
    about(w, w->vmexit, 28, 0, PID_UNKNOWN, 0, 0);
    runstate(w, 30, 0, 0, 5, RUN, WAIT);
    runstate(w, 30, 0, 0, 6, WAIT, RUN);
    expect_inside(w, 10 + 3, true);
}

static void test_vcpus(void **state)
{
    struct world *w = *state;

    runstate(w, 10, 0, 0, 1, BLOCK, WAIT);
    runstate(w, 20, 0, XEN_IDLE_DOMAIN, 0, RUN, WAIT);
    runstate(w, 20, 0, 0, 1, WAIT, RUN);
    runstate(w, 25, 0, 0, 1, RUN, RUN);
    runstate(w, 30, 0, 0, 1, RUN, WAIT);
    runstate(w, 30, 0, 0, 0, WAIT, RUN);
    runstate(w, 40, 1, 0, 1, RUN, BLOCK); /* that it ran is missing */
    runstate(w, 50, 0, 0, 0, RUN, BLOCK);
    expect_of(w, STATE_SUBJECT_VCPU,
              "1 woken 10-20, 1 running 20-30, 0 runnable ?10-30, 1 unknown ?30-40?, "
              "0 running 30-50, 1 sleeping 40-50?, 0 sleeping 50-50?");
    assert_int_equal(counts(w)->contradictions, 1);
    restart(w);
    runstate(w, 10, 0, 0, 1, WAIT, RUN);
    runstate(w, 15, 0, 0, 1, RUN, RUN);
    runstate(w, 20, 1, 0, 1, BLOCK, WAIT); /* that it stopped is missing on CPU 0 */
    runstate(w, 30, 1, 0, 1, WAIT, RUN);
    runstate(w, 40, 1, 0, 1, RUN, BLOCK);
    expect_of(w, STATE_SUBJECT_VCPU,
              "1 running 10-15?, 1 unknown ?15-20?, 1 woken 20-30, 1 running 30-40, "
              "1 sleeping 40-40?");
    restart(w);
    runstate(w, 10, 0, 0, 1, WAIT, RUN);
    runstate(w, 20, 1, 0, 1, RUN, BLOCK); /* that it moved there is missing */
    runstate(w, 30, 1, 0, 1, BLOCK, WAIT);
    expect_of(w, STATE_SUBJECT_VCPU,
              "1 running 10-10?, 1 unknown ?10-20?, 1 sleeping 20-30, 1 woken 30-30?");
    restart(w);
    runstate(w, 10, 0, 3, 0, BLOCK, WAIT);
    runstate(w, 20, 1, 3, 1, BLOCK, BLOCK);
    runstate(w, 20, 0, 3, 0, WAIT, RUN);
    runstate(w, 30, 1, 3, 1, BLOCK, WAIT);
    runstate(w, 40, 1, 3, 1, WAIT, RUN);
    runstate(w, 50, 1, 3, 1, RUN, BLOCK);
    lose(w, w->xen, 55, 60, 1);
    runstate(w, 70, 1, 3, 1, BLOCK, WAIT);
    runstate(w, 80, 0, 3, 0, RUN, WAIT);
    runstate(w, 90, 0, 3, 0, WAIT, RUN);
    expect_of(w, STATE_SUBJECT_DOMAIN,
              "3 partial contention 10-20, 3 partial run 20-30, 3 concurrency hazard 30-40, 3 full "
              "run 40-50, 3 partial run 50-55?, 3 unknown ?55-60?, 3 partial run ?60-70, 3 "
              "concurrency hazard 70-80, 3 full contention 80-90?");
}

static void lose_of_vcpus(struct world *w)
{
    restart(w);
    runstate(w, 10, 0, 3, 0, BLOCK, WAIT);
    runstate(w, 20, 0, 3, 0, WAIT, RUN);
    runstate(w, 25, 1, 3, 1, RUN, BLOCK);
    runstate(w, 26, 1, XEN_IDLE_DOMAIN, 1, WAIT, RUN);
    lose(w, w->xen, 30, 40, 0);
    runstate(w, 50, 1, XEN_IDLE_DOMAIN, 1, RUN, WAIT);
    runstate(w, 51, 1, 3, 2, WAIT, RUN);
    runstate(w, 70, 0, 3, 0, RUN, BLOCK);
    runstate(w, 90, 1, 3, 2, RUN, RUN);
}

/* T9: until the next change after a loss, nothing is known of what ran, nor of what did not; between two vCPUs nothing is
 * unknown. */
static void test_vcpus_after_loss(void **state)
{
    struct world *w = *state;

    lose_of_vcpus(w);
    expect_of(w, STATE_SUBJECT_CPU,
              "0 unknown ?10-20?, 1 running ?10-25, 0 running 20-30?, 0 unknown ?30-40?, 1 idle "
              "26-50, 0 running ?40-70, 0 unknown ?70-90?, 1 running 51-90?");
    lose_of_vcpus(w);
    expect_of(w, STATE_SUBJECT_VCPU,
              "196608 woken 10-20, 196609 running ?10-25, 196608 running 20-30?, 196610 unknown "
              "?10-40?, 196610 runnable ?40-51, 196608 unknown ?30-40?, 196608 running ?40-70, "
              "196608 sleeping 70-90?, 196609 unknown ?25-90?, 196610 running 51-90?");
    lose_of_vcpus(w);
    expect_of(w, STATE_SUBJECT_DOMAIN, "3 unknown ?10-90?");
}

static void begin_apart(struct world *w)
{
    restart(w);
    runstate(w, 10, 1, 3, 1, RUN, BLOCK);
    runstate(w, 20, 1, 3, 1, BLOCK, WAIT);
    runstate(w, 30, 1, 3, 1, WAIT, RUN);
    put(w, w->timer, 100, 0, PID_UNKNOWN, "\0\0\0", 4);
    runstate(w, 110, 0, 3, 0, RUN, BLOCK);
    runstate(w, 120, 0, 3, 2, BLOCK, WAIT);
    runstate(w, 130, 0, 3, 2, WAIT, RUN);
    runstate(w, 140, 1, 3, 1, RUN, BLOCK);
}

/* T7: what ran has done so since its CPU began; what did not, is known from when all had begun. */
static void test_vcpus_begin(void **state)
{
    struct world *w = *state;

    w->xen->complete_from = 100;
    begin_apart(w);
    expect_of(w, STATE_SUBJECT_VCPU,
              "196609 unknown ?10-20?, 196609 unknown ?20-30?, 196608 unknown ?10-100?, 196608 "
              "running ?100-110, 196610 unknown ?10-100?, 196610 sleeping ?100-120, 196610 woken "
              "120-130, 196609 running 30-140, 196609 sleeping 140-140?, 196608 sleeping 110-140?, "
              "196610 running 130-140?");
    begin_apart(w);
    expect_of(w, STATE_SUBJECT_CPU,
              "0 unknown ?10-100?, 0 running ?100-110, 1 running 30-140, 0 running 130-140?");
    begin_apart(w);
    expect_of(w, STATE_SUBJECT_DOMAIN,
              "3 unknown ?10-100?, 3 partial run ?100-120, 3 concurrency hazard 120-130, 3 partial "
              "run 130-140?");
    w->xen->complete_from = 0;
}

/* Where nothing says that all was recorded to the end, what a CPU did after its last event is unknown (T10). */
static void test_vcpus_end(void **state)
{
    struct world *w = *state;

    for (unsigned of = STATE_SUBJECT_VCPU; of <= STATE_SUBJECT_DOMAIN; of++) {
        restart(w);
        w->xen->known_until = 0;
        runstate(w, 10, 0, 3, 0, WAIT, RUN);
        runstate(w, 10, 1, 3, 1, WAIT, RUN);
        runstate(w, 20, 0, 3, 2, BLOCK, BLOCK);
        put(w, w->timer, 50, 1, PID_UNKNOWN, "\0\0\0", 4);
        runstate(w, 60, 0, 3, 2, BLOCK, WAIT);
        put(w, w->timer, 100, 0, PID_UNKNOWN, "\0\0\0", 4);
        expect_of(w, (enum state_subject)of,
                  of == STATE_SUBJECT_VCPU
                      ? "196610 unknown ?10-60?, 196608 running 10-100?, 196609 running 10-50?, "
                        "196609 unknown ?50-100?, 196610 woken 60-60?, 196610 unknown ?60-100?"
                      : "3 unknown ?10-100?");
    }
}

/* A vCPU that runs all the time has no change: other events say that it runs. */
static void test_vcpu_without_change(void **state)
{
    struct world *w = *state;

    for (unsigned of = STATE_SUBJECT_CPU; of <= STATE_SUBJECT_DOMAIN; of++) {
        restart(w);
        put(w, w->timer, 5, 0, PID_UNKNOWN, "\0\0\0", 4);
        runstate(w, 10, 1, 3, 1, BLOCK, WAIT);
        w->vcpu = 3 << 16;
        put(w, w->timer, 50, 0, PID_UNKNOWN, "\0\0\0", 4);
        put(w, w->timer, 100, 0, PID_UNKNOWN, "\0\0\0", 4);
        w->vcpu = VCPU_UNKNOWN;
        lose(w, w->xen, 110, 120, 0);
        w->vcpu = 3 << 16;
        put(w, w->timer, 130, 0, PID_UNKNOWN, "\0\0\0", 4);
        w->vcpu = VCPU_UNKNOWN;
        runstate(w, 140, 1, 3, 1, WAIT, RUN);
        expect_of(
            w, (enum state_subject)of,
            of == STATE_SUBJECT_CPU
                ? "0 running ?5-110?, 0 unknown ?110-120?, 1 unknown ?5-140?, 0 running ?120-140?"
            : of == STATE_SUBJECT_VCPU
                ? "196609 sleeping ?5-10, 196608 running ?5-110?, 196608 unknown "
                  "?110-120?, 196609 unknown ?10-120?, 196609 runnable ?120-140, "
                  "196609 running 140-140?, 196608 running ?120-140?"
                : "3 partial run ?5-10, 3 concurrency hazard 10-110?, 3 unknown "
                  "?110-120?, 3 concurrency hazard ?120-140?");
    }
}

/* What is said of a vCPU within a loss may be wrong of the time before, too: its domain then is not known either. */
static void test_domain_in_loss(void **state)
{
    struct world *w = *state;

    restart(w);
    runstate(w, 0, 0, XEN_IDLE_DOMAIN, 0, RUN, RUN);
    runstate(w, 10, 1, 4, 0, WAIT, RUN);
    runstate(w, 50, 0, 3, 0, WAIT, RUN); /* it came to be runnable on CPU 1 */
    runstate(w, 60, 0, 3, 0, RUN, BLOCK);
    runstate(w, 70, 0, 3, 0, BLOCK, WAIT);
    lose(w, w->xen, 20, 80, 1);
    runstate(w, 90, 0, 3, 0, WAIT, RUN);
    runstate(w, 100, 0, 3, 0, RUN, BLOCK);
    expect_of(w, STATE_SUBJECT_DOMAIN,
              "4 full contention ?0-10, 4 full run 10-20?, 4 unknown ?20-100?, 3 unknown ?0-80?, 3 "
              "full contention ?80-90, 3 full run 90-100?");
}

/* A CPU that was contradicted within a loss is not known before that ends. */
static void test_contradiction_in_loss(void **state)
{
    struct world *w = *state;

    restart(w);
    runstate(w, 0, 0, XEN_IDLE_DOMAIN, 0, RUN, RUN);
    runstate(w, 10, 1, 3, 0, WAIT, RUN);
    runstate(w, 40, 0, 3, 0, BLOCK, WAIT); /* that it stopped is lost */
    lose(w, w->xen, 20, 80, 1);
    runstate(w, 90, 1, 4, 0, RUN, BLOCK);
    runstate(w, 100, 0, XEN_IDLE_DOMAIN, 0, RUN, RUN);
    expect_of(w, STATE_SUBJECT_CPU,
              "1 unknown ?0-10?, 1 unknown ?10-40?, 1 unknown ?40-80?, 1 running ?80-90, 0 idle "
              "?0-100?, 1 unknown ?90-100?");
}

/* T10: what a CPU did after its last event is not recorded yet. */
static void test_live(void **state)
{
    struct world *w = *state;

    for (unsigned is_live = 0; is_live < 2; is_live++) {
        restart(w);
        w->kernel->is_live = is_live;
        change(w, 10, 0, 0, 0, 7);
        change(w, 15, 1, 0, 0, 8);
        about(w, w->waking, 20, 0, 7, 9, 1);
        change(w, 30, 1, 8, 1, 6);
        change(w, 40, 1, 6, 1, 0);
        expect_of(w, STATE_SUBJECT_CPU,
                  is_live ? "1 unknown ?10-15?, 1 running 15-30, 1 running 30-40, 0 running "
                            "10-20?, 0 unknown ?20-40?"
                          : "1 unknown ?10-15?, 1 running 15-30, 1 running 30-40, 0 "
                            "running 10-40?");
        restart(w);
        change(w, 10, 0, 0, 0, 7);
        change(w, 15, 1, 0, 0, 8);
        about(w, w->waking, 20, 0, 7, 9, 1);
        change(w, 30, 1, 8, 1, 6);
        change(w, 40, 1, 6, 1, 0);
        expect_of(w, STATE_SUBJECT_THREAD,
                  is_live ? "8 running 15-30, 6 running 30-40, 7 running 10-20?, 7 unknown "
                            "?20-40?, 8 sleeping 30-30?, 8 unknown ?30-40?, 9 woken 20-20?, 9 "
                            "unknown ?20-40?, 6 sleeping 40-40?"
                          : "8 running 15-30, 6 running 30-40, 7 running 10-40?, 8 "
                            "sleeping 30-40?, 9 woken 20-40?, 6 sleeping 40-40?");
    }
    w->kernel->is_live = false;
}

static void destroyed(struct world *w, const struct event_class *class, int64_t time, int domain)
{
    put(w, class, time, 0, PID_UNKNOWN, &domain, sizeof domain);
}

/* What is not there sleeps no more than it runs. */
static void test_offline(void **state)
{
    static const int of_3 = 3 << 16;
    char expected[512];
    struct world *w = *state;

    runstate(w, 0, 1, XEN_IDLE_DOMAIN, 1, RUN, RUN);
    runstate(w, 10, 0, 3, 0, OFF, WAIT);
    runstate(w, 20, 0, 3, 0, WAIT, RUN);
    runstate(w, 30, 0, 3, 0, RUN, BLOCK);
    destroyed(w, w->destroy, 40, 3);
    runstate(w, 41, 0, 3, 0, BLOCK, OFF);
    destroyed(w, w->dom_rem, 50, 3);
    runstate(w, 60, 1, XEN_IDLE_DOMAIN, 1, RUN, RUN);
    snprintf(expected, sizeof expected,
             "%d offline ?0-10, %d woken 10-20, %d running 20-30, %d sleeping 30-40, "
             "%d offline 40-60?",
             of_3, of_3, of_3, of_3, of_3);
    expect_of(w, STATE_SUBJECT_VCPU, expected);
    w->n = 0;
    restart(w);
    /* Of two, one is taken away, and comes back; it is destroyed while both run. */
    runstate(w, 0, 0, 3, 0, WAIT, RUN);
    runstate(w, 0, 1, 3, 1, WAIT, RUN);
    runstate(w, 10, 1, 3, 1, RUN, OFF);
    runstate(w, 20, 0, 3, 0, RUN, BLOCK);
    runstate(w, 30, 0, 3, 0, BLOCK, WAIT);
    runstate(w, 30, 0, 3, 0, WAIT, RUN);
    runstate(w, 40, 1, 3, 1, OFF, WAIT);
    runstate(w, 50, 1, 3, 1, WAIT, RUN);
    destroyed(w, w->destroy, 60, 3);
    runstate(w, 61, 0, 3, 0, RUN, OFF);
    runstate(w, 62, 1, 3, 1, RUN, OFF);
    runstate(w, 70, 1, XEN_IDLE_DOMAIN, 1, WAIT, RUN);
    expect_of(w, STATE_SUBJECT_DOMAIN,
              "3 full run 0-20, 3 blocked 20-30, 3 full run 30-40, 3 concurrency hazard 40-50, "
              "3 full run 50-62, 3 offline 62-70?");
    assert_int_equal(counts(w)->contradictions, 0);
    restart(w);
    /* After a loss, too. */
    runstate(w, 0, 1, XEN_IDLE_DOMAIN, 1, RUN, RUN);
    lose(w, w->xen, 5, 20, 1);
    runstate(w, 30, 0, 3, 0, OFF, WAIT);
    runstate(w, 30, 0, 3, 1, BLOCK, WAIT);
    snprintf(expected, sizeof expected,
             "%d unknown ?0-20?, %d offline ?20-30, %d unknown ?0-20?, %d sleeping ?20-30, %d "
             "woken 30-30?, %d woken 30-30?",
             of_3, of_3, of_3 + 1, of_3 + 1, of_3, of_3 + 1);
    expect_of(w, STATE_SUBJECT_VCPU, expected);
}

/* ---- against a simulation that knows the truth ---- */

#define SIM_CPUS 3
#define SIM_THREADS 12
#define TRUTHS_MAX 100000

struct truth {
    int id;
    enum state state;
    int64_t begin, end;
};

struct sim_thread {
    enum state state;
    int64_t since;
    bool known; /* since an event in the trace */
    bool race;  /* woken while it goes to sleep */
};

struct sim {
    struct sim_thread threads[SIM_THREADS + 1];
    int runs[SIM_CPUS];
    int64_t cpu_since[SIM_CPUS];
    bool losing[SIM_CPUS];
    int64_t last[SIM_CPUS]; /* event that came through */
    struct truth *truths;
    unsigned n_truths;
};

static int by_truth(const void *a, const void *b)
{
    const struct truth *x = a, *y = b;

    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (int)x->state - (int)y->state;
}

static void sim_set(struct sim *sim, int id, enum state state, int64_t time)
{
    struct sim_thread *thread = &sim->threads[id];

    if (thread->known)
        sim->truths[sim->n_truths++] = (struct truth){id, thread->state, thread->since, time};
    assert_true(sim->n_truths < TRUTHS_MAX);
    thread->state = state;
    thread->since = time;
    thread->known = true;
}

enum sim_mode { WHOLE, WITH_LOSSES, WITHOUT_IDLE_SWITCHES, ONLY_SOME_THREADS };
#define SIM_MODES 4

/* ONLY_SOME_THREADS: the kernel's filter holds these. */
static bool sim_is_recorded(int id)
{
    return id > 0 && id <= SIM_THREADS / 2;
}

/* Whether the event that comes now is in the trace. */
static bool sim_comes(struct world *w, struct sim *sim, int cpu, int64_t time, enum sim_mode mode)
{
    if (mode == WITH_LOSSES && random_u64() % (sim->losing[cpu] ? 16 : 400) == 0)
        sim->losing[cpu] = !sim->losing[cpu];
    if (sim->losing[cpu])
        return false;
    if (sim->last[cpu] < 0) {
        sim->last[cpu] = -sim->last[cpu];
        lose(w, w->kernel, random_u64() % 2 ? sim->last[cpu] : TIME_UNKNOWN, time, cpu);
    }
    return true;
}

/* One event, at TIME. */
static void sim_step(struct world *w, struct sim *sim, int64_t time, enum sim_mode mode)
{
    int cpu = (int)(random_u64() % SIM_CPUS);
    int id = 1 + (int)(random_u64() % SIM_THREADS);
    int was = sim->runs[cpu];
    bool comes = sim_comes(w, sim, cpu, time, mode);
    struct sim_thread *thread = &sim->threads[id];
    bool some = mode == ONLY_SOME_THREADS;

    switch (random_u64() % 5) {
    case 0: /* switch */
    case 1: {
        int64_t prev_state = 0;

        if (!state_waits(thread->state))
            id = 0;
        if (id == was)
            return;
        if (was > 0) {
            static const int64_t states[] = {0, 0x100, 1, 1, 1, 2, 0x402};
            enum state state = STATE_PREEMPTED;

            prev_state = states[random_u64() % ARRAY_SIZE(states)];
            if (prev_state & 3)
                state = prev_state & 1 ? STATE_SLEEPING : STATE_UNINTERRUPTIBLE;
            if (sim->threads[was].race && prev_state & 3)
                state = STATE_WOKEN;
            sim_set(sim, was, state, time);
            sim->threads[was].race = false;
        }
        if (id > 0)
            sim_set(sim, id, STATE_RUNNING, time);
        sim->runs[cpu] = id;
        if (mode == WITHOUT_IDLE_SWITCHES && cpu == 1 && was == 0)
            return;
        comes &= !some || sim_is_recorded(was) || sim_is_recorded(id);
        if (comes)
            change(w, time, cpu, was, prev_state, id);
        break;
    }
    case 2: /* wake */
        if (thread->state == STATE_SLEEPING || thread->state == STATE_UNINTERRUPTIBLE)
            sim_set(sim, id, STATE_WOKEN, time);
        else if (thread->state == STATE_RUNNING && mode != WITHOUT_IDLE_SWITCHES &&
                 random_u64() % 2)
            thread->race = true;
        else
            return;
        comes &= !some || sim_is_recorded(was) || sim_is_recorded(id);
        if (comes)
            about(w, w->waking, time, cpu, was, id, 0);
        break;
    case 3: /* the thread ends, if it runs, and another one of its number begins */
        if (was == 0 || random_u64() % 8)
            return;
        sim_set(sim, was, STATE_UNKNOWN, time);
        sim->threads[was].known = false;
        sim->threads[was].state = STATE_OFFLINE;
        sim->threads[was].race = false;
        sim->runs[cpu] = 0;
        comes &= !some || sim_is_recorded(was);
        if (comes)
            change(w, time, cpu, was, 0x10, 0);
        break;
    default:
        if (thread->state == STATE_OFFLINE) {
            thread->state = STATE_WOKEN;
            thread->since = time;
            thread->known = true;
            comes &= !some || sim_is_recorded(was) || sim_is_recorded(id);
            if (comes)
                about(w, w->wakeup_new, time, cpu, was, id, 0);
        } else if (comes && (!some || sim_is_recorded(was))) {
            about(w, w->other, time, cpu, was, 0, 0);
        }
        break;
    }
    if (comes || some)
        sim->last[cpu] = time;
    else if (sim->last[cpu] > 0)
        sim->last[cpu] = -sim->last[cpu];
}

/* What is complete is true; and without losses, all that is true is found. */
static void simulate(struct world *w, enum sim_mode mode)
{
    struct sim sim = {.truths = calloc(TRUTHS_MAX, sizeof *sim.truths)};
    unsigned n = 0, n_waits = 0;

    for (int i = 1; i <= SIM_THREADS; i++) {
        sim.threads[i].state = i % 2 ? STATE_SLEEPING : STATE_WOKEN;
        sim.threads[i].since = 0;
    }
    w->kernel->pid_filter = mode == ONLY_SOME_THREADS;
    for (int i = 0; i < SIM_CPUS; i++) {
        if (mode != ONLY_SOME_THREADS)
            about(w, w->other, 1, i, 0, 0, 0);
        sim.last[i] = 1;
    }
    for (int64_t time = 2; time < 20000; time++)
        sim_step(w, &sim, time, mode);
    for (int i = 0; i < SIM_CPUS; i++)
        if (sim.last[i] < 0)
            lose(w, w->kernel, -sim.last[i], 20000, i);
    assert_int_equal(states_finish(&w->states), 0);
    qsort(sim.truths, sim.n_truths, sizeof *sim.truths, by_truth);
    for (unsigned i = 0; i < w->n; i++) {
        const struct state_interval *v = &w->intervals[i];
        struct truth truth = {v->id, v->state, v->begin, v->end};

        if (mode == ONLY_SOME_THREADS && v->state != STATE_UNKNOWN)
            assert_true(sim_is_recorded(v->of == STATE_SUBJECT_THREAD ? v->id : v->by));
        if (v->of != STATE_SUBJECT_THREAD || !v->begin_seen || !v->end_seen)
            continue;
        n++;
        n_waits += state_waits(v->state);
        if (!bsearch(&truth, sim.truths, sim.n_truths, sizeof truth, by_truth))
            fail_msg("%d was not %s from %d to %d (mode %d)", v->id, state_name(v->state),
                     (int)v->begin, (int)v->end, (int)mode);
    }
    assert_true(n_waits > 100);
    if (mode == WHOLE) {
        unsigned same = 0;

        /* What a thread is in when it first is seen may have begun before. */
        for (unsigned i = 0; i < sim.n_truths; i++)
            same += sim.truths[i].begin > 0;
        assert_int_equal(n, same);
        assert_int_equal(counts(w)->contradictions, 0);
        assert_int_equal(counts(w)->missing_wakes, 0);
    } else if (mode == ONLY_SOME_THREADS) {
        unsigned same = 0;

        /* Until a thread is seen to be one of them, its states are not known. */
        for (unsigned i = 0; i < sim.n_truths; i++)
            same += sim.truths[i].begin > 0 && sim_is_recorded(sim.truths[i].id);
        assert_in_range(n, same / 10 * 9, same);
        assert_int_equal(counts(w)->contradictions, 0);
        assert_int_equal(counts(w)->missing_wakes, 0);
    } else {
        assert_true(n < sim.n_truths);
    }
    w->kernel->pid_filter = false;
    if (mode == WITHOUT_IDLE_SWITCHES)
        assert_true(counts(w)->contradictions > 100);
    if (mode == WITH_LOSSES)
        assert_true(counts(w)->lost > 10);
    free(sim.truths);
}

/* T1. */
static void expect_order(const struct world *w)
{
    int64_t ends[4][64] = {{0}};

    for (unsigned i = 0; i < w->n; i++) {
        const struct state_interval *v = &w->intervals[i];

        assert_true(v->id < 64);
        assert_true(v->begin >= ends[v->of][v->id]);
        ends[v->of][v->id] = v->end;
    }
}

static void test_simulation(void **state)
{
    struct world *w = *state;

    for (unsigned round = 0; round < 60; round++) {
        restart(w);
        simulate(w, (enum sim_mode)(round % SIM_MODES));
        expect_order(w);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads),
        TEST(wakers_unseen),
        TEST(no_waking),
        TEST(first_wakeup),
        TEST(loss_of_unseen),
        TEST(cpus),
        TEST(begin_in_interrupt),
        TEST(contradictions),
        TEST(left_thread),
        TEST(stamps),
        TEST(early_wake),
        TEST(refuted_waits),
        TEST(exit_runs),
        TEST(losses),
        TEST(cut),
        TEST(uneven_begins),
        TEST(early),
        TEST(long_loss),
        TEST(long_loss_again),
        TEST(release),
        TEST(release_in_loss),
        TEST(no_switches),
        TEST(exec),
        TEST(string_names),
        TEST(many_threads),
        TEST(guest_time),
        TEST(guest_time_found),
        TEST(vcpus),
        TEST(offline),
        TEST(vcpus_after_loss),
        TEST(vcpus_begin),
        TEST(vcpus_end),
        TEST(vcpu_without_change),
        TEST(domain_in_loss),
        TEST(contradiction_in_loss),
        TEST(live),
        TEST(simulation),
        TEST(moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
