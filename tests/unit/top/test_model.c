/* SPDX-License-Identifier: MIT */
/* top/model.h: windows of a made trace of a host's kernel. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "event/kernel.h"
#include "top/layout.h"
#include "tracedir/manifest.h"

#define MS INT64_C(1000000)
#define NUMBER(field, at, bytes)                                                             \
    {                                                                                        \
        .name = (field), .c_type = "int", .type = FIELD_INT, .offset = (at), .size = (bytes) \
    }
#define THREAD 7 /* that runs the vCPU */
#define OTHER 8

static const struct field switch_fields[] = {NUMBER("prev_pid", 0, 4), NUMBER("prev_state", 8, 8),
                                             NUMBER("next_pid", 16, 4)};
static const struct field wake_fields[] = {NUMBER("pid", 0, 4), NUMBER("target_cpu", 4, 4)};
static const struct field exit_fields[] = {NUMBER("exit_reason", 0, 4), NUMBER("isa", 4, 4),
                                           NUMBER("vcpu_id", 8, 4)};
static const struct field block_fields[] = {NUMBER("dev", 0, 4),
                                            NUMBER("sector", 8, 8),
                                            NUMBER("nr_sector", 16, 4),
                                            {.name = "rwbs",
                                             .c_type = "char[4]",
                                             .type = FIELD_STRING,
                                             .storage = STORE_ARRAY,
                                             .offset = 20,
                                             .size = 4}};
static const struct origin_kernel a_kernel = {.long_size = 8};

struct payload {
    uint8_t bytes[24];
};

#define ITEMS_MAX 64

struct world {
    struct trace trace;
    struct trace_input input;
    struct origin *kernel;
    struct event_class *change, *wake, *enter, *leave, *to_vmm, *issue, *complete;
    struct item items[ITEMS_MAX];
    struct payload payloads[ITEMS_MAX];
    unsigned n;
    struct top_model model;
};

static struct event_class *add(struct world *w, const char *group, const char *name,
                               const struct field *fields, unsigned n)
{
    struct event_class class = {
        .name = name, .group = group, .origin = w->kernel, .fields = fields, .n_fields = n};
    struct event_class *added;

    assert_int_equal(catalogue_add(&w->trace.catalogue, &class, &added), 0);
    return added;
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    struct origin origin = {.layer = LAYER_HOST,
                            .format = "made",
                            .path = "host",
                            .clock = {"monotonic", NANOSECONDS},
                            .n_cpus = 1,
                            .kernel = &a_kernel};

    w->kernel = catalogue_add_origin(&w->trace.catalogue, &origin);
    w->input = (struct trace_input){.path = "host",
                                    .origin = w->kernel,
                                    .n_origins = 1,
                                    .on_host_clock = true,
                                    .host_error_ns = 12};
    w->trace.inputs = &w->input;
    w->trace.n_inputs = 1;
    w->trace.host_time = true;
    w->change = add(w, "sched", "sched_switch", switch_fields, ARRAY_SIZE(switch_fields));
    w->wake = add(w, "sched", "sched_wakeup", wake_fields, ARRAY_SIZE(wake_fields));
    w->enter = add(w, "kvm", "kvm_entry", exit_fields, ARRAY_SIZE(exit_fields));
    w->leave = add(w, "kvm", "kvm_exit", exit_fields, ARRAY_SIZE(exit_fields));
    w->to_vmm = add(w, "kvm", "kvm_userspace_exit", exit_fields, ARRAY_SIZE(exit_fields));
    w->issue = add(w, "block", "block_rq_issue", block_fields, ARRAY_SIZE(block_fields));
    w->complete = add(w, "block", "block_rq_complete", block_fields, ARRAY_SIZE(block_fields));
    top_model_init(&w->model);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    top_model_done(&w->model);
    catalogue_done(&w->trace.catalogue);
    free(w);
    return 0;
}

/* An event on CPU 0 by thread PID. */
static uint8_t *put(struct world *w, const struct event_class *class, int64_t ms, int32_t pid)
{
    struct payload *payload = &w->payloads[w->n];
    struct item *item = &w->items[w->n++];

    assert_true(w->n < ITEMS_MAX);
    *payload = (struct payload){0};
    *item = (struct item){.time = ms * MS,
                          .origin = w->kernel,
                          .class = class,
                          .payload = payload->bytes,
                          .size = sizeof payload->bytes,
                          .cpu = 0,
                          .pid = pid,
                          .vcpu = pid == THREAD ? 3 : VCPU_UNKNOWN,
                          .kind = ITEM_EVENT};
    return payload->bytes;
}

static void put_switch(struct world *w, int64_t ms, int32_t prev, int64_t state, int32_t next)
{
    uint8_t *p = put(w, w->change, ms, prev);

    memcpy(p, &prev, 4);
    memcpy(p + 8, &state, 8);
    memcpy(p + 16, &next, 4);
}

static void put_wake(struct world *w, int64_t ms, int32_t pid)
{
    memcpy(put(w, w->wake, ms, OTHER), &pid, 4);
}

static void put_block(struct world *w, const struct event_class *class, int64_t ms, int64_t sector)
{
    static const int32_t dev = 1 << 20 | 2, n = 8;
    uint8_t *p = put(w, class, ms, OTHER);

    memcpy(p, &dev, 4);
    memcpy(p + 8, &sector, 8);
    memcpy(p + 16, &n, 4);
    memcpy(p + 20, "R", 2);
}

static void put_loss(struct world *w, int64_t since_ms, int64_t ms)
{
    w->items[w->n++] = (struct item){.time = ms * MS,
                                     .origin = w->kernel,
                                     .lost = 5,
                                     .since = since_ms * MS,
                                     .cpu = 0,
                                     .pid = PID_UNKNOWN,
                                     .vcpu = VCPU_UNKNOWN,
                                     .kind = ITEM_LOSS};
}

/* The window from FROM to UNTIL, of what was put since the last one. */
static void window(struct world *w, int64_t from, int64_t until)
{
    assert_int_equal(top_model_begin(&w->model, &w->trace, from * MS, until * MS), 0);
    assert_int_equal(sink_put(&w->model.sink, w->items, w->n), 0);
    assert_int_equal(top_model_end(&w->model, 0), 0);
    w->n = 0;
}

static void expect_vcpu(const struct world *w, const int64_t ms[static TOP_PARTS])
{
    const struct top_vcpu *vcpu;

    assert_int_equal(w->model.n_vcpus, 1);
    vcpu = w->model.vcpus[0];
    for (unsigned part = 0; part < TOP_PARTS; part++)
        if (vcpu->parts[top_slot(&w->model, 0)][part] != ms[part] * MS)
            fail_msg("part %u is %lld ns, not %lld ms", part,
                     (long long)vcpu->parts[top_slot(&w->model, 0)][part], (long long)ms[part]);
}

/* It comes to run at 10 ms, enters its guest at 20, leaves it at 50, for the VMM at 60, and sleeps from 70 on. */
static void put_a_run(struct world *w)
{
    put_wake(w, 5, THREAD);
    put_switch(w, 10, OTHER, 0, THREAD);
    put(w, w->enter, 20, THREAD);
    put(w, w->leave, 50, THREAD);
    put(w, w->to_vmm, 60, THREAD);
    put_switch(w, 70, THREAD, 1, OTHER);
}

static void states_are_split_by_what_runs(void **state)
{
    struct world *w = *state;

    put_a_run(w);
    window(w, 0, 100);
    expect_vcpu(w, (int64_t[TOP_PARTS]){[TOP_GUEST] = 30,
                                        [TOP_HYPERVISOR] = 10,
                                        [TOP_VMM] = 10,
                                        [TOP_RUNS] = 10, /* before the first entry */
                                        [TOP_WAIT] = 5,
                                        [TOP_BLOCKED] = 30});
    assert_int_equal(w->model.vcpus[0]->vcpu, 3);
    assert_int_equal(w->model.sources[0].events[0], 6);
    assert_int_equal(w->model.sources[0].error_ns, 12);
}

static void what_is_known_is_carried_over(void **state)
{
    struct world *w = *state;

    put_a_run(w);
    window(w, 0, 100);
    /* Nothing of it, and then its wake-up. */
    put_switch(w, 150, OTHER, 0, 9);
    window(w, 100, 200);
    expect_vcpu(w, (int64_t[TOP_PARTS]){[TOP_BLOCKED] = 100});
    put_wake(w, 240, THREAD);
    put_switch(w, 260, 9, 0, THREAD);
    put(w, w->enter, 280, THREAD);
    window(w, 200, 300);
    expect_vcpu(w, (int64_t[TOP_PARTS]){[TOP_BLOCKED] = 40,
                                        [TOP_WAIT] = 20,
                                        [TOP_VMM] = 20, /* it was there when it slept */
                                        [TOP_GUEST] = 20});
    /* It runs its guest on and on. The exit that ends now lasted from 50 to 280 ms. */
    assert_int_equal(w->model.n_exits, 1);
    assert_int_equal(w->model.exits[0].n[0], 1);
    assert_int_equal(w->model.exits[0].timed[0], 0);
    assert_int_equal(w->model.exits[0].timed[2], 1);
    assert_int_equal(w->model.exits[0].sum[2], 230 * MS);
    window(w, 300, 400);
    expect_vcpu(w, (int64_t[TOP_PARTS]){[TOP_GUEST] = 100});
}

static void a_loss_ends_what_is_carried_over(void **state)
{
    struct world *w = *state;

    put_a_run(w);
    window(w, 0, 100);
    put_loss(w, 120, 130);
    window(w, 100, 200);
    expect_vcpu(w, (int64_t[TOP_PARTS]){0});
    assert_true(top_source_has_loss(&w->model, 0, 1));
    assert_int_equal(w->model.sources[0].lost[1], 5);
    /* Until it is seen again, it is unknown; and how long its exit lasted. */
    put_switch(w, 250, OTHER, 0, THREAD);
    put(w, w->enter, 260, THREAD);
    window(w, 200, 300);
    expect_vcpu(w, (int64_t[TOP_PARTS]){[TOP_RUNS] = 10, [TOP_GUEST] = 40});
    assert_int_equal(w->model.exits[0].timed[2], 0);
}

static void a_loss_that_goes_on_is_counted_at_its_end(void **state)
{
    struct world *w = *state;

    put_a_run(w);
    put_loss(w, 80, 100);
    w->items[w->n - 1].goes_on = true;
    w->items[w->n - 1].lost = LOST_UNKNOWN;
    window(w, 0, 100);
    assert_true(top_source_has_loss(&w->model, 0, 1));
    assert_true(top_source_lost(&w->model, &w->model.sources[0]).is_more);
    put_loss(w, 80, 130);
    put_switch(w, 150, OTHER, 0, 9);
    window(w, 100, 200);
    expect_vcpu(w, (int64_t[TOP_PARTS]){0});
    assert_int_equal(top_source_lost(&w->model, &w->model.sources[0]).n, 5);
    assert_false(top_source_lost(&w->model, &w->model.sources[0]).is_more);
}

static void what_may_still_come_is_not_known(void **state)
{
    struct world *w = *state;

    put_a_run(w);
    window(w, 0, 100);
    w->kernel->is_live = true;
    put_switch(w, 150, OTHER, 0, 9);
    window(w, 100, 200);
    /* It slept, and what woke it may come later. */
    expect_vcpu(w, (int64_t[TOP_PARTS]){0});
    assert_true(top_source_has_loss(&w->model, 0, 1));
    w->kernel->is_live = false;
    put_switch(w, 250, 9, 0, OTHER);
    window(w, 200, 300);
    assert_false(top_source_has_loss(&w->model, 0, 1));
}

static void time_that_was_not_read_ends_it_too(void **state)
{
    struct world *w = *state;

    put_a_run(w);
    window(w, 0, 100);
    window(w, 500, 600);
    expect_vcpu(w, (int64_t[TOP_PARTS]){0});
}

static void an_item_is_in_one_window(void **state)
{
    struct world *w = *state;
    struct item all[2];

    put_switch(w, 100, OTHER, 0, 9);
    put_switch(w, 101, 9, 0, OTHER);
    memcpy(all, w->items, sizeof all);
    window(w, 0, 100);
    assert_int_equal(w->model.sources[0].events[0], 1);
    w->n = 2;
    memcpy(w->items, all, sizeof all);
    window(w, 100, 200);
    assert_int_equal(w->model.sources[0].events[1], 1);
}

static void a_request_is_of_the_window_in_which_it_ends(void **state)
{
    struct world *w = *state;

    put_block(w, w->issue, 30, 100);
    window(w, 0, 100);
    assert_int_equal(w->model.n_requests[0], 0);
    assert_int_equal(w->model.n_open, 1);
    assert_true(w->model.open[0].is_open);
    assert_int_equal(top_model_look_back(&w->model, 1000 * MS), 70 * MS);
    assert_int_equal(top_model_look_back(&w->model, 50 * MS), 50 * MS);
    /* What the look-back reads again. */
    put_block(w, w->issue, 30, 100);
    put_block(w, w->complete, 150, 100);
    window(w, 100, 200);
    assert_int_equal(w->model.n_requests[1], 1);
    assert_int_equal(w->model.requests[1][0].end - w->model.requests[1][0].begin, 120 * MS);
    assert_int_equal(w->model.n_open, 0);
    assert_int_equal(w->model.sources[0].events[1], 1);
}

static void what_is_kept_is_bounded(void **state)
{
    static char names[TOP_SERIES_MAX + 10][16];
    struct world *w = *state;

    for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(names[i], sizeof names[i], "event_%u", i);
        put(w, add(w, "made", names[i], NULL, 0), 1, OTHER);
        if (i == 0)
            assert_int_equal(top_model_begin(&w->model, &w->trace, 0, 100 * MS), 0);
        assert_int_equal(sink_put(&w->model.sink, w->items, 1), 0);
        w->n = 0;
    }
    assert_int_equal(top_model_end(&w->model, 0), 0);
    assert_int_equal(w->model.n_series, TOP_SERIES_MAX);
    assert_true(w->model.is_too_much);
    assert_int_equal(w->model.sources[0].events[0], ARRAY_SIZE(names));
    /* After a while without them, there is room. */
    for (int64_t i = 1; i <= (int64_t)TOP_WINDOWS; i++)
        window(w, i * 100, (i + 1) * 100);
    put(w, add(w, "made", "new", NULL, 0), 100 * (int64_t)(TOP_WINDOWS + 1) + 1, OTHER);
    window(w, (int64_t)(TOP_WINDOWS + 1) * 100, (int64_t)(TOP_WINDOWS + 2) * 100);
    for (unsigned i = 0; i < w->model.n_series; i++)
        if (strcmp(w->model.series[i].name, "new") == 0)
            return;
    fail_msg("there is no room");
}

/* The row of SCREEN that has TEXT; NULL. */
static const char *find(const struct top_rows *rows, const char *text, char buf[static 256])
{
    for (unsigned i = 0; i < rows->n; i++) {
        snprintf(buf, 256, "%.*s", (int)rows->rows[i].len, rows->text.start + rows->rows[i].begin);
        if (strstr(buf, text))
            return buf;
    }
    return NULL;
}

static void screens_fit(void **state)
{
    static const unsigned sizes[][2] = {{80, 24}, {20, 2}, {40, 5}, {300, 100}, {80, 3}};
    struct world *w = *state;
    struct top_switches switches = {0};
    struct top_rows rows = {0};
    char buf[256];

    put_a_run(w);
    put_loss(w, 80, 81);
    window(w, 0, 100);
    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
        for (unsigned screen = TOP_MAIN; screen <= TOP_EVENTS; screen++) {
            const struct top_view view = {.model = &w->model,
                                          .path = "\033[2Jtrace",
                                          .is_live = true,
                                          .is_interactive = true,
                                          .span = 10,
                                          .message = i == 2 ? "a message of two rows, as it is long"
                                                            : NULL,
                                          .switches = &switches,
                                          .screen = (enum top_screen)screen,
                                          .width = sizes[i][0],
                                          .height = sizes[i][1]};

            assert_int_equal(top_layout(&view, &rows), 0);
            assert_true(rows.n <= view.height);
            for (unsigned row = 0; row < rows.n; row++) {
                size_t len;

                assert_true(top_columns(rows.text.start + rows.rows[row].begin, rows.rows[row].len,
                                        1000, &len) <= view.width);
            }
            assert_null(
                memchr(rows.text.start, '\033', (size_t)(rows.text.next - rows.text.start)));
            if (i == 0 && screen == TOP_MAIN) {
                assert_non_null(find(&rows, "events were lost", buf));
                /* 6 in 0.1 s, or more. */
                assert_non_null(find(&rows, "60+", buf));
            }
        }
    top_rows_done(&rows);
}

static void columns_of_wide_characters(void **state)
{
    size_t len;

    assert_int_equal(top_columns("a\xe4\xb8\xad"
                                 "b",
                                 5, 80, &len),
                     4);
    assert_int_equal(len, 5);
    /* Half of one is none. */
    assert_int_equal(top_columns("a\xe4\xb8\xad"
                                 "b",
                                 5, 2, &len),
                     1);
    assert_int_equal(len, 1);
    assert_int_equal(top_columns("e\xcc\x81x", 4, 80, &len), 2);
    assert_int_equal(top_columns("\xff\xff", 2, 80, &len), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_are_split_by_what_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_known_is_carried_over, setup, teardown),
        cmocka_unit_test_setup_teardown(a_loss_ends_what_is_carried_over, setup, teardown),
        cmocka_unit_test_setup_teardown(a_loss_that_goes_on_is_counted_at_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(what_may_still_come_is_not_known, setup, teardown),
        cmocka_unit_test_setup_teardown(time_that_was_not_read_ends_it_too, setup, teardown),
        cmocka_unit_test_setup_teardown(an_item_is_in_one_window, setup, teardown),
        cmocka_unit_test_setup_teardown(a_request_is_of_the_window_in_which_it_ends, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_kept_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(screens_fit, setup, teardown),
        cmocka_unit_test(columns_of_wide_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
