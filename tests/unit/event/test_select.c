/* SPDX-License-Identifier: MIT */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "cli/select_options.h"
#include "event/open_losses.h"
#include "timeline/reorder.h"

static struct origin origin = {
    .layer = LAYER_GUEST, .path = "test", .clock = {"monotonic", NANOSECONDS}};
static struct origin qemu = {.path = "qemu", .clock = {"monotonic", NANOSECONDS}};
static struct event_class classes[] = {
    {.name = "sched_switch", .group = "sched", .index = 0, .origin = &origin},
    {.name = "sched_wakeup", .group = "sched", .index = 1, .origin = &origin},
    {.name = "irq_handler_entry", .group = "irq", .index = 2, .origin = &origin},
    {.name = "bdrv_open", .index = 300, .origin = &qemu},
};

static struct item event(int64_t time, unsigned class, int cpu, int pid)
{
    return (struct item){.time = time,
                         .origin = &origin,
                         .class = &classes[class],
                         .cpu = cpu,
                         .pid = pid,
                         .vcpu = VCPU_UNKNOWN};
}

static struct item loss(int64_t time, int cpu)
{
    return (struct item){.kind = ITEM_LOSS,
                         .time = time,
                         .origin = &origin,
                         .cpu = cpu,
                         .pid = PID_UNKNOWN,
                         .vcpu = VCPU_UNKNOWN};
}

/* Sets one option of the table by its name, as from the command line. */
static int set(struct select_options *options, const char *name, const char *value,
               struct error *error)
{
    for (const struct cli_option *o = select_option_table; o->kind != OPTION_END; o++)
        if (strcmp(o->name, name) == 0 && o->kind == OPTION_PARSED)
            return o->parse((char *)options + o->offset, value, error);
    fail_msg("no option %s", name);
    return -1;
}

static void must_set(struct select_options *options, const char *name, const char *value)
{
    assert_int_equal(set(options, name, value, NULL), 0);
}

/* The selected ones of ITEMS as a mask, handed over RUN at a time. */
static uint64_t chosen(const struct select_options *options, const struct item *items, unsigned n,
                       unsigned run)
{
    struct selection selection;
    uint64_t mask = 0;

    assert_int_equal(selection_init(&selection, options), 0);
    for (unsigned at = 0; at < n; at += run) {
        unsigned m = MIN(run, n - at);
        int length;

        for (unsigned i = 0; (length = selection_next_run(&selection, items + at, m, &i, NULL)) > 0;
             i += (unsigned)length)
            for (unsigned j = i; j < i + (unsigned)length; j++)
                mask |= (uint64_t)1 << (at + j);
        assert_int_equal(length, 0);
    }
    selection_done(&selection);
    return mask;
}

static uint64_t by_patterns(const struct item *items, unsigned n, unsigned n_patterns,
                            const char **patterns)
{
    struct select_options options = {.events = {patterns, n_patterns}};
    uint64_t mask = chosen(&options, items, n, 1);

    assert_int_equal(chosen(&options, items, n, n), mask);
    return mask;
}
#define BY(...)                                                                        \
    by_patterns(items, ARRAY_SIZE(items), ARRAY_SIZE(((const char *[]){__VA_ARGS__})), \
                (const char *[]){__VA_ARGS__})

static void test_events(void **state)
{
    const struct item items[] = {event(1, 0, 0, 1), event(2, 1, 0, 1), event(3, 2, 0, 1),
                                 event(4, 3, 0, 1), loss(5, 0)};

    assert_int_equal(BY("sched_switch"), 0x11);
    assert_int_equal(BY("sched_*"), 0x13);
    assert_int_equal(BY("sched_*", "-*wakeup"), 0x11);
    assert_int_equal(BY("-*wakeup", "sched_*"), 0x1f);
    assert_int_equal(BY("-sched_*"), 0x1c);
    assert_int_equal(BY("-sched_*", "*wakeup"), 0x1e);
    assert_int_equal(BY("sched:*"), 0x13);
    assert_int_equal(BY("*:*_switch"), 0x11);
    assert_int_equal(BY("irq:sched*"), 0x10);
    assert_int_equal(BY("-irq:*"), 0x1b);
    assert_int_equal(BY("nothing"), 0x10);
    assert_int_equal(BY("guest:sched_*"), 0x13);
    assert_int_equal(BY("guest:sched:*switch"), 0x11);
    assert_int_equal(BY("guest:*", "-guest:irq:*"), 0x13);
    assert_int_equal(BY("vmm:*"), 0x18);
    assert_int_equal(BY("vmm:sched_*"), 0x10);
    assert_int_equal(BY("gues*:sched_*"), 0x10); /* layers have no patterns */
}

static void put_domain(const struct origin *of, int32_t vcpu, struct text *text)
{
}

static void test_layers_and_vcpus(void **state)
{
    static struct origin xen = {.layer = LAYER_HYPERVISOR, .path = "xen", .put_vcpu = put_domain};
    struct item items[] = {event(1, 0, 0, 1), event(2, 0, 1, 1), event(3, 3, CPU_UNKNOWN, 7),
                           event(4, 3, 0, 8), loss(5, 0),        loss(6, 1)};
    struct select_options options = {0};

    items[0].vcpu = 0;
    items[1].vcpu = 1;
    items[3].vcpu = 1;
    items[5].vcpu = 1;
    items[2].origin = items[3].origin = &qemu;
    must_set(&options, "layer", "vmm");
    assert_int_equal(chosen(&options, items, 6, 6), 0x0c);
    must_set(&options, "layer", "hypervisor,guest");
    assert_int_equal(chosen(&options, items, 6, 2), 0x3f);
    select_options_done(&options);

    /* A loss of which no vCPU is known may have been of this one. */
    must_set(&options, "vcpu", "1,5");
    assert_int_equal(chosen(&options, items, 6, 6), 0x3a);
    must_set(&options, "layer", "guest");
    assert_int_equal(chosen(&options, items, 6, 6), 0x32);
    select_options_done(&options);

    /* Xen's vCPU 1 of domain 7. */
    items[0].origin = &xen;
    items[0].vcpu = 7 << 16 | 1;
    items[1].vcpu = 7 << 16 | 1;
    must_set(&options, "vcpu", "1");
    assert_int_equal(chosen(&options, items, 6, 6), 0x39);
    select_options_done(&options);

    assert_int_equal(set(&options, "layer", "", NULL), -EINVAL);
    assert_int_equal(set(&options, "layer", "guest,", NULL), -EINVAL);
    assert_int_equal(set(&options, "layer", "guest,kernelkernelkernel", NULL), -EINVAL);
    assert_int_equal(set(&options, "vcpu", "a", NULL), -EINVAL);
}

static void test_numbers(void **state)
{
    const struct item items[] = {event(1, 0, 0, 10),           event(2, 0, 3, 11),
                                 event(3, 0, CPU_UNKNOWN, 12), loss(4, 3),
                                 loss(5, CPU_UNKNOWN),         event(6, 0, 4, PID_UNKNOWN)};
    struct select_options options = {0};

    must_set(&options, "cpu", "3,0-1");
    assert_int_equal(chosen(&options, items, 6, 6), 0x1b);
    must_set(&options, "cpu", "2,4");
    assert_int_equal(options.cpus.n, 1); /* 0-4, joined */
    assert_int_equal(chosen(&options, items, 6, 2), 0x3b);
    select_options_done(&options);

    must_set(&options, "pid", "11-12");
    assert_int_equal(chosen(&options, items, 6, 3), 0x1e);
    select_options_done(&options);

    for (const char *const *bad =
             (const char *const[]){"", "a", "1,", "3-1", "1;2", "-1", "4294967296", "1-", NULL};
         *bad; bad++) {
        assert_int_equal(set(&options, "cpu", *bad, NULL), -EINVAL);
        select_options_done(&options);
    }
}

static uint64_t between(const struct item *items, unsigned n, const char *from, const char *to)
{
    struct select_options options = {0};
    uint64_t mask;

    if (from)
        must_set(&options, "from", from);
    if (to)
        must_set(&options, "until", to);
    mask = chosen(&options, items, n, 2);
    assert_int_equal(chosen(&options, items, n, n), mask);
    select_options_done(&options);
    return mask;
}

static void test_times(void **state)
{
    const struct item items[] = {event(999999999, 0, 0, 1), event(1000000000, 0, 0, 1),
                                 event(1500000000, 0, 0, 1), loss(1500000001, 0),
                                 event(2000000000, 0, 0, 1)};

    assert_int_equal(between(items, 5, "1", NULL), 0x1e);
    assert_int_equal(between(items, 5, "1.000000001", NULL), 0x1c);
    assert_int_equal(between(items, 5, NULL, "1.5"), 0x07);
    assert_int_equal(between(items, 5, "1.5", "1.5"), 0x04);
    assert_int_equal(between(items, 5, "+0.000000001", "+0.500000002"), 0x0e);
    assert_int_equal(between(items, 5, "-5", "+0"), 0x01);
    assert_int_equal(between(items, 5, "99999999999", NULL), 0);
    assert_int_equal(between(items, 5, NULL, "9223372036854775807"), 0x1f);
}

/* What was printed can be given back, whatever the clock's rate. */
static void test_printed_times(void **state)
{
    static const uint64_t rates[] = {1, 3, 1000, 32768, 2399999999, 5000000000};

    for (unsigned r = 0; r < ARRAY_SIZE(rates); r++) {
        struct item items[40];

        origin.clock.hz = rates[r];
        for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
            items[i] = event((int64_t)(rates[r] * 77 + i), 0, 0, 1);
        for (unsigned i = 0; i < ARRAY_SIZE(items); i++) {
            int64_t ns = clock_to_ns(&origin.clock, items[i].time);
            uint64_t want_from = 0, want_to = 0;
            char text[48];

            snprintf(text, sizeof text, "%lld.%09lld", (long long)(ns / 1000000000),
                     (long long)(ns % 1000000000));
            for (unsigned j = 0; j < ARRAY_SIZE(items); j++) {
                int64_t other = clock_to_ns(&origin.clock, items[j].time);
                want_from |= (uint64_t)(other >= ns) << j;
                want_to |= (uint64_t)(other <= ns) << j;
            }
            assert_int_equal(between(items, ARRAY_SIZE(items), text, NULL), want_from);
            assert_int_equal(between(items, ARRAY_SIZE(items), NULL, text), want_to);
        }
    }
    origin.clock.hz = NANOSECONDS;
}

static void test_ticks(void **state)
{
    const struct item items[] = {event(100, 0, 0, 1), event(200, 0, 0, 1), event(300, 0, 0, 1)};
    struct select_options options = {0};
    struct selection selection;
    struct error error = {0};
    unsigned at = 0;

    origin.clock.hz = 0;
    assert_int_equal(between(items, 3, "200", NULL), 0x6);
    assert_int_equal(between(items, 3, "+100", "+100"), 0x2);
    must_set(&options, "until", "1.5");
    assert_int_equal(selection_init(&selection, &options), 0);
    assert_int_equal(selection_next_run(&selection, items, 3, &at, &error), -EINVAL);
    assert_non_null(strstr(error.what, "whole ticks"));
    selection_done(&selection);
    origin.clock.hz = NANOSECONDS;

    for (const char *const *bad = (const char *const[]){"", "x", "1.", "1.2x", "+", "1.0000000001",
                                                        "99999999999999999999", "1e3", NULL};
         *bad; bad++)
        if (strcmp(*bad, "1.") != 0)
            assert_int_equal(set(&options, "from", *bad, NULL), -EINVAL);
}

static void test_untimed_loss(void **state)
{
    const struct item items[] = {loss(TIME_UNKNOWN, 0), event(5, 0, 0, 1), loss(TIME_UNKNOWN, 0)};

    assert_int_equal(between(items, 3, "+1", NULL), 0x5);
    assert_int_equal(between(items, 3, "+0", NULL), 0x7);
}

static void test_limit(void **state)
{
    const struct item items[] = {loss(1, 0), event(2, 0, 0, 1), loss(3, 0), event(4, 0, 0, 1),
                                 event(5, 0, 0, 1)};
    struct select_options options = {0};
    struct selection selection;
    unsigned at = 0;

    must_set(&options, "limit", "2");
    assert_int_equal(chosen(&options, items, 5, 5), 0x0f);
    assert_int_equal(chosen(&options, items, 5, 1), 0x0f);

    assert_int_equal(selection_init(&selection, &options), 0);
    assert_false(selection_is_over(&selection));
    assert_int_equal(selection_next_run(&selection, items, 5, &at, NULL), 4);
    assert_true(selection_is_over(&selection));
    selection_done(&selection);

    must_set(&options, "limit", "0");
    assert_int_equal(selection_init(&selection, &options), 0);
    assert_true(selection_is_over(&selection));
    selection_done(&selection);
    assert_int_equal(set(&options, "limit", "-1", NULL), -EINVAL);
}

/* After --until the rest of a file need not be read, but a late item still counts. */
static void test_end(void **state)
{
    static struct item items[5 * REORDER_WINDOW];
    struct select_options options = {0};
    struct selection selection;
    unsigned at;

    for (unsigned i = 0; i < ARRAY_SIZE(items); i++)
        items[i] = event(i == REORDER_WINDOW ? 1 : 100, 0, 0, 1);
    must_set(&options, "until", "0.000000050");
    assert_int_equal(selection_init(&selection, &options), 0);
    at = 0;
    assert_int_equal(selection_next_run(&selection, items, REORDER_WINDOW, &at, NULL), 0);
    assert_false(selection_is_over(&selection));
    at = REORDER_WINDOW;
    assert_int_equal(selection_next_run(&selection, items, ARRAY_SIZE(items), &at, NULL), 1);
    assert_int_equal(at, REORDER_WINDOW);
    at++;
    assert_int_equal(selection_next_run(&selection, items, ARRAY_SIZE(items), &at, NULL), 0);
    assert_false(selection_is_over(&selection));
    at = 0;
    assert_int_equal(selection_next_run(&selection, items, 3, &at, NULL), 0);
    assert_true(selection_is_over(&selection));
    selection_done(&selection);
}

/* Rows: items of all places are read, and of times around the limits. */
static void test_rows(void **state)
{
    const int64_t s = NANOSECONDS;
    const struct item items[] = {
        event(0, 0, 0, 1),      loss(15 * s, 1),        event(25 * s, 0, 0, 1),
        event(30 * s, 1, 1, 2), event(31 * s, 2, 1, 2), event(32 * s, 0, 1, 2),
        event(42 * s, 0, 0, 1), event(43 * s, 0, 0, 1),
    };
    const char *patterns[] = {"sched_*"};
    struct select_options options = {.events = {patterns, 1}};
    struct selection selection;
    unsigned at = 0;

    must_set(&options, "from", "30");
    must_set(&options, "until", "32");
    must_set(&options, "cpu", "1");
    must_set(&options, "pid", "7");
    assert_true(selection_limits_rows(&options));
    assert_int_equal(selection_init_rows(&selection, &options), 0);
    /* Neither by CPU nor by thread, but by pattern, and by 10 s before and after. */
    at = 0;
    assert_int_equal(selection_next_run(&selection, items, 8, &at, NULL), 2);
    assert_int_equal(at, 2);
    at = 4;
    assert_int_equal(selection_next_run(&selection, items, 8, &at, NULL), 2);
    assert_int_equal(at, 5);
    assert_true(selection_has_row(&selection, &origin, 30 * s, 1, 7, VCPU_UNKNOWN));
    assert_true(selection_has_row(&selection, &origin, 32 * s, 1, 7, VCPU_UNKNOWN));
    assert_false(selection_has_row(&selection, &origin, 32 * s + 1, 1, 7, VCPU_UNKNOWN));
    assert_false(selection_has_row(&selection, &origin, 30 * s - 1, 1, 7, VCPU_UNKNOWN));
    assert_false(selection_has_row(&selection, &origin, 30 * s, 0, 7, VCPU_UNKNOWN));
    assert_false(selection_has_row(&selection, &origin, 30 * s, 1, 8, VCPU_UNKNOWN));
    assert_false(selection_has_row(&selection, &origin, 30 * s, 1, PID_UNKNOWN, VCPU_UNKNOWN));
    assert_int_equal(selection_time_within(&selection, 29 * s, 31 * s), s);
    assert_int_equal(selection_time_within(&selection, 29 * s, 40 * s), 2 * s + 1);
    assert_int_equal(selection_time_within(&selection, 33 * s, 40 * s), 0);
    at = 0;
    assert_int_equal(selection_next_in_time(&selection, items, 8, &at), 3);
    assert_int_equal(at, 3);
    at = 6;
    assert_int_equal(selection_next_in_time(&selection, items, 8, &at), 0);
    selection_done(&selection);

    /* The number is that of items from the limit on. */
    must_set(&options, "limit", "1");
    assert_int_equal(selection_init_rows(&selection, &options), 0);
    at = 0;
    assert_int_equal(selection_next_run(&selection, items, 8, &at, NULL), 2);
    assert_true(selection_is_over(&selection));
    selection_done(&selection);
    options.events = (struct strings){0};
    select_options_done(&options);
}

static char unmatched[256];

static void put_unmatched(void *arg, const char *pattern)
{
    size_t len = strlen(unmatched);

    assert_ptr_equal(arg, unmatched);
    snprintf(unmatched + len, sizeof unmatched - len, "%s ", pattern);
}

static void test_unmatched(void **state)
{
    const char *patterns[] = {"sched_*", "-nope", "irq:x", "bdrv_open"};
    struct select_options options = {.events = {patterns, 4}};
    struct event_class *all[] = {&classes[0], &classes[2], &classes[3]};
    struct selection selection;

    assert_int_equal(selection_init(&selection, &options), 0);
    selection_unmatched(&selection, all, 3, put_unmatched, unmatched);
    assert_string_equal(unmatched, "-nope irq:x ");
    selection_done(&selection);
}

/* A CPU's data end at 200, after what is read. */
static void an_end_after_what_is_read_is_no_loss_in_it(void **state)
{
    static const struct origin late = {
        .path = "late", .clock = {"monotonic", NANOSECONDS}, .n_cpus = 1};
    struct select_options options = {0};
    struct open_losses losses = {0};
    struct item item = event(50, 0, 0, 1), found;
    struct selection selection;
    struct error error = {0};
    unsigned at = 0;

    must_set(&options, "until", "0.0000001");
    assert_int_equal(selection_init(&selection, &options), 0);
    assert_int_equal(open_losses_add_late(&losses, &late), 0);
    item.origin = &late;
    assert_int_equal(selection_next_run(&selection, &item, 1, &at, &error), 1);
    assert_int_equal(open_losses_put(&losses, &selection, &item, 1, false), 0);
    item = loss(200, 0);
    item.origin = &late;
    item.since = TIME_UNKNOWN;
    item.lost = LOST_UNKNOWN;
    item.is_open = true;
    assert_int_equal(open_losses_put(&losses, &selection, &item, 1, false), 0);
    assert_false(open_losses_wait(&losses));
    assert_false(open_losses_take(&losses, &selection, 100, &found));
    /* With an end, it may have begun before. */
    assert_int_equal(open_losses_add_late(&losses, &late), 0);
    item.is_open = false;
    assert_int_equal(open_losses_put(&losses, &selection, &item, 1, false), 0);
    assert_true(open_losses_take(&losses, &selection, 100, &found));
    open_losses_done(&losses);
    selection_done(&selection);
    select_options_done(&options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_printed_times),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_untimed_loss),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_unmatched),
        cmocka_unit_test(test_layers_and_vcpus),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(an_end_after_what_is_read_is_no_loss_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
